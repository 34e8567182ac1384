/* One member: all tiles forward and back, terms that mix their points, sums over points, and Adam's rule. */
#ifndef RPINN_BACKEND_CUDA_MEMBER_PASS_CUH
#define RPINN_BACKEND_CUDA_MEMBER_PASS_CUH

#include "program_points.cuh"

/* ---- products of a level, all fields of a tile laid end to end ---- */

enum ProductKind { FORWARD_PRODUCT, BACKWARD_PRODUCT, GRADIENT_PRODUCT };

/* Level l of a field takes part where it has that level, and on the way back where its weights are not frozen. */
template <class Real> RPINN_INLINE bool has_product(const FieldTile<Real> &own, ProductKind kind, int level) {
  return own.use.num_columns && own.field.num_hidden > level && (kind == FORWARD_PRODUCT || !own.field.output_only);
}

template <class Real, bool FAST, int ROWS, int COLUMNS, ProductKind KIND>
RPINN_PHASE void level_product_tiles(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, int level) {
  const Team team = member.team();
  int index = team.thread; /* of the tile among those of this field and of all behind it */
  for (int f = 0; f < member.work->num_fields; f++) {
    FieldTile<Real> own = field_tile(member, tile, f);
    if (!has_product(own, KIND, level)) continue;
    const RpinnDeviceLayer layer = own.layers[level];
    const Real *W = member.theta() + layer.weights;
    Real *passed = own.arrays, *kept = own.arrays + level * own.field.array_size;
    int stride = own.field.stride, num_columns = own.use.num_columns;
    int tiles_down = KIND == FORWARD_PRODUCT    ? rounds(layer.num_out, ROWS)
                     : KIND == BACKWARD_PRODUCT ? rounds(rounds(layer.num_in, 4), ROWS / 4)
                                                : rounds(layer.num_out, ROWS);
    int tiles_across = rounds(KIND == GRADIENT_PRODUCT ? layer.num_in : num_columns, COLUMNS);
    int count = tiles_down * tiles_across;
    for (; index < count; index += team.num_threads) {
      if (KIND == FORWARD_PRODUCT)
        forward_tile<Real, ROWS, COLUMNS>(W, layer.stride, layer.num_out, layer.num_in, passed, kept, stride,
                                          index % tiles_down, tiles_down, index / tiles_down * COLUMNS);
      else if (KIND == BACKWARD_PRODUCT)
        backward_tile<Real, ROWS, COLUMNS>(W, layer.stride, layer.num_out, layer.num_in, kept, passed, stride,
                                           index % tiles_down, tiles_down, index / tiles_down * COLUMNS);
      else
        gradient_tile<Real, ROWS, COLUMNS>(kept, passed, stride, num_columns, layer.num_out, layer.num_in,
                                           member.gradient + layer.weights, layer.stride, own.use.is_first,
                                           index / tiles_across, tiles_down, index % tiles_across, tiles_across);
    }
    index -= count;
  }
}

template <class Real, bool FAST, ProductKind KIND>
RPINN_INLINE void level_product(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, int level) {
  int size = KIND == FORWARD_PRODUCT    ? member.work->forward_tile
             : KIND == BACKWARD_PRODUCT ? member.work->backward_tile
                                        : member.work->gradient_tile;
  if (FAST && size == RPINN_TILE_8X8)
    level_product_tiles<Real, FAST, 8, 8, KIND>(member, tile, level);
  else if (FAST && size == RPINN_TILE_4X8)
    level_product_tiles<Real, FAST, 4, 8, KIND>(member, tile, level);
  else
    level_product_tiles<Real, FAST, 4, 4, KIND>(member, tile, level);
}

/* ---- slopes of points ---- */

enum { SLOPE_UNITS = 4 }; /* of the layer, at a point, that a warp has at a time */

/* Slopes of the weights of a level, W[o][i] = sum_c zbar_c[o] a_c[i], for every point of the tile. The first level has the inputs
 * for its a: W[u][d] = zbar_0 x_d + sum of zbar_i over first derivatives in input d. Lanes of a warp are neighbours in i, as the
 * slopes are in memory, and each a_c[i] serves several o. */
template <class Real, bool FAST>
RPINN_INLINE void point_slopes_of_units(const Member<Real, FAST> &member, const RpinnDeviceLayer &layer, const RpinnDeviceRun &run,
                                        const Real *bars, const Real *passed, int stride, int level, int first, int lane, int lanes,
                                        Real *out) {
  const RpinnDeviceShape &shape = member.work->shapes[run.shape];
  int num_channels = 1 + shape.num_first + shape.num_second, step = run.num_points, num_units = least(SLOPE_UNITS, layer.num_out - first);
  const Real *x = (const Real *)member.work->reals + run.inputs;
  for (int i = lane; i < layer.num_in; i += lanes) {
    Real sum[SLOPE_UNITS];
    RPINN_UNROLL
    for (int u = 0; u < SLOPE_UNITS; u++) sum[u] = 0;
    if (level == 0) {
      for (int u = 0; u < num_units; u++) {
        const Real *bar = bars + (first + u) * stride;
        Real all = bar[0] * x[i * step];
        for (int k = 0; k < shape.num_first; k++)
          if (shape.input_of_first[k] == i) all += bar[(1 + k) * step];
        out[(first + u) * layer.num_in + i] = all;
      }
      continue;
    }
    for (int c = 0; c < num_channels; c++) {
      Real a = passed[i * stride + c * step];
      RPINN_UNROLL
      for (int u = 0; u < SLOPE_UNITS; u++) sum[u] += bars[(first + least(u, num_units - 1)) * stride + c * step] * a;
    }
    RPINN_UNROLL
    for (int u = 0; u < SLOPE_UNITS; u++)
      if (u < num_units) out[(first + u) * layer.num_in + i] = sum[u];
  }
}

template <class Real, bool FAST> RPINN_PHASE void point_slopes(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, int level) {
  const RpinnDeviceWork &work = *member.work;
  const Team team = member.team();
  int lanes = least(32, team.num_threads), lane = team.thread % lanes;
  for (int f = 0; f < work.num_fields; f++) {
    FieldTile<Real> own = field_tile(member, tile, f);
    if (!has_product(own, GRADIENT_PRODUCT, level)) continue;
    const RpinnDeviceLayer layer = own.layers[level];
    int num_groups = rounds(layer.num_out, SLOPE_UNITS);
    for (int s = 0; s < own.num_segments; s++) {
      const RpinnDeviceSegment &segment = own.segments[s];
      const RpinnDeviceRun &run = own.runs[s * own.run_step];
      if (!run.num_points) continue;
      for (int index = team.warp; index < segment.num_points * num_groups; index += team.num_warps) {
        int point = index / num_groups, column = run.first_column + point;
        int64_t result = work.items[segment.item].first_result + segment.first_point + point;
        RpinnDeviceRun at = run;
        at.inputs += point;
        point_slopes_of_units(member, layer, at, own.arrays + level * own.field.array_size + column, (const Real *)own.arrays + column,
                              own.field.stride, level, index % num_groups * SLOPE_UNITS, lane, lanes,
                              member.slopes + result * work.num_parameters + layer.plain);
      }
    }
  }
}

/* Slopes of the outputs' biases and of unknowns. */
template <class Real, bool FAST> RPINN_INLINE void point_slopes_of_rest(const Member<Real, FAST> &member, const RpinnDeviceTile &tile) {
  const Team team = member.team();
  const RpinnDeviceWork &work = *member.work;
  for (int s = 0; s < tile.num_segments; s++) {
    const RpinnDeviceSegment &segment = work.segments[tile.first_segment + s];
    for (int point = team.thread; point < segment.num_points; point += team.num_threads) {
      int64_t result = work.items[segment.item].first_result + segment.first_point + point;
      Real *slopes = member.slopes + result * work.num_parameters;
      for (int f = 0; f < work.num_fields; f++) {
        const RpinnDeviceRun &run = work.runs[segment.first_run + f];
        const RpinnDeviceField &field = work.fields[f];
        const RpinnDeviceLayer &layer = work.layers[field.first_layer + field.num_hidden];
        if (run.num_points) slopes[layer.plain + layer.num_in] = member.arrays()[field.bars + run.first_column + point];
      }
      for (int k = 0; k < work.num_unknowns; k++)
        slopes[work.unknown_start + k] = (Real)member.unknown_slopes[result * work.num_unknowns + k];
    }
  }
}

/* ---- tiles ---- */

template <class Real, bool FAST> RPINN_PHASE void tile_forward(const Member<Real, FAST> &member, const RpinnDeviceTile &tile) {
  activate<Real, FAST, FROM_RAW>(member, tile, 0, 0);
  barrier();
  for (int level = 1; level < member.work->max_hidden; level++) {
    level_product<Real, FAST, FORWARD_PRODUCT>(member, tile, level);
    barrier();
    if (level + 1 < member.work->max_hidden) {
      activate<Real, FAST, FROM_RAW>(member, tile, level, 0);
      barrier();
    }
  }
  output_sums(member, tile);
  barrier();
  output_finish(member, tile);
  barrier();
}

/* From the bars of the outputs to the gradient, or to the slopes of points. */
template <class Real, bool FAST, bool POINTS> RPINN_INLINE void tile_reverse(const Member<Real, FAST> &member, const RpinnDeviceTile &tile) {
  reverse_level<Real, FAST, POINTS>(member, tile, 0, true);
  barrier();
  if (POINTS) {
    point_slopes_of_rest(member, tile);
  }
  for (int level = member.work->max_hidden - 1; level > 0; level--) {
    /* Array 0 still has what the last level took; fields with levels above this one need it again. */
    if (level + 1 < member.work->max_hidden) {
      activate<Real, FAST, FROM_KEPT>(member, tile, level - 1, 1);
      barrier();
    }
    if (POINTS)
      point_slopes(member, tile, level);
    else
      level_product<Real, FAST, GRADIENT_PRODUCT>(member, tile, level);
    barrier();
    level_product<Real, FAST, BACKWARD_PRODUCT>(member, tile, level);
    barrier();
    reverse_level<Real, FAST, POINTS>(member, tile, level - 1, false);
    barrier();
  }
  if (POINTS) {
    point_slopes(member, tile, 0);
    barrier();
  }
}

/* ---- terms whose rows mix their points, with scales in two steps: see rpinn_mixed_row_ratio ---- */

RPINN_INLINE double row_ratio(const double *scales, int row) {
  return scales[row] == scales[0] ? 1.0 : scales[row] / scales[0];
}

/* rows = ratio s_0 mix deviations - offsets */
template <class Real, bool FAST> RPINN_INLINE void mix_rows(const Member<Real, FAST> &member) {
  const Team team = member.team();
  const RpinnDeviceWork &work = *member.work;
  for (int t = 0; t < work.num_items; t++) {
    const RpinnDeviceItem &item = work.items[t];
    if (item.mix < 0) continue;
    const double *scales = member.row_scale + item.first_row;
    for (int j = team.thread; j < item.num_rows; j += team.num_threads) {
      const double *mix = work.numbers + item.mix + (int64_t)j * item.num_points;
      double sum = 0;
      for (int p = 0; p < item.num_points; p++) sum += mix[p] * (member.deviations[item.first_result + p] * scales[0]);
      sum = sum * row_ratio(scales, j) - (member.offsets ? member.offsets[item.first_row + j] : 0.0);
      member.mixed_rows[item.first_result + j] = sum;
      member.squares[item.first_result + j] = sum * sum;
    }
  }
}

/* weights of points = s_0 mix^T (ratio rows); rows: those of mix_rows, or given ones. */
template <class Real, bool FAST> RPINN_INLINE void mix_weights(const Member<Real, FAST> &member, bool given) {
  const Team team = member.team();
  const RpinnDeviceWork &work = *member.work;
  for (int t = 0; t < work.num_items; t++) {
    const RpinnDeviceItem &item = work.items[t];
    if (item.mix < 0) continue;
    const double *scales = member.row_scale + item.first_row;
    const double *rows = given ? member.weights + item.first_row : member.mixed_rows + item.first_result;
    for (int p = team.thread; p < item.num_points; p += team.num_threads) {
      const double *mix = work.numbers + item.mix + p;
      double sum = 0;
      for (int j = 0; j < item.num_rows; j++) sum += mix[(int64_t)j * item.num_points] * (rows[j] * row_ratio(scales, j));
      member.mixed_weights[item.first_result + p] = sum * scales[0];
    }
  }
}

/* ---- sums over points ---- */

template <class Real, bool FAST> RPINN_INLINE void sum_squares(const Member<Real, FAST> &member) {
  const RpinnDeviceWork &work = *member.work;
  const Team team = member.team();
  for (int first = 0; first < work.num_items; first += team.num_groups) {
    int t = first + team.group;
    bool is_mine = t < work.num_items;
    const RpinnDeviceItem &item = work.items[is_mine ? t : 0];
    double sum = 0;
    for (int i = team.lane; is_mine && i < item.num_rows; i += team.num_lanes) sum += member.squares[item.first_result + i];
    sum = lane_sum(team, sum);
    if (is_mine && team.lane == 0) member.term_sums[t] = sum;
  }
}

template <class Real, bool FAST> RPINN_INLINE void sum_unknowns(const Member<Real, FAST> &member) {
  const RpinnDeviceWork &work = *member.work;
  const Team team = member.team();
  for (int first = 0; first < work.num_unknowns; first += team.num_groups) {
    int k = first + team.group;
    bool is_mine = k < work.num_unknowns;
    double sum = 0;
    for (int i = team.lane; is_mine && i < work.num_results; i += team.num_lanes)
      sum += member.unknown_slopes[(int64_t)i * work.num_unknowns + k];
    sum = lane_sum(team, sum);
    if (is_mine && team.lane == 0) member.gradient[work.unknowns + k] = (Real)sum;
  }
}

/* ---- the whole ---- */

/* All tiles of a task at the parameters of the member; of the slopes of points those of a part. */
template <class Real, bool FAST, bool POINTS> RPINN_INLINE void all_tiles(const Member<Real, FAST> &member, int part) {
  const RpinnDeviceWork &work = *member.work;
  const RpinnDeviceCall &call = *member.call;
  bool is_mixed = work.first_mixed_tile < work.num_tiles;
  bool has_rows = call.task == RPINN_TASK_ENERGY || call.task == RPINN_TASK_ADAM;
  if (is_mixed && has_rows) {
    for (int i = work.first_mixed_tile; i < work.num_tiles; i++) {
      tile_forward(member, work.tiles[i]);
      program_points(member, work.tiles[i], true);
      barrier();
    }
    mix_rows(member);
    barrier();
    mix_weights(member, false);
    barrier();
  }
  if (is_mixed && call.task == RPINN_TASK_GIVEN) {
    mix_weights(member, true);
    barrier();
  }
  int num_tiles = is_mixed && has_rows && !call.wants_gradient ? work.first_mixed_tile : work.num_tiles;
  for (int i = part; i < num_tiles; i += POINTS ? call.num_parts : 1) {
    tile_forward(member, work.tiles[i]);
    program_points(member, work.tiles[i], false);
    barrier();
    if (call.wants_gradient) tile_reverse<Real, FAST, POINTS>(member, work.tiles[i]);
  }
}

/* m = beta1 m + (1-beta1) g;  v = beta2 v + (1-beta2) g^2;  theta -= rate m / (root_scale sqrt(v) + epsilon), where
 * g = gradient + prior_scale theta - prior_shift. */
template <class Real, bool FAST>
RPINN_INLINE void adam_update(const Member<Real, FAST> &member, int64_t first, const RpinnDeviceAdamStep &step) {
  const Team team = member.team();
  const RpinnDeviceCall &call = *member.call;
  Real *m = (Real *)call.m + first, *v = (Real *)call.v + first;
  const Real *prior_scale = (const Real *)call.prior_scale + first, *prior_shift = (const Real *)call.prior_shift + first;
  Real rate = (Real)step.rate, root_scale = (Real)step.root_scale, beta1 = (Real)call.beta1, beta2 = (Real)call.beta2,
       epsilon = (Real)call.epsilon;
  for (int j = 4 * team.thread; j < member.work->layout_size; j += 4 * team.num_threads) {
    Four<Real> theta = load_four(member.theta() + j), gradient = load_four(member.gradient + j), own_m = load_four(m + j),
               own_v = load_four(v + j), scale = load_four(prior_scale + j), shift = load_four(prior_shift + j);
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) {
      Real g = gradient.at[q] + scale.at[q] * theta.at[q] - shift.at[q];
      own_m.at[q] = beta1 * own_m.at[q] + (1 - beta1) * g;
      own_v.at[q] = beta2 * own_v.at[q] + (1 - beta2) * g * g;
      theta.at[q] -= rate * own_m.at[q] / (root_scale * root_of(own_v.at[q]) + epsilon);
    }
    store_four(member.theta() + j, theta);
    store_four(m + j, own_m);
    store_four(v + j, own_v);
  }
}

template <class Real> RPINN_INLINE void copy_parameters(const Team &team, int size, const Real *from, Real *to) {
  for (int j = 4 * team.thread; from != to && j < size; j += 4 * team.num_threads) store_four(to + j, load_four(from + j));
}

/* Bytes from `from` to `to`, both at multiples of 16, size too. */
RPINN_INLINE void copy_bytes(const Team &team, int size, const void *from, void *to) {
  const Four<float> *all = (const Four<float> *)from;
  for (int i = team.thread; i < size / 16; i += team.num_threads) ((Four<float> *)to)[i] = all[i];
}

template <class Table> RPINN_INLINE void move_table(const Table *&table, const void *from, void *to) {
  table = (const Table *)((const char *)to + ((const char *)table - (const char *)from));
}

/* The tables of a work in another place. */
RPINN_INLINE void move_tables(RpinnDeviceWork &work, void *to) {
  const void *from = work.tables;
  move_table(work.fields, from, to);
  move_table(work.layers, from, to);
  move_table(work.shapes, from, to);
  move_table(work.tiles, from, to);
  move_table(work.uses, from, to);
  move_table(work.segments, from, to);
  move_table(work.runs, from, to);
  move_table(work.items, from, to);
  move_table(work.instructions, from, to);
  move_table(work.maps, from, to);
  move_table(work.constants, from, to);
}

/* Member k of a launch on a block. shared: the memory of the block: parameters, arrays, tables, each where the placement has it there. */
template <class Real, bool FAST>
RPINN_INLINE void fill_member(Member<Real, FAST> &member, RpinnDeviceWork &work, const RpinnDeviceCall &call, int64_t k, int64_t block,
                              Real *shared) {
  bool has_theta = FAST || call.placement == RPINN_PLACE_ALL_SHARED,
       has_arrays = has_theta || call.placement == RPINN_PLACE_ARRAYS_SHARED;
  Real *arrays = shared + (has_theta ? work.layout_size : 0), *tables = arrays + (has_arrays ? work.arrays_size : 0);
  member.work = &work;
  member.call = &call;
  member.own_theta = has_theta ? shared : (Real *)call.theta + k * work.layout_size;
  member.own_arrays = has_arrays ? arrays : (Real *)call.workspace + block * work.arrays_size;
  member.gradient = (Real *)call.gradient + k * work.layout_size;
  member.registers = (Real *)call.registers + block * work.registers_size;
  member.slopes = call.slopes ? (Real *)call.slopes + k * work.num_results * (int64_t)work.num_parameters : 0;
  member.row_scale = call.row_scale + k * call.scale_step;
  member.offsets = call.offsets ? call.offsets + k * work.num_rows : 0;
  member.weights = call.weights ? call.weights + k * work.num_rows : 0;
  member.results = call.results + k * work.num_results;
  member.squares = call.squares + k * work.num_results;
  member.term_sums = call.term_sums + k * work.num_items;
  member.deviations = call.mixed + k * 3 * work.num_results;
  member.mixed_rows = member.deviations + work.num_results;
  member.mixed_weights = member.mixed_rows + work.num_results;
  member.unknown_slopes = call.unknown_slopes + k * work.num_results * (int64_t)work.num_unknowns;
  member.own_tables = tables;
  if (work.tables_in_shared) move_tables(work, tables);
}

/* A block of a launch: member after member, each with its parts. POINTS: the task is the slopes of points, which no other kernel does. */
template <class Real, bool FAST, bool POINTS>
RPINN_INLINE void run_member(const RpinnDeviceWork &given_work, const RpinnDeviceCall &given_call, int64_t block, Real *shared) {
  const int64_t k = block / given_call.num_parts;
  RPINN_SHARED RpinnDeviceWork work;
  RPINN_SHARED RpinnDeviceCall call;
  RPINN_SHARED Member<Real, FAST> member;
  const Team team = make_team(given_work.lane_bits);
  if (team.thread == 0) {
    work = given_work;
    call = given_call;
    fill_member(member, work, call, k, block, shared);
  }
  barrier();
  if (work.tables_in_shared) copy_bytes(team, work.tables_bytes, work.tables, member.own_tables);
  Real *theta = (Real *)call.theta + k * work.layout_size;
  copy_parameters(team, work.layout_size, (const Real *)theta, member.theta());
  barrier();
  if constexpr (POINTS) {
    all_tiles<Real, FAST, POINTS>(member, (int)(block % call.num_parts));
  } else if (call.task != RPINN_TASK_ADAM) {
    all_tiles<Real, FAST, POINTS>(member, 0);
    if (call.wants_gradient) sum_unknowns(member);
    if (call.task == RPINN_TASK_ENERGY) sum_squares(member);
  } else {
    for (int step = 0; step < call.num_steps; step++) {
      all_tiles<Real, FAST, POINTS>(member, 0);
      sum_unknowns(member);
      if (step + 1 == call.num_steps) {
        sum_squares(member);
        copy_parameters(team, work.layout_size, (const Real *)member.theta(),
                        (Real *)call.theta_before + k * work.layout_size);
      }
      barrier();
      adam_update(member, k * work.layout_size, call.steps[(int64_t)call.step_row[k] * call.num_steps + step]);
      barrier();
    }
    copy_parameters(team, work.layout_size, (const Real *)member.theta(), theta);
  }
}

#endif
