/* Derivatives of a problem against finite differences.
 *
 * All at one random point near a start, on some points of each term: what is wrong at one point is wrong at many. Three
 * layers, from the inside out:
 *
 *   jets       every channel of every field against differences of lower channels in x
 *   Jacobian   rows along random directions within each layer of each network, and along each unknown
 *   gradient   energy along the same directions, with and without offsets; and J^T r + prior, entry by entry */
#include "problem_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "derivative_check.h"
#include "number_text.h"

/* How thoroughly: the first of these whose work is bearable. */
typedef struct Effort {
  size_t points_per_term, jet_points, directions_per_block;
  size_t layers_per_network; /* the first and the last among them */
} Effort;

static const Effort efforts[] = {{10, 6, 2, SIZE_MAX}, {3, 2, 1, SIZE_MAX}, {2, 1, 1, 3}};
enum { NUM_EFFORTS = sizeof efforts / sizeof efforts[0] };

static const double most_work = 4e9;       /* multiplications: some seconds of the plain backend */
static const double most_parameters = 3e7; /* vectors of 0.24 GB, one for every row of the Jacobian */

typedef struct Examiner {
  RpinnContext *context;
  RpinnCheck *check;
  Effort effort;
  RpinnEnergyModel model; /* the posterior's with fewer points */
  RpinnTermModel *terms;
  RpinnBackend *backend;
  RpinnStream stream;
  double *theta;                      /* [N] */
  double *offsets;                    /* [M + N] of the smaller model */
  double *rows, *jacobian, *gradient; /* [M], [M][N], [N] */
  double *direction;                  /* [N] */
  size_t *group_sizes;                /* [num_terms] rows of each term */
  double *group_errors;               /* [num_terms] */
} Examiner;

static void keep_largest(double *worst, double value) {
  if (!(value <= *worst)) *worst = value; /* NaN wins */
}

/* ---- the effort ---- */

static size_t layers_to_check(const RpinnNetwork *network, const Effort *effort) {
  size_t num_layers = network->output_only ? 1 : network->num_layers;
  return num_layers < effort->layers_per_network ? num_layers : effort->layers_per_network;
}

/* Multiplications of one evaluation on at most so many points of each term: every network once for each channel and
 * point. */
static double evaluation_work(const RpinnEnergyModel *model, size_t points_per_term) {
  double work = 0;
  for (size_t t = 0; t < model->num_terms; t++) {
    size_t all = model->terms[t].num_points, points = all < points_per_term ? all : points_per_term;
    for (size_t f = 0; f < model->num_fields; f++)
      work += (double)points * (double)model->terms[t].program->channels[f].count *
              (double)model->networks[f].num_all;
  }
  return work;
}

/* Of all checks: a direction takes EVALUATIONS, twelve differences of the rows, twelve of the energy and a gradient. */
static double work_of(const RpinnEnergyModel *model, const Effort *effort) {
  enum { EVALUATIONS = 27, OTHERS = 30 /* the Jacobian, and jets */ };
  double blocks = (double)model->num_unknowns;
  for (size_t f = 0; f < model->num_fields; f++)
    blocks += 2 * (double)layers_to_check(&model->networks[f], effort); /* weights and biases */
  return evaluation_work(model, effort->points_per_term) *
         (blocks * (double)effort->directions_per_block * EVALUATIONS + OTHERS);
}

static RpinnStatus refuse_size(RpinnContext *context, double num_parameters) {
  return rpinn_fail(
      context, RPINN_ERROR_UNSUPPORTED,
      "the networks have %.0f parameters, a vector of %.3g GB: too many to check their derivatives "
      "within seconds; expected smaller networks, which test the same expressions",
      num_parameters, num_parameters * sizeof(double) * 1e-9);
}

/* Before anything of the size of the networks is made. */
static RpinnStatus check_size(RpinnContext *context, const RpinnProblem *problem) {
  double num_parameters = (double)problem->num_unknowns;
  for (size_t f = 0; f < problem->num_fields; f++)
    num_parameters += (double)problem->fields[f].network.num_all;
  return num_parameters <= most_parameters ? RPINN_OK : refuse_size(context, num_parameters);
}

static RpinnStatus choose_effort(Examiner *examiner) {
  const RpinnEnergyModel *model = &examiner->check->posterior->model;
  enum { FASTER = 10 /* the backend of the posterior than the plain one */ };
  size_t k = 0;
  if (evaluation_work(model, SIZE_MAX) > FASTER * most_work)
    return rpinn_fail(examiner->context, RPINN_ERROR_UNSUPPORTED,
                      "%zu rows with networks of %zu parameters are too many to compute the energy within "
                      "seconds; expected fewer points, which test the same expressions",
                      model->num_rows, model->num_parameters);
  while (k < NUM_EFFORTS && work_of(model, &efforts[k]) > most_work) k++;
  if (k == NUM_EFFORTS) return refuse_size(examiner->context, (double)model->num_parameters);
  examiner->effort = efforts[k];
  examiner->check->is_reduced = k > 0;
  return RPINN_OK;
}

/* ---- the smaller model ---- */

/* So many points, the first and the last among them. Of a matrix that mixes them as many rows, and the columns of these
 * points: derivatives ask for no more. scales: of the term's rows, of which the first remain. */
static RpinnStatus thin_term(Examiner *examiner, RpinnTermModel *term, double *scales) {
  RpinnArena *arena = examiner->check->arena;
  size_t all = term->num_points, dimension = examiner->model.num_coordinates,
         count = examiner->effort.points_per_term;
  size_t num_rows = term->num_rows < count ? term->num_rows : count;
  double *points = RPINN_ARENA_NEW(arena, double, count *dimension);
  double *targets = RPINN_ARENA_NEW(arena, double, count);
  double *mix = RPINN_ARENA_NEW(arena, double, num_rows *count);
  if (!points || !targets || !mix) return rpinn_fail_memory(examiner->context);
  for (size_t p = 0; p < count; p++) {
    size_t from = p * (all - 1) / (count - 1);
    memcpy(points + p * dimension, term->points + from * dimension, dimension * sizeof *points);
    targets[p] = term->targets[from];
    if (!term->mix) scales[p] = scales[from];
    for (size_t j = 0; term->mix && j < num_rows; j++) mix[j * count + p] = term->mix[j * all + from];
  }
  term->points = points;
  term->targets = targets;
  term->mix = term->mix ? mix : NULL;
  term->num_points = count;
  term->num_rows = num_rows;
  return RPINN_OK;
}

static RpinnStatus thin_terms(Examiner *examiner) {
  const RpinnPosterior *posterior = examiner->check->posterior;
  RpinnArena *arena = examiner->check->arena;
  examiner->model = posterior->model;
  examiner->model.num_rows = 0;
  examiner->terms = RPINN_ARENA_NEW(arena, RpinnTermModel, posterior->model.num_terms);
  double *scales = RPINN_ARENA_NEW(arena, double, posterior->model.num_rows);
  examiner->group_sizes = RPINN_ARENA_NEW(arena, size_t, posterior->model.num_terms);
  examiner->group_errors = RPINN_ARENA_NEW(arena, double, posterior->model.num_terms);
  if (!examiner->terms || !scales || !examiner->group_sizes || !examiner->group_errors)
    return rpinn_fail_memory(examiner->context);
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    RpinnTermModel *term = &examiner->terms[t];
    double *own = scales + examiner->model.num_rows;
    *term = posterior->model.terms[t];
    memcpy(own, posterior->model.row_scale + term->first_row, term->num_rows * sizeof *own);
    if (term->num_points > examiner->effort.points_per_term) RPINN_TRY(thin_term(examiner, term, own));
    term->first_row = examiner->model.num_rows;
    examiner->group_sizes[t] = term->num_rows;
    examiner->model.num_rows += term->num_rows;
  }
  examiner->model.terms = examiner->terms;
  examiner->model.row_scale = scales;
  return RPINN_OK;
}

static RpinnStatus prepare(Examiner *examiner) {
  const RpinnPosterior *posterior = examiner->check->posterior;
  RPINN_TRY(choose_effort(examiner));
  RPINN_TRY(thin_terms(examiner));
  size_t N = examiner->model.num_parameters, M = examiner->model.num_rows;
  RpinnArena *arena = examiner->check->arena;
  examiner->theta = RPINN_ARENA_NEW(arena, double, N);
  examiner->direction = RPINN_ARENA_NEW(arena, double, N);
  examiner->gradient = RPINN_ARENA_NEW(arena, double, N);
  examiner->offsets = RPINN_ARENA_NEW(arena, double, M + N);
  examiner->rows = RPINN_ARENA_NEW(arena, double, M);
  examiner->jacobian = RPINN_ARENA_NEW(arena, double, M *N);
  if (!examiner->theta || !examiner->direction || !examiner->gradient || !examiner->offsets ||
      !examiner->rows || !examiner->jacobian)
    return rpinn_fail_memory(examiner->context);
  /* A start with biases away from zero, where odd activations would hide mistakes. */
  examiner->stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_posterior_start_glorot(posterior, 0, examiner->theta);
  for (size_t j = 0; j < N; j++) examiner->theta[j] += 0.1 * rpinn_stream_normal(&examiner->stream);
  rpinn_stream_normals(&examiner->stream, M + N, examiner->offsets);
  return rpinn_plain_backend.create(examiner->context, &examiner->model, RPINN_PRECISION_DOUBLE,
                                    &examiner->backend);
}

/* ---- jets ---- */

/* A field's channel along a line in x. */
typedef struct JetLine {
  Examiner *examiner;
  const RpinnResidualProgram *program;
  const double *x;
  double step[RPINN_MAX_COORDINATES];
} JetLine;

static RpinnStatus evaluate_at(Examiner *examiner, const RpinnResidualProgram *program, const double *x,
                               double *value) {
  RpinnBatchMember member = {.theta = examiner->theta};
  RpinnEvaluation evaluation = {.num_points = 1, .points = x, .num_programs = 1, .programs = &program};
  return rpinn_backend_evaluate(examiner->context, examiner->backend, &(RpinnMemberBatch){1, &member},
                                &evaluation, &value);
}

static RpinnStatus jet_along(void *user, double t, double *value) {
  JetLine *line = user;
  double x[RPINN_MAX_COORDINATES] = {0};
  for (size_t i = 0; i < line->examiner->model.num_coordinates; i++) x[i] = line->x[i] + t * line->step[i];
  return evaluate_at(line->examiner, line->program, x, value);
}

/* The program that returns one channel of one field. sets: [num_fields], zeroed; holds the channel
 * afterwards. */
typedef struct ChannelProgram {
  RpinnInstruction instruction;
  RpinnChannelInput input;
  RpinnResidualProgram program;
} ChannelProgram;

static void make_channel_program(size_t num_fields, uint32_t field, const RpinnChannel *channel,
                                 RpinnChannelSet *sets, ChannelProgram *made) {
  rpinn_channel_set_insert(&sets[field], channel);
  made->instruction = (RpinnInstruction){.operation = RPINN_OPERATION_CHANNEL, .active = true};
  made->input = (RpinnChannelInput){field, (uint32_t)rpinn_channel_set_find(&sets[field], channel)};
  made->program = (RpinnResidualProgram){.num_instructions = 1,
                                         .instructions = &made->instruction,
                                         .num_inputs = 1,
                                         .inputs = &made->input,
                                         .num_fields = num_fields,
                                         .channels = sets};
}

/* Finite differences of a lower channel: order 1 from the value along c, order 2 as sum c_ij d_j (d_i u). */
static RpinnStatus numeric_channel(Examiner *examiner, uint32_t field, const RpinnChannel *channel,
                                   const double *x, RpinnChannelSet *sets, double *numeric, double *scale) {
  const RpinnProblem *problem = examiner->check->posterior->problem;
  *numeric = *scale = 0;
  for (size_t i = 0; i < problem->num_coordinates; i++)
    for (size_t j = i; j < problem->num_coordinates; j++) {
      if (channel->order == 1 && j > i) break;
      double c = channel->coefficient[channel->order == 1 ? i : rpinn_pair_index(i, j)];
      if (c == 0) continue;
      RpinnChannel lower = channel->order == 1 ? rpinn_channel_value() : rpinn_channel_first(i);
      ChannelProgram made;
      memset(&sets[field], 0, sizeof sets[field]);
      make_channel_program(problem->num_fields, field, &lower, sets, &made);
      double extent = problem->coordinates[j].high - problem->coordinates[j].low, derivative;
      JetLine line = {.examiner = examiner, .program = &made.program, .x = x};
      line.step[j] = 1;
      RPINN_TRY(rpinn_ridders_derivative(jet_along, &line, 1, 0.02 * extent, &derivative));
      *numeric += c * derivative;
      *scale += fabs(c * derivative);
    }
  return RPINN_OK;
}

static RpinnStatus check_jets(Examiner *examiner, size_t t) {
  const RpinnTermModel *term = &examiner->terms[t];
  size_t num_fields = examiner->model.num_fields;
  RpinnChannelSet *sets = calloc(num_fields, sizeof *sets);
  if (!sets) return rpinn_fail_memory(examiner->context);
  RpinnStatus status = RPINN_OK;
  for (uint32_t f = 0; f < num_fields && status == RPINN_OK; f++)
    for (size_t c = 1; c < term->program->channels[f].count && status == RPINN_OK; c++) {
      const RpinnChannel *channel = &term->program->channels[f].channels[c];
      double worst = 0, scale = 0;
      size_t most = examiner->effort.jet_points, count = term->num_points < most ? term->num_points : most;
      for (size_t p = 0; p < count && status == RPINN_OK; p++) {
        const double *x = term->points + p * term->num_points / count * examiner->model.num_coordinates;
        double exact, numeric, size;
        ChannelProgram made;
        memset(&sets[f], 0, sizeof sets[f]);
        make_channel_program(num_fields, f, channel, sets, &made);
        status = evaluate_at(examiner, &made.program, x, &exact);
        if (status == RPINN_OK) status = numeric_channel(examiner, f, channel, x, sets, &numeric, &size);
        if (status != RPINN_OK) break;
        keep_largest(&worst, fabs(exact - numeric));
        scale = fmax(scale, fmax(size, fabs(exact)));
      }
      memset(&sets[f], 0, sizeof sets[f]);
      keep_largest(&examiner->check->jet_errors[t], worst == 0 ? 0 : worst / scale);
    }
  free(sets);
  return status;
}

/* ---- Jacobian and gradient ---- */

static RpinnStatus model_residuals(void *data, const double *theta, double *rows) {
  Examiner *examiner = data;
  RpinnBatchMember member = {.theta = theta};
  return rpinn_backend_residuals(examiner->context, examiner->backend, &(RpinnMemberBatch){1, &member}, &rows,
                                 NULL);
}

static RpinnStatus model_energy(void *data, const double *theta, double *value, double *gradient) {
  Examiner *examiner = data;
  RpinnBatchMember member = {.theta = theta, .offsets = examiner->offsets};
  return rpinn_backend_energies(examiner->context, examiner->backend, &(RpinnMemberBatch){1, &member}, value,
                                &gradient, NULL);
}

/* The gradient of the smaller model equals J^T (r - xi) + prior rows, entry by entry, in relation to |J|^T
 * |r| + |prior|. */
static RpinnStatus check_consistency(Examiner *examiner) {
  const RpinnEnergyModel *model = &examiner->model;
  size_t N = model->num_parameters, M = model->num_rows;
  double value;
  RpinnBatchMember member = {.theta = examiner->theta};
  RPINN_TRY(rpinn_backend_residuals(examiner->context, examiner->backend, &(RpinnMemberBatch){1, &member},
                                    &examiner->rows, &examiner->jacobian));
  RPINN_TRY(model_energy(examiner, examiner->theta, &value, examiner->gradient));
  for (size_t j = 0; j < N; j++) {
    double sum = 0, size = 0;
    for (size_t i = 0; i < M; i++) {
      double part = examiner->jacobian[i * N + j] * (examiner->rows[i] - examiner->offsets[i]);
      sum += part;
      size += fabs(part);
    }
    double root = model->prior_root[j];
    double prior =
        root > 0 ? root * ((examiner->theta[j] - model->prior_mean[j]) * root - examiner->offsets[M + j]) : 0;
    double difference = fabs(sum + prior - examiner->gradient[j]);
    keep_largest(&examiner->check->consistency_error,
                 difference == 0 ? 0 : difference / (size + fabs(prior)));
  }
  return RPINN_OK;
}

/* Along examiner->direction: the rows of every term, and the energy. */
static RpinnStatus check_direction(Examiner *examiner, bool with_offsets) {
  size_t N = examiner->model.num_parameters;
  double error, value;
  RpinnLeastSquares problem = {.num_parameters = N,
                               .num_rows = examiner->model.num_rows,
                               .data = examiner,
                               .residuals = model_residuals};
  RPINN_TRY(rpinn_check_jacobian_along(&problem, examiner->theta, examiner->jacobian, examiner->direction,
                                       examiner->model.num_terms, examiner->group_sizes,
                                       examiner->group_errors));
  for (size_t t = 0; t < examiner->model.num_terms; t++)
    keep_largest(&examiner->check->jacobian_errors[t], examiner->group_errors[t]);
  RpinnObjective objective = {.num_parameters = N, .data = examiner, .evaluate = model_energy};
  double *offsets = examiner->offsets;
  if (!with_offsets) examiner->offsets = NULL;
  RpinnStatus status = model_energy(examiner, examiner->theta, &value, examiner->gradient);
  if (status == RPINN_OK)
    status = rpinn_check_gradient_along(&objective, examiner->theta, examiner->gradient, examiner->direction,
                                        &error);
  examiner->offsets = offsets;
  if (status == RPINN_OK) keep_largest(&examiner->check->gradient_error, error);
  return status;
}

/* Random directions within parameters [start, start + count). */
static RpinnStatus check_block(Examiner *examiner, size_t start, size_t count) {
  for (size_t k = 0; k < examiner->effort.directions_per_block; k++) {
    memset(examiner->direction, 0, examiner->model.num_parameters * sizeof(double));
    rpinn_stream_normals(&examiner->stream, count, examiner->direction + start);
    RPINN_TRY(check_direction(examiner, k % 2 == 1));
  }
  return RPINN_OK;
}

static RpinnStatus check_blocks(Examiner *examiner) {
  const RpinnEnergyModel *model = &examiner->model;
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    size_t first = network->output_only ? network->num_layers - 1 : 0,
           num_layers = network->num_layers - first;
    size_t count = layers_to_check(network, &examiner->effort);
    for (size_t k = 0; k < count; k++) {
      size_t l = first + (count > 1 ? k * (num_layers - 1) / (count - 1) : 0);
      size_t num_weights = network->width[l] * network->width[l + 1];
      size_t start = (size_t)(rpinn_network_weights(network, examiner->theta, l) - examiner->theta);
      RPINN_TRY(check_block(examiner, start, num_weights));
      RPINN_TRY(check_block(examiner, start + num_weights, network->width[l + 1]));
    }
  }
  for (size_t k = 0; k < model->num_unknowns; k++)
    RPINN_TRY(check_block(examiner, model->unknown_start + k, 1));
  return RPINN_OK;
}

/* ---- warnings ---- */

static RpinnStatus warn(RpinnContext *context, RpinnCheck *check, const char *text) {
  rpinn_log(context, RPINN_LOG_WARNING, "%s", text);
  if (check->num_warnings == RPINN_MAX_WARNINGS) return RPINN_OK;
  const char *copy = rpinn_arena_copy_text(check->arena, text, strlen(text));
  if (!copy) return rpinn_fail_memory(context);
  check->warnings[check->num_warnings++] = copy;
  return RPINN_OK;
}

/* A truth that is given and follows from the fields' truth as well must say the same twice. */
static RpinnStatus compare_truths(RpinnContext *context, RpinnCheck *check) {
  const RpinnPosterior *posterior = check->posterior;
  const RpinnProblem *problem = posterior->problem;
  const RpinnDataSet *data = posterior->data;
  for (size_t i = 0; i < problem->num_predicted; i++) {
    RpinnExpression derived, given;
    const RpinnNamedExpression *predicted = &problem->predicted[i];
    if (!data->predicted_truth[i] || !rpinn_truth_derive(&data->truth, predicted->expression, &derived) ||
        !rpinn_truth_find(&data->truth, predicted->name, predicted->expression, &given) || given == derived)
      continue;
    double *values = malloc((data->predict.count + 1) * sizeof *values), worst = 0, scale = 0;
    if (!values) return rpinn_fail_memory(context);
    RpinnStatus status = rpinn_truth_evaluate(context, &data->truth, derived, &data->predict, predicted->name,
                                              predicted->place, values);
    for (size_t p = 0; p < data->predict.count && status == RPINN_OK; p++) {
      worst = fmax(worst, fabs(values[p] - data->predicted_truth[i][p]));
      scale = fmax(scale, fabs(data->predicted_truth[i][p]));
    }
    free(values);
    RPINN_TRY(status);
    if (worst <= 1e-6 * fmax(scale, 1e-300)) continue;
    char text[512];
    rpinn_format(
        text, sizeof text,
        "the truth of '%s' differs by %.3g from what follows from the truth of its fields (size %.3g)",
        predicted->name, worst, scale);
    RPINN_TRY(warn(context, check, text));
  }
  return RPINN_OK;
}

static bool uses_unknown(const RpinnResidualProgram *program, size_t unknown) {
  for (size_t i = 0; i < program->num_instructions; i++)
    if (program->instructions[i].operation == RPINN_OPERATION_PARAMETER &&
        program->instructions[i].index == unknown)
      return true;
  return false;
}

/* What no data speak about: fields and unknowns that are in no fitted term. */
static RpinnStatus warn_unfitted(RpinnContext *context, RpinnCheck *check) {
  const RpinnProblem *problem = check->posterior->problem;
  const RpinnEnergyModel *model = &check->posterior->model;
  char text[512];
  for (size_t i = 0; i < problem->num_fields + problem->num_unknowns; i++) {
    bool is_field = i < problem->num_fields, used = false;
    size_t index = is_field ? i : i - problem->num_fields;
    for (size_t t = 0; t < model->num_terms; t++) {
      const RpinnResidualProgram *program = model->terms[t].program;
      used |= is_field ? program->channels[index].count > 0 : uses_unknown(program, index);
    }
    if (used) continue;
    snprintf(text, sizeof text, "%s '%s' is in no fitted term: only the prior decides it",
             is_field ? "field" : "unknown",
             is_field ? problem->fields[index].name : problem->unknowns[index].name);
    RPINN_TRY(warn(context, check, text));
  }
  return RPINN_OK;
}

/* Names that are defined and then used nowhere. The loader itself uses each once. */
static RpinnStatus warn_unused(RpinnContext *context, RpinnCheck *check) {
  const RpinnProblem *problem = check->posterior->problem;
  char text[512];
  for (size_t i = 0; i < problem->num_constants + problem->num_quantities; i++) {
    bool is_constant = i < problem->num_constants;
    const RpinnNamedExpression *named =
        is_constant ? &problem->constants[i] : &problem->quantities[i - problem->num_constants];
    if (named->num_uses > 1) continue;
    snprintf(text, sizeof text, "%s '%s' is used nowhere", is_constant ? "constant" : "quantity",
             named->name);
    RPINN_TRY(warn(context, check, text));
  }
  return RPINN_OK;
}

static bool is_known_name(const RpinnProblem *problem, const char *name) {
  for (size_t i = 0; i < problem->num_coordinates; i++)
    if (!strcmp(problem->coordinates[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_fields; i++)
    if (!strcmp(problem->fields[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_quantities; i++)
    if (!strcmp(problem->quantities[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_unknowns; i++)
    if (!strcmp(problem->unknowns[i].name, name)) return true;
  return false;
}

/* Columns of a truth that are the truth of nothing and in no entry: perhaps misspelt. */
static RpinnStatus warn_columns(RpinnContext *context, RpinnCheck *check) {
  const RpinnProblem *problem = check->posterior->problem;
  const RpinnTruth *truth = &check->posterior->data->truth;
  size_t num_columns = truth->num_columns;
  bool *used = RPINN_ARENA_NEW(check->arena, bool, num_columns);
  if (!used) return rpinn_fail_memory(context);
  for (size_t e = 0; num_columns && e < truth->num_entries; e++) {
    uint8_t *reachable = rpinn_expression_reachable(problem->pool, truth->entries[e]);
    if (!reachable) return rpinn_fail_memory(context);
    for (size_t i = 0; i <= truth->entries[e]; i++)
      if (reachable[i] && problem->pool->nodes[i].operation == RPINN_OPERATION_CHANNEL)
        used[problem->pool->nodes[i].index] = true;
    free(reachable);
  }
  for (size_t k = 0; k < num_columns; k++) {
    char text[512];
    if (used[k] || is_known_name(problem, truth->names[k])) continue;
    snprintf(text, sizeof text, "column '%.60s' of the truth is used nowhere", truth->names[k]);
    RPINN_TRY(warn(context, check, text));
  }
  return RPINN_OK;
}

static RpinnStatus collect_warnings(RpinnContext *context, RpinnCheck *check) {
  const RpinnPosterior *posterior = check->posterior;
  const RpinnProblem *problem = posterior->problem;
  char text[512];
  if (check->is_reduced) {
    snprintf(
        text, sizeof text,
        "%zu parameters are many: fewer points and directions were tried than usual; smaller networks test "
        "the same expressions thoroughly",
        posterior->model.num_parameters);
    RPINN_TRY(warn(context, check, text));
  }
  for (size_t t = 0; t < problem->num_terms; t++) {
    if (rpinn_sigma_exceeds_noise(problem, &posterior->sigmas, t)) {
      rpinn_format(
          text, sizeof text,
          "term '%s' is given s = %.4g, more than its stated noise %.4g: its data count for less than "
          "they are worth",
          problem->terms[t].name, posterior->sigmas.terms[t], problem->terms[t].noise);
      RPINN_TRY(warn(context, check, text));
    }
    if (posterior->data->terms[t].missing) {
      snprintf(text, sizeof text,
               "term '%s' has no data yet: they count as zeros here, and a run needs --data",
               problem->terms[t].name);
      RPINN_TRY(warn(context, check, text));
    }
    const RpinnTerm *term = &problem->terms[t];
    const RpinnTermData *data = &posterior->data->terms[t];
    if (term->source == RPINN_DATA_TRUTH && isnan(data->typical_noise) && !term->unknown_noise.present &&
        !data->from_file && !data->missing) {
      snprintf(text, sizeof text,
               "term '%s' takes the truth as it is: it states no noise, so that none is added", term->name);
      RPINN_TRY(warn(context, check, text));
    }
  }
  if (problem->truth.field.present && !rpinn_truth_is_drawn(&posterior->data->truth))
    RPINN_TRY(
        warn(context, check,
             "the truth draws a random field, which says nothing about data from a file: it is left out"));
  RPINN_TRY(warn_unfitted(context, check));
  RPINN_TRY(warn_unused(context, check));
  RPINN_TRY(warn_columns(context, check));
  return compare_truths(context, check);
}

/* ---- the whole ---- */

static RpinnStatus examine(Examiner *examiner) {
  RpinnCheck *check = examiner->check;
  RpinnPosterior *posterior = check->posterior;
  RPINN_TRY(prepare(examiner));
  check->term_energies = RPINN_ARENA_NEW(check->arena, double, posterior->model.num_terms + 1);
  check->jet_errors = RPINN_ARENA_NEW(check->arena, double, posterior->model.num_terms);
  check->jacobian_errors = RPINN_ARENA_NEW(check->arena, double, posterior->model.num_terms);
  if (!check->term_energies || !check->jet_errors || !check->jacobian_errors)
    return rpinn_fail_memory(examiner->context);
  RPINN_TRY(rpinn_posterior_energy(examiner->context, posterior, examiner->theta, NULL, &check->energy, NULL,
                                   check->term_energies));
  for (size_t t = 0; t < posterior->model.num_terms; t++) RPINN_TRY(check_jets(examiner, t));
  RPINN_TRY(check_consistency(examiner));
  RPINN_TRY(check_blocks(examiner));
  return collect_warnings(examiner->context, check);
}

RpinnStatus rpinn_check_create(RpinnContext *context, const RpinnProblem *problem, RpinnCheck **check) {
  RpinnArena *arena = rpinn_arena_create();
  *check = arena ? RPINN_ARENA_NEW(arena, RpinnCheck, 1) : NULL;
  if (!*check) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  (*check)->arena = arena;
  Examiner examiner = {.context = context, .check = *check};
  RpinnStatus status = check_size(context, problem);
  if (status == RPINN_OK) status = rpinn_posterior_create(context, problem, false, &(*check)->posterior);
  if (status == RPINN_OK) status = examine(&examiner);
  rpinn_backend_destroy(examiner.backend);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* targets report no message of their own */
  if (status != RPINN_OK) {
    rpinn_check_destroy(*check);
    *check = NULL;
  }
  return status;
}

void rpinn_check_destroy(RpinnCheck *check) {
  if (!check) return;
  rpinn_posterior_destroy(check->posterior);
  rpinn_arena_destroy(check->arena); /* the check itself lives in it */
}

static double largest_of(const double *errors, size_t count) {
  double worst = 0;
  for (size_t i = 0; i < count; i++) keep_largest(&worst, errors[i]);
  return worst;
}

double rpinn_check_jet_error(const RpinnCheck *check) {
  return largest_of(check->jet_errors, check->posterior->model.num_terms);
}
double rpinn_check_jacobian_error(const RpinnCheck *check) {
  return largest_of(check->jacobian_errors, check->posterior->model.num_terms);
}
double rpinn_check_gradient_error(const RpinnCheck *check) {
  double both[] = {check->gradient_error, check->consistency_error};
  return largest_of(both, 2);
}

bool rpinn_check_passed(const RpinnCheck *check) {
  return isfinite(check->energy) && rpinn_check_jet_error(check) < RPINN_CHECK_TOLERANCE &&
         rpinn_check_jacobian_error(check) < RPINN_CHECK_TOLERANCE &&
         rpinn_check_gradient_error(check) < RPINN_CHECK_TOLERANCE;
}
