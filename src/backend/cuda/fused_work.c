/* Items are gathered into groups that share tiles: a group's points have the largest shape of any of its items, so that joining items
 * saves tiles and costs channels. Beginning with groups of one item each, the two whose union saves most are joined until none does. */
#include "fused_work.h"

#include <stdlib.h>
#include <string.h>

#define RPINN_REAL_DOUBLE
#include "channel_map.h"

enum {
  WARP = 32,
  LEAST_THREADS = 64,
  LEAST_TF32_WIDTH = 24,
  BLOCK_SHARED = 1024, /* bytes that the device keeps of each block's shared memory */
  TILE_COST = 2000,    /* of a tile beside its products, in multiplications of a point and channel */
  UNIT_COST = 25       /* of a unit, likewise */
};

typedef struct Products {
  bool is_tf32, is_square;
  size_t units, room, spare, inner, rows, columns;
} Products;

#define RPINN_PRODUCTS(NAME, IS_TF32, UNITS, ROOM, SPARE, INNER, ROWS, COLUMNS, IS_SQUARE)                   \
  static const Products NAME = {IS_TF32, IS_SQUARE, UNITS, ROOM, SPARE, INNER, ROWS, COLUMNS};
RPINN_FUSED_PRODUCTS_LIST(RPINN_PRODUCTS)

typedef struct Geometry {
  const Products *products;
  size_t firsts, points, most_groups, most_threads, blocks;
  size_t width, hidden, fields; /* of the networks that it is compiled for; 0: any */
} Geometry;

#define RPINN_GEOMETRY(NAME, PRODUCTS, ...) [RPINN_FUSED_##NAME] = {&PRODUCTS, __VA_ARGS__},
static const Geometry geometries[RPINN_NUM_FUSED_KERNELS] = {RPINN_FUSED_LIST(RPINN_GEOMETRY)};

static size_t rounds(size_t count, size_t size) {
  return (count + size - 1) / size;
}

static size_t largest(size_t a, size_t b) {
  return a > b ? a : b;
}

static size_t groups_of(const Geometry *geometry, size_t width) {
  return rounds(width, geometry->products->units);
}

/* Rows that a plane and the weights have for the units of a layer. */
static size_t padded_units(const Geometry *geometry, size_t width) {
  return rounds(width, geometry->products->inner) * geometry->products->inner;
}

static size_t weight_stride(const Geometry *geometry) {
  return geometry->products->room * geometry->most_groups + geometry->products->spare;
}

/* Floats of a row of a plane: 4 modulo 8. */
static size_t row_size(const Geometry *geometry, size_t channels) {
  size_t size = channels * geometry->points;
  return size / 4 % 2 ? size : size + 4;
}

/* ---- the subject ---- */

/* An item in a field: -1 for the shape of a field that is not used. */
typedef struct ItemField {
  int shape;
  double hessian[3];
  RpinnFusedChannels channels;
} ItemField;

typedef struct Gathered {
  bool is_there;
  size_t num_points;
  ItemField *fields; /* [num_fields] their union */
} Gathered;

typedef struct Builder {
  RpinnArena *arena;
  const RpinnEnergyModel *model;
  const RpinnParameterLayout *layout;
  const RpinnWorkTables *terms;
  const Geometry *geometry;
  ItemField *items; /* [num_terms][num_fields] */
  Gathered *groups; /* [num_terms] */
  size_t *group_of; /* [num_terms] */
  size_t num_tiles, num_threads, most_channels, shared_bytes;
  RpinnFusedLayer *layers;
  RpinnFusedField *fields;
  RpinnFusedUse *uses;
  RpinnFusedPoint *points;
  RpinnFusedChannels *channels;
  float *inputs;
  size_t num_inputs;
  RpinnDeviceField *program_fields;
  RpinnDeviceRun *program_runs;
  RpinnFusedWork work;
} Builder;

/* What a term asks of a field in the terms of a tile's shapes; false: more than these have. */
static bool describe_item(const Geometry *geometry, const RpinnNetwork *network, const RpinnChannelSet *set,
                          ItemField *item) {
  RpinnJetShape shape = {0};
  RpinnChannelMap map;
  *item = (ItemField){.shape = -1};
  if (!set->count) return true;
  rpinn_channel_map_make_double(network, set, &shape, &map);
  if (shape.num_first > geometry->firsts || shape.num_second > 1) return false;
  item->shape = shape.num_second ? 2 : shape.num_first ? 1 : 0;
  item->channels.count = (int8_t)shape.num_channels;
  for (size_t i = 0; i < shape.num_first; i++)
    item->channels.from[1 + i] = (int8_t)(1 + shape.input_of_first[i]);
  if (!shape.num_second) return true;
  item->channels.from[1 + shape.num_first] = (int8_t)(1 + geometry->firsts);
  for (size_t i = 0; i < shape.num_first; i++)
    for (size_t j = i; j < shape.num_first; j++)
      item->hessian[shape.input_of_first[i] + shape.input_of_first[j]] =
          shape.hessians[i * shape.num_first + j];
  return true;
}

/* ---- linear programs ---- */

/* number + sum of factors times inputs of the program; neither: it is not of this form. */
typedef struct LinearForm {
  bool is_linear, is_number;
  double number;
  double *factors; /* [num_inputs] */
} LinearForm;

static void combine(const LinearForm *a, double times_a, const LinearForm *b, double times_b,
                    size_t num_inputs, LinearForm *to) {
  to->is_linear = a->is_linear && b->is_linear;
  to->is_number = a->is_number && b->is_number;
  to->number = times_a * a->number + times_b * b->number;
  for (size_t i = 0; i < num_inputs; i++) to->factors[i] = times_a * a->factors[i] + times_b * b->factors[i];
}

static void form_of(const RpinnInstruction *in, const LinearForm *a, const LinearForm *b, size_t num_inputs,
                    LinearForm *to) {
  switch (in->operation) {
  case RPINN_OPERATION_NUMBER:
    to->is_linear = to->is_number = true;
    to->number = in->number;
    break;
  case RPINN_OPERATION_CHANNEL:
    to->is_linear = true;
    to->factors[in->index] = 1;
    break;
  case RPINN_OPERATION_NEGATE: combine(a, -1, a, 0, num_inputs, to); break;
  case RPINN_OPERATION_ADD: combine(a, 1, b, 1, num_inputs, to); break;
  case RPINN_OPERATION_SUBTRACT: combine(a, 1, b, -1, num_inputs, to); break;
  case RPINN_OPERATION_MULTIPLY:
    if (b->is_number)
      combine(a, b->number, a, 0, num_inputs, to);
    else if (a->is_number)
      combine(b, a->number, b, 0, num_inputs, to);
    break;
  case RPINN_OPERATION_DIVIDE:
    if (b->is_number) combine(a, 1 / b->number, a, 0, num_inputs, to);
    break;
  default: break;
  }
}

/* The form of a program's result; false: no memory. */
static bool find_form(RpinnArena *arena, const RpinnResidualProgram *program, LinearForm *result) {
  size_t count = program->num_instructions, num_inputs = program->num_inputs;
  LinearForm *forms = RPINN_ARENA_NEW(arena, LinearForm, count);
  if (!forms) return false;
  for (size_t i = 0; i < count; i++) {
    const RpinnInstruction *in = &program->instructions[i];
    unsigned num_arguments = rpinn_operation_num_arguments(in->operation);
    forms[i] = (LinearForm){.factors = RPINN_ARENA_NEW(arena, double, num_inputs + 1)};
    if (!forms[i].factors) return false;
    form_of(in, num_arguments > 0 ? &forms[in->a] : NULL, num_arguments > 1 ? &forms[in->b] : NULL,
            num_inputs, &forms[i]);
  }
  *result = forms[count - 1];
  return true;
}

/* The form of a term's program in the channels of a tile. */
static bool describe_form(Builder *builder, size_t term) {
  const RpinnEnergyModel *model = builder->model;
  const RpinnResidualProgram *program = model->terms[term].program;
  ItemField *fields = &builder->items[term * model->num_fields];
  LinearForm form;
  if (!find_form(builder->arena, program, &form)) return false;
  bool is_late = rpinn_work_late_shift(model, program) != 0;
  for (size_t f = 0; f < model->num_fields; f++) {
    RpinnFusedChannels *channels = &fields[f].channels;
    RpinnJetShape shape = {0};
    RpinnChannelMap map;
    channels->is_linear = form.is_linear;
    channels->shift = f ? 0 : (float)form.number;
    if (!form.is_linear || !program->channels[f].count) continue;
    rpinn_channel_map_make_double(&model->networks[f], &program->channels[f], &shape, &map);
    for (size_t i = 0; i < program->num_inputs; i++) {
      const RpinnChannelInput *input = &program->inputs[i];
      if (input->field != f) continue;
      if (input->channel == 0 && !is_late) channels->shift += (float)(form.factors[i] * map.shift);
      for (size_t k = 0; k < map.num_used[input->channel]; k++) {
        size_t channel = map.used[input->channel][k];
        channels->factors[(size_t)channels->from[channel]] +=
            (float)(form.factors[i] * map.factor[input->channel][channel]);
      }
    }
  }
  return true;
}

/* ---- groups of items ---- */

/* false: two operators of second order. */
static bool unite(const Builder *builder, const ItemField *a, const ItemField *b, ItemField *both) {
  for (size_t f = 0; f < builder->model->num_fields; f++) {
    if (a[f].shape == 2 && b[f].shape == 2 && memcmp(a[f].hessian, b[f].hessian, sizeof a[f].hessian) != 0)
      return false;
    both[f] = a[f].shape >= b[f].shape ? a[f] : b[f];
  }
  return true;
}

static double group_cost(const Builder *builder, const ItemField *fields, size_t num_points) {
  double cost = TILE_COST;
  for (size_t f = 0; f < builder->model->num_fields; f++) {
    const RpinnNetwork *network = &builder->model->networks[f];
    double products = 0;
    for (size_t l = 1; l < network->num_layers; l++)
      products += (double)(network->width[l] * (UNIT_COST + (l > 1 ? network->width[l - 1] : 0)));
    size_t channels = fields[f].shape < 0 ? 0
                      : fields[f].shape   ? builder->geometry->firsts + (size_t)fields[f].shape
                                          : 1;
    cost += (double)channels * products;
  }
  return cost * (double)rounds(num_points, builder->geometry->points);
}

/* The two groups whose union saves most; false: none saves anything. */
static bool find_union(const Builder *builder, ItemField *both, size_t *left, size_t *right) {
  const Gathered *groups = builder->groups;
  double most = 0;
  for (size_t i = 0; i < builder->model->num_terms; i++)
    for (size_t j = i + 1; j < builder->model->num_terms; j++) {
      if (!groups[i].is_there || !groups[j].is_there ||
          !unite(builder, groups[i].fields, groups[j].fields, both))
        continue;
      double saved = group_cost(builder, groups[i].fields, groups[i].num_points) +
                     group_cost(builder, groups[j].fields, groups[j].num_points) -
                     group_cost(builder, both, groups[i].num_points + groups[j].num_points);
      if (saved <= most) continue;
      most = saved;
      *left = i;
      *right = j;
    }
  return most > 0;
}

static bool gather(Builder *builder) {
  size_t num_terms = builder->model->num_terms, num_fields = builder->model->num_fields, left = 0, right = 0;
  ItemField *both = RPINN_ARENA_NEW(builder->arena, ItemField, num_fields),
            *own = RPINN_ARENA_NEW(builder->arena, ItemField, num_terms * num_fields);
  builder->groups = RPINN_ARENA_NEW(builder->arena, Gathered, num_terms);
  builder->group_of = RPINN_ARENA_NEW(builder->arena, size_t, num_terms);
  if (!both || !own || !builder->groups || !builder->group_of) return false;
  for (size_t t = 0; t < num_terms; t++) {
    builder->groups[t] = (Gathered){true, builder->model->terms[t].num_points, own + t * num_fields};
    builder->group_of[t] = t;
    memcpy(own + t * num_fields, builder->items + t * num_fields, num_fields * sizeof *own);
  }
  while (find_union(builder, both, &left, &right)) {
    unite(builder, builder->groups[left].fields, builder->groups[right].fields, builder->groups[left].fields);
    builder->groups[left].num_points += builder->groups[right].num_points;
    builder->groups[right].is_there = false;
    for (size_t t = 0; t < num_terms; t++)
      if (builder->group_of[t] == right) builder->group_of[t] = left;
  }
  for (size_t t = 0; t < num_terms; t++)
    if (builder->groups[t].is_there)
      builder->num_tiles += rounds(builder->groups[t].num_points, builder->geometry->points);
  return true;
}

/* ---- tiles ---- */

/* Scaled inputs [input][point] of a field at the points of a tile; those beyond the last repeat the first. */
static void fill_inputs(const Builder *builder, const RpinnNetwork *network, const RpinnFusedPoint *points,
                        float *to) {
  for (size_t d = 0; d < network->num_inputs; d++)
    for (size_t p = 0; p < builder->geometry->points; p++) {
      size_t own = (size_t)(points[p] < 0 ? points[0] : points[p]), place = own % RPINN_FUSED_MOST_PLACE;
      const double *point = builder->model->terms[own / RPINN_FUSED_MOST_PLACE].points +
                            place * builder->model->num_coordinates;
      *to++ =
          (float)(network->input_scale[d] * point[network->input_coordinate[d]] + network->input_shift[d]);
    }
}

static void fill_tile(Builder *builder, const Gathered *group, size_t tile) {
  size_t num_fields = builder->model->num_fields;
  for (size_t f = 0; f < num_fields; f++) {
    RpinnFusedUse *use = &builder->uses[tile * num_fields + f];
    const ItemField *from = &group->fields[f];
    *use = (RpinnFusedUse){.shape = from->shape, .inputs = (int32_t)builder->num_inputs};
    for (int i = 0; i < 3; i++) use->hessian[i] = (float)from->hessian[i];
    if (from->shape < 0) continue;
    fill_inputs(builder, &builder->model->networks[f], builder->points + tile * builder->geometry->points,
                builder->inputs + builder->num_inputs);
    builder->num_inputs += builder->model->networks[f].num_inputs * builder->geometry->points;
    builder->most_channels =
        largest(builder->most_channels, from->shape ? builder->geometry->firsts + (size_t)from->shape : 1);
  }
}

/* Points of a group, item by item, to tiles from `tile` on; returns the first one behind them. */
static size_t fill_group(Builder *builder, size_t group, size_t tile) {
  size_t room = builder->geometry->points, next = tile * room;
  for (size_t t = 0; t < builder->model->num_terms; t++)
    for (size_t p = 0; builder->group_of[t] == group && p < builder->model->terms[t].num_points; p++)
      builder->points[next++] = (RpinnFusedPoint)(t * RPINN_FUSED_MOST_PLACE + p);
  size_t end = rounds(next, room);
  while (next < end * room) builder->points[next++] = -1;
  for (; tile < end; tile++) fill_tile(builder, &builder->groups[group], tile);
  return end;
}

static bool make_tiles(Builder *builder) {
  size_t num_fields = builder->model->num_fields, points = builder->geometry->points, inputs = 0, tile = 0;
  for (size_t f = 0; f < num_fields; f++) inputs += builder->model->networks[f].num_inputs;
  builder->uses = RPINN_ARENA_NEW(builder->arena, RpinnFusedUse, builder->num_tiles * num_fields);
  builder->points = RPINN_ARENA_NEW(builder->arena, RpinnFusedPoint, builder->num_tiles * points);
  builder->inputs = RPINN_ARENA_NEW(builder->arena, float, builder->num_tiles *points *inputs);
  if (!builder->uses || !builder->points || !builder->inputs) return false;
  for (size_t t = 0; t < builder->model->num_terms; t++)
    if (builder->groups[t].is_there) tile = fill_group(builder, t, tile);
  for (size_t f = 0; f < num_fields; f++) {
    RpinnFusedUse *last = NULL;
    for (size_t i = 0; i < builder->num_tiles; i++) {
      RpinnFusedUse *use = &builder->uses[i * num_fields + f];
      if (use->shape < 0) continue;
      use->is_first = last == NULL;
      last = use;
    }
    if (last) last->is_last = 1;
  }
  return true;
}

/* ---- memory ---- */

static size_t at_four(size_t place) {
  return rounds(place, 4) * 4;
}

/* Threads that the products of a layer want. */
static size_t threads_of_layer(const Geometry *geometry, size_t num_in, size_t num_out) {
  const Products *products = geometry->products;
  size_t groups = largest(groups_of(geometry, num_in), groups_of(geometry, num_out)),
         down = rounds(num_out, products->rows), across = rounds(num_in, products->columns),
         entries = products->is_square ? WARP * rounds(down, RPINN_FUSED_SQUARE_ROWS) *
                                             rounds(across, RPINN_FUSED_SQUARE_COLUMNS)
                                       : down * across;
  return products->is_tf32 ? 32 * largest(groups * geometry->points / 8, entries)
                           : largest(groups * geometry->points / 2, entries);
}

/* Layers, and where they lie in shared memory: see fused_tables.h. */
static bool make_layers(Builder *builder) {
  const Geometry *geometry = builder->geometry;
  const RpinnEnergyModel *model = builder->model;
  size_t weights = 0, rows = 0, threads = LEAST_THREADS, place;
  builder->layers = RPINN_ARENA_NEW(builder->arena, RpinnFusedLayer, builder->layout->num_layers);
  builder->fields = RPINN_ARENA_NEW(builder->arena, RpinnFusedField, model->num_fields);
  if (!builder->layers || !builder->fields) return false;
  for (size_t l = 0; l < builder->layout->num_layers; l++) {
    const RpinnDeviceLayer *from = &builder->layout->layers[l];
    builder->layers[l] = (RpinnFusedLayer){.num_in = from->num_in,
                                           .num_out = from->num_out,
                                           .in_groups = (int32_t)groups_of(geometry, (size_t)from->num_in),
                                           .out_groups = (int32_t)groups_of(geometry, (size_t)from->num_out),
                                           .layout_weights = from->weights,
                                           .layout_stride = from->stride,
                                           .layout_bias = from->bias};
  }
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    size_t first = builder->layout->first_layer[f];
    builder->fields[f] = (RpinnFusedField){.num_inputs = (int32_t)network->num_inputs,
                                           .num_hidden = (int32_t)network->num_layers - 1,
                                           .first_layer = (int32_t)first};
    for (size_t l = 1; l + 1 < network->num_layers; l++) {
      builder->layers[first + l].weights = (int32_t)weights;
      weights += padded_units(geometry, network->width[l]) * weight_stride(geometry);
      rows = largest(rows, largest(padded_units(geometry, network->width[l]),
                                   padded_units(geometry, network->width[l + 1])));
      threads = largest(threads, threads_of_layer(geometry, network->width[l], network->width[l + 1]));
    }
  }
  builder->num_threads = rounds(threads, 32) * 32;
  /* Planes are scratch too: of sums in double, of those of the first layer's parameters, and of a thread's entries of a gradient
   * with those of the output's weights over pairs of points behind them. */
  size_t channels = largest(builder->most_channels, 1 + geometry->firsts),
         entries = geometry->products->rows * geometry->products->columns /
                   (geometry->products->is_tf32 ? WARP : 1),
         sums = (entries | 1) * builder->num_threads + rows * (geometry->points / 2 + 1),
         plane =
             at_four(largest(rows * row_size(geometry, channels), largest(2 * builder->num_threads, sums)));
  for (size_t f = 0; f < model->num_fields; f++)
    for (size_t l = 1; l + 1 < model->networks[f].num_layers; l++)
      builder->layers[builder->layout->first_layer[f] + l].weights += (int32_t)plane;
  builder->work.activations = (int32_t)(plane + weights);
  place = 2 * plane + weights;
  for (size_t f = 0; f < model->num_fields; f++) {
    builder->fields[f].outputs = (int32_t)place;
    place += (2 + geometry->firsts) * geometry->points;
  }
  for (size_t f = 0; f < model->num_fields; f++)
    for (size_t l = 0; l < model->networks[f].num_layers; l++) {
      RpinnFusedLayer *layer = &builder->layers[builder->layout->first_layer[f] + l];
      bool is_output = l + 1 == model->networks[f].num_layers;
      size_t units = groups_of(geometry, is_output ? (size_t)layer->num_in : (size_t)layer->num_out) *
                     geometry->products->units;
      layer->padded = (int32_t)units;
      if (l == 0 || is_output) {
        layer->weights = (int32_t)place;
        place += is_output ? units : units * geometry->firsts;
      }
      layer->bias = (int32_t)place;
      place += is_output ? 1 : units;
    }
  builder->work.unknowns = (int32_t)place;
  builder->work.shared_size = (int32_t)at_four(place + model->num_unknowns);
  return true;
}

/* What leaves the registers of a block between the ways forward and back. */
static void place_kept(Builder *builder) {
  size_t each = 2 * (builder->geometry->firsts + 2) * builder->num_threads *
                builder->geometry->products->units / (builder->geometry->products->is_tf32 ? 8 : 1),
         size = 0, deepest = 0;
  builder->work.keeps_last = builder->model->num_fields > 1;
  for (size_t f = 0; f < builder->model->num_fields; f++) {
    size_t levels = (size_t)builder->fields[f].num_hidden - 2 + (builder->work.keeps_last ? 1 : 0);
    builder->fields[f].kept = (int32_t)size;
    size += levels * each;
    deepest = largest(deepest, (size_t)builder->fields[f].num_hidden);
  }
  builder->work.makes_again = builder->work.keeps_last || deepest > 2;
  builder->work.kept_size = (int32_t)size;
}

/* Programs read outputs of the shared memory and leave bars in their place. */
static bool make_program_tables(Builder *builder) {
  size_t num_fields = builder->model->num_fields, count = builder->model->num_terms * num_fields;
  builder->program_fields = RPINN_ARENA_NEW(builder->arena, RpinnDeviceField, num_fields);
  builder->program_runs = RPINN_ARENA_NEW(builder->arena, RpinnDeviceRun, num_fields);
  builder->channels = RPINN_ARENA_NEW(builder->arena, RpinnFusedChannels, count);
  if (!builder->program_fields || !builder->program_runs || !builder->channels) return false;
  for (size_t f = 0; f < num_fields; f++) {
    builder->program_fields[f].outputs = builder->program_fields[f].bars = builder->fields[f].outputs;
    builder->program_runs[f].num_points = (int16_t)builder->geometry->points;
  }
  for (size_t i = 0; i < count; i++) builder->channels[i] = builder->items[i].channels;
  return true;
}

/* ---- to the device ---- */

enum { NUM_LISTS = 6 };

typedef struct TableList {
  const void *from;
  size_t bytes;
  int32_t *place; /* of the work */
} TableList;

static size_t at_sixteen(size_t bytes) {
  return rounds(bytes, 16) * 16;
}

/* What a block copies to its shared memory. */
static void list_tables(Builder *builder, TableList lists[NUM_LISTS]) {
  size_t num_fields = builder->model->num_fields, num_terms = builder->model->num_terms;
  RpinnFusedWork *work = &builder->work;
  lists[0] =
      (TableList){builder->layers, builder->layout->num_layers * sizeof *builder->layers, &work->layers};
  lists[1] = (TableList){builder->fields, num_fields * sizeof *builder->fields, &work->fields};
  lists[2] = (TableList){builder->uses, builder->num_tiles * num_fields * sizeof *builder->uses, &work->uses};
  lists[3] =
      (TableList){builder->channels, num_terms * num_fields * sizeof *builder->channels, &work->channels};
  lists[4] = (TableList){builder->program_fields, num_fields * sizeof *builder->program_fields,
                         &work->program_fields};
  lists[5] =
      (TableList){builder->program_runs, num_fields * sizeof *builder->program_runs, &work->program_runs};
}

/* Places of the tables in shared memory; programs of the terms are the last of their own tables, in one piece from the items on. */
static void place_tables(Builder *builder) {
  const RpinnDeviceWork *terms = &builder->terms->work;
  RpinnFusedWork *work = &builder->work;
  TableList lists[NUM_LISTS];
  size_t first = (size_t)work->shared_size * sizeof(float), place = first;
  list_tables(builder, lists);
  for (size_t i = 0; i < NUM_LISTS; i++) {
    *lists[i].place = (int32_t)place;
    place += at_sixteen(lists[i].bytes);
  }
  const char *items = (const char *)terms->items;
  work->tables_bytes = (int32_t)(place - first);
  work->program_bytes = terms->tables_bytes - (int32_t)(items - (const char *)terms->tables);
  work->items = (int32_t)place;
  work->instructions = (int32_t)place + (int32_t)((const char *)terms->instructions - items);
  work->maps = (int32_t)place + (int32_t)((const char *)terms->maps - items);
  work->constants = (int32_t)place + (int32_t)((const char *)terms->constants - items);
  builder->shared_bytes = place + (size_t)work->program_bytes;
}

static RpinnStatus upload_all(RpinnContext *context, Builder *builder, RpinnWorkTables *tables) {
  RpinnFusedWork *work = &tables->fused;
  TableList lists[NUM_LISTS];
  size_t place = 0;
  unsigned char *bytes = calloc((size_t)work->tables_bytes + 1, 1);
  if (!bytes) return rpinn_fail_memory(context);
  list_tables(builder, lists);
  for (size_t i = 0; i < NUM_LISTS; i++) {
    memcpy(bytes + place, lists[i].from, lists[i].bytes);
    place += at_sixteen(lists[i].bytes);
  }
  RpinnStatus status =
      rpinn_work_tables_upload(context, tables, bytes, (size_t)work->tables_bytes, &work->tables);
  free(bytes);
  RPINN_TRY(status);
  RPINN_TRY(rpinn_work_tables_upload(context, tables, builder->points,
                                     builder->num_tiles * builder->geometry->points * sizeof *builder->points,
                                     (const void **)&work->points));
  return rpinn_work_tables_upload(context, tables, builder->inputs,
                                  builder->num_inputs * sizeof *builder->inputs,
                                  (const void **)&work->inputs);
}

/* ---- which kernel ---- */

/* Why no fused kernel takes a model, whatever its sizes; NULL: one may. */
static const char *find_obstacle(const RpinnEnergyModel *model) {
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    bool is_used = false;
    for (size_t t = 0; t < model->num_terms; t++)
      is_used = is_used || model->terms[t].program->channels[f].count;
    if (network->activation != RPINN_ACTIVATION_TANH) return "a field has another activation than tanh";
    if (network->num_layers < 3) return "a field has a single hidden layer";
    if (network->num_inputs > RPINN_FUSED_MOST_FIRST) return "a field has more than two inputs";
    if (network->output_only) return "a field has frozen layers";
    if (!is_used) return "no term uses one of the fields";
  }
  for (size_t t = 0; t < model->num_terms; t++) {
    if (model->terms[t].mix) return "rows of a term mix its points";
    if (model->terms[t].num_points >= RPINN_FUSED_MOST_PLACE) return "a term has a million points";
  }
  if (model->num_terms >= INT32_MAX / RPINN_FUSED_MOST_PLACE) return "there are thousands of terms";
  return NULL;
}

/* Are the networks those that a kernel is compiled for? */
static bool has_sizes(const Geometry *geometry, const RpinnEnergyModel *model) {
  if (!geometry->width) return true;
  if (model->num_fields != geometry->fields) return false;
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    if (network->num_layers != geometry->hidden + 1) return false;
    for (size_t l = 1; l <= geometry->hidden; l++)
      if (network->width[l] != geometry->width) return false;
  }
  return true;
}

/* All for one kernel; *reason is NULL where it takes the model. false: no memory. */
static bool try_kernel(Builder *builder, size_t kernel, size_t shared_per_block, const char **reason) {
  const RpinnEnergyModel *model = builder->model;
  const Geometry *geometry = builder->geometry = &geometries[kernel];
  *reason = NULL;
  for (size_t f = 0; f < model->num_fields; f++) {
    if (model->networks[f].num_inputs > geometry->firsts) *reason = "a field has more than two inputs";
    for (size_t l = 1; l < model->networks[f].num_layers; l++)
      if (groups_of(geometry, model->networks[f].width[l]) > geometry->most_groups)
        *reason = geometry->products->is_tf32 ? "a layer is wider than 64" : "a layer is wider than 80";
  }
  if (!has_sizes(geometry, model)) *reason = "networks have other sizes than those it is compiled for";
  if (*reason) return true;
  builder->items = RPINN_ARENA_NEW(builder->arena, ItemField, model->num_terms * model->num_fields);
  if (!builder->items) return false;
  for (size_t i = 0; i < model->num_terms * model->num_fields; i++) {
    size_t f = i % model->num_fields;
    if (!describe_item(geometry, &model->networks[f],
                       &model->terms[i / model->num_fields].program->channels[f], &builder->items[i]))
      *reason = "a term has several operators of second order on a field";
  }
  if (*reason) return true;
  for (size_t t = 0; t < model->num_terms; t++)
    if (!describe_form(builder, t)) return false;
  builder->num_tiles = builder->num_inputs = builder->most_channels = 0;
  builder->work = (RpinnFusedWork){.kernel = (int32_t)kernel};
  if (!gather(builder) || !make_tiles(builder) || !make_layers(builder) || !make_program_tables(builder))
    return false;
  place_kept(builder);
  builder->work.num_tiles = (int32_t)builder->num_tiles;
  builder->work.num_threads = (int32_t)builder->num_threads;
  place_tables(builder);
  if (builder->shared_bytes > shared_per_block)
    *reason = "they do not fit into the memory of a block of threads";
  else if (geometry->width && builder->num_threads != geometry->most_threads)
    *reason = "blocks have another number of threads than that it is compiled for";
  else if (builder->num_threads > geometry->most_threads || model->num_unknowns > builder->num_threads)
    *reason = "they have more layers or unknowns than a block has threads for";
  return true;
}

static size_t widest_layer(const RpinnEnergyModel *model) {
  size_t widest = 0;
  for (size_t f = 0; f < model->num_fields; f++)
    for (size_t l = 1; l < model->networks[f].num_layers; l++)
      widest = largest(widest, model->networks[f].width[l]);
  return widest;
}

/* The first kernel of the list that takes the model. Tensor cores have nothing to gain from narrow layers. */
static bool find_kernel(Builder *builder, bool is_tf32, size_t shared_per_block, const char **reason) {
  *reason = find_obstacle(builder->model);
  if (*reason) return true;
  if (is_tf32 && widest_layer(builder->model) < LEAST_TF32_WIDTH) is_tf32 = false;
  for (size_t kernel = 0; kernel < RPINN_NUM_FUSED_KERNELS; kernel++) {
    if (geometries[kernel].products->is_tf32 != is_tf32) continue;
    if (!try_kernel(builder, kernel, shared_per_block, reason)) return false;
    if (!*reason) return true;
  }
  return true;
}

/* ---- the whole ---- */

/* Blocks that a multiprocessor has room for. */
static size_t count_blocks(const RpinnDevice *device, const Builder *builder, size_t shared_bytes) {
  size_t by_shared = device->shared_per_multiprocessor / (shared_bytes + BLOCK_SHARED),
         by_threads = builder->geometry->most_threads * builder->geometry->blocks / builder->num_threads;
  return by_shared < by_threads ? by_shared : by_threads;
}

static RpinnStatus make_tables(RpinnContext *context, RpinnDevice *device, Builder *builder,
                               RpinnWorkTables **tables) {
  const RpinnDeviceWork *from = &builder->terms->work;
  RpinnWorkTables *made = calloc(1, sizeof *made);
  if (!made) return rpinn_fail_memory(context);
  *made = (RpinnWorkTables){.work = *from,
                            .is_fused = true,
                            .has_tf32 = builder->geometry->products->is_tf32,
                            .fused = builder->work,
                            .placement = RPINN_PLACE_ALL_SHARED,
                            .shared_bytes = builder->shared_bytes,
                            .workspace_size = (size_t)builder->work.kept_size,
                            .device = device};
  made->work.registers_size = from->registers_size / from->max_points * (int32_t)builder->geometry->points;
  made->blocks = count_blocks(device, builder, made->shared_bytes);
  RpinnStatus status = upload_all(context, builder, made);
  if (status == RPINN_OK)
    *tables = made;
  else
    rpinn_work_tables_destroy(made);
  return status;
}

RpinnStatus rpinn_fused_tables_create(RpinnContext *context, RpinnDevice *device,
                                      const RpinnEnergyModel *model, const RpinnParameterLayout *layout,
                                      bool is_tf32, const RpinnWorkTables *terms, RpinnWorkTables **tables,
                                      const char **reason) {
  Builder builder = {.arena = rpinn_arena_create(), .model = model, .layout = layout, .terms = terms};
  RpinnStatus status;
  *tables = NULL;
  if (!builder.arena || !find_kernel(&builder, is_tf32, device->shared_per_block, reason))
    status = rpinn_fail_memory(context);
  else
    status = *reason ? RPINN_OK : make_tables(context, device, &builder, tables);
  if (builder.arena) rpinn_arena_destroy(builder.arena);
  return status;
}
