#include "device_work.h"

#include <stdlib.h>
#include <string.h>

/* The channels of kernels are those of the cpu backend; planned in double. */
#define RPINN_REAL_DOUBLE
#include "channel_map.h"
#include "device_plan.h"

/* ---- lists that grow ---- */

typedef struct List {
  unsigned char *bytes;
  size_t count, room, size; /* of an entry */
} List;

/* Place of `count` new entries, zeros; NULL: no memory. */
static void *extend(List *list, size_t count) {
  if (list->count + count > list->room) {
    size_t room = 2 * (list->count + count) + 16;
    unsigned char *grown = realloc(list->bytes, room * list->size);
    if (!grown) return NULL;
    list->bytes = grown;
    list->room = room;
  }
  void *first = list->bytes + list->count * list->size;
  memset(first, 0, count * list->size);
  list->count += count;
  return first;
}

/* ---- all that is built before it goes to the device ---- */

typedef struct Builder {
  RpinnArena *arena;
  const RpinnEnergyModel *model;
  const RpinnParameterLayout *layout;
  size_t num_items;
  const RpinnDeviceWorkItem *items;
  RpinnJetShape *shapes; /* [num_items][num_fields] */
  RpinnChannelMap *maps;
  size_t *num_channels;
  RpinnPlan plan;
  List fields, device_shapes, tiles, uses, segments, runs, device_items, instructions, device_maps, constants,
      numbers, targets, reals;
} Builder;

static bool make_shapes(Builder *builder) {
  size_t num_fields = builder->model->num_fields, count = builder->num_items * num_fields;
  builder->shapes = RPINN_ARENA_NEW(builder->arena, RpinnJetShape, count);
  builder->maps = RPINN_ARENA_NEW(builder->arena, RpinnChannelMap, count);
  builder->num_channels = RPINN_ARENA_NEW(builder->arena, size_t, count);
  if (!builder->shapes || !builder->maps || !builder->num_channels) return false;
  for (size_t k = 0; k < count; k++) {
    const RpinnChannelSet *set = &builder->items[k / num_fields].program->channels[k % num_fields];
    if (!set->count) continue;
    rpinn_channel_map_make_double(&builder->model->networks[k % num_fields], set, &builder->shapes[k],
                                  &builder->maps[k]);
    builder->num_channels[k] = builder->shapes[k].num_channels;
  }
  return true;
}

/* Those that jets.cuh compiles by themselves. */
static bool is_fast_shape(const RpinnJetShape *shape) {
  return shape->num_first <= 2 && shape->num_second <= (shape->num_first ? 1 : 0);
}

/* The fast kernel has tanh, two hidden layers or more, and these shapes. */
static bool can_be_fast(const Builder *builder) {
  for (size_t f = 0; f < builder->model->num_fields; f++) {
    const RpinnNetwork *network = &builder->model->networks[f];
    if (network->activation != RPINN_ACTIVATION_TANH || network->num_layers < 3) return false;
  }
  for (size_t k = 0; k < builder->num_items * builder->model->num_fields; k++)
    if (builder->num_channels[k] && !is_fast_shape(&builder->shapes[k])) return false;
  return true;
}

static bool add_shapes(Builder *builder) {
  for (size_t k = 0; k < builder->num_items * builder->model->num_fields; k++) {
    const RpinnJetShape *shape = &builder->shapes[k];
    RpinnDeviceShape *to = extend(&builder->device_shapes, 1);
    size_t count = shape->num_second * shape->num_first * shape->num_first, first = builder->numbers.count;
    double *hessians = extend(&builder->numbers, count + 1);
    if (!to || !hessians) return false;
    memcpy(hessians, shape->hessians, count * sizeof *hessians);
    *to = (RpinnDeviceShape){.num_first = (int8_t)shape->num_first,
                             .num_second = (int8_t)shape->num_second,
                             .hessians = (int32_t)first};
    for (size_t i = 0; i < shape->num_first; i++) to->input_of_first[i] = (int8_t)shape->input_of_first[i];
    for (size_t i = 0; i < count && i < sizeof to->own / sizeof to->own[0]; i++)
      to->own[i] = shape->hessians[i];
  }
  return true;
}

/* ---- programs ---- */

double rpinn_work_late_shift(const RpinnEnergyModel *model, const RpinnResidualProgram *program) {
  bool is_value =
      program->num_instructions == 1 && program->num_inputs == 1 && program->inputs[0].channel == 0;
  return is_value ? model->networks[program->inputs[0].field].output_shift : 0;
}

/* The values of an instruction that theta does not move, at all points: computed in double by `values` [num_instructions]. */
static bool add_fixed(Builder *builder, const RpinnDeviceWorkItem *item, size_t instruction, double *values,
                      RpinnDeviceArgument *argument) {
  const RpinnResidualProgram *program = item->program;
  *argument = (RpinnDeviceArgument){RPINN_ARGUMENT_FIXED, (int32_t)builder->reals.count};
  double *to = extend(&builder->reals, (item->num_points + 3) / 4 * 4);
  if (!to) return false;
  for (size_t p = 0; p < item->num_points; p++) {
    for (size_t i = 0; i <= instruction; i++) {
      const RpinnInstruction *in = &program->instructions[i];
      if (in->active) continue;
      if (in->operation == RPINN_OPERATION_NUMBER)
        values[i] = in->number;
      else if (in->operation == RPINN_OPERATION_COORDINATE)
        values[i] = item->points[p * builder->model->num_coordinates + in->index];
      else
        values[i] = rpinn_operation_value(in->operation, values[in->a], values[in->b]);
    }
    to[p] = values[instruction];
  }
  return true;
}

/* Where the kernels find what instruction i yields: made on first use. */
static bool find_argument(Builder *builder, const RpinnDeviceWorkItem *item, size_t i, double *values,
                          RpinnDeviceArgument *known, bool *is_known) {
  const RpinnInstruction *in = &item->program->instructions[i];
  if (is_known[i]) return true;
  is_known[i] = true;
  if (in->operation != RPINN_OPERATION_NUMBER) return add_fixed(builder, item, i, values, &known[i]);
  known[i] = (RpinnDeviceArgument){RPINN_ARGUMENT_NUMBER, (int32_t)builder->constants.count};
  double *number = extend(&builder->constants, 1);
  if (number) *number = in->number;
  return number != NULL;
}

static bool add_channel(Builder *builder, size_t item, const RpinnInstruction *in,
                        RpinnDeviceInstruction *to) {
  const RpinnResidualProgram *program = builder->items[item].program;
  const RpinnChannelInput *input = &program->inputs[in->index];
  const RpinnChannelMap *map = &builder->maps[item * builder->model->num_fields + input->field];
  size_t count = map->num_used[input->channel];
  to->field = (int32_t)input->field;
  to->first_map = (int32_t)builder->device_maps.count;
  to->count = (int32_t)count;
  to->shift = input->channel == 0 && rpinn_work_late_shift(builder->model, program) == 0 ? map->shift : 0;
  RpinnDeviceMap *maps = extend(&builder->device_maps, count);
  if (!maps) return false;
  for (size_t k = 0; k < count; k++) {
    size_t channel = map->used[input->channel][k];
    maps[k] = (RpinnDeviceMap){(int32_t)channel, map->factor[input->channel][channel]};
  }
  return true;
}

static bool add_program(Builder *builder, size_t item, RpinnDeviceItem *to) {
  const RpinnDeviceWorkItem *own = &builder->items[item];
  const RpinnResidualProgram *program = own->program;
  size_t count = program->num_instructions;
  RpinnDeviceArgument *known = RPINN_ARENA_NEW(builder->arena, RpinnDeviceArgument, count);
  bool *is_known = RPINN_ARENA_NEW(builder->arena, bool, count);
  double *values = RPINN_ARENA_NEW(builder->arena, double, count);
  if (!known || !is_known || !values) return false;
  to->first_instruction = (int32_t)builder->instructions.count;
  for (size_t i = 0; i < count; i++) {
    const RpinnInstruction *in = &program->instructions[i];
    if (!in->active) continue;
    unsigned num_arguments = rpinn_operation_num_arguments(in->operation);
    if (num_arguments > 0 && !find_argument(builder, own, in->a, values, known, is_known)) return false;
    if (num_arguments > 1 && !find_argument(builder, own, in->b, values, known, is_known)) return false;
    RpinnDeviceInstruction *made = extend(&builder->instructions, 1);
    if (!made) return false;
    made->operation = in->operation;
    made->num_arguments = (int32_t)num_arguments;
    made->index = (int32_t)in->index;
    if (num_arguments > 0) made->a = known[in->a];
    if (num_arguments > 1) made->b = known[in->b];
    if (in->operation == RPINN_OPERATION_CHANNEL && !add_channel(builder, item, in, made)) return false;
    known[i] = (RpinnDeviceArgument){RPINN_ARGUMENT_REGISTER, to->num_instructions++};
    is_known[i] = true;
  }
  if (!find_argument(builder, own, count - 1, values, known, is_known)) return false;
  to->result = known[count - 1];
  return true;
}

/* ---- items ---- */

static bool add_term(Builder *builder, const RpinnTermModel *term, RpinnDeviceItem *to) {
  to->first_row = (int32_t)term->first_row;
  to->num_rows = (int32_t)term->num_rows;
  double *targets = (double *)(void *)builder->targets.bytes + to->first_result;
  for (size_t p = 0; p < term->num_points; p++) targets[p] = term->targets[p] - to->late_shift;
  if (!term->mix) return true;
  size_t count = term->num_rows * term->num_points;
  to->mix = (int32_t)builder->numbers.count;
  double *mix = extend(&builder->numbers, count);
  if (mix) memcpy(mix, term->mix, count * sizeof *mix);
  return mix != NULL;
}

static bool add_items(Builder *builder) {
  for (size_t k = 0; k < builder->num_items; k++) {
    const RpinnDeviceWorkItem *item = &builder->items[k];
    RpinnDeviceItem made = {.num_points = (int32_t)item->num_points,
                            .first_result = (int32_t)builder->targets.count,
                            .mix = -1,
                            .late_shift = rpinn_work_late_shift(builder->model, item->program)};
    RpinnDeviceItem *to = extend(&builder->device_items, 1);
    if (!to || !extend(&builder->targets, item->num_points) || !add_program(builder, k, &made)) return false;
    if (item->term && !add_term(builder, item->term, &made)) return false;
    *to = made;
  }
  return true;
}

/* ---- fields, tiles, segments ---- */

static bool add_fields(Builder *builder) {
  size_t place = 0;
  for (size_t f = 0; f < builder->model->num_fields; f++) {
    const RpinnNetwork *network = &builder->model->networks[f];
    size_t stride = rpinn_plan_stride(&builder->plan, f), num_hidden = network->num_layers - 1,
           array = stride * rpinn_plan_array_units(network);
    RpinnDeviceField *to = extend(&builder->fields, 1);
    if (!to) return false;
    *to = (RpinnDeviceField){.activation = (int32_t)network->activation,
                             .num_inputs = (int32_t)network->num_inputs,
                             .num_hidden = (int32_t)num_hidden,
                             .first_layer = (int32_t)builder->layout->first_layer[f],
                             .output_only = network->output_only,
                             .stride = (int32_t)stride,
                             .arrays = (int32_t)place,
                             .array_size = (int32_t)array,
                             .outputs = (int32_t)(place + num_hidden * array),
                             .bars = (int32_t)(place + num_hidden * array + stride),
                             .partial = (int32_t)(place + num_hidden * array)};
    size_t num_warps = builder->plan.num_threads / 32;
    place += num_hidden * array + (num_warps < 2 ? 2 : num_warps) * stride;
  }
  return true;
}

/* Scaled inputs [input][padded point]; padding repeats the last point. */
static bool add_inputs(Builder *builder, const RpinnPlannedSegment *segment, const RpinnNetwork *network,
                       RpinnDeviceRun *run) {
  const double *points = builder->items[segment->item].points;
  run->inputs = (int32_t)builder->reals.count;
  double *to = extend(&builder->reals, network->num_inputs * segment->num_padded);
  if (!to) return false;
  for (size_t d = 0; d < network->num_inputs; d++)
    for (size_t p = 0; p < segment->num_padded; p++) {
      size_t own = segment->first_point + (p < segment->num_points ? p : segment->num_points - 1);
      double position = points[own * builder->model->num_coordinates + network->input_coordinate[d]];
      *to++ = network->input_scale[d] * position + network->input_shift[d];
    }
  return true;
}

/* columns [num_fields] of the tile so far. */
static bool add_segment(Builder *builder, const RpinnPlannedSegment *segment, RpinnDeviceUse *uses) {
  size_t num_fields = builder->model->num_fields, first_run = builder->runs.count;
  RpinnDeviceSegment *to = extend(&builder->segments, 1);
  RpinnDeviceRun *runs = extend(&builder->runs, num_fields);
  if (!to || !runs) return false;
  *to = (RpinnDeviceSegment){.item = (int32_t)segment->item,
                             .first_point = (int32_t)segment->first_point,
                             .num_points = (int16_t)segment->num_points,
                             .num_padded = (int16_t)segment->num_padded,
                             .first_run = (int32_t)first_run};
  for (size_t f = 0; f < num_fields; f++) {
    size_t shape = segment->item * num_fields + f;
    if (!builder->num_channels[shape]) continue;
    runs[f] = (RpinnDeviceRun){.num_points = (int16_t)segment->num_padded,
                               .first_column = (int16_t)uses[f].num_columns,
                               .shape = (int32_t)shape};
    if (!add_inputs(builder, segment, &builder->model->networks[f], &runs[f])) return false;
    uses[f].num_columns += (int32_t)(segment->num_padded * builder->num_channels[shape]);
  }
  return true;
}

static bool add_tiles(Builder *builder) {
  size_t num_fields = builder->model->num_fields, next = 0;
  bool *is_used = RPINN_ARENA_NEW(builder->arena, bool, num_fields);
  RpinnDeviceUse *uses = RPINN_ARENA_NEW(builder->arena, RpinnDeviceUse, num_fields);
  if (!is_used || !uses) return false;
  for (size_t i = 0; i < builder->plan.num_tiles; i++) {
    RpinnDeviceTile *tile = extend(&builder->tiles, 1);
    RpinnDeviceUse *to;
    if (!tile) return false;
    *tile = (RpinnDeviceTile){.first_segment = (int32_t)next, .first_use = (int32_t)builder->uses.count};
    memset(uses, 0, num_fields * sizeof *uses);
    for (; next < builder->plan.num_segments && builder->plan.segments[next].tile == i; next++)
      if (!add_segment(builder, &builder->plan.segments[next], uses)) return false;
    tile->num_segments = (int32_t)next - tile->first_segment;
    for (size_t f = 0; f < num_fields; f++) {
      uses[f].is_first = uses[f].num_columns && !is_used[f];
      is_used[f] = is_used[f] || uses[f].num_columns;
    }
    to = extend(&builder->uses, num_fields);
    if (!to) return false;
    memcpy(to, uses, num_fields * sizeof *uses);
  }
  return true;
}

/* ---- to the device ---- */

RpinnStatus rpinn_work_tables_upload(RpinnContext *context, RpinnWorkTables *tables, const void *from,
                                     size_t bytes, const void **pointer) {
  void *memory;
  RPINN_TRY(tables->device->operations->allocate(context, tables->device, bytes + 16, &memory));
  tables->memories[tables->num_memories++] = memory;
  *pointer = memory;
  return bytes ? tables->device->operations->write(context, tables->device, memory, from, bytes) : RPINN_OK;
}

/* The reals in the precision of the engine. */
static RpinnStatus upload_reals(RpinnContext *context, Builder *builder, bool is_double,
                                RpinnWorkTables *tables) {
  const double *from = (const double *)(void *)builder->reals.bytes;
  size_t count = builder->reals.count;
  if (is_double)
    return rpinn_work_tables_upload(context, tables, from, count * sizeof *from, &tables->work.reals);
  float *floats = malloc((count + 1) * sizeof *floats);
  if (!floats) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) floats[i] = (float)from[i];
  RpinnStatus status =
      rpinn_work_tables_upload(context, tables, floats, count * sizeof *floats, &tables->work.reals);
  free(floats);
  return status;
}

static size_t at_sixteen(size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/* All tables in one piece, each at a multiple of 16 bytes. */
static RpinnStatus upload_tables(RpinnContext *context, const Builder *builder, RpinnWorkTables *tables) {
  RpinnDeviceWork *work = &tables->work;
  const List layers = {(unsigned char *)builder->layout->layers, builder->layout->num_layers,
                       builder->layout->num_layers, sizeof(RpinnDeviceLayer)};
  const struct {
    const List *list;
    const void **pointer;
  } lists[] = {{&builder->fields, (const void **)&work->fields},
               {&layers, (const void **)&work->layers},
               {&builder->device_shapes, (const void **)&work->shapes},
               {&builder->tiles, (const void **)&work->tiles},
               {&builder->uses, (const void **)&work->uses},
               {&builder->segments, (const void **)&work->segments},
               {&builder->runs, (const void **)&work->runs},
               {&builder->device_items, (const void **)&work->items},
               {&builder->instructions, (const void **)&work->instructions},
               {&builder->device_maps, (const void **)&work->maps},
               {&builder->constants, (const void **)&work->constants}};
  enum { NUM_LISTS = sizeof lists / sizeof lists[0] };
  size_t place[NUM_LISTS + 1] = {0};
  for (size_t i = 0; i < NUM_LISTS; i++)
    place[i + 1] = place[i] + at_sixteen(lists[i].list->count * lists[i].list->size);
  unsigned char *bytes = calloc(place[NUM_LISTS] + 1, 1);
  if (!bytes) return rpinn_fail_memory(context);
  for (size_t i = 0; i < NUM_LISTS; i++)
    if (lists[i].list->count)
      memcpy(bytes + place[i], lists[i].list->bytes, lists[i].list->count * lists[i].list->size);
  RpinnStatus status = rpinn_work_tables_upload(context, tables, bytes, place[NUM_LISTS], &work->tables);
  free(bytes);
  work->tables_bytes = (int32_t)place[NUM_LISTS];
  for (size_t i = 0; i < NUM_LISTS; i++)
    *lists[i].pointer = status == RPINN_OK ? (const unsigned char *)work->tables + place[i] : NULL;
  return status;
}

/* Bytes of the tables that are known before tiles are: the rest is counted by the plan. */
static size_t count_table_bytes(const Builder *builder) {
  enum { LISTS = 11 };
  const List *lists[] = {&builder->device_shapes, &builder->device_items, &builder->instructions,
                         &builder->device_maps, &builder->constants};
  size_t bytes = builder->model->num_fields * sizeof(RpinnDeviceField) +
                 builder->layout->num_layers * sizeof(RpinnDeviceLayer) + LISTS * 15;
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) bytes += lists[i]->count * lists[i]->size;
  return at_sixteen(bytes);
}

static RpinnStatus upload_all(RpinnContext *context, Builder *builder, bool is_double,
                              RpinnWorkTables *tables) {
  RpinnDeviceWork *work = &tables->work;
  RPINN_TRY(upload_tables(context, builder, tables));
  RPINN_TRY(rpinn_work_tables_upload(context, tables, builder->numbers.bytes,
                                     builder->numbers.count * sizeof(double), (const void **)&work->numbers));
  RPINN_TRY(rpinn_work_tables_upload(context, tables, builder->targets.bytes,
                                     builder->targets.count * sizeof(double), (const void **)&work->targets));
  return upload_reals(context, builder, is_double, tables);
}

static int logarithm(size_t power_of_two) {
  int bits = 0;
  while (power_of_two >> (bits + 1)) bits++;
  return bits;
}

static void fill_work(const Builder *builder, RpinnWorkTables *tables) {
  const RpinnEnergyModel *model = builder->model;
  const RpinnPlan *plan = &builder->plan;
  size_t most_instructions = 0, max_hidden = 0;
  for (size_t k = 0; k < builder->num_items; k++) {
    const RpinnDeviceItem *item = (const RpinnDeviceItem *)(void *)builder->device_items.bytes + k;
    if ((size_t)item->num_instructions > most_instructions)
      most_instructions = (size_t)item->num_instructions;
  }
  for (size_t f = 0; f < model->num_fields; f++)
    if (model->networks[f].num_layers - 1 > max_hidden) max_hidden = model->networks[f].num_layers - 1;
  tables->work = (RpinnDeviceWork){.num_fields = (int32_t)model->num_fields,
                                   .num_items = (int32_t)builder->num_items,
                                   .num_tiles = (int32_t)plan->num_tiles,
                                   .num_results = (int32_t)builder->targets.count,
                                   .first_mixed_tile = (int32_t)plan->first_mixed_tile,
                                   .max_hidden = (int32_t)max_hidden,
                                   .num_parameters = (int32_t)model->num_parameters,
                                   .num_rows = (int32_t)model->num_rows,
                                   .num_unknowns = (int32_t)model->num_unknowns,
                                   .unknowns = (int32_t)builder->layout->unknowns,
                                   .unknown_start = (int32_t)model->unknown_start,
                                   .layout_size = (int32_t)builder->layout->size,
                                   .arrays_size = (int32_t)plan->arrays_size,
                                   .registers_size = (int32_t)(2 * most_instructions * plan->max_points),
                                   .max_points = (int32_t)plan->max_points,
                                   .num_threads = (int32_t)plan->num_threads,
                                   .lane_bits = logarithm(plan->num_lanes),
                                   .tables_in_shared = plan->tables_in_shared,
                                   .forward_tile = plan->forward_tile,
                                   .backward_tile = plan->backward_tile,
                                   .gradient_tile = plan->gradient_tile};
  tables->is_fast = plan->is_fast;
  tables->placement = plan->placement;
  tables->shared_bytes = plan->shared_bytes;
  tables->blocks = plan->blocks;
  tables->workspace_size = plan->placement == RPINN_PLACE_ALL_GLOBAL ? plan->arrays_size : 0;
}

void rpinn_work_tables_destroy(RpinnWorkTables *tables) {
  if (!tables) return;
  for (size_t i = 0; i < tables->num_memories; i++)
    tables->device->operations->release(tables->device, tables->memories[i]);
  free(tables);
}

static bool build(Builder *builder, const RpinnDevice *device, bool is_double) {
  if (!make_shapes(builder) || !add_shapes(builder) || !add_items(builder)) return false;
  RpinnPlanSubject subject = {.model = builder->model,
                              .device = device,
                              .layout_size = builder->layout->size,
                              .real_size = is_double ? sizeof(double) : sizeof(float),
                              .table_bytes = count_table_bytes(builder),
                              .can_be_fast = !is_double && can_be_fast(builder),
                              .num_items = builder->num_items,
                              .items = builder->items,
                              .num_channels = builder->num_channels};
  return rpinn_plan_make(builder->arena, &subject, &builder->plan) && add_fields(builder) &&
         add_tiles(builder);
}

RpinnStatus rpinn_work_tables_create(RpinnContext *context, RpinnDevice *device,
                                     const RpinnEnergyModel *model, const RpinnParameterLayout *layout,
                                     bool is_double, const RpinnDeviceWorkItem *items, size_t num_items,
                                     RpinnWorkTables **tables) {
  Builder builder = {.arena = rpinn_arena_create(),
                     .model = model,
                     .layout = layout,
                     .num_items = num_items,
                     .items = items,
                     .fields = {.size = sizeof(RpinnDeviceField)},
                     .device_shapes = {.size = sizeof(RpinnDeviceShape)},
                     .tiles = {.size = sizeof(RpinnDeviceTile)},
                     .uses = {.size = sizeof(RpinnDeviceUse)},
                     .segments = {.size = sizeof(RpinnDeviceSegment)},
                     .runs = {.size = sizeof(RpinnDeviceRun)},
                     .device_items = {.size = sizeof(RpinnDeviceItem)},
                     .instructions = {.size = sizeof(RpinnDeviceInstruction)},
                     .device_maps = {.size = sizeof(RpinnDeviceMap)},
                     .constants = {.size = sizeof(double)},
                     .numbers = {.size = sizeof(double)},
                     .targets = {.size = sizeof(double)},
                     .reals = {.size = sizeof(double)}};
  RpinnWorkTables *made = *tables = calloc(1, sizeof *made);
  RpinnStatus status = RPINN_OK;
  if (made) made->device = device;
  if (!made || !builder.arena || !build(&builder, device, is_double))
    status = rpinn_fail_memory(context);
  else {
    fill_work(&builder, made);
    status = upload_all(context, &builder, is_double, made);
  }
  List *lists[] = {&builder.fields,      &builder.device_shapes, &builder.tiles,        &builder.uses,
                   &builder.segments,    &builder.runs,          &builder.device_items, &builder.instructions,
                   &builder.device_maps, &builder.constants,     &builder.numbers,      &builder.targets,
                   &builder.reals};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) free(lists[i]->bytes);
  if (builder.arena) rpinn_arena_destroy(builder.arena);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_work_tables_destroy(made);
  *tables = NULL;
  return status;
}
