#include "cpu_work.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a field per block: so few that its layers stay in the cache, so many that what is done once for a block does not
 * count. Half and twice as many make no difference on Zen 4. */
enum { PRODUCT_LIMIT = 1000000, LEAST_ROWS = 192, MOST_ROWS = 1024 };

static size_t row_limit(const RpinnNetwork *network) {
  size_t largest = 1;
  for (size_t l = 1; l + 1 < network->num_layers; l++)
    if (network->width[l] * network->width[l + 1] > largest)
      largest = network->width[l] * network->width[l + 1];
  size_t limit = PRODUCT_LIMIT / largest;
  return limit < LEAST_ROWS ? LEAST_ROWS : limit > MOST_ROWS ? MOST_ROWS : limit;
}

/* The most points of an item that fit into one block: those of its host, if it takes that one's fields. */
static size_t points_per_segment(const RpinnCpuWork *work, size_t item) {
  size_t points = MOST_ROWS;
  item = work->hosts[item];
  for (size_t f = 0; f < work->model->num_fields; f++) {
    size_t channels = work->shapes[item * work->model->num_fields + f].num_channels;
    size_t fit = channels ? row_limit(&work->model->networks[f]) / channels : points;
    if (fit < points) points = fit;
  }
  return points;
}

static bool make_shapes(RpinnCpuWork *work, const RpinnWorkItem *items) {
  size_t num_fields = work->model->num_fields;
  work->shapes = RPINN_ARENA_NEW(work->arena, RpinnJetShape, work->num_items * num_fields);
  work->maps = RPINN_ARENA_NEW(work->arena, RpinnChannelMap, work->num_items * num_fields);
  work->late_shift = RPINN_ARENA_NEW(work->arena, double, work->num_items);
  work->hosts = RPINN_ARENA_NEW(work->arena, size_t, work->num_items);
  if (!work->shapes || !work->maps || !work->late_shift || !work->hosts) return false;
  for (size_t k = 0; k < work->num_items; k++)
    for (size_t f = 0; f < num_fields; f++)
      if (items[k].program->channels[f].count) RPINN_REAL_NAME(rpinn_channel_map_make)
  (&work->model->networks[f], &items[k].program->channels[f], &work->shapes[k * num_fields + f],
   &work->maps[k * num_fields + f]);
  return true;
}

/* Does an item have derivatives of some field, and the values of all fields that another has, which has nothing but values? */
static bool can_host(const RpinnCpuWork *work, size_t host, size_t item) {
  size_t num_fields = work->model->num_fields;
  bool has_derivatives = false;
  for (size_t f = 0; f < num_fields; f++) {
    size_t hosts = work->shapes[host * num_fields + f].num_channels,
           own = work->shapes[item * num_fields + f].num_channels;
    if (own > 1 || own > hosts) return false;
    has_derivatives |= hosts > 1;
  }
  return has_derivatives;
}

/* Channel 0 of the kernels is the value, whatever else is computed. Hosts have derivatives, and so are nobody's guests. */
static void find_hosts(RpinnCpuWork *work, const RpinnWorkItem *items, bool shares_values) {
  size_t num_fields = work->model->num_fields;
  for (size_t k = 0; k < work->num_items; k++) {
    work->hosts[k] = k;
    for (size_t host = 0; shares_values && host < work->num_items && work->hosts[k] == k; host++)
      if (items[host].points == items[k].points && items[host].num_points == items[k].num_points &&
          can_host(work, host, k))
        work->hosts[k] = host;
  }
  for (size_t k = 0; k < work->num_items; k++)
    for (size_t f = 0; work->hosts[k] != k && f < num_fields; f++)
      work->shapes[k * num_fields + f] = (RpinnJetShape){.num_channels = 0};
}

/* A program that is nothing but the value of a field leaves that field's shift to the end. */
static void find_late_shifts(RpinnCpuWork *work, const RpinnWorkItem *items) {
  for (size_t k = 0; k < work->num_items; k++) {
    const RpinnResidualProgram *program = items[k].program;
    bool is_value =
        program->num_instructions == 1 && program->num_inputs == 1 && program->inputs[0].channel == 0;
    if (!is_value) continue;
    size_t field = program->inputs[0].field;
    work->late_shift[k] = work->model->networks[field].output_shift;
    work->maps[k * work->model->num_fields + field].shift = 0;
  }
}

/* Where the results of an item begin. */
static size_t first_result(const RpinnWorkItem *items, size_t item) {
  size_t first = 0;
  for (size_t k = 0; k < item; k++) first += items[k].num_points;
  return first;
}

/* Part `part` of an item, and of all that take its fields. */
static void add_segments(RpinnCpuWork *work, const RpinnWorkItem *items, size_t item, size_t part,
                         size_t parts) {
  size_t first = items[item].num_points * part / parts, end = items[item].num_points * (part + 1) / parts;
  size_t host = work->num_segments;
  if (end - first > work->max_points) work->max_points = end - first;
  for (size_t step = 0; step <= work->num_items; step++) { /* the item itself comes first */
    size_t own = step == 0 ? item : step - 1;
    if (work->hosts[own] != item || (step > 0 && own == item)) continue;
    work->segments[work->num_segments++] = (RpinnSegment){.item = own,
                                                          .first_point = first,
                                                          .num_points = end - first,
                                                          .first_result = first_result(items, own) + first,
                                                          .host = host};
  }
}

/* Equal parts of each item, each at most points_per_segment. */
static bool make_segments(RpinnCpuWork *work, const RpinnWorkItem *items) {
  size_t num_segments = 0;
  for (size_t k = 0; k < work->num_items; k++) {
    size_t most = points_per_segment(work, k);
    num_segments += (items[k].num_points + most - 1) / most;
    work->num_results += items[k].num_points;
  }
  work->segments = RPINN_ARENA_NEW(work->arena, RpinnSegment, num_segments);
  if (!work->segments) return false;
  for (size_t k = 0; k < work->num_items; k++) {
    size_t most = points_per_segment(work, k), parts = (items[k].num_points + most - 1) / most;
    for (size_t part = 0; work->hosts[k] == k && part < parts; part++)
      add_segments(work, items, k, part, parts);
  }
  return true;
}

static size_t rows_of(const RpinnCpuWork *work, const RpinnSegment *segment, size_t field) {
  return segment->num_points * work->shapes[segment->item * work->model->num_fields + field].num_channels;
}

/* Segments in order, as many to a block as fit. */
static bool make_blocks(RpinnCpuWork *work) {
  size_t num_fields = work->model->num_fields;
  work->blocks = RPINN_ARENA_NEW(work->arena, RpinnBlock, work->num_segments);
  work->max_rows = RPINN_ARENA_NEW(work->arena, size_t, num_fields);
  if (!work->blocks || !work->max_rows) return false;
  for (size_t s = 0; s < work->num_segments; s++) {
    RpinnBlock *block = work->num_blocks ? &work->blocks[work->num_blocks - 1] : NULL;
    bool fits = block != NULL;
    for (size_t f = 0; fits && f < num_fields; f++)
      fits =
          block->num_rows[f] + rows_of(work, &work->segments[s], f) <= row_limit(&work->model->networks[f]);
    if (!fits) {
      block = &work->blocks[work->num_blocks++];
      *block = (RpinnBlock){.first_segment = s, .num_rows = RPINN_ARENA_NEW(work->arena, size_t, num_fields)};
      if (!block->num_rows) return false;
    }
    block->num_segments++;
    for (size_t f = 0; f < num_fields; f++) {
      block->num_rows[f] += rows_of(work, &work->segments[s], f);
      if (block->num_rows[f] > work->max_rows[f]) work->max_rows[f] = block->num_rows[f];
    }
  }
  return true;
}

/* Scaled inputs of a run, and each of them once per unit of the first layer. */
static bool make_inputs(RpinnCpuWork *work, const RpinnNetwork *network, const double *points,
                        RpinnFieldRun *run) {
  size_t count = run->num_points, width = network->width[1], num_in = network->num_inputs;
  Real *x = RPINN_ARENA_NEW(work->arena, Real, count * num_in);
  if (!x) return false;
  for (size_t d = 0; d < num_in; d++) {
    Real *repeated = RPINN_ARENA_NEW(work->arena, Real, count * width);
    if (!repeated) return false;
    for (size_t p = 0; p < count; p++) {
      double position = points[p * work->model->num_coordinates + network->input_coordinate[d]];
      x[p * num_in + d] = (Real)(network->input_scale[d] * position + network->input_shift[d]);
      for (size_t u = 0; u < width; u++) repeated[p * width + u] = x[p * num_in + d];
    }
    run->repeated[d] = repeated;
  }
  run->x = x;
  return true;
}

static bool make_runs(RpinnCpuWork *work, const RpinnWorkItem *items) {
  size_t num_fields = work->model->num_fields;
  for (size_t b = 0; b < work->num_blocks; b++) {
    RpinnBlock *block = &work->blocks[b];
    block->runs = RPINN_ARENA_NEW(work->arena, RpinnFieldRun *, num_fields);
    if (!block->runs) return false;
    for (size_t f = 0; f < num_fields; f++) {
      size_t row = 0;
      block->runs[f] = RPINN_ARENA_NEW(work->arena, RpinnFieldRun, block->num_segments);
      if (!block->runs[f]) return false;
      for (size_t s = 0; s < block->num_segments; s++) {
        const RpinnSegment *segment = &work->segments[block->first_segment + s];
        RpinnFieldRun *run = &block->runs[f][s];
        run->shape = &work->shapes[segment->item * num_fields + f];
        run->first_row = row;
        row += rows_of(work, segment, f);
        if (!run->shape->num_channels) continue;
        run->num_points = segment->num_points;
        const double *points =
            items[segment->item].points + segment->first_point * work->model->num_coordinates;
        if (!make_inputs(work, &work->model->networks[f], points, run)) return false;
      }
    }
  }
  return true;
}

static bool make_programs(RpinnCpuWork *work, const RpinnWorkItem *items) {
  size_t most = 1;
  for (size_t s = 0; s < work->num_segments; s++) {
    size_t need = RPINN_REAL_NAME(rpinn_program_pass_scratch)(items[work->segments[s].item].program,
                                                              work->segments[s].num_points);
    if (need > most) most = need;
  }
  work->scratch = RPINN_ARENA_NEW(work->arena, Real, most);
  for (size_t s = 0; work->scratch && s < work->num_segments; s++) {
    RpinnSegment *segment = &work->segments[s];
    const RpinnWorkItem *item = &items[segment->item];
    if (!RPINN_REAL_NAME(rpinn_program_pass_make)(
            work->arena, item->program, segment->num_points,
            item->points + segment->first_point * work->model->num_coordinates, work->model->num_coordinates,
            work->scratch, &segment->program))
      return false;
  }
  return work->scratch != NULL;
}

RpinnCpuWork *RPINN_REAL_NAME(rpinn_cpu_work_create)(const RpinnEnergyModel *model,
                                                     const RpinnWorkItem *items, size_t num_items,
                                                     bool shares_values) {
  RpinnArena *arena = rpinn_arena_create();
  RpinnCpuWork *work = arena ? RPINN_ARENA_NEW(arena, RpinnCpuWork, 1) : NULL;
  if (work) {
    *work = (RpinnCpuWork){.model = model, .num_items = num_items, .arena = arena};
    if (!make_shapes(work, items)) {
      rpinn_arena_destroy(arena);
      return NULL;
    }
    find_late_shifts(work, items);
    find_hosts(work, items, shares_values);
    if (make_segments(work, items) && make_blocks(work) && make_runs(work, items) &&
        make_programs(work, items))
      return work;
  }
  rpinn_arena_destroy(arena); /* the work itself lives in it */
  return NULL;
}

void RPINN_REAL_NAME(rpinn_cpu_work_destroy)(RpinnCpuWork *work) {
  if (work) rpinn_arena_destroy(work->arena);
}

/* ---- between fields and programs ---- */

/* A program's CHANNEL instruction, with its run and the row of factors of the map. */
typedef struct ChannelUse {
  const RpinnFieldRun *run;
  const RpinnChannelMap *map;
  size_t field, channel;
} ChannelUse;

static ChannelUse find_use(const RpinnCpuWork *work, const RpinnBlock *block, size_t segment,
                           const RpinnInstruction *in) {
  const RpinnSegment *own = &work->segments[segment];
  const RpinnChannelInput *input = &own->program.program->inputs[in->index];
  return (ChannelUse){.run = &block->runs[input->field][own->host - block->first_segment],
                      .map = &work->maps[own->item * work->model->num_fields + input->field],
                      .field = input->field,
                      .channel = input->channel};
}

void RPINN_REAL_NAME(rpinn_cpu_work_gather)(const RpinnCpuWork *work, const RpinnBlock *block, size_t segment,
                                            const Real *const *outputs) {
  const RpinnProgramPass *pass = &work->segments[segment].program;
  for (size_t i = 0; i < pass->program->num_instructions; i++) {
    const RpinnInstruction *in = &pass->program->instructions[i];
    if (in->operation != RPINN_OPERATION_CHANNEL) continue;
    ChannelUse use = find_use(work, block, segment, in);
    Real *values = pass->registers[i];
    for (size_t k = 0; k < use.map->num_used[use.channel]; k++) {
      size_t kernel = use.map->used[use.channel][k];
      Real factor = use.map->factor[use.channel][kernel];
      const Real *rows = outputs[use.field] + use.run->first_row + kernel * pass->num_points;
      if (k == 0)
        for (size_t p = 0; p < pass->num_points; p++) values[p] = factor * rows[p];
      else
        for (size_t p = 0; p < pass->num_points; p++) values[p] += factor * rows[p];
    }
    if (use.channel == 0 && use.map->shift != 0)
      for (size_t p = 0; p < pass->num_points; p++) values[p] += use.map->shift;
  }
}

void RPINN_REAL_NAME(rpinn_cpu_work_scatter)(const RpinnCpuWork *work, const RpinnBlock *block,
                                             size_t segment, Real *const *bars) {
  const RpinnProgramPass *pass = &work->segments[segment].program;
  for (size_t i = 0; i < pass->program->num_instructions; i++) {
    const RpinnInstruction *in = &pass->program->instructions[i];
    if (in->operation != RPINN_OPERATION_CHANNEL) continue;
    ChannelUse use = find_use(work, block, segment, in);
    const Real *adjoint = pass->adjoints[i];
    for (size_t k = 0; k < use.map->num_used[use.channel]; k++) {
      size_t kernel = use.map->used[use.channel][k];
      Real factor = use.map->factor[use.channel][kernel];
      Real *rows = bars[use.field] + use.run->first_row + kernel * pass->num_points;
      for (size_t p = 0; p < pass->num_points; p++) rows[p] += factor * adjoint[p];
    }
  }
}
