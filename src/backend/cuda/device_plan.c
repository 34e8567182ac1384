/* Every size of tiles from a list is tried with every number of threads, and the one with the fewest instructions per member, over
 * the share of its time that a multiprocessor finds some to issue, is taken:
 *
 *   cost = tiles * threads * (products + pointwise + phases) / min(1, resident warps / WARPS_WANTED)
 *
 * products: rounds of the team over tiles of outputs, times multiplications in each; phases: what lies between barriers. */
#include "device_plan.h"

#include <math.h>

enum {
  WARPS_WANTED = 12,        /* of a multiprocessor, to find an instruction in every cycle */
  MOST_REGISTERS = 65536,   /* of a multiprocessor */
  THREAD_REGISTERS = 168,   /* 65536 / RPINN_DEVICE_MAX_THREADS */
  BLOCK_SHARED = 1024,      /* bytes that the device keeps of each block's shared memory */
  STATIC_SHARED = 896,      /* bytes of the member's own description */
  POINT_INSTRUCTIONS = 30,  /* of a channel at a point, forward and back */
  PHASE_INSTRUCTIONS = 300, /* that a thread could have made while it waits at the ends of a phase */
  GLOBAL_COLUMNS = 256,     /* of a tile in global memory */
  GLOBAL_TABLES = 4         /* times slower with tables in global memory, as seen */
};

static const size_t column_limits[] = {32, 48, 64, 80, 104, 128, 160, 200, 256, 384, 512};
static const size_t thread_numbers[] = {64, 96, 128, 192, 256, 384};
static const struct {
  size_t rows, columns;
  double cost;
} tiles[] = {[RPINN_TILE_8X8] = {8, 8, 1.0}, [RPINN_TILE_4X8] = {4, 8, 1.15}, [RPINN_TILE_4X4] = {4, 4, 1.5}};

static size_t rounds(size_t count, size_t size) {
  return (count + size - 1) / size;
}

static size_t largest(size_t a, size_t b) {
  return a > b ? a : b;
}

/* ---- segments and tiles ---- */

static size_t channels_of(const RpinnPlanSubject *subject, size_t item, size_t field) {
  return subject->num_channels[item * subject->model->num_fields + field];
}

/* The most points of an item, a multiple of four, whose columns are within the limit in every field; at least four. */
static size_t points_of_segment(const RpinnPlanSubject *subject, size_t item, size_t limit) {
  size_t most = 1;
  for (size_t f = 0; f < subject->model->num_fields; f++) most = largest(most, channels_of(subject, item, f));
  size_t points = limit / most / 4 * 4;
  return points < 4 ? 4 : points;
}

typedef struct Cut {
  size_t *columns; /* [num_fields] of the tile at hand */
  bool has_tile;
} Cut;

static void begin_tile(const RpinnPlanSubject *subject, RpinnPlan *plan, Cut *cut) {
  plan->num_tiles++;
  cut->has_tile = true;
  for (size_t f = 0; f < subject->model->num_fields; f++) cut->columns[f] = 0;
}

/* To the tile at hand, or to the next where a field has no room. */
static void put_segment(const RpinnPlanSubject *subject, size_t limit, RpinnPlannedSegment segment,
                        RpinnPlan *plan, Cut *cut) {
  bool fits = cut->has_tile;
  for (size_t f = 0; fits && f < subject->model->num_fields; f++)
    fits = cut->columns[f] + segment.num_padded * channels_of(subject, segment.item, f) <= limit;
  if (!fits) begin_tile(subject, plan, cut);
  segment.tile = plan->num_tiles - 1;
  for (size_t f = 0; f < subject->model->num_fields; f++) {
    cut->columns[f] += segment.num_padded * channels_of(subject, segment.item, f);
    plan->max_columns[f] = largest(plan->max_columns[f], cut->columns[f]);
  }
  plan->max_points = largest(plan->max_points, segment.num_padded);
  if (plan->segments) plan->segments[plan->num_segments] = segment;
  plan->num_segments++;
}

/* Equal parts of an item. */
static void cut_item(const RpinnPlanSubject *subject, size_t item, size_t limit, RpinnPlan *plan, Cut *cut) {
  size_t count = subject->items[item].num_points, most = points_of_segment(subject, item, limit);
  size_t parts = rounds(count, most), quads = rounds(count, 4);
  for (size_t part = 0; part < parts; part++) {
    size_t first = 4 * (quads * part / parts), end = 4 * (quads * (part + 1) / parts);
    if (end > count) end = count;
    put_segment(subject, limit,
                (RpinnPlannedSegment){.item = item,
                                      .first_point = first,
                                      .num_points = end - first,
                                      .num_padded = rounds(end - first, 4) * 4},
                plan, cut);
  }
}

static bool is_mixed(const RpinnDeviceWorkItem *item) {
  return item->term && item->term->mix;
}

/* Counts, and segments where the plan has room for them. Items whose rows mix points come last, in tiles of their own. */
static void cut_all(const RpinnPlanSubject *subject, size_t limit, RpinnPlan *plan, size_t *columns) {
  plan->num_segments = plan->num_tiles = plan->max_points = 0;
  for (size_t f = 0; f < subject->model->num_fields; f++) plan->max_columns[f] = 0;
  for (int mixed = 0; mixed < 2; mixed++) {
    Cut cut = {.columns = columns};
    if (mixed) plan->first_mixed_tile = plan->num_tiles;
    for (size_t k = 0; k < subject->num_items; k++)
      if (is_mixed(&subject->items[k]) == (mixed == 1)) cut_item(subject, k, limit, plan, &cut);
  }
}

/* ---- memory ---- */

size_t rpinn_plan_stride(const RpinnPlan *plan, size_t field) {
  return rpinn_spread_stride(rounds(plan->max_columns[field], 8) * 8 + 1);
}

size_t rpinn_plan_array_units(const RpinnNetwork *network) {
  size_t units = 1;
  for (size_t l = 1; l < network->num_layers; l++) units = largest(units, network->width[l]);
  return units;
}

static size_t arrays_size(const RpinnPlanSubject *subject, const RpinnPlan *plan) {
  size_t size = 0;
  for (size_t f = 0; f < subject->model->num_fields; f++) {
    const RpinnNetwork *network = &subject->model->networks[f];
    size += rpinn_plan_stride(plan, f) * ((network->num_layers - 1) * rpinn_plan_array_units(network) + 2 +
                                          largest(plan->num_threads / 32, 2) - 2);
  }
  return size;
}

static size_t tables_bytes(const RpinnPlanSubject *subject, const RpinnPlan *plan) {
  size_t num_fields = subject->model->num_fields;
  return subject->table_bytes +
         plan->num_tiles * (sizeof(RpinnDeviceTile) + num_fields * sizeof(RpinnDeviceUse)) +
         plan->num_segments * (sizeof(RpinnDeviceSegment) + num_fields * sizeof(RpinnDeviceRun));
}

/* Blocks of a multiprocessor; 0: a block has not enough shared memory. */
static size_t find_blocks(const RpinnPlanSubject *subject, RpinnPlan *plan) {
  size_t most = subject->device->shared_per_block - STATIC_SHARED, tables = tables_bytes(subject, plan);
  plan->arrays_size = arrays_size(subject, plan);
  plan->shared_bytes = 0;
  if (plan->placement != RPINN_PLACE_ALL_GLOBAL) plan->shared_bytes += plan->arrays_size;
  if (plan->placement == RPINN_PLACE_ALL_SHARED) plan->shared_bytes += subject->layout_size;
  plan->shared_bytes *= subject->real_size;
  if (plan->shared_bytes > most) return 0;
  plan->tables_in_shared = plan->shared_bytes + tables <= most;
  if (plan->tables_in_shared) plan->shared_bytes += tables;
  size_t blocks =
             subject->device->shared_per_multiprocessor / (plan->shared_bytes + STATIC_SHARED + BLOCK_SHARED),
         by_registers = MOST_REGISTERS / THREAD_REGISTERS / plan->num_threads;
  return blocks < by_registers ? blocks : by_registers;
}

/* ---- cost ---- */

/* Multiplications that one thread makes in the products of a level, all fields together. kind: forward, backward, gradient. */
static double product_cost(const RpinnPlanSubject *subject, const RpinnPlan *plan, int kind, int tile) {
  double cost = 0;
  for (size_t level = 1; level < RPINN_MAX_LAYERS; level++) {
    size_t count = 0, inner = 0;
    for (size_t f = 0; f < subject->model->num_fields; f++) {
      const RpinnNetwork *network = &subject->model->networks[f];
      if (network->num_layers - 1 <= level || !plan->max_columns[f]) continue;
      size_t num_in = network->width[level], num_out = network->width[level + 1],
             columns = plan->max_columns[f];
      size_t down = kind == 1 ? num_in : num_out, across = kind == 2 ? num_in : columns;
      count += rounds(down, tiles[tile].rows) * rounds(across, tiles[tile].columns);
      inner = largest(inner, kind == 0 ? num_in : kind == 1 ? num_out : columns);
    }
    cost += (double)(rounds(count, plan->num_threads) * tiles[tile].rows * tiles[tile].columns * inner) *
            tiles[tile].cost;
  }
  return cost;
}

static double best_tile(const RpinnPlanSubject *subject, const RpinnPlan *plan, int kind, int *tile) {
  double least = INFINITY;
  *tile = RPINN_TILE_4X4;
  for (int k = plan->is_fast ? RPINN_TILE_8X8 : RPINN_TILE_4X4; k <= RPINN_TILE_4X4; k++) {
    double cost = product_cost(subject, plan, kind, k);
    if (cost >= least) continue;
    least = cost;
    *tile = k;
  }
  return least;
}

/* Rounds of the groups over units, times points and channels of each lane; and the number of lanes that makes them few. */
static double pointwise_cost(const RpinnPlanSubject *subject, RpinnPlan *plan) {
  double least = INFINITY;
  for (size_t lanes = 32; lanes > 0; lanes /= 2) {
    double cost = 0;
    for (size_t f = 0; f < subject->model->num_fields; f++) {
      const RpinnNetwork *network = &subject->model->networks[f];
      if (!plan->max_columns[f]) continue;
      double columns = (double)plan->max_columns[f] / (double)plan->max_points;
      for (size_t l = 1; l < network->num_layers; l++)
        cost += (double)(rounds(network->width[l], plan->num_threads / lanes) *
                         rounds(plan->max_points, 4 * lanes) * 4) *
                columns;
    }
    if (cost >= least) continue;
    least = cost;
    plan->num_lanes = lanes;
  }
  return least * POINT_INSTRUCTIONS;
}

/* Barriers of a tile. */
static double num_phases(const RpinnPlanSubject *subject) {
  size_t most = 1;
  for (size_t f = 0; f < subject->model->num_fields; f++)
    most = largest(most, subject->model->networks[f].num_layers - 1);
  return 5 + 6 * (double)most;
}

static double cost_of(const RpinnPlanSubject *subject, RpinnPlan *plan) {
  double cost = PHASE_INSTRUCTIONS * num_phases(subject) + best_tile(subject, plan, 0, &plan->forward_tile) +
                best_tile(subject, plan, 1, &plan->backward_tile) +
                best_tile(subject, plan, 2, &plan->gradient_tile) + pointwise_cost(subject, plan);
  if (!plan->tables_in_shared) cost *= GLOBAL_TABLES;
  double warps = (double)(plan->blocks * plan->num_threads) / 32;
  return cost * (double)(plan->num_tiles * plan->num_threads) / fmin(1, warps / WARPS_WANTED);
}

/* The cheapest plan with this placement; false: a block has too little shared memory for any. Leaves its limit of columns. */
static bool choose(const RpinnPlanSubject *subject, RpinnPlan *plan, size_t *columns, size_t *limit) {
  RpinnPlan best = *plan;
  double least = INFINITY;
  for (size_t i = 0; i < sizeof column_limits / sizeof column_limits[0]; i++) {
    size_t own = plan->placement == RPINN_PLACE_ALL_GLOBAL ? GLOBAL_COLUMNS : column_limits[i];
    cut_all(subject, own, plan, columns);
    for (size_t k = 0; k < sizeof thread_numbers / sizeof thread_numbers[0]; k++) {
      plan->num_threads = thread_numbers[k];
      plan->blocks = find_blocks(subject, plan);
      double cost = plan->blocks ? cost_of(subject, plan) : (double)INFINITY;
      if (cost >= least) continue;
      least = cost;
      best = *plan;
      *limit = own;
    }
  }
  *plan = best;
  return isfinite(least);
}

bool rpinn_plan_make(RpinnArena *arena, const RpinnPlanSubject *subject, RpinnPlan *plan) {
  size_t num_fields = subject->model->num_fields, limit = GLOBAL_COLUMNS;
  *plan = (RpinnPlan){.max_columns = RPINN_ARENA_NEW(arena, size_t, num_fields), .max_points = 4};
  size_t *columns = RPINN_ARENA_NEW(arena, size_t, num_fields);
  if (!plan->max_columns || !columns) return false;
  for (int place = RPINN_PLACE_ALL_SHARED; place <= RPINN_PLACE_ALL_GLOBAL; place++) {
    plan->placement = (RpinnDevicePlacement)place;
    plan->is_fast = subject->can_be_fast && place == RPINN_PLACE_ALL_SHARED;
    if (choose(subject, plan, columns, &limit)) break;
  }
  cut_all(subject, limit, plan, columns);
  plan->segments = RPINN_ARENA_NEW(arena, RpinnPlannedSegment, plan->num_segments);
  if (!plan->segments) return false;
  cut_all(subject, limit, plan, columns);
  return true;
}
