#include "cpu_factors.h"

#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "rpinn/optimize.h"

/* W of a layer in factors. */
typedef struct FactoredLayer {
  size_t field, parameter; /* where W begins in theta */
  size_t num_out, num_in;
  Real *bars, *inputs; /* [rows of the field][num_out], [rows of the field][num_in] */
} FactoredLayer;

/* Parameters that stand side by side in the vectors of rows. */
typedef struct Piece {
  size_t column, parameter, count;
} Piece;

/* What belongs to one field. */
typedef struct FieldFactors {
  size_t num_rows, num_runs;
  RpinnFactorRun *runs;   /* [num_runs] in the order of the results */
  size_t *layer_start;    /* [num_layers] columns */
  FactoredLayer **layers; /* [num_layers], NULL for those that stand in the vectors */
  Real **bars, **inputs;  /* [num_layers] where the block at hand puts its own */
} FieldFactors;

struct RpinnCpuFactors {
  RpinnArena *arena;
  FieldFactors *fields; /* [num_fields] */
  size_t num_layers, num_pieces, num_columns, unknown_column;
  FactoredLayer *layers; /* [num_layers] */
  Piece *pieces;         /* [num_pieces] */
  size_t max_rows, max_width, max_matrix, max_channels;
  Real *vectors;             /* [M][num_columns]; zeros stay where a row has no part of a field */
  Real *columns;             /* [num_columns] of a vector like theta */
  Real *products, *row_sums; /* [max_rows][max_width], [max_rows] */
  Real *matrix;              /* [max_matrix] */
  Real *panel;
  double *rows; /* [M] */
  /* ---- where this was: ---- */
  bool is_known;
  Real *theta;
  double *row_scale;
};

/* Where rows are so many that J is never made as a matrix, memory must not grow with them beyond this. */
static const double most_bytes = 67108864;

/* ---- which layers ---- */

/* Rows of J that a field has a part in, and their channels. */
static void count_rows(const RpinnCpuWork *work, size_t field, size_t *num_points, size_t *num_rows) {
  *num_points = *num_rows = 0;
  for (size_t s = 0; s < work->num_segments; s++) {
    const RpinnSegment *segment = &work->segments[s];
    size_t channels = work->shapes[segment->item * work->model->num_fields + field].num_channels;
    *num_points += channels ? segment->num_points : 0;
    *num_rows += channels * segment->num_points;
  }
}

/* Beside its products J takes time to be made and read: a third of them, as measured on small and on large problems. */
static bool is_worth_it(const RpinnCpuWork *work, size_t field, size_t layer) {
  const RpinnNetwork *network = &work->model->networks[field];
  const double whole = 4.0 / 3;
  size_t num_points, num_rows;
  if (layer == 0 || layer + 1 == network->num_layers || network->output_only) return false;
  count_rows(work, field, &num_points, &num_rows);
  double in = (double)network->width[layer], out = (double)network->width[layer + 1];
  double rows = (double)num_rows, points = (double)num_points;
  return rows * rows * (in + out) < whole * points * points * in * out;
}

/* All factors together, with the vectors of the rows. */
static double count_bytes(const RpinnCpuWork *work) {
  const RpinnEnergyModel *model = work->model;
  double count = 0, num_columns = (double)model->num_parameters;
  for (size_t f = 0; f < model->num_fields; f++)
    for (size_t l = 0; l < model->networks[f].num_layers; l++) {
      size_t in = model->networks[f].width[l], out = model->networks[f].width[l + 1], num_points, num_rows;
      if (!is_worth_it(work, f, l)) continue;
      count_rows(work, f, &num_points, &num_rows);
      count += (double)num_rows * (double)(in + out);
      num_columns -= (double)(in * out);
    }
  return (double)sizeof(Real) * (count + (double)model->num_rows * num_columns);
}

bool RPINN_REAL_NAME(rpinn_cpu_wants_factors)(const RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  if (engine->mixed_work) return false;
  if (model->num_rows > RPINN_MAX_DENSE_ROWS && count_bytes(engine->work) > most_bytes) return false;
  for (size_t f = 0; f < model->num_fields; f++)
    for (size_t l = 0; l < model->networks[f].num_layers; l++)
      if (is_worth_it(engine->work, f, l)) return true;
  return false;
}

/* ---- life ---- */

static bool list_runs(RpinnCpuFactors *factors, const RpinnCpuWork *work, size_t field) {
  FieldFactors *own = &factors->fields[field];
  own->runs = RPINN_ARENA_NEW(factors->arena, RpinnFactorRun, work->num_segments);
  if (!own->runs) return false;
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    for (size_t s = 0; s < block->num_segments; s++) {
      const RpinnFieldRun *run = &block->runs[field][s];
      if (!run->num_points) continue;
      own->runs[own->num_runs++] =
          (RpinnFactorRun){.first_row = own->num_rows + run->first_row,
                           .num_channels = run->shape->num_channels,
                           .num_points = run->num_points,
                           .first_result = work->segments[block->first_segment + s].first_result};
      if (run->shape->num_channels > factors->max_channels) factors->max_channels = run->shape->num_channels;
    }
    own->num_rows += block->num_rows[field];
  }
  if (own->num_rows > factors->max_rows) factors->max_rows = own->num_rows;
  return true;
}

static void add_piece(RpinnCpuFactors *factors, size_t parameter, size_t count) {
  factors->pieces[factors->num_pieces++] = (Piece){factors->num_columns, parameter, count};
  factors->num_columns += count;
}

/* The factors of W of a layer; its b goes to the vectors. */
static bool add_layer(RpinnCpuFactors *factors, size_t field, size_t parameter, size_t num_out, size_t num_in,
                      FactoredLayer **layer) {
  size_t num_rows = factors->fields[field].num_rows, most = num_out > num_in ? num_out : num_in;
  *layer = &factors->layers[factors->num_layers++];
  **layer = (FactoredLayer){.field = field,
                            .parameter = parameter,
                            .num_out = num_out,
                            .num_in = num_in,
                            .bars = RPINN_REAL_NAME(rpinn_cpu_reals)(num_rows * num_out),
                            .inputs = RPINN_REAL_NAME(rpinn_cpu_reals)(num_rows * num_in)};
  if (most > factors->max_width) factors->max_width = most;
  if (num_out * num_in > factors->max_matrix) factors->max_matrix = num_out * num_in;
  add_piece(factors, parameter + num_out * num_in, num_out);
  return (*layer)->bars && (*layer)->inputs;
}

static bool plan_field(RpinnCpuFactors *factors, const RpinnCpuWork *work, size_t field) {
  const RpinnNetwork *network = &work->model->networks[field];
  FieldFactors *own = &factors->fields[field];
  size_t num_frozen = network->num_all - network->num_trainable, num_layers = network->num_layers;
  own->layer_start = RPINN_ARENA_NEW(factors->arena, size_t, num_layers);
  own->layers = RPINN_ARENA_NEW(factors->arena, FactoredLayer *, num_layers);
  own->bars = RPINN_ARENA_NEW(factors->arena, Real *, num_layers);
  own->inputs = RPINN_ARENA_NEW(factors->arena, Real *, num_layers);
  if (!own->layer_start || !own->layers || !own->bars || !own->inputs || !list_runs(factors, work, field))
    return false;
  for (size_t l = 0; l < num_layers; l++) {
    size_t start = network->layer_start[l], num_in = network->width[l], num_out = network->width[l + 1];
    own->layer_start[l] = factors->num_columns;
    if (start < num_frozen) continue;
    size_t parameter = network->parameter_start + start - num_frozen;
    if (!is_worth_it(work, field, l))
      add_piece(factors, parameter, (num_in + 1) * num_out);
    else if (!add_layer(factors, field, parameter, num_out, num_in, &own->layers[l]))
      return false;
  }
  return true;
}

static bool allocate(RpinnCpuFactors *factors, const RpinnEnergyModel *model) {
  size_t M = model->num_rows;
  factors->vectors = RPINN_REAL_NAME(rpinn_cpu_reals)(M * factors->num_columns);
  factors->columns = RPINN_REAL_NAME(rpinn_cpu_reals)(factors->num_columns);
  factors->products = RPINN_REAL_NAME(rpinn_cpu_reals)(factors->max_rows * factors->max_width);
  factors->row_sums = RPINN_REAL_NAME(rpinn_cpu_reals)(factors->max_rows > M ? factors->max_rows : M);
  factors->matrix = RPINN_REAL_NAME(rpinn_cpu_reals)(factors->max_matrix);
  factors->panel =
      RPINN_REAL_NAME(rpinn_cpu_reals)(2 * factors->max_width * factors->max_channels * RPINN_REAL_GROUP);
  factors->theta = RPINN_REAL_NAME(rpinn_cpu_reals)(model->num_parameters);
  factors->rows = calloc(M + 1, sizeof(double));
  factors->row_scale = calloc(M + 1, sizeof(double));
  return factors->vectors && factors->columns && factors->products && factors->row_sums && factors->matrix &&
         factors->panel && factors->theta && factors->rows && factors->row_scale;
}

static bool plan(RpinnCpuFactors *factors, const RpinnCpuWork *work) {
  const RpinnEnergyModel *model = work->model;
  size_t most = 1;
  for (size_t f = 0; f < model->num_fields; f++) most += model->networks[f].num_layers;
  factors->arena = rpinn_arena_create();
  if (!factors->arena) return false;
  factors->fields = RPINN_ARENA_NEW(factors->arena, FieldFactors, model->num_fields);
  factors->layers = RPINN_ARENA_NEW(factors->arena, FactoredLayer, most);
  factors->pieces = RPINN_ARENA_NEW(factors->arena, Piece, most);
  if (!factors->fields || !factors->layers || !factors->pieces) return false;
  for (size_t f = 0; f < model->num_fields; f++)
    if (!plan_field(factors, work, f)) return false;
  factors->unknown_column = factors->num_columns;
  if (model->num_unknowns) add_piece(factors, model->unknown_start, model->num_unknowns);
  return allocate(factors, model);
}

void RPINN_REAL_NAME(rpinn_cpu_factors_destroy)(RpinnCpuFactors *factors) {
  if (!factors) return;
  for (size_t k = 0; k < factors->num_layers; k++) {
    free(factors->layers[k].bars);
    free(factors->layers[k].inputs);
  }
  void *parts[] = {factors->vectors, factors->columns, factors->products, factors->row_sums, factors->matrix,
                   factors->panel,   factors->theta,   factors->rows,     factors->row_scale};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  rpinn_arena_destroy(factors->arena);
  free(factors);
}

/* ---- at a point ---- */

static bool is_known(const RpinnCpuEngine *engine, const RpinnCpuFactors *factors) {
  const RpinnEnergyModel *model = engine->base.model;
  return factors->is_known && !memcmp(engine->theta, factors->theta, model->num_parameters * sizeof(Real)) &&
         !memcmp(engine->member.row_scale, factors->row_scale, model->num_rows * sizeof(double));
}

/* row: how many rows the field has in the blocks before. */
static void make_field(RpinnCpuEngine *engine, const RpinnBlock *block, size_t field, size_t row) {
  const RpinnCpuFactors *factors = engine->factors;
  const FieldFactors *own = &factors->fields[field];
  RpinnSlopePlace place = {.rows = engine->row_jacobians,
                           .stride = factors->num_columns,
                           .layer_start = own->layer_start,
                           .bars = own->bars,
                           .inputs = own->inputs};
  for (size_t l = 0; l < engine->base.model->networks[field].num_layers; l++) {
    const FactoredLayer *layer = own->layers[l];
    own->bars[l] = layer ? layer->bars + row * layer->num_out : NULL;
    own->inputs[l] = layer ? layer->inputs + row * layer->num_in : NULL;
  }
  RPINN_REAL_NAME(rpinn_field_pass_slopes)
  (engine->passes[field], block->runs[field], block->num_segments, block->num_rows[field], &place);
}

static void make_block(RpinnCpuEngine *engine, const RpinnBlock *block) {
  const RpinnCpuFactors *factors = engine->factors;
  const RpinnEnergyModel *model = engine->base.model;
  size_t stride = factors->num_columns, segment = block->first_segment;
  Real *first = factors->vectors + engine->work->segments[segment].first_result * stride;
  RPINN_REAL_NAME(rpinn_cpu_forward_fields)(engine, engine->passes, block);
  RPINN_REAL_NAME(rpinn_cpu_block_bars)
  (engine, block, first + factors->unknown_column, stride, factors->rows);
  RPINN_REAL_NAME(rpinn_cpu_place_segments)(engine, block, first, stride);
  for (size_t f = 0; f < model->num_fields; f++) {
    size_t row = 0;
    for (const RpinnBlock *before = engine->work->blocks; before < block; before++)
      row += before->num_rows[f];
    if (block->num_rows[f]) make_field(engine, block, f, row);
  }
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_factors_make)(RpinnContext *context, RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  if (!engine->factors) {
    engine->factors = calloc(1, sizeof *engine->factors);
    if (!engine->factors || !plan(engine->factors, engine->work)) {
      RPINN_REAL_NAME(rpinn_cpu_factors_destroy)(engine->factors);
      engine->factors = NULL;
      return rpinn_fail_memory(context);
    }
  }
  RpinnCpuFactors *factors = engine->factors;
  if (is_known(engine, factors)) return RPINN_OK;
  RPINN_REAL_NAME(rpinn_cpu_set_passes)(engine, engine->passes);
  for (size_t b = 0; b < engine->work->num_blocks; b++) make_block(engine, &engine->work->blocks[b]);
  memcpy(factors->theta, engine->theta, model->num_parameters * sizeof(Real));
  memcpy(factors->row_scale, engine->member.row_scale, model->num_rows * sizeof(double));
  factors->is_known = true;
  return RPINN_OK;
}

/* ---- J v ---- */

static void add_times(RpinnCpuEngine *engine, const FactoredLayer *layer, double *product) {
  RpinnCpuFactors *factors = engine->factors;
  const FieldFactors *field = &factors->fields[layer->field];
  const Real *V = engine->gradient + layer->parameter;
  engine->products->transpose(layer->num_out, layer->num_in, V, factors->matrix);
  engine->products->multiply(field->num_rows, layer->num_in, layer->num_out, layer->inputs, factors->matrix,
                             V, factors->products);
  engine->products->multiply_rows(field->num_rows, layer->num_out, factors->products, layer->bars,
                                  factors->row_sums);
  for (size_t r = 0; r < field->num_runs; r++) {
    const RpinnFactorRun *run = &field->runs[r];
    const Real *sums = factors->row_sums + run->first_row;
    for (size_t c = 0; c < run->num_channels; c++)
      for (size_t p = 0; p < run->num_points; p++)
        product[run->first_result + p] += (double)sums[c * run->num_points + p];
  }
}

void RPINN_REAL_NAME(rpinn_cpu_factors_times)(RpinnCpuEngine *engine, double *product) {
  RpinnCpuFactors *factors = engine->factors;
  for (size_t k = 0; k < factors->num_pieces; k++) {
    const Piece *piece = &factors->pieces[k];
    memcpy(factors->columns + piece->column, engine->gradient + piece->parameter,
           piece->count * sizeof(Real));
  }
  RPINN_REAL_NAME(rpinn_cpu_matrix_times)
  (engine, engine->base.model->num_rows, factors->num_columns, factors->vectors, factors->columns, product);
  for (size_t k = 0; k < factors->num_layers; k++) add_times(engine, &factors->layers[k], product);
}

/* ---- J^T w ---- */

/* factors->products = w_p zbar_c[p] */
static void weigh_bars(const RpinnCpuFactors *factors, const FactoredLayer *layer) {
  const FieldFactors *field = &factors->fields[layer->field];
  for (size_t r = 0; r < field->num_runs; r++) {
    const RpinnFactorRun *run = &field->runs[r];
    for (size_t i = 0; i < run->num_channels * run->num_points; i++) {
      Real weight = factors->row_sums[run->first_result + i % run->num_points];
      size_t first = (run->first_row + i) * layer->num_out;
      for (size_t u = 0; u < layer->num_out; u++)
        factors->products[first + u] = weight * layer->bars[first + u];
    }
  }
}

void RPINN_REAL_NAME(rpinn_cpu_factors_transposed)(RpinnCpuEngine *engine, const double *weights) {
  RpinnCpuFactors *factors = engine->factors;
  size_t M = engine->base.model->num_rows;
  engine->kernels->to_real(M, weights, factors->row_sums);
  RPINN_BLAS(gemv)
  (CblasRowMajor, CblasTrans, (int)M, (int)factors->num_columns, 1, factors->vectors,
   (int)factors->num_columns, factors->row_sums, 1, 0, factors->columns, 1);
  for (size_t k = 0; k < factors->num_pieces; k++) {
    const Piece *piece = &factors->pieces[k];
    memcpy(engine->gradient + piece->parameter, factors->columns + piece->column,
           piece->count * sizeof(Real));
  }
  for (size_t k = 0; k < factors->num_layers; k++) {
    const FactoredLayer *layer = &factors->layers[k];
    weigh_bars(factors, layer);
    engine->products->add_gradient(factors->fields[layer->field].num_rows, layer->num_out, layer->num_in,
                                   factors->products, layer->inputs, false,
                                   engine->gradient + layer->parameter);
  }
}

/* ---- J D J^T ---- */

bool RPINN_REAL_NAME(rpinn_cpu_factors_take)(const RpinnCpuEngine *engine, const double *scale) {
  const RpinnCpuFactors *factors = engine->factors;
  for (size_t k = 0; scale && k < factors->num_layers; k++) {
    const FactoredLayer *layer = &factors->layers[k];
    const double *own = scale + layer->parameter;
    size_t num_others = 0;
    for (size_t j = 0; j < layer->num_out * layer->num_in; j++) num_others += own[j] != own[0];
    if (num_others) return false;
  }
  return true;
}

static void add_vectors(RpinnCpuEngine *engine, const double *scale, double *product) {
  RpinnCpuFactors *factors = engine->factors;
  size_t M = engine->base.model->num_rows, num_columns = factors->num_columns;
  for (size_t k = 0; k < factors->num_pieces; k++) {
    const Piece *piece = &factors->pieces[k];
    for (size_t j = 0; j < piece->count; j++)
      factors->columns[piece->column + j] = scale ? (Real)scale[piece->parameter + j] : 1;
  }
  for (size_t first = 0; first < num_columns; first += RPINN_GRAM_COLUMNS) {
    size_t count = num_columns - first < RPINN_GRAM_COLUMNS ? num_columns - first : RPINN_GRAM_COLUMNS;
    engine->products->add_gram(M, count, factors->vectors + first, num_columns, factors->columns + first,
                               engine->panel, product);
  }
}

void RPINN_REAL_NAME(rpinn_cpu_factors_gram)(RpinnCpuEngine *engine, const double *scale, double *rows,
                                             double *product) {
  RpinnCpuFactors *factors = engine->factors;
  size_t M = engine->base.model->num_rows;
  memset(product, 0, M * M * sizeof *product);
  memcpy(rows, factors->rows, M * sizeof *rows);
  add_vectors(engine, scale, product);
  for (size_t k = 0; k < factors->num_layers; k++) {
    const FactoredLayer *layer = &factors->layers[k];
    const FieldFactors *field = &factors->fields[layer->field];
    const RpinnFactors own = {layer->num_out, layer->num_in, layer->bars, layer->inputs};
    for (size_t i = 0; i < field->num_runs; i++)
      for (size_t j = 0; j <= i; j++)
        engine->products->add_factored_gram(&own, &field->runs[i], &field->runs[j],
                                            scale ? scale[layer->parameter] : 1, M, factors->panel, product);
  }
}
