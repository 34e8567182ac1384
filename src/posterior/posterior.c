/* A problem and its data become an energy model on a backend, and from there the abstract targets. */
#include "posterior.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output_map.h"
#include "scale_curve.h"
#include "unknown_noise.h"

/* ---- building ---- */

static uint64_t setting_seed(const RpinnProblem *problem, RpinnSetting setting) {
  if (problem->settings.values[setting].is_auto) setting = RPINN_SETTING_SEED;
  return (uint64_t)problem->settings.values[setting].number;
}

/* Networks with their outputs mapped, and with the hidden layers of trainable: output drawn once. */
static RpinnStatus make_networks(RpinnContext *context, RpinnPosterior *posterior) {
  const RpinnProblem *problem = posterior->problem;
  posterior->networks = RPINN_ARENA_NEW(posterior->arena, RpinnNetwork, problem->num_fields);
  if (!posterior->networks) return rpinn_fail_memory(context);
  for (size_t f = 0; f < problem->num_fields; f++) {
    RpinnNetwork *network = &posterior->networks[f];
    *network = problem->fields[f].network;
    if (problem->fields[f].finds_output)
      rpinn_output_map_find(problem, posterior->data, f, &network->output_shift, &network->output_factor);
    if (!network->output_only) continue;
    network->frozen = RPINN_ARENA_NEW(posterior->arena, double, network->num_all - network->num_trainable);
    if (!network->frozen) return rpinn_fail_memory(context);
    RpinnStream stream =
        rpinn_stream(setting_seed(problem, RPINN_SETTING_DATA_SEED), RPINN_PURPOSE_FROZEN, 0, (uint32_t)f);
    rpinn_network_initialize(network, 0, network->num_layers - 1, &stream, network->frozen);
  }
  return RPINN_OK;
}

static RpinnStatus compile(RpinnContext *context, RpinnPosterior *posterior,
                           const RpinnNamedExpression *named, const char *kind,
                           const RpinnResidualProgram **program) {
  RpinnProblem *problem = posterior->problem;
  RpinnResidualProgram *compiled;
  char owner[256];
  snprintf(owner, sizeof owner, "%s '%s'", kind, named->name);
  RPINN_TRY(rpinn_residual_program_compile(context, posterior->arena, problem->pool, named->expression,
                                           problem->num_fields, &problem->names, owner, named->place,
                                           &compiled));
  *program = compiled;
  return RPINN_OK;
}

/* Terms and predictions. Before the data are made: the truth adds expressions to the pool, and what a term
 * compiles to must be the same in a run directory, where the data are read. */
static RpinnStatus compile_all(RpinnContext *context, RpinnPosterior *posterior,
                               const RpinnResidualProgram ***term_programs) {
  const RpinnProblem *problem = posterior->problem;
  const RpinnResidualProgram **programs =
      RPINN_ARENA_NEW(posterior->arena, const RpinnResidualProgram *, problem->num_terms);
  posterior->predictions =
      RPINN_ARENA_NEW(posterior->arena, const RpinnResidualProgram *, problem->num_predicted);
  if (!programs || !posterior->predictions) return rpinn_fail_memory(context);
  for (size_t t = 0; t < problem->num_terms; t++) /* test terms must make sense too */
    RPINN_TRY(compile(context, posterior, &problem->terms[t].expect, "term", &programs[t]));
  for (size_t i = 0; i < problem->num_predicted; i++)
    RPINN_TRY(compile(context, posterior, &problem->predicted[i], "quantity", &posterior->predictions[i]));
  *term_programs = programs;
  return RPINN_OK;
}

/* 1/s of every row of the fitted terms. */
static RpinnStatus make_row_scales(RpinnContext *context, RpinnPosterior *posterior) {
  const RpinnEnergyModel *model = &posterior->model;
  double *scale = RPINN_ARENA_NEW(posterior->arena, double, model->num_rows);
  if (!scale) return rpinn_fail_memory(context);
  posterior->model.row_scale = posterior->row_scale = scale;
  for (size_t t = 0; t < model->num_terms; t++)
    for (size_t i = 0; i < model->terms[t].num_rows; i++)
      scale[model->terms[t].first_row + i] = 1 / rpinn_posterior_row_sigma(posterior, t, i);
  return RPINN_OK;
}

static RpinnStatus make_terms(RpinnContext *context, RpinnPosterior *posterior,
                              const RpinnResidualProgram *const *programs) {
  const RpinnProblem *problem = posterior->problem;
  RpinnEnergyModel *model = &posterior->model;
  posterior->terms = RPINN_ARENA_NEW(posterior->arena, RpinnTermModel, problem->num_terms);
  posterior->fitted = RPINN_ARENA_NEW(posterior->arena, size_t, problem->num_terms);
  posterior->programs = programs;
  if (!posterior->terms || !posterior->fitted) return rpinn_fail_memory(context);
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnTermData *data = &posterior->data->terms[t];
    if (problem->terms[t].is_test) continue;
    posterior->fitted[model->num_terms] = t;
    posterior->terms[model->num_terms++] = (RpinnTermModel){.num_points = data->points.count,
                                                            .num_rows = data->num_rows,
                                                            .first_row = model->num_rows,
                                                            .points = data->points.x,
                                                            .program = programs[t],
                                                            .targets = data->values,
                                                            .mix = data->mix};
    model->num_rows += data->num_rows;
  }
  model->terms = posterior->terms;
  return make_row_scales(context, posterior);
}

/* 1/s for each parameter of a network: W [num_out][num_in], then b [num_out], layer by layer. */
static void set_field_roots(const RpinnNetwork *network, const RpinnFieldPrior *prior, double scale,
                            double *root) {
  size_t first = network->output_only ? network->num_layers - 1 : 0;
  for (size_t l = first; l < network->num_layers; l++) {
    size_t num_in = network->width[l], num_out = network->width[l + 1];
    double spread = prior->shape == RPINN_PRIOR_FAN_IN ? sqrt((double)num_in) : 1;
    for (size_t k = 0; k < num_in * num_out; k++) *root++ = spread / scale;
    for (size_t k = 0; k < num_out; k++) *root++ = 1 / scale;
  }
}

void rpinn_posterior_field_roots(const RpinnPosterior *posterior, size_t field, double scale, double *root) {
  set_field_roots(&posterior->networks[field], &posterior->sigmas.fields[field], scale,
                  root + posterior->networks[field].parameter_start);
}

void rpinn_posterior_network_roots(const RpinnPosterior *posterior, double scale, double *root) {
  for (size_t f = 0; f < posterior->problem->num_fields; f++) {
    const RpinnFieldPrior *prior = &posterior->sigmas.fields[f];
    rpinn_posterior_field_roots(posterior, f, prior->has_own_scale ? prior->scale : scale * prior->factor,
                                root);
  }
}

void rpinn_posterior_data_rows(const RpinnPosterior *posterior, bool *is_data) {
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    size_t number = posterior->fitted[t];
    bool measured =
        rpinn_term_data_is_measured(&posterior->problem->terms[number], &posterior->data->terms[number]);
    for (size_t i = 0; i < posterior->terms[t].num_rows; i++) *is_data++ = measured;
  }
}

/* Into run.yaml as well: the fields of the fork are its own from then on. */
static RpinnStatus take_factors(RpinnContext *context, RpinnPosterior *posterior, const double *factors) {
  RpinnProblem *problem = posterior->problem;
  if (posterior->is_shared) return RPINN_OK; /* it shares these, too */
  RpinnField *fields = RPINN_ARENA_NEW(posterior->arena, RpinnField, problem->num_fields);
  if (!fields) return rpinn_fail_memory(context);
  memcpy(fields, problem->fields, problem->num_fields * sizeof *fields);
  for (size_t f = 0; f < problem->num_fields; f++) {
    if (!posterior->sigmas.fields[f].is_separate) continue;
    posterior->sigmas.fields[f].factor = fields[f].prior.factor = factors[f];
    fields[f].prior.has_factor = true;
  }
  problem->fields = fields;
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_choose_prior_scale(RpinnContext *context, RpinnPosterior *posterior,
                                               RpinnScaleRule chosen_by, double scale,
                                               const RpinnScaleCurve *curve, const double *factors) {
  char text[RPINN_NUMBER_TEXT];
  rpinn_number_format(scale, text);
  RPINN_TRY(rpinn_settings_set(context, &posterior->problem->settings, RPINN_SETTING_PRIOR_SCALE, text,
                               (RpinnPlace){.file = "prior_scale"}));
  posterior->problem->was_chosen = true;
  posterior->problem->chosen_by = chosen_by;
  if (posterior->sigmas.integrates) posterior->problem->curve = *curve;
  if (factors) RPINN_TRY(take_factors(context, posterior, factors));
  posterior->sigmas.prior = scale;
  posterior->sigmas.rule = RPINN_SCALE_GIVEN;
  rpinn_posterior_network_roots(posterior, scale, posterior->prior_root);
  return RPINN_OK;
}

double rpinn_posterior_member_scale(const RpinnPosterior *posterior, uint64_t member) {
  if (!posterior->sigmas.integrates) return posterior->sigmas.prior;
  RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_PRIOR_SCALE, member, 0);
  return rpinn_scale_curve_quantile(&posterior->problem->curve, rpinn_stream_uniform(&stream));
}

double rpinn_posterior_start_scale(const RpinnPosterior *posterior, uint64_t member) {
  return posterior->sigmas.start > 0 ? posterior->sigmas.start
                                     : rpinn_posterior_member_scale(posterior, member);
}

void rpinn_posterior_take_scale(RpinnPosterior *posterior, double scale) {
  if (posterior->sigmas.integrates) rpinn_posterior_network_roots(posterior, scale, posterior->prior_root);
}

/* Threads whose members differ in scale write into roots of their own. */
static RpinnStatus own_prior(RpinnContext *context, RpinnPosterior *posterior) {
  size_t N = posterior->model.num_parameters;
  double *root = RPINN_ARENA_NEW(posterior->arena, double, N);
  if (!root) return rpinn_fail_memory(context);
  memcpy(root, posterior->prior_root, N * sizeof *root);
  posterior->model.prior_root = posterior->prior_root = root;
  return RPINN_OK;
}

/* Network parameters by the shape and scale of their fields, without a prior where that is infinite. Unknowns: their own. */
static RpinnStatus make_prior(RpinnContext *context, RpinnPosterior *posterior) {
  const RpinnProblem *problem = posterior->problem;
  RpinnEnergyModel *model = &posterior->model;
  double *root = RPINN_ARENA_NEW(posterior->arena, double, model->num_parameters);
  double *mean = RPINN_ARENA_NEW(posterior->arena, double, model->num_parameters);
  if (!root || !mean) return rpinn_fail_memory(context);
  rpinn_posterior_network_roots(posterior, posterior->sigmas.prior, root);
  for (size_t k = 0; k < problem->num_unknowns; k++) {
    root[model->unknown_start + k] = 1 / problem->unknowns[k].prior_std;
    mean[model->unknown_start + k] = problem->unknowns[k].prior_mean;
  }
  model->prior_root = posterior->prior_root = root;
  model->prior_mean = mean;
  return RPINN_OK;
}

static RpinnStatus make_backend(RpinnContext *context, RpinnPosterior *posterior) {
  const RpinnSettingsValues *settings = &posterior->problem->settings;
  const char *name = settings->values[RPINN_SETTING_BACKEND].text;
  const RpinnBackendOperations *operations =
      rpinn_backend_at((size_t)rpinn_settings_choice(settings, RPINN_SETTING_BACKEND));
  posterior->precision = settings->values[RPINN_SETTING_PRECISION].is_auto
                             ? operations->usual_precision
                             : (RpinnPrecision)rpinn_settings_choice(settings, RPINN_SETTING_PRECISION);
  if (!(operations->precisions >> posterior->precision & 1))
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED,
                      "backend %s does not compute in %s; leave precision at auto", name,
                      settings->values[RPINN_SETTING_PRECISION].text);
  posterior->plans =
      RPINN_ARENA_NEW(posterior->arena, RpinnPlannedEvaluation, 1 + posterior->problem->num_terms);
  if (!posterior->plans) return rpinn_fail_memory(context);
  return operations->create(context, &posterior->model, posterior->precision, &posterior->backend);
}

static const RpinnBackendOperations *chosen_backend(const RpinnPosterior *posterior) {
  return rpinn_backend_at(
      (size_t)rpinn_settings_choice(&posterior->problem->settings, RPINN_SETTING_BACKEND));
}

RpinnStatus rpinn_posterior_advise(RpinnContext *context, const RpinnPosterior *posterior, RpinnText *line) {
  const RpinnBackendOperations *operations = chosen_backend(posterior);
  return operations->advise ? operations->advise(context, line) : RPINN_OK;
}

RpinnStatus rpinn_posterior_identify_backend(RpinnContext *context, const RpinnPosterior *posterior,
                                             RpinnText *text) {
  const RpinnSettingsValues *settings = &posterior->problem->settings;
  const RpinnBackendOperations *operations = chosen_backend(posterior);
  if (!operations->identify) return RPINN_OK;
  rpinn_text_append(text, "backend %s: ", settings->values[RPINN_SETTING_BACKEND].text);
  RPINN_TRY(operations->identify(context, text));
  rpinn_text_append(text, "\n");
  return RPINN_OK;
}

bool rpinn_problem_backend_is_open(const RpinnProblem *problem) {
  return !rpinn_backend_at((size_t)rpinn_settings_choice(&problem->settings, RPINN_SETTING_BACKEND));
}

/* Into run.yaml as well. */
static RpinnStatus settle_backend(RpinnContext *context, RpinnPosterior *posterior, RpinnBackendNeed need) {
  const char *name = need.name;
  RpinnText reason = {0};
  if (!rpinn_problem_backend_is_open(posterior->problem)) return RPINN_OK;
  if (!name && need.num_members) {
    name = rpinn_backend_choose(context, (double)need.num_members * rpinn_model_products(&posterior->model),
                                &reason);
    if (!reason.failed) rpinn_log(context, RPINN_LOG_INFO, "backend auto is %s: %s", name, reason.bytes);
    rpinn_text_free(&reason);
  }
  if (!name) name = rpinn_setting_definition(RPINN_SETTING_BACKEND)->initial;
  return rpinn_settings_set(context, &posterior->problem->settings, RPINN_SETTING_BACKEND, name,
                            (RpinnPlace){0});
}

static RpinnStatus build(RpinnContext *context, RpinnPosterior *posterior, bool data_required,
                         RpinnBackendNeed need) {
  RpinnProblem *problem = posterior->problem;
  RpinnEnergyModel *model = &posterior->model;
  const RpinnResidualProgram **programs;
  RPINN_TRY(compile_all(context, posterior, &programs));
  RPINN_TRY(rpinn_data_set_create(context, problem, data_required, &posterior->data));
  RPINN_TRY(rpinn_sigmas_resolve(context, posterior->arena, problem, posterior->data, &posterior->sigmas));
  RPINN_TRY(make_networks(context, posterior));
  for (size_t f = 0; f < problem->num_fields; f++)
    model->unknown_start += posterior->networks[f].num_trainable;
  model->num_coordinates = problem->num_coordinates;
  model->num_fields = problem->num_fields;
  model->networks = posterior->networks;
  model->num_unknowns = problem->num_unknowns;
  model->num_parameters = model->unknown_start + problem->num_unknowns;
  RPINN_TRY(rpinn_unknown_noise_list(context, posterior));
  RPINN_TRY(make_terms(context, posterior, programs));
  RPINN_TRY(make_prior(context, posterior));
  RPINN_TRY(settle_backend(context, posterior, need));
  return make_backend(context, posterior);
}

/* A posterior with nothing but its arena; NULL: no memory. */
static RpinnPosterior *allocate(void) {
  RpinnArena *arena = rpinn_arena_create();
  RpinnPosterior *posterior = arena ? RPINN_ARENA_NEW(arena, RpinnPosterior, 1) : NULL;
  if (posterior)
    posterior->arena = arena;
  else
    rpinn_arena_destroy(arena);
  return posterior;
}

const char *rpinn_posterior_backend_name(const RpinnPosterior *posterior) {
  return posterior->problem->settings.values[RPINN_SETTING_BACKEND].text;
}

RpinnStatus rpinn_posterior_create(RpinnContext *context, const RpinnProblem *problem, bool data_required,
                                   RpinnPosterior **posterior) {
  return rpinn_posterior_create_for(context, problem, data_required, (RpinnBackendNeed){0}, posterior);
}

RpinnStatus rpinn_posterior_create_for(RpinnContext *context, const RpinnProblem *problem, bool data_required,
                                       RpinnBackendNeed need, RpinnPosterior **posterior) {
  *posterior = allocate();
  if (!*posterior) return rpinn_fail_memory(context);
  (*posterior)->seed = setting_seed(problem, RPINN_SETTING_SEED);
  RpinnStatus status = rpinn_problem_fork(context, (*posterior)->arena, problem, &(*posterior)->problem);
  if (status == RPINN_OK) status = build(context, *posterior, data_required, need);
  if (status != RPINN_OK) {
    rpinn_posterior_destroy(*posterior);
    *posterior = NULL;
  }
  return status;
}

RpinnStatus rpinn_posterior_share(RpinnContext *context, const RpinnPosterior *posterior,
                                  RpinnPosterior **other) {
  RpinnPosterior *own = *other = allocate();
  if (!own) return rpinn_fail_memory(context);
  RpinnArena *arena = own->arena;
  *own = *posterior;
  own->arena = arena;
  own->is_shared = true;
  own->backend = own->double_backend = NULL;
  own->plans = NULL;
  RpinnStatus status = own->sigmas.integrates ? own_prior(context, own) : RPINN_OK;
  if (status == RPINN_OK) status = rpinn_unknown_noise_separate(context, own);
  if (status == RPINN_OK) status = make_backend(context, own);
  if (status != RPINN_OK) {
    rpinn_posterior_destroy(own);
    *other = NULL;
  }
  return status;
}

void rpinn_posterior_destroy(RpinnPosterior *posterior) {
  if (!posterior) return;
  for (size_t k = 0; posterior->plans && k < 1 + posterior->problem->num_terms; k++)
    rpinn_evaluation_release(&posterior->plans[k]);
  rpinn_backend_destroy(posterior->backend);
  rpinn_backend_destroy(posterior->double_backend);
  if (!posterior->is_shared) {
    rpinn_data_set_destroy(posterior->data);
    if (posterior->problem) rpinn_expression_pool_destroy(posterior->problem->pool);
  }
  rpinn_arena_destroy(posterior->arena); /* the posterior itself lives in it */
}

size_t rpinn_posterior_num_parameters(const RpinnPosterior *posterior) {
  return posterior->model.num_parameters;
}
size_t rpinn_posterior_num_rows(const RpinnPosterior *posterior) {
  return posterior->model.num_rows;
}
size_t rpinn_posterior_num_terms(const RpinnPosterior *posterior) {
  return posterior->model.num_terms;
}
const char *rpinn_posterior_term_name(const RpinnPosterior *posterior, size_t term) {
  return posterior->problem->terms[posterior->fitted[term]].name;
}
double rpinn_posterior_term_sigma(const RpinnPosterior *posterior, size_t term) {
  return posterior->sigmas.terms[posterior->fitted[term]];
}
double rpinn_posterior_row_sigma(const RpinnPosterior *posterior, size_t term, size_t row) {
  const double *rows = posterior->sigmas.rows[posterior->fitted[term]];
  return rows ? rows[row] : rpinn_posterior_term_sigma(posterior, term);
}
double rpinn_posterior_prior_sigma(const RpinnPosterior *posterior) {
  return posterior->sigmas.prior;
}

void rpinn_posterior_json_sigmas(const RpinnPosterior *posterior, RpinnJson *json) {
  bool to_choose = posterior->sigmas.rule != RPINN_SCALE_GIVEN;
  rpinn_json_open(json, "sigmas", '{');
  rpinn_json_open(json, "terms", '{');
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    rpinn_json_number(json, rpinn_posterior_term_name(posterior, t),
                      rpinn_posterior_term_sigma(posterior, t));
  rpinn_json_close(json, '}');
  rpinn_json_number(json, "prior", to_choose ? (double)NAN : posterior->sigmas.prior);
  rpinn_json_close(json, '}');
}

RpinnStatus rpinn_posterior_require_known(RpinnContext *context, const RpinnPosterior *posterior) {
  if (posterior->sigmas.rule != RPINN_SCALE_GIVEN)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the data have yet to choose the scale of the prior, by %s; expected a number for "
                      "prior_scale, or the posterior of a finished run",
                      rpinn_scale_rule_names[posterior->sigmas.rule]);
  if (posterior->sigmas.integrates)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the scale of the prior is integrated over; expected prior_integrate: no");
  if (posterior->num_noises)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the data are to tell the noise of term '%.200s'; expected a number for it",
                      rpinn_posterior_term_name(posterior, posterior->noises[0].term));
  return RPINN_OK;
}

/* ---- values ---- */

RpinnStatus rpinn_posterior_energy(RpinnContext *context, RpinnPosterior *posterior, const double *theta,
                                   const double *offsets, double *energy, double *gradient,
                                   double *term_energies) {
  RpinnBatchMember member = {.theta = theta, .offsets = offsets};
  return rpinn_backend_energies(context, posterior->backend, &(RpinnMemberBatch){1, &member}, energy,
                                &gradient, &term_energies);
}

RpinnStatus rpinn_posterior_residuals(RpinnContext *context, RpinnPosterior *posterior, const double *theta,
                                      double *rows, double *jacobian) {
  RpinnBatchMember member = {.theta = theta};
  return rpinn_backend_residuals(context, posterior->backend, &(RpinnMemberBatch){1, &member}, &rows,
                                 jacobian ? &jacobian : NULL);
}

static RpinnStatus run_plan(RpinnContext *context, RpinnPosterior *posterior, RpinnPlannedEvaluation *plan,
                            const RpinnPointSet *points, size_t num_programs,
                            const RpinnResidualProgram *const *programs, const double *theta,
                            double *values) {
  RpinnBatchMember member = {.theta = theta};
  RpinnEvaluation evaluation = {
      .num_points = points->count, .points = points->x, .num_programs = num_programs, .programs = programs};
  if (!plan->backend) RPINN_TRY(rpinn_evaluation_plan(context, posterior->backend, &evaluation, plan));
  return rpinn_evaluation_run(context, plan, &(RpinnMemberBatch){1, &member}, &values);
}

RpinnStatus rpinn_posterior_predict(RpinnContext *context, RpinnPosterior *posterior, const double *theta,
                                    double *values) {
  return run_plan(context, posterior, &posterior->plans[0], &posterior->data->predict,
                  posterior->problem->num_predicted, posterior->predictions, theta, values);
}

RpinnStatus rpinn_posterior_evaluate_term(RpinnContext *context, RpinnPosterior *posterior, size_t term,
                                          const double *theta, double *values) {
  return run_plan(context, posterior, &posterior->plans[1 + term], &posterior->data->terms[term].points, 1,
                  &posterior->programs[term], theta, values);
}

size_t rpinn_posterior_num_predictions(const RpinnPosterior *posterior) {
  return posterior->data->predict.count;
}

/* ---- targets ---- */

static RpinnStatus member_evaluate(void *data, const double *theta, double *value, double *gradient) {
  RpinnPosteriorMember *member = data;
  return rpinn_posterior_energy(member->context, member->posterior, theta, member->offsets, value, gradient,
                                NULL);
}

static RpinnStatus member_adam(void *data, const RpinnAdamRule *rule, RpinnAdamState *state, size_t num_steps,
                               double *value) {
  RpinnPosteriorMember *member = data;
  RpinnBatchMember own = {.offsets = member->offsets};
  return rpinn_backend_adam_advance(member->context, member->posterior->backend, &(RpinnMemberBatch){1, &own},
                                    rule, &state, num_steps, value);
}

RpinnObjective rpinn_posterior_objective(RpinnPosteriorMember *member) {
  bool has_adam = member->posterior->backend->operations->adam_advance != NULL;
  RpinnPrecision precision = member->posterior->precision;
  return (RpinnObjective){.num_parameters = member->posterior->model.num_parameters,
                          .data = member,
                          .evaluate = member_evaluate,
                          .adam_advance = has_adam ? member_adam : NULL,
                          .epsilon = precision == RPINN_PRECISION_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON};
}

static RpinnStatus squares_residuals(void *data, const double *theta, double *rows) {
  RpinnPosteriorMember *member = data;
  return rpinn_posterior_residuals(member->context, member->posterior, theta, rows, NULL);
}

static RpinnStatus squares_jacobian(void *data, const double *theta, double *rows, double *jacobian) {
  RpinnPosteriorMember *member = data;
  return rpinn_posterior_residuals(member->context, member->posterior, theta, rows, jacobian);
}

static RpinnStatus squares_times(void *data, const double *theta, const double *direction, double *product) {
  RpinnPosteriorMember *member = data;
  RpinnBatchMember own = {.theta = theta};
  return rpinn_backend_jacobian_times(member->context, member->posterior->backend,
                                      &(RpinnMemberBatch){1, &own}, &direction, &product);
}

static RpinnStatus squares_transposed(void *data, const double *theta, const double *weights,
                                      double *product) {
  RpinnPosteriorMember *member = data;
  RpinnBatchMember own = {.theta = theta};
  return rpinn_backend_transposed_times(member->context, member->posterior->backend,
                                        &(RpinnMemberBatch){1, &own}, &weights, &product);
}

static RpinnStatus squares_gram(void *data, const double *theta, const double *scale, double *rows,
                                double *gram) {
  RpinnPosteriorMember *member = data;
  RpinnBatchMember own = {.theta = theta};
  return rpinn_backend_gram(member->context, member->posterior->backend, &(RpinnMemberBatch){1, &own}, &scale,
                            &rows, &gram);
}

static RpinnStatus squares_step(void *data, const double *theta, RpinnDampedStep *step) {
  RpinnPosteriorMember *member = data;
  RpinnBackend *backend = member->posterior->backend;
  RpinnBatchMember own = {.theta = theta};
  return backend->operations->damped_steps(member->context, backend, &(RpinnMemberBatch){1, &own}, &step);
}

/* With the products that the backend has itself: a method has its own way where there are none. */
RpinnLeastSquares rpinn_posterior_least_squares(RpinnPosteriorMember *member) {
  const RpinnEnergyModel *model = &member->posterior->model;
  const RpinnBackendOperations *operations = member->posterior->backend->operations;
  return (RpinnLeastSquares){.num_parameters = model->num_parameters,
                             .num_rows = model->num_rows,
                             .prior_root = model->prior_root,
                             .prior_mean = model->prior_mean,
                             .data = member,
                             .residuals = squares_residuals,
                             .jacobian = squares_jacobian,
                             .jacobian_times = operations->jacobian_times ? squares_times : NULL,
                             .transposed_times = operations->transposed_times ? squares_transposed : NULL,
                             .gram = operations->gram ? squares_gram : NULL,
                             .damped_step = operations->damped_steps ? squares_step : NULL};
}

/* ---- starts and offsets ---- */

static void start_unknowns(const RpinnPosterior *posterior, double *theta) {
  for (size_t k = 0; k < posterior->problem->num_unknowns; k++) {
    const RpinnUnknown *unknown = &posterior->problem->unknowns[k];
    theta[posterior->model.unknown_start + k] =
        unknown->transform == RPINN_TRANSFORM_LOG ? log(unknown->start) : unknown->start;
  }
}

void rpinn_posterior_start_glorot(const RpinnPosterior *posterior, uint64_t member, double *theta) {
  for (size_t f = 0; f < posterior->problem->num_fields; f++) {
    const RpinnNetwork *network = &posterior->networks[f];
    RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_START, member, (uint32_t)f);
    size_t first = network->output_only ? network->num_layers - 1 : 0;
    rpinn_network_initialize(network, first, network->num_layers, &stream, theta + network->parameter_start);
  }
  start_unknowns(posterior, theta);
}

void rpinn_posterior_start_zero(const RpinnPosterior *posterior, double *theta) {
  for (size_t j = 0; j < posterior->model.num_parameters; j++) theta[j] = 0;
  start_unknowns(posterior, theta);
}

void rpinn_posterior_start_normal(const RpinnPosterior *posterior, uint64_t member, double *theta) {
  /* Glorot's starts use the parts 0, 1, … for the fields. */
  RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_START, member, UINT32_MAX);
  rpinn_stream_normals(&stream, posterior->model.num_parameters, theta);
  start_unknowns(posterior, theta);
}

void rpinn_posterior_start_prior(const RpinnPosterior *posterior, const double *offsets, double *theta) {
  const RpinnEnergyModel *model = &posterior->model;
  for (size_t j = 0; j < model->num_parameters; j++)
    if (model->prior_root[j] > 0)
      theta[j] = model->prior_mean[j] + offsets[model->num_rows + j] / model->prior_root[j];
}

void rpinn_posterior_start_search(const RpinnPosterior *posterior, uint64_t start, const double *root,
                                  double *offsets, double *theta) {
  const RpinnEnergyModel *model = &posterior->model;
  const double *prior_rows = offsets + model->num_rows;
  RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_SCALE, start, 0);
  rpinn_stream_normals(&stream, model->num_rows + model->num_parameters, offsets);
  for (size_t j = 0; theta && j < model->num_parameters; j++)
    theta[j] = model->prior_mean[j] + (root[j] > 0 ? prior_rows[j] / root[j] : 0);
}

void rpinn_posterior_draw_offsets(const RpinnPosterior *posterior, uint64_t member, double *offsets) {
  RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_OFFSETS, member, 0);
  rpinn_stream_normals(&stream, posterior->model.num_rows + posterior->model.num_parameters, offsets);
}
