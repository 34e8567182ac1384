#include "data_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csv_table.h"
#include "gaussian_term.h"
#include "problem_table.h"
#include "row_noise.h"

enum { PREDICT_PART = 0xffffff };

typedef struct Builder {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnDataSet *data;
  RpinnCsvTable *all; /* the file of all terms, or NULL */
  bool data_required;
  bool anywhere; /* points may lie outside the domain */
  uint64_t points_seed, noise_seed;
} Builder;

/* ---- tables of points and values ---- */

/* Columns must be exactly: `first` (when not NULL), the coordinates, `last` (when not NULL). Beside values there may be
 * their noise. */
static RpinnStatus check_columns(Builder *builder, const RpinnCsvTable *table, const char *first,
                                 bool coordinates, const char *last) {
  const RpinnProblem *problem = builder->problem;
  const char *wanted[RPINN_MAX_COORDINATES + 3];
  size_t count = 0;
  if (first) wanted[count++] = first;
  for (size_t i = 0; coordinates && i < problem->num_coordinates; i++)
    wanted[count++] = problem->coordinates[i].name;
  if (last) wanted[count++] = last;
  size_t num_known = count;
  if (last) wanted[num_known++] = "noise";
  RpinnText list = {0};
  for (size_t i = 0; i < count; i++) rpinn_text_append(&list, "%s%s", i ? "," : "", wanted[i]);
  RpinnStatus status = RPINN_OK;
  for (size_t k = 0; k < table->num_columns && status == RPINN_OK; k++) {
    bool known = false;
    for (size_t i = 0; i < num_known; i++) known |= !strcmp(table->names[k], wanted[i]);
    if (known) continue;
    const char *near = rpinn_nearest_name(table->names[k], wanted, num_known);
    status = rpinn_fail_at(builder->context, rpinn_csv_name_place(table, k),
                           "unknown column '%.60s'; expected the columns %s%s%s%s%s", table->names[k],
                           list.bytes ? list.bytes : "?", last ? ", and noise where it differs by row" : "",
                           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  for (size_t i = 0; i < count && status == RPINN_OK; i++)
    if (rpinn_csv_column(table, wanted[i]) < 0)
      status = rpinn_fail_at(builder->context, table->header, "no column '%s'; expected the columns %s",
                             wanted[i], list.bytes ? list.bytes : "?");
  rpinn_text_free(&list);
  return status;
}

/* The coordinates of one row, checked against the domain. */
static RpinnStatus read_point(Builder *builder, const RpinnCsvTable *table, size_t row, double *x) {
  const RpinnProblem *problem = builder->problem;
  for (size_t i = 0; i < problem->num_coordinates; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[i];
    size_t column = (size_t)rpinn_csv_column(table, coordinate->name);
    double tolerance = RPINN_DOMAIN_TOLERANCE * (coordinate->high - coordinate->low);
    RPINN_TRY(rpinn_csv_number(builder->context, table, row, column, &x[i]));
    bool inside = x[i] >= coordinate->low - tolerance && x[i] <= coordinate->high + tolerance;
    if (!inside && !builder->anywhere)
      return rpinn_fail_at(builder->context, rpinn_csv_place(table, row, column),
                           "%s = %.10g is outside the domain; expected %.10g to %.10g", coordinate->name,
                           x[i], coordinate->low, coordinate->high);
  }
  return RPINN_OK;
}

static RpinnStatus allocate_points(Builder *builder, size_t count, RpinnPointSet *points) {
  if (count > RPINN_MAX_POINTS)
    return rpinn_fail(builder->context, RPINN_ERROR_INPUT, "%zu points in one term; expected at most %d",
                      count, RPINN_MAX_POINTS);
  *points = (RpinnPointSet){
      .count = count,
      .x = RPINN_ARENA_NEW(builder->data->arena, double, count * builder->problem->num_coordinates)};
  return points->x ? RPINN_OK : rpinn_fail_memory(builder->context);
}

static RpinnStatus points_of_table(Builder *builder, const RpinnCsvTable *table, RpinnPointSet *points) {
  RPINN_TRY(check_columns(builder, table, NULL, true, NULL));
  RPINN_TRY(allocate_points(builder, table->num_rows, points));
  for (size_t row = 0; row < table->num_rows; row++)
    RPINN_TRY(read_point(builder, table, row, points->x + row * builder->problem->num_coordinates));
  return RPINN_OK;
}

/* A file of points: one column per coordinate. */
static RpinnStatus points_of_file(Builder *builder, const RpinnPointSpec *spec, RpinnPointSet *points) {
  RpinnCsvTable *table;
  const char *path = rpinn_problem_path(builder->problem, spec->file);
  if (!path) return rpinn_fail_memory(builder->context);
  RPINN_TRY(rpinn_problem_table_read(builder->context, builder->data->arena, builder->problem, path,
                                     spec->place, &table));
  return points_of_table(builder, table, points);
}

RpinnStatus rpinn_point_set_read(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                                 const char *path, bool anywhere, RpinnPointSet *points) {
  RpinnCsvTable *table;
  RpinnDataSet data = {.arena = arena, .problem = problem};
  Builder builder = {.context = context, .problem = problem, .data = &data, .anywhere = anywhere};
  RPINN_TRY(rpinn_csv_read_file(context, arena, path, &table));
  return points_of_table(&builder, table, points);
}

/* ---- points ---- */

/* A choice of cells without repetition, or all of them in order. */
static RpinnStatus choose_cells(Builder *builder, const RpinnPointSpec *spec, RpinnStream *stream,
                                RpinnPointSet *points) {
  const RpinnPointSet *cells = &builder->data->truth.cells;
  size_t num_coordinates = builder->problem->num_coordinates, count = spec->counts[0];
  if (!count) {
    *points = *cells;
    return RPINN_OK;
  }
  if (count > cells->count)
    return rpinn_fail_at(builder->context, spec->place,
                         "%zu cells are asked for and the truth has %zu; expected at most as many", count,
                         cells->count);
  RPINN_TRY(allocate_points(builder, count, points));
  points->cells = RPINN_ARENA_NEW(builder->data->arena, size_t, count);
  size_t *order = malloc(cells->count * sizeof *order);
  if (!points->cells || !order) {
    free(order);
    return rpinn_fail_memory(builder->context);
  }
  rpinn_stream_permutation(stream, cells->count, order);
  for (size_t p = 0; p < count; p++) {
    points->cells[p] = order[p];
    memcpy(points->x + p * num_coordinates, cells->x + order[p] * num_coordinates,
           num_coordinates * sizeof(double));
  }
  free(order);
  return RPINN_OK;
}

static RpinnStatus make_points(Builder *builder, const RpinnPointSpec *spec, uint32_t part,
                               RpinnPointSet *points) {
  RpinnStream stream = rpinn_stream(builder->points_seed, RPINN_PURPOSE_POINTS, 0, part);
  switch (spec->sampling) {
  case RPINN_POINTS_CELLS: return choose_cells(builder, spec, &stream, points);
  case RPINN_POINTS_CSV: return points_of_file(builder, spec, points);
  case RPINN_POINTS_SAME_AS:
    *points = builder->data->terms[spec->term].points; /* made before: see point_order */
    return RPINN_OK;
  default:
    return rpinn_point_set_generate(builder->context, builder->data->arena, builder->problem, spec, &stream,
                                    points);
  }
}

/* ---- values ---- */

static RpinnStatus allocate_values(Builder *builder, RpinnTermData *data) {
  data->values = RPINN_ARENA_NEW(builder->data->arena, double, data->points.count);
  return data->values ? RPINN_OK : rpinn_fail_memory(builder->context);
}

/* A table of several terms: term,<coordinates>,value, and no name that the problem lacks. */
static RpinnStatus check_table_of_terms(Builder *builder, const RpinnCsvTable *table) {
  RPINN_TRY(check_columns(builder, table, "term", true, "value"));
  size_t column = (size_t)rpinn_csv_column(table, "term");
  const char **names = RPINN_ARENA_NEW(builder->data->arena, const char *, builder->problem->num_terms);
  if (!names) return rpinn_fail_memory(builder->context);
  for (size_t i = 0; i < builder->problem->num_terms; i++) names[i] = builder->problem->terms[i].name;
  for (size_t row = 0; row < table->num_rows; row++) {
    const char *name = table->text[row * table->num_columns + column];
    const RpinnTerm *term = NULL;
    for (size_t i = 0; i < builder->problem->num_terms; i++)
      if (!strcmp(names[i], name)) term = &builder->problem->terms[i];
    if (term && term->source == RPINN_DATA_GAUSSIAN)
      return rpinn_fail_at(builder->context, rpinn_csv_place(table, row, column),
                           "data for term '%s', which is gaussian; expected none for a prior", name);
    if (term) continue;
    const char *near = rpinn_nearest_name(name, names, builder->problem->num_terms);
    return rpinn_fail_at(builder->context, rpinn_csv_place(table, row, column),
                         "unknown term '%s'; expected a term of the problem%s%s%s", name,
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  return RPINN_OK;
}

/* Rows of a table of several terms that belong to one of them. replaces_noise: that of the problem file. */
static RpinnStatus take_rows_of_term(Builder *builder, const RpinnCsvTable *table, size_t index,
                                     bool replaces_noise) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  size_t term_column = (size_t)rpinn_csv_column(table, "term"),
         value_column = (size_t)rpinn_csv_column(table, "value");
  size_t count = 0;
  for (size_t row = 0; row < table->num_rows; row++)
    count += !strcmp(table->text[row * table->num_columns + term_column], term->name);
  if (!count && !term->is_test)
    return rpinn_fail_at(builder->context, table->header,
                         "no rows for term '%s'; expected data for every fitted term", term->name);
  RPINN_TRY(allocate_points(builder, count, &data->points));
  RPINN_TRY(allocate_values(builder, data));
  size_t *rows = RPINN_ARENA_NEW(builder->data->arena, size_t, count);
  if (!rows) return rpinn_fail_memory(builder->context);
  data->from_file = true;
  data->missing = !count;
  size_t p = 0;
  for (size_t row = 0; row < table->num_rows; row++) {
    if (strcmp(table->text[row * table->num_columns + term_column], term->name) != 0) continue;
    RPINN_TRY(read_point(builder, table, row, data->points.x + p * builder->problem->num_coordinates));
    RPINN_TRY(rpinn_csv_number(builder->context, table, row, value_column, &data->values[p]));
    rows[p++] = row;
  }
  RpinnNoiseColumn noise = {.table = table, .rows = rows, .may_be_empty = true, .replaces = replaces_noise};
  return rpinn_row_noise_read(builder->context, builder->data->arena, &noise, term, data);
}

/* Points given both by `at` and by the file must agree. */
static RpinnStatus compare_points(Builder *builder, const RpinnTerm *term, const RpinnCsvTable *table,
                                  const RpinnPointSet *points) {
  const RpinnProblem *problem = builder->problem;
  double x[RPINN_MAX_COORDINATES];
  for (size_t row = 0; row < table->num_rows; row++) {
    RPINN_TRY(read_point(builder, table, row, x));
    for (size_t i = 0; i < problem->num_coordinates; i++) {
      const RpinnCoordinate *coordinate = &problem->coordinates[i];
      double expected = points->x[row * problem->num_coordinates + i];
      if (fabs(x[i] - expected) <= RPINN_DOMAIN_TOLERANCE * (coordinate->high - coordinate->low)) continue;
      size_t column = (size_t)rpinn_csv_column(table, coordinate->name);
      return rpinn_fail_at(builder->context, rpinn_csv_place(table, row, column),
                           "%s = %.10g, but 'at' of term '%s' puts this point at %.10g; expected equal "
                           "points, or leave out 'at'",
                           coordinate->name, x[i], term->name, expected);
    }
  }
  return RPINN_OK;
}

/* A table that several terms share: each takes the rows that carry its name, and their points. */
static RpinnStatus take_from_shared(Builder *builder, const RpinnCsvTable *table, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  if (term->at.sampling != RPINN_POINTS_OF_DATA)
    return rpinn_fail_at(
        builder->context, term->at.place,
        "the rows of '%.60s' for term '%s' have points of their own; expected no 'at' beside "
        "a file with a column 'term'",
        term->data.text, term->name);
  RPINN_TRY(check_table_of_terms(builder, table));
  return take_rows_of_term(builder, table, index, false);
}

/* A term's own file: <coordinates>,value; or value alone for the points of `at`; or one that terms share. */
static RpinnStatus take_from_own(Builder *builder, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  RpinnCsvTable *table;
  const char *path = rpinn_problem_path(builder->problem, term->data.text);
  if (!path) return rpinn_fail_memory(builder->context);
  RPINN_TRY(rpinn_problem_table_read(builder->context, builder->data->arena, builder->problem, path,
                                     term->data.place, &table));
  if (rpinn_csv_column(table, "term") >= 0) return take_from_shared(builder, table, index);
  bool own_points = term->at.sampling == RPINN_POINTS_OF_DATA;
  bool with_points = own_points || rpinn_csv_column(table, builder->problem->coordinates[0].name) >= 0;
  RPINN_TRY(check_columns(builder, table, NULL, with_points, "value"));
  if (own_points) RPINN_TRY(allocate_points(builder, table->num_rows, &data->points));
  if (table->num_rows != data->points.count)
    return rpinn_fail_at(builder->context, table->header,
                         "%zu rows of data, but 'at' of term '%s' has %zu points; expected as many",
                         table->num_rows, term->name, data->points.count);
  RPINN_TRY(allocate_values(builder, data));
  if (with_points && !own_points) RPINN_TRY(compare_points(builder, term, table, &data->points));
  size_t value_column = (size_t)rpinn_csv_column(table, "value");
  data->from_file = true;
  for (size_t row = 0; row < table->num_rows; row++) {
    if (own_points)
      RPINN_TRY(read_point(builder, table, row, data->points.x + row * builder->problem->num_coordinates));
    RPINN_TRY(rpinn_csv_number(builder->context, table, row, value_column, &data->values[row]));
  }
  return rpinn_row_noise_read(builder->context, builder->data->arena, &(RpinnNoiseColumn){.table = table},
                              term, data);
}

static RpinnStatus fail_no_truth(Builder *builder, const RpinnTerm *term) {
  return rpinn_fail_at(
      builder->context, term->data.place,
      "the truth of '%s' is not known; expected an entry or a column for it in truth:, or measurements with "
      "--data",
      term->expect.text);
}

/* A truth that gives only its cells waits for measurements; one with entries or columns lacks this one. */
static bool data_is_promised(const RpinnProblem *problem) {
  const RpinnTruthSpec *truth = &problem->truth;
  return truth->num_entries || truth->file || truth->field.present || truth->flow.present;
}

static RpinnStatus take_from_truth(Builder *builder, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  const RpinnTruth *truth = &builder->data->truth;
  RpinnExpression expression;
  if (!rpinn_truth_find(truth, term->expect.text, term->expect.expression, &expression)) {
    if (builder->data_required || data_is_promised(builder->problem)) return fail_no_truth(builder, term);
    data->missing = true;
    return RPINN_OK;
  }
  return rpinn_truth_evaluate(builder->context, truth, expression, &data->points, term->expect.text,
                              term->data.place, data->values);
}

static RpinnStatus take_from_expression(Builder *builder, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  for (size_t p = 0; p < data->points.count; p++) {
    RpinnExpressionInputs inputs = {.coordinates = data->points.x + p * builder->problem->num_coordinates};
    if (rpinn_expression_evaluate(builder->problem->pool, term->data.expression, &inputs, &data->values[p]) !=
        RPINN_OK)
      return rpinn_fail_memory(builder->context);
    if (!isfinite(data->values[p]))
      return rpinn_fail_at(builder->context, term->data.place,
                           "the data of term '%s' are %g at %s = %.10g; expected finite values", term->name,
                           data->values[p], builder->problem->coordinates[0].name, inputs.coordinates[0]);
  }
  return RPINN_OK;
}

static RpinnStatus make_values(Builder *builder, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  if (term->source == RPINN_DATA_CSV) return take_from_own(builder, index);
  RPINN_TRY(allocate_values(builder, data));
  RPINN_TRY(rpinn_row_noise_evaluate(builder->context, builder->data->arena, builder->problem, term, data));
  RPINN_TRY(term->source == RPINN_DATA_TRUTH ? take_from_truth(builder, index)
                                             : take_from_expression(builder, index));
  double noise = term->unknown_noise.present ? term->unknown_noise.truth : term->has_noise ? term->noise : 0;
  if (data->missing || !term->perturb || (!(noise > 0) && !data->noise)) return RPINN_OK;
  RpinnStream stream = rpinn_stream(builder->noise_seed, RPINN_PURPOSE_NOISE, 0, (uint32_t)index);
  for (size_t p = 0; p < data->points.count; p++)
    data->values[p] += (data->noise ? data->noise[p] : noise) * rpinn_stream_normal(&stream);
  return RPINN_OK;
}

/* Rows that somebody else has made. */
static RpinnStatus take_replaced(Builder *builder, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  const RpinnReplacedRows *rows = &builder->problem->replaced[index];
  RpinnTermData *data = &builder->data->terms[index];
  RPINN_TRY(allocate_points(builder, rows->count, &data->points));
  if (rows->count)
    memcpy(data->points.x, rows->x, rows->count * builder->problem->num_coordinates * sizeof(double));
  if (term->source == RPINN_DATA_GAUSSIAN)
    RPINN_TRY(rpinn_gaussian_term_fill(builder->context, builder->data->arena, builder->problem, term, data));
  else
    RPINN_TRY(allocate_values(builder, data));
  if (rows->values && rows->count) memcpy(data->values, rows->values, rows->count * sizeof(double));
  data->from_file = rows->is_measured;
  data->missing = !rows->values && term->source != RPINN_DATA_GAUSSIAN;
  if (!rows->noise) return RPINN_OK;
  data->noise = RPINN_ARENA_NEW(builder->data->arena, double, rows->count);
  if (!data->noise) return rpinn_fail_memory(builder->context);
  memcpy(data->noise, rows->noise, rows->count * sizeof(double));
  data->noise_from_file = true;
  return RPINN_OK;
}

/* ---- the whole ---- */

static RpinnStatus read_all(Builder *builder) {
  RPINN_TRY(rpinn_problem_table_read(builder->context, builder->data->arena, builder->problem,
                                     builder->problem->data_file, builder->problem->data_place,
                                     &builder->all));
  return check_table_of_terms(builder, builder->all);
}

/* Terms that others point at with same_as come first: visit a term after the one that it refers to. */
static RpinnStatus make_term(Builder *builder, size_t index, uint8_t *done) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  bool is_gaussian = term->source == RPINN_DATA_GAUSSIAN;
  if (done[index]) return RPINN_OK;
  done[index] = 1;
  if (builder->problem->replaced) return take_replaced(builder, index);
  if (builder->all && !is_gaussian) return take_rows_of_term(builder, builder->all, index, true);
  if (term->at.sampling == RPINN_POINTS_SAME_AS) RPINN_TRY(make_term(builder, term->at.term, done));
  if (term->at.sampling != RPINN_POINTS_OF_DATA)
    RPINN_TRY(make_points(builder, &term->at, (uint32_t)index, &data->points));
  if (is_gaussian)
    return rpinn_gaussian_term_fill(builder->context, builder->data->arena, builder->problem, term, data);
  return make_values(builder, index);
}

/* Are the values, however they came, those of the term's expression? A table of all data has those of tolerances, too. */
static RpinnStatus find_exact(Builder *builder, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  data->is_exact = term->source == RPINN_DATA_EXPRESSION && !term->perturb && !data->missing;
  for (size_t p = 0; p < data->points.count && data->is_exact; p++) {
    RpinnExpressionInputs inputs = {.coordinates = data->points.x + p * builder->problem->num_coordinates};
    double stated;
    if (rpinn_expression_evaluate(builder->problem->pool, term->data.expression, &inputs, &stated) !=
        RPINN_OK)
      return rpinn_fail_memory(builder->context);
    data->is_exact = stated == data->values[p];
  }
  return RPINN_OK;
}

/* Noise of data that were read, where it is an expression and no column; and what is typical of it. */
static RpinnStatus settle_noise(Builder *builder, size_t index) {
  const RpinnTerm *term = &builder->problem->terms[index];
  RpinnTermData *data = &builder->data->terms[index];
  if (!data->noise)
    RPINN_TRY(rpinn_row_noise_evaluate(builder->context, builder->data->arena, builder->problem, term, data));
  data->typical_noise = rpinn_row_noise_typical(term, data);
  return RPINN_OK;
}

static RpinnStatus make_predictions(Builder *builder) {
  RpinnProblem *problem = builder->problem;
  RpinnDataSet *data = builder->data;
  if (!problem->has_predict) return RPINN_OK;
  RPINN_TRY(make_points(builder, &problem->predict_at, PREDICT_PART, &data->predict));
  data->predicted_truth = RPINN_ARENA_NEW(data->arena, double *, problem->num_predicted);
  if (!data->predicted_truth) return rpinn_fail_memory(builder->context);
  for (size_t i = 0; i < problem->num_predicted; i++) {
    const RpinnNamedExpression *predicted = &problem->predicted[i];
    RpinnExpression expression;
    if (!rpinn_truth_find(&data->truth, predicted->name, predicted->expression, &expression)) continue;
    data->predicted_truth[i] = RPINN_ARENA_NEW(data->arena, double, data->predict.count);
    if (!data->predicted_truth[i]) return rpinn_fail_memory(builder->context);
    RPINN_TRY(rpinn_truth_evaluate(builder->context, &data->truth, expression, &data->predict,
                                   predicted->name, predicted->place, data->predicted_truth[i]));
  }
  return RPINN_OK;
}

static RpinnStatus build(Builder *builder) {
  RpinnProblem *problem = builder->problem;
  RpinnDataSet *data = builder->data;
  RPINN_TRY(rpinn_truth_create(builder->context, data->arena, problem, &data->truth));
  data->terms = RPINN_ARENA_NEW(data->arena, RpinnTermData, problem->num_terms);
  uint8_t *done = RPINN_ARENA_NEW(data->arena, uint8_t, problem->num_terms);
  if (!data->terms || !done) return rpinn_fail_memory(builder->context);
  if (problem->data_file && !problem->replaced) RPINN_TRY(read_all(builder));
  for (size_t i = 0; i < problem->num_terms; i++) {
    RPINN_TRY(make_term(builder, i, done));
    RPINN_TRY(settle_noise(builder, i));
    RPINN_TRY(find_exact(builder, i));
    if (!data->terms[i].mix) data->terms[i].num_rows = data->terms[i].points.count;
  }
  RPINN_TRY(make_predictions(builder));
  return rpinn_expression_pool_status(builder->context, problem->pool);
}

RpinnStatus rpinn_data_set_create(RpinnContext *context, RpinnProblem *problem, bool data_required,
                                  RpinnDataSet **data) {
  RpinnArena *arena = rpinn_arena_create();
  *data = arena ? RPINN_ARENA_NEW(arena, RpinnDataSet, 1) : NULL;
  if (!*data) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  **data = (RpinnDataSet){.arena = arena, .problem = problem};
  Builder builder = {.context = context, .problem = problem, .data = *data, .data_required = data_required};
  builder.points_seed = rpinn_settings_seed(&problem->settings, RPINN_SETTING_POINTS_SEED);
  builder.noise_seed = rpinn_settings_seed(&problem->settings, RPINN_SETTING_NOISE_SEED);
  RpinnStatus status = build(&builder);
  if (status != RPINN_OK) {
    rpinn_data_set_destroy(*data);
    *data = NULL;
  }
  return status;
}

void rpinn_data_set_destroy(RpinnDataSet *data) {
  if (data) rpinn_arena_destroy(data->arena); /* the data set itself lives in it */
}

bool rpinn_term_data_is_measured(const RpinnTerm *term, const RpinnTermData *data) {
  switch (term->source) {
  case RPINN_DATA_GAUSSIAN: return false;
  case RPINN_DATA_EXPRESSION: return term->perturb || (data->from_file && !data->is_exact);
  case RPINN_DATA_TRUTH:
  case RPINN_DATA_CSV: break;
  }
  return true;
}

double rpinn_data_set_noise(const RpinnDataSet *data, size_t term, size_t point) {
  return data->terms[term].noise ? data->terms[term].noise[point] : data->terms[term].typical_noise;
}

static void write_point(const RpinnProblem *problem, const double *x, RpinnText *csv) {
  char number[RPINN_NUMBER_TEXT];
  for (size_t i = 0; i < problem->num_coordinates; i++) {
    rpinn_number_format(x[i], number);
    rpinn_text_append(csv, "%s%s", i ? "," : "", number);
  }
}

static void write_coordinate_names(const RpinnProblem *problem, RpinnText *csv) {
  for (size_t i = 0; i < problem->num_coordinates; i++)
    rpinn_text_append(csv, "%s%s", i ? "," : "", problem->coordinates[i].name);
}

void rpinn_data_set_write(const RpinnDataSet *data, RpinnText *csv) {
  const RpinnProblem *problem = data->problem;
  bool has_noise = false;
  for (size_t t = 0; t < problem->num_terms; t++) has_noise |= data->terms[t].noise_from_file;
  rpinn_text_append(csv, "term,");
  write_coordinate_names(problem, csv);
  rpinn_text_append(csv, has_noise ? ",value,noise\n" : ",value\n");
  for (size_t t = 0; t < problem->num_terms; t++) {
    if (data->terms[t].missing || data->terms[t].mix) continue;
    for (size_t p = 0; p < data->terms[t].points.count; p++) {
      char number[RPINN_NUMBER_TEXT];
      rpinn_text_append(csv, "%s,", problem->terms[t].name);
      write_point(problem, data->terms[t].points.x + p * problem->num_coordinates, csv);
      rpinn_number_format(data->terms[t].values[p], number);
      rpinn_text_append(csv, ",%s%s", number, has_noise ? "," : "");
      if (data->terms[t].noise_from_file) {
        rpinn_number_format(data->terms[t].noise[p], number);
        rpinn_text_append(csv, "%s", number);
      }
      rpinn_text_append(csv, "\n");
    }
  }
}

void rpinn_point_set_write(const RpinnProblem *problem, const RpinnPointSet *points, RpinnText *csv) {
  write_coordinate_names(problem, csv);
  rpinn_text_append(csv, "\n");
  for (size_t p = 0; p < points->count; p++) {
    write_point(problem, points->x + p * problem->num_coordinates, csv);
    rpinn_text_append(csv, "\n");
  }
}
