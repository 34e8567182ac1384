/* A variable with the dimensions (chain, draw, …) is cut into chunks of whole draws. The file buffers one
 * chunk of each and writes it when it is full or its chain ends, so that HDF5 sees every chunk once, in an
 * order that follows from the order of the draws alone, and needs no cache.
 *
 * HDF5 crashes when the program ends if a file could not be closed because the disk was full. So the disk is
 * asked for room before HDF5 sees the file, and the room is set aside while it writes. */
#include "posterior_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netcdf.h>

#include "part_file.h"
#include "rpinn/version.h"
#include "tensor_grid.h"

enum {
  CHUNK_BYTES = 1 << 17,
  MAX_ROW_DIMENSIONS = RPINN_MAX_COORDINATES,
  MAX_DIMENSIONS = 2 + MAX_ROW_DIMENSIONS, /* chain, draw, … */
  NAME_SIZE = NC_MAX_NAME + 1
};

/* A variable that gets a row of numbers with each draw. */
typedef struct DrawVariable {
  int group, id;
  nc_type type;
  size_t num_dimensions;             /* chain and draw included */
  size_t counts[MAX_ROW_DIMENSIONS]; /* of the row */
  size_t row;                        /* numbers in a row */
  size_t chunk;                      /* rows in a chunk */
  size_t num_buffered;
  unsigned char *buffer; /* [chunk][row] of type */
} DrawVariable;

/* The group with its dimensions that is being defined. */
typedef struct Group {
  int id, chain, draw;
} Group;

/* Parameters and statistics of draws, in a pair of groups: posterior and sample_stats, or those of the warmup. */
typedef struct DrawSet {
  size_t num_draws, num_added;
  DrawVariable *fields;   /* [num_fields] */
  DrawVariable *unknowns; /* [num_unknowns] */
  DrawVariable *noises;   /* [num_noises] */
  DrawVariable member;
  DrawVariable *statistics; /* [num_statistics] */
} DrawSet;

struct RpinnPosteriorFile {
  RpinnArena *arena;
  const RpinnPosterior *posterior;
  char *path, *part;
  int root;
  bool is_open, is_finished;
  const char *method;
  size_t num_chains, num_draws, num_kept, num_statistics, keep_every;
  DrawSet draws, warmup;
  DrawVariable *unconstrained;  /* [num_unknowns + num_noises] where they have a transform */
  DrawVariable *log_likelihood; /* [model.num_terms] */
  DrawVariable *predictions;    /* [num_predicted]; NULL: none are kept */
  /* Where predictions lie: their dimensions, slowest first, and the place of each point there. */
  size_t num_axes;
  const char *axis_names[MAX_ROW_DIMENSIONS];
  const double *axes[MAX_ROW_DIMENSIONS]; /* NULL: numbered from 0 */
  size_t axis_counts[MAX_ROW_DIMENSIONS];
  const size_t *slots;    /* [num_points]; NULL: in order */
  double *sorted_numbers; /* [num_points] */
};

static char *copy_text(const char *text) {
  char *copy = malloc(strlen(text) + 1);
  return copy ? memcpy(copy, text, strlen(text) + 1) : NULL;
}

/* ---- failures ---- */

/* NetCDF hides the reason of HDF5's failures; errno still knows it. */
static RpinnStatus fail_netcdf(RpinnContext *context, const RpinnPosteriorFile *file, int code) {
  int reason = errno;
  if (code == NC_ENOMEM) return rpinn_fail_memory(context);
  bool hidden = code == NC_EHDFERR || code == NC_EIO;
  const char *text = hidden && reason ? strerror(reason) : nc_strerror(code);
  return rpinn_fail(context, RPINN_ERROR_IO, "cannot write '%s': %s", file->path, text);
}

#define TRY_NETCDF(call)                                                                                     \
  do {                                                                                                       \
    errno = 0;                                                                                               \
    int try_code = (call);                                                                                   \
    if (try_code != NC_NOERR) return fail_netcdf(context, file, try_code);                                   \
  } while (0)

/* ---- names, dimensions, attributes ---- */

static RpinnStatus put_text(RpinnContext *context, RpinnPosteriorFile *file, int group, int variable,
                            const char *name, const char *text) {
  TRY_NETCDF(nc_put_att_text(group, variable, name, strlen(text), text));
  return RPINN_OK;
}

static RpinnStatus put_origin(RpinnContext *context, RpinnPosteriorFile *file, int group) {
  RPINN_TRY(put_text(context, file, group, NC_GLOBAL, "inference_library", "rpinn"));
  RPINN_TRY(put_text(context, file, group, NC_GLOBAL, "inference_library_version", rpinn_version()));
  RPINN_TRY(put_text(context, file, group, NC_GLOBAL, "creation_library", "rpinn"));
  RPINN_TRY(put_text(context, file, group, NC_GLOBAL, "creation_library_version", rpinn_version()));
  RPINN_TRY(put_text(context, file, group, NC_GLOBAL, "creation_library_language", "C"));
  return put_text(context, file, group, NC_GLOBAL, "method", file->method);
}

static RpinnStatus define_group(RpinnContext *context, RpinnPosteriorFile *file, const char *name,
                                int *group) {
  TRY_NETCDF(nc_def_grp(file->root, name, group));
  return put_origin(context, file, *group);
}

/* first + second, with underscores at the end until nothing in the group has the name: every dimension has a variable of
 * its own name. */
static void free_name(int group, const char *first, const char *second, char name[NAME_SIZE]) {
  int id;
  int length = snprintf(name, NAME_SIZE, "%.120s%.120s", first, second);
  while (length < NC_MAX_NAME && nc_inq_varid(group, name, &id) == NC_NOERR) {
    name[length++] = '_';
    name[length] = '\0';
  }
}

/* A dimension with its coordinate variable: values, or 0, step, 2 step, … for NULL. */
static RpinnStatus define_dimension(RpinnContext *context, RpinnPosteriorFile *file, int group,
                                    const char *first, const char *second, size_t count, const double *values,
                                    int64_t step, int *dimension) {
  char name[NAME_SIZE];
  int variable;
  free_name(group, first, second, name);
  TRY_NETCDF(nc_def_dim(group, name, count, dimension));
  TRY_NETCDF(nc_def_var(group, name, values ? NC_DOUBLE : NC_INT64, 1, dimension, &variable));
  if (values) {
    TRY_NETCDF(nc_put_var_double(group, variable, values));
    return RPINN_OK;
  }
  long long *numbers = malloc((count ? count : 1) * sizeof *numbers);
  if (!numbers) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) numbers[i] = (long long)i * step;
  errno = 0;
  int code = nc_put_var_longlong(group, variable, numbers);
  RpinnStatus status = code == NC_NOERR ? RPINN_OK : fail_netcdf(context, file, code);
  free(numbers);
  return status;
}

static RpinnStatus put_fill(RpinnContext *context, RpinnPosteriorFile *file, int group, int variable,
                            nc_type type) {
  double fill = (double)NAN;
  float float_fill = NAN;
  if (type == NC_DOUBLE) TRY_NETCDF(nc_def_var_fill(group, variable, NC_FILL, &fill));
  if (type == NC_FLOAT) TRY_NETCDF(nc_def_var_fill(group, variable, NC_FILL, &float_fill));
  return RPINN_OK;
}

/* Numbers that do not depend on the draw. */
static RpinnStatus write_constant(RpinnContext *context, RpinnPosteriorFile *file, int group,
                                  const char *first, const char *second, size_t num_dimensions,
                                  const int *dimensions, const double *values) {
  char name[NAME_SIZE];
  int variable;
  free_name(group, first, second, name);
  TRY_NETCDF(nc_def_var(group, name, NC_DOUBLE, (int)num_dimensions, dimensions, &variable));
  RPINN_TRY(put_fill(context, file, group, variable, NC_DOUBLE));
  TRY_NETCDF(nc_put_var_double(group, variable, values));
  return RPINN_OK;
}

/* ---- variables of draws ---- */

static size_t type_size(nc_type type) {
  return type == NC_DOUBLE || type == NC_INT64 ? 8 : type == NC_FLOAT ? 4 : 1;
}

/* Of the parameters of networks. */
static nc_type real_type(const RpinnPosterior *posterior) {
  return posterior->precision == RPINN_PRECISION_DOUBLE ? NC_DOUBLE : NC_FLOAT;
}

/* Rows in a chunk. */
static size_t chunk_rows(size_t row_bytes, size_t num_draws) {
  size_t rows = row_bytes < CHUNK_BYTES ? CHUNK_BYTES / row_bytes : 1;
  return rows < num_draws ? rows : num_draws;
}

static RpinnStatus define_draw_group(RpinnContext *context, RpinnPosteriorFile *file, const char *name,
                                     size_t num_draws, size_t step, Group *group) {
  RPINN_TRY(define_group(context, file, name, &group->id));
  RPINN_TRY(
      define_dimension(context, file, group->id, "chain", "", file->num_chains, NULL, 1, &group->chain));
  return define_dimension(context, file, group->id, "draw", "", num_draws, NULL, (int64_t)step, &group->draw);
}

static RpinnStatus define_variable(RpinnContext *context, RpinnPosteriorFile *file, const Group *group,
                                   const char *first, const char *second, nc_type type, size_t num_axes,
                                   const int *axes, DrawVariable *variable) {
  char name[NAME_SIZE];
  int dimensions[MAX_DIMENSIONS] = {group->chain, group->draw};
  size_t chunks[MAX_DIMENSIONS] = {1}, num_draws;
  *variable = (DrawVariable){.group = group->id, .type = type, .num_dimensions = 2 + num_axes, .row = 1};
  for (size_t i = 0; i < num_axes; i++) {
    dimensions[2 + i] = axes[i];
    TRY_NETCDF(nc_inq_dimlen(group->id, axes[i], &variable->counts[i]));
    chunks[2 + i] = variable->counts[i];
    variable->row *= variable->counts[i];
  }
  TRY_NETCDF(nc_inq_dimlen(group->id, group->draw, &num_draws));
  size_t row_bytes = variable->row * type_size(type);
  variable->chunk = chunk_rows(row_bytes, num_draws);
  chunks[1] = variable->chunk;
  variable->buffer = rpinn_arena_allocate(file->arena, variable->chunk, row_bytes);
  if (!variable->buffer) return rpinn_fail_memory(context);

  free_name(group->id, first, second, name);
  TRY_NETCDF(nc_def_var(group->id, name, type, 2 + (int)num_axes, dimensions, &variable->id));
  TRY_NETCDF(nc_def_var_chunking(group->id, variable->id, NC_CHUNKED, chunks));
  /* Whole chunks are written once: a cache for one is enough, and the default would take 16 MB of each. */
  TRY_NETCDF(nc_set_var_chunk_cache(group->id, variable->id, variable->chunk * row_bytes, 1, 0.75F));
  if (type == NC_BYTE) return put_text(context, file, group->id, variable->id, "dtype", "bool");
  return put_fill(context, file, group->id, variable->id, type);
}

static RpinnStatus write_chunk(RpinnContext *context, RpinnPosteriorFile *file, DrawVariable *variable,
                               size_t chain, size_t end_draw) {
  size_t start[MAX_DIMENSIONS] = {chain, end_draw - variable->num_buffered};
  size_t count[MAX_DIMENSIONS] = {1, variable->num_buffered};
  for (size_t i = 2; i < variable->num_dimensions; i++) count[i] = variable->counts[i - 2];
  TRY_NETCDF(nc_put_vara(variable->group, variable->id, start, count, variable->buffer));
  variable->num_buffered = 0;
  return RPINN_OK;
}

static void convert_row(const DrawVariable *variable, const double *values) {
  void *row = variable->buffer + variable->num_buffered * variable->row * type_size(variable->type);
  switch (variable->type) {
  case NC_DOUBLE: memcpy(row, values, variable->row * sizeof *values); break;
  case NC_FLOAT:
    for (size_t i = 0; i < variable->row; i++) ((float *)row)[i] = (float)values[i];
    break;
  case NC_INT64:
    for (size_t i = 0; i < variable->row; i++) ((int64_t *)row)[i] = (int64_t)values[i];
    break;
  default:
    for (size_t i = 0; i < variable->row; i++) ((signed char *)row)[i] = values[i] != 0;
  }
}

/* values [row] of draw number `draw` of num_draws in the chain. */
static RpinnStatus add_row(RpinnContext *context, RpinnPosteriorFile *file, DrawVariable *variable,
                           size_t chain, size_t draw, size_t num_draws, const double *values) {
  convert_row(variable, values);
  variable->num_buffered++;
  bool is_full = variable->num_buffered == variable->chunk || draw + 1 == num_draws;
  return is_full ? write_chunk(context, file, variable, chain, draw + 1) : RPINN_OK;
}

/* ---- groups ---- */

static DrawVariable *new_variables(RpinnPosteriorFile *file, size_t count) {
  return RPINN_ARENA_NEW(file->arena, DrawVariable, count);
}

static RpinnStatus define_posterior(RpinnContext *context, RpinnPosteriorFile *file, const char *name,
                                    DrawSet *set) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  nc_type real = real_type(posterior);
  Group group;
  int dimensions[RPINN_MAX_FIELDS];
  RPINN_TRY(define_draw_group(context, file, name, set->num_draws, 1, &group));
  set->fields = new_variables(file, problem->num_fields);
  set->unknowns = new_variables(file, problem->num_unknowns);
  set->noises = new_variables(file, posterior->num_noises);
  if (!set->fields || !set->unknowns || !set->noises) return rpinn_fail_memory(context);
  for (size_t f = 0; f < problem->num_fields; f++)
    RPINN_TRY(define_dimension(context, file, group.id, problem->fields[f].name, "_parameter",
                               posterior->networks[f].num_trainable, NULL, 1, &dimensions[f]));
  for (size_t f = 0; f < problem->num_fields; f++)
    RPINN_TRY(define_variable(context, file, &group, problem->fields[f].name, "_parameters", real, 1,
                              &dimensions[f], &set->fields[f]));
  for (size_t k = 0; k < problem->num_unknowns; k++)
    RPINN_TRY(define_variable(context, file, &group, problem->unknowns[k].name, "", NC_DOUBLE, 0, NULL,
                              &set->unknowns[k]));
  for (size_t k = 0; k < posterior->num_noises; k++)
    RPINN_TRY(define_variable(context, file, &group, posterior->noises[k].name, "", NC_DOUBLE, 0, NULL,
                              &set->noises[k]));
  return RPINN_OK;
}

static RpinnStatus define_unconstrained(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnProblem *problem = file->posterior->problem;
  bool any = false;
  Group group;
  size_t num_unknowns = problem->num_unknowns, num_noises = file->posterior->num_noises;
  file->unconstrained = new_variables(file, num_unknowns + num_noises);
  if (!file->unconstrained) return rpinn_fail_memory(context);
  for (size_t k = 0; k < num_unknowns + num_noises; k++) {
    bool is_noise = k >= num_unknowns;
    if (!is_noise && problem->unknowns[k].transform == RPINN_TRANSFORM_NONE) continue;
    if (!any)
      RPINN_TRY(define_draw_group(context, file, "unconstrained_posterior", file->num_draws, 1, &group));
    any = true;
    const char *name = is_noise ? file->posterior->noises[k - num_unknowns].name : problem->unknowns[k].name;
    RPINN_TRY(define_variable(context, file, &group, name, "", NC_DOUBLE, 0, NULL, &file->unconstrained[k]));
  }
  return RPINN_OK;
}

static RpinnStatus define_statistics(RpinnContext *context, RpinnPosteriorFile *file, const char *name,
                                     const RpinnPosteriorFileOptions *options, DrawSet *set) {
  Group group;
  RPINN_TRY(define_draw_group(context, file, name, set->num_draws, 1, &group));
  set->statistics = new_variables(file, options->num_statistics);
  if (!set->statistics) return rpinn_fail_memory(context);
  RPINN_TRY(define_variable(context, file, &group, "member", "", NC_INT64, 0, NULL, &set->member));
  for (size_t s = 0; s < options->num_statistics; s++) {
    nc_type type = options->statistic_is_boolean && options->statistic_is_boolean[s] ? NC_BYTE : NC_DOUBLE;
    RPINN_TRY(define_variable(context, file, &group, options->statistic_names[s], "", type, 0, NULL,
                              &set->statistics[s]));
  }
  return RPINN_OK;
}

/* A gaussian term is a prior: it has points, but no data and no likelihood. */
static bool has_data(const RpinnPosterior *posterior, size_t term) {
  return !posterior->terms[term].mix;
}

/* The dimensions <term>_point of all fitted terms, or of those with data; dimensions [model.num_terms] in the arena. */
static RpinnStatus define_term_points(RpinnContext *context, RpinnPosteriorFile *file, int group,
                                      bool data_only, int **dimensions) {
  const RpinnPosterior *posterior = file->posterior;
  *dimensions = RPINN_ARENA_NEW(file->arena, int, posterior->model.num_terms);
  if (!*dimensions) return rpinn_fail_memory(context);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (!data_only || has_data(posterior, t))
      RPINN_TRY(define_dimension(context, file, group, rpinn_posterior_term_name(posterior, t), "_point",
                                 posterior->terms[t].num_points, NULL, 1, &(*dimensions)[t]));
  return RPINN_OK;
}

static RpinnStatus define_log_likelihood(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  Group group;
  int *dimensions;
  RPINN_TRY(define_draw_group(context, file, "log_likelihood", file->num_draws, 1, &group));
  RPINN_TRY(define_term_points(context, file, group.id, true, &dimensions));
  file->log_likelihood = new_variables(file, posterior->model.num_terms);
  if (!file->log_likelihood) return rpinn_fail_memory(context);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (has_data(posterior, t))
      RPINN_TRY(define_variable(context, file, &group, rpinn_posterior_term_name(posterior, t), "", NC_DOUBLE,
                                1, &dimensions[t], &file->log_likelihood[t]));
  return RPINN_OK;
}

/* How predictions are laid out: along x, over the axes of a grid, or point by point. */
static RpinnStatus arrange_predictions(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnProblem *problem = file->posterior->problem;
  const RpinnPointSet *points = &file->posterior->data->predict;
  file->sorted_numbers = RPINN_ARENA_NEW(file->arena, double, points->count);
  if (!file->sorted_numbers) return rpinn_fail_memory(context);
  file->num_axes = 1;
  file->axis_counts[0] = points->count;
  if (problem->num_coordinates == 1) {
    file->axis_names[0] = problem->coordinates[0].name;
    file->axes[0] = points->x;
    return RPINN_OK;
  }
  RpinnTensorGrid grid;
  bool is_grid;
  RPINN_TRY(rpinn_tensor_grid_find(context, file->arena, problem->num_coordinates, points, &grid, &is_grid));
  file->axis_names[0] = "point";
  if (!is_grid) return RPINN_OK;
  file->num_axes = problem->num_coordinates;
  file->slots = grid.slots;
  for (size_t i = 0; i < file->num_axes; i++) {
    size_t coordinate = file->num_axes - 1 - i;
    file->axis_names[i] = problem->coordinates[coordinate].name;
    file->axes[i] = grid.axes[coordinate];
    file->axis_counts[i] = grid.counts[coordinate];
  }
  return RPINN_OK;
}

/* values [num_points] in the order of the file. */
static const double *arrange(const RpinnPosteriorFile *file, const double *values) {
  if (!file->slots) return values;
  for (size_t p = 0; p < file->posterior->data->predict.count; p++)
    file->sorted_numbers[file->slots[p]] = values[p];
  return file->sorted_numbers;
}

static RpinnStatus define_axes(RpinnContext *context, RpinnPosteriorFile *file, int group,
                               int axes[MAX_ROW_DIMENSIONS]) {
  for (size_t i = 0; i < file->num_axes; i++)
    RPINN_TRY(define_dimension(context, file, group, file->axis_names[i], "", file->axis_counts[i],
                               file->axes[i], 1, &axes[i]));
  return RPINN_OK;
}

static RpinnStatus define_predictions(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnProblem *problem = file->posterior->problem;
  Group group;
  int axes[MAX_ROW_DIMENSIONS];
  RPINN_TRY(define_draw_group(context, file, "predictions", file->num_kept, file->keep_every, &group));
  RPINN_TRY(define_axes(context, file, group.id, axes));
  file->predictions = new_variables(file, problem->num_predicted);
  if (!file->predictions) return rpinn_fail_memory(context);
  for (size_t q = 0; q < problem->num_predicted; q++)
    RPINN_TRY(define_variable(context, file, &group, problem->predicted[q].name, "", NC_DOUBLE,
                              file->num_axes, axes, &file->predictions[q]));
  return RPINN_OK;
}

/* Coordinate `coordinate` of points as a variable of one dimension. */
static RpinnStatus write_coordinate(RpinnContext *context, RpinnPosteriorFile *file, int group,
                                    const char *first, size_t coordinate, size_t num_points,
                                    const double *points, int dimension) {
  const RpinnProblem *problem = file->posterior->problem;
  double *values = malloc((num_points ? num_points : 1) * sizeof *values);
  if (!values) return rpinn_fail_memory(context);
  for (size_t p = 0; p < num_points; p++) values[p] = points[p * problem->num_coordinates + coordinate];
  RpinnStatus status = write_constant(context, file, group, first, problem->coordinates[coordinate].name, 1,
                                      &dimension, values);
  free(values);
  return status;
}

static RpinnStatus write_predictions_constant_data(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnProblem *problem = file->posterior->problem;
  const RpinnDataSet *data = file->posterior->data;
  int group, axes[MAX_ROW_DIMENSIONS];
  RPINN_TRY(define_group(context, file, "predictions_constant_data", &group));
  RPINN_TRY(define_axes(context, file, group, axes));
  for (size_t i = 0; !file->axes[0] && i < problem->num_coordinates; i++)
    RPINN_TRY(write_coordinate(context, file, group, "", i, data->predict.count, data->predict.x, axes[0]));
  for (size_t q = 0; q < problem->num_predicted; q++)
    if (data->predicted_truth[q])
      RPINN_TRY(write_constant(context, file, group, problem->predicted[q].name, "_truth", file->num_axes,
                               axes, arrange(file, data->predicted_truth[q])));
  return RPINN_OK;
}

static RpinnStatus write_observed_data(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  int group, *dimensions;
  RPINN_TRY(define_group(context, file, "observed_data", &group));
  RPINN_TRY(define_term_points(context, file, group, true, &dimensions));
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (has_data(posterior, t))
      RPINN_TRY(write_constant(context, file, group, rpinn_posterior_term_name(posterior, t), "", 1,
                               &dimensions[t], posterior->terms[t].targets));
  return RPINN_OK;
}

static RpinnStatus write_constant_data(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  int group, *dimensions;
  RPINN_TRY(define_group(context, file, "constant_data", &group));
  RPINN_TRY(define_term_points(context, file, group, false, &dimensions));
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    const RpinnTermModel *term = &posterior->terms[t];
    char first[NAME_SIZE];
    snprintf(first, sizeof first, "%.119s_", rpinn_posterior_term_name(posterior, t));
    for (size_t i = 0; i < posterior->model.num_coordinates; i++)
      RPINN_TRY(
          write_coordinate(context, file, group, first, i, term->num_points, term->points, dimensions[t]));
    double sigma = rpinn_posterior_term_sigma(posterior, t);
    const double *sigmas = posterior->sigmas.rows[posterior->fitted[t]];
    if (has_data(posterior, t))
      RPINN_TRY(write_constant(context, file, group, first, "sigma", sigmas ? 1 : 0, &dimensions[t],
                               sigmas ? sigmas : &sigma));
    else
      RPINN_TRY(write_constant(context, file, group, first, "mean", 1, &dimensions[t], term->targets));
  }
  double sigma = rpinn_posterior_prior_sigma(posterior);
  return write_constant(context, file, group, "prior_sigma", "", 0, NULL, &sigma);
}

/* ---- room on the disk ---- */

/* Bytes of a variable of draws: whole chunks with their index, and its description. */
static size_t variable_bytes(const RpinnPosteriorFile *file, size_t num_draws, size_t row_bytes) {
  enum { DESCRIPTION = 8192, INDEX = 256 };
  size_t rows = chunk_rows(row_bytes, num_draws), num_chunks = (num_draws + rows - 1) / rows;
  return file->num_chains * num_chunks * (rows * row_bytes + INDEX) + DESCRIPTION;
}

/* No less than the file will have, and little more. */
static size_t largest_size(const RpinnPosteriorFile *file) {
  enum { BASE = 1 << 20, NUM_DRAW_GROUPS = 7, NUM_DIAGNOSTICS = 3 };
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  size_t num_points = problem->has_predict ? posterior->data->predict.count : 0;
  size_t num_copies = problem->num_coordinates + 3; /* of points among the data that do not depend on draws */
  size_t num_compared = 0;
  for (size_t t = 0; t < posterior->model.num_terms; t++) num_compared += posterior->terms[t].num_points;
  size_t numbers =
      (num_compared + num_points) * num_copies +
      (1 + NUM_DIAGNOSTICS) * (num_points * problem->num_predicted + 2 * posterior->model.num_parameters) +
      NUM_DRAW_GROUPS * (file->num_draws + file->warmup.num_draws + file->num_chains);
  size_t size = BASE + numbers * sizeof(double), real_size = type_size(real_type(posterior));
  const DrawSet *sets[] = {&file->draws, &file->warmup};
  size_t num_scalars = 2 * (problem->num_unknowns + posterior->num_noises) + 1 + file->num_statistics;
  for (size_t k = 0; k < 2 && sets[k]->num_draws; k++) {
    for (size_t f = 0; f < problem->num_fields; f++)
      size += variable_bytes(file, sets[k]->num_draws, posterior->networks[f].num_trainable * real_size);
    size += num_scalars * variable_bytes(file, sets[k]->num_draws, sizeof(double));
  }
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    size += variable_bytes(file, file->num_draws, posterior->terms[t].num_points * sizeof(double));
  if (file->num_kept && num_points)
    size += problem->num_predicted * variable_bytes(file, file->num_kept, num_points * sizeof(double));
  return size;
}

static RpinnStatus define_all(RpinnContext *context, RpinnPosteriorFile *file,
                              const RpinnPosteriorFileOptions *options) {
  size_t size = largest_size(file);
  RPINN_TRY(rpinn_part_file_create(context, file->part, size));
  TRY_NETCDF(nc_create(file->part, NC_NETCDF4 | NC_CLOBBER, &file->root));
  file->is_open = true;
  rpinn_part_file_reserve(file->part, size);
  RPINN_TRY(put_origin(context, file, file->root));
  RPINN_TRY(put_text(context, file, file->root, NC_GLOBAL, "name", file->posterior->problem->name));
  RPINN_TRY(define_posterior(context, file, "posterior", &file->draws));
  RPINN_TRY(define_unconstrained(context, file));
  RPINN_TRY(define_statistics(context, file, "sample_stats", options, &file->draws));
  if (file->warmup.num_draws) {
    RPINN_TRY(define_posterior(context, file, "warmup_posterior", &file->warmup));
    RPINN_TRY(define_statistics(context, file, "warmup_sample_stats", options, &file->warmup));
  }
  RPINN_TRY(define_log_likelihood(context, file));
  if (file->posterior->problem->has_predict) {
    RPINN_TRY(arrange_predictions(context, file));
    if (file->keep_every) RPINN_TRY(define_predictions(context, file));
    RPINN_TRY(write_predictions_constant_data(context, file));
  }
  RPINN_TRY(write_observed_data(context, file));
  return write_constant_data(context, file);
}

/* HDF5 1.10 crashes where there is no memory for the cache of a new file, so it is asked for before. */
static bool has_room_for_file(void) {
  enum { ROOM = 16 << 20 };
  volatile char *room = malloc(ROOM); /* volatile: an allocation that nobody looks at may be left out */
  if (room) room[0] = 0;
  free((void *)room);
  return room;
}

RpinnStatus rpinn_posterior_file_create(RpinnContext *context, const char *path,
                                        const RpinnPosterior *posterior,
                                        const RpinnPosteriorFileOptions *options,
                                        RpinnPosteriorFile **result) {
  *result = NULL;
  if (options->num_chains == 0 || options->num_draws == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no draws to write to '%s'", path);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (posterior->terms[t].num_points == 0)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "term '%s' has no data",
                        rpinn_posterior_term_name(posterior, t));
  RpinnPosteriorFile *file = has_room_for_file() ? calloc(1, sizeof *file) : NULL;
  if (!file) return rpinn_fail_memory(context);
  *file = (RpinnPosteriorFile){.arena = rpinn_arena_create(),
                               .posterior = posterior,
                               .path = copy_text(path),
                               .part = rpinn_part_file_path(path),
                               .method = options->method,
                               .num_chains = options->num_chains,
                               .num_draws = options->num_draws,
                               .draws = {.num_draws = options->num_draws},
                               .warmup = {.num_draws = options->num_warmup},
                               .num_statistics = options->num_statistics,
                               .keep_every = options->keep_every};
  if (file->keep_every) file->num_kept = (file->num_draws - 1) / file->keep_every + 1;
  RpinnStatus status = file->arena && file->path && file->part ? define_all(context, file, options)
                                                               : rpinn_fail_memory(context);
  if (status != RPINN_OK) {
    rpinn_posterior_file_destroy(file);
    return status;
  }
  *result = file;
  return RPINN_OK;
}

/* ---- draws ---- */

/* Of a draw of the posterior; the warmup has no group of its own for values before their transform. */
static RpinnStatus add_unknowns(RpinnContext *context, RpinnPosteriorFile *file, DrawSet *set, size_t chain,
                                size_t draw, const double *parameters) {
  const RpinnPosterior *posterior = file->posterior;
  for (size_t k = 0; k < posterior->problem->num_unknowns; k++) {
    double value = parameters[posterior->model.unknown_start + k];
    if (posterior->problem->unknowns[k].transform == RPINN_TRANSFORM_LOG) {
      if (set == &file->draws)
        RPINN_TRY(add_row(context, file, &file->unconstrained[k], chain, draw, set->num_draws, &value));
      value = exp(value);
    }
    RPINN_TRY(add_row(context, file, &set->unknowns[k], chain, draw, set->num_draws, &value));
  }
  return RPINN_OK;
}

static RpinnStatus add_noises(RpinnContext *context, RpinnPosteriorFile *file, DrawSet *set, size_t chain,
                              size_t draw, const double *parameters) {
  const RpinnPosterior *posterior = file->posterior;
  DrawVariable *logarithms = file->unconstrained + posterior->problem->num_unknowns;
  for (size_t k = 0; k < posterior->num_noises; k++) {
    double eta = parameters[posterior->model.num_parameters + k], sigma = exp(eta);
    if (set == &file->draws)
      RPINN_TRY(add_row(context, file, &logarithms[k], chain, draw, set->num_draws, &eta));
    RPINN_TRY(add_row(context, file, &set->noises[k], chain, draw, set->num_draws, &sigma));
  }
  return RPINN_OK;
}

/* Parameters and statistics of the next draw of the set. */
static RpinnStatus add_draw(RpinnContext *context, RpinnPosteriorFile *file, DrawSet *set,
                            const RpinnPosteriorDraw *added) {
  const RpinnPosterior *posterior = file->posterior;
  size_t chain = set->num_draws ? set->num_added / set->num_draws : file->num_chains;
  size_t draw = set->num_draws ? set->num_added % set->num_draws : 0;
  double member = (double)added->member;
  if (chain == file->num_chains || added->chain != chain || added->draw != draw)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "draw %zu of chain %zu of '%s' came out of order; expected draw %zu of chain %zu",
                      (size_t)added->draw, (size_t)added->chain, file->path, draw, chain);
  for (size_t f = 0; f < posterior->problem->num_fields; f++)
    RPINN_TRY(add_row(context, file, &set->fields[f], chain, draw, set->num_draws,
                      added->parameters + posterior->networks[f].parameter_start));
  RPINN_TRY(add_unknowns(context, file, set, chain, draw, added->parameters));
  RPINN_TRY(add_noises(context, file, set, chain, draw, added->parameters));
  RPINN_TRY(add_row(context, file, &set->member, chain, draw, set->num_draws, &member));
  for (size_t s = 0; s < file->num_statistics; s++)
    RPINN_TRY(
        add_row(context, file, &set->statistics[s], chain, draw, set->num_draws, &added->statistics[s]));
  set->num_added++;
  return RPINN_OK;
}

static RpinnStatus add_predictions(RpinnContext *context, RpinnPosteriorFile *file, size_t chain, size_t draw,
                                   const double *values) {
  size_t num_points = file->posterior->data->predict.count;
  for (size_t q = 0; q < file->posterior->problem->num_predicted; q++)
    RPINN_TRY(add_row(context, file, &file->predictions[q], chain, draw / file->keep_every, file->num_kept,
                      arrange(file, values + q * num_points)));
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_add(RpinnContext *context, RpinnPosteriorFile *file,
                                     const RpinnPosteriorDraw *added) {
  const RpinnPosterior *posterior = file->posterior;
  size_t chain = added->chain, draw = added->draw;
  bool is_kept = file->predictions && draw % file->keep_every == 0;
  if (is_kept && !added->predictions)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "draw %zu of '%s' has no predictions", draw, file->path);
  RPINN_TRY(add_draw(context, file, &file->draws, added));
  const double *log_likelihood = added->log_likelihood;
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    if (has_data(posterior, t))
      RPINN_TRY(
          add_row(context, file, &file->log_likelihood[t], chain, draw, file->num_draws, log_likelihood));
    log_likelihood += posterior->terms[t].num_rows;
  }
  return is_kept ? add_predictions(context, file, chain, draw, added->predictions) : RPINN_OK;
}

RpinnStatus rpinn_posterior_file_add_warmup(RpinnContext *context, RpinnPosteriorFile *file,
                                            const RpinnPosteriorDraw *added) {
  return add_draw(context, file, &file->warmup, added);
}

/* ---- convergence ---- */

enum { NUM_MEASURES = 3 };
static const char *const measure_names[NUM_MEASURES] = {"_rhat", "_ess_bulk", "_ess_tail"};

static double get_measure(const RpinnConvergence *convergence, size_t measure) {
  const double values[NUM_MEASURES] = {convergence->rhat, convergence->ess_bulk, convergence->ess_tail};
  return values[measure];
}

/* One measure of scalars in a row; grid: they are predictions, to be arranged as such. */
static RpinnStatus write_measures(RpinnContext *context, RpinnPosteriorFile *file, int group,
                                  const char *name, size_t num_dimensions, const int *dimensions,
                                  bool is_prediction, size_t count, const RpinnConvergence *convergence) {
  double *values = malloc((count ? count : 1) * sizeof *values);
  RpinnStatus status = values ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t m = 0; m < NUM_MEASURES && status == RPINN_OK; m++) {
    for (size_t i = 0; i < count; i++) values[i] = get_measure(&convergence[i], m);
    status = write_constant(context, file, group, name, measure_names[m], num_dimensions, dimensions,
                            is_prediction ? arrange(file, values) : values);
  }
  free(values);
  return status;
}

RpinnStatus rpinn_posterior_file_add_convergence(RpinnContext *context, RpinnPosteriorFile *file,
                                                 const RpinnConvergence *parameters,
                                                 const RpinnConvergence *predictions) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  int group, dimension, axes[MAX_ROW_DIMENSIONS];
  RPINN_TRY(define_group(context, file, "diagnostics", &group));
  for (size_t f = 0; f < problem->num_fields; f++) {
    char name[NAME_SIZE];
    const RpinnNetwork *network = &posterior->networks[f];
    snprintf(name, sizeof name, "%.100s_parameters", problem->fields[f].name);
    RPINN_TRY(define_dimension(context, file, group, problem->fields[f].name, "_parameter",
                               network->num_trainable, NULL, 1, &dimension));
    RPINN_TRY(write_measures(context, file, group, name, 1, &dimension, false, network->num_trainable,
                             parameters + network->parameter_start));
  }
  for (size_t k = 0; k < problem->num_unknowns; k++)
    RPINN_TRY(write_measures(context, file, group, problem->unknowns[k].name, 0, NULL, false, 1,
                             parameters + posterior->model.unknown_start + k));
  for (size_t k = 0; k < posterior->num_noises; k++)
    RPINN_TRY(write_measures(context, file, group, posterior->noises[k].name, 0, NULL, false, 1,
                             parameters + posterior->model.num_parameters + k));
  if (!problem->has_predict) return RPINN_OK;
  RPINN_TRY(define_axes(context, file, group, axes));
  for (size_t q = 0; q < problem->num_predicted; q++)
    RPINN_TRY(write_measures(context, file, group, problem->predicted[q].name, file->num_axes, axes, true,
                             posterior->data->predict.count,
                             predictions + q * posterior->data->predict.count));
  return RPINN_OK;
}

/* ---- the end ---- */

RpinnStatus rpinn_posterior_file_finish(RpinnContext *context, RpinnPosteriorFile *file) {
  size_t added = file->draws.num_added + file->warmup.num_added;
  size_t expected = file->num_chains * (file->num_draws + file->warmup.num_draws);
  if (added != expected)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' has %zu draws; expected %zu", file->path, added,
                      expected);
  file->is_open = false;
  TRY_NETCDF(nc_close(file->root));
  RPINN_TRY(rpinn_part_file_finish(context, file->part, file->path));
  file->is_finished = true;
  return RPINN_OK;
}

void rpinn_posterior_file_destroy(RpinnPosteriorFile *file) {
  if (!file) return;
  if (file->is_open) nc_close(file->root);
  if (file->part && !file->is_finished) remove(file->part);
  rpinn_arena_destroy(file->arena);
  free(file->path);
  free(file->part);
  free(file);
}
