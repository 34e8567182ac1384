/* What is pointwise in a layer: activations forward, outputs, and the way back, for all fields of a tile. A group has a unit of a
 * field and its lanes four points each; sums over points are sums of a group, in an order fixed by the problem. */
#ifndef RPINN_BACKEND_CUDA_LAYER_POINTWISE_CUH
#define RPINN_BACKEND_CUDA_LAYER_POINTWISE_CUH

#include "jets.cuh"
#include "layer_products.cuh"

/* The member of a block, and where its numbers are. FAST: parameters and arrays are in the block's shared memory, one behind the
 * other, and functions are compiled to that; else they are where the placement of the call says. */
template <class Real, bool FAST> struct Member {
  const RpinnDeviceWork *work;
  const RpinnDeviceCall *call;
  Real *own_theta, *own_arrays;
  void *own_tables; /* in shared memory */
  Real *gradient; /* in the device's layout */
  Real *registers;
  Real *slopes; /* [num_results][N] */
  const double *row_scale, *offsets, *weights;
  double *results, *squares, *term_sums, *deviations, *mixed_rows, *mixed_weights, *unknown_slopes;

  RPINN_INLINE_METHOD Team team() const { return make_team(work->lane_bits); }
  /* Parameters in the device's layout. */
  RPINN_INLINE_METHOD Real *theta() const {
#if defined(__CUDACC__)
    if (FAST) return shared_memory<Real>();
#endif
    return own_theta;
  }
  /* Arrays, outputs, bars and partial sums of all fields. */
  RPINN_INLINE_METHOD Real *arrays() const {
#if defined(__CUDACC__)
    if (FAST) return shared_memory<Real>() + work->layout_size;
#endif
    return own_arrays;
  }
};

/* A field in a tile: what all of its phases need, in registers. */
template <class Real> struct FieldTile {
  RpinnDeviceField field;
  RpinnDeviceUse use;
  const RpinnDeviceLayer *layers;
  const RpinnDeviceSegment *segments;
  const RpinnDeviceRun *runs; /* of the field in the first segment; the next one is num_fields further */
  const Real *reals;
  int num_segments, run_step;
  Real *arrays;
};

template <class Real, bool FAST>
RPINN_INLINE FieldTile<Real> field_tile(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, int f) {
  const RpinnDeviceWork &work = *member.work;
  FieldTile<Real> own;
  own.field = work.fields[f];
  own.use = work.uses[tile.first_use + f];
  own.layers = work.layers + own.field.first_layer;
  own.segments = work.segments + tile.first_segment;
  own.runs = work.runs + own.segments->first_run + f;
  own.reals = (const Real *)work.reals;
  own.num_segments = tile.num_segments;
  own.run_step = work.num_fields;
  own.arrays = member.arrays() + own.field.arrays;
  return own;
}

/* Fast kernels have tanh and no other, which keeps them short. */
template <class Real, bool FAST>
RPINN_INLINE int activation_of(const Member<Real, FAST> &, const FieldTile<Real> &own) {
  return FAST ? (int)RPINN_ACTIVATION_TANH : own.field.activation;
}

/* The first unit that a group has of a field whose units begin behind `first` others. */
RPINN_INLINE int first_unit(const Team &team, int first) {
  int unit = team.group - first % team.num_groups;
  return unit < 0 ? unit + team.num_groups : unit;
}

enum JetSource { FROM_INPUTS, FROM_RAW, FROM_KEPT };

/* z of four points of a unit, with what is kept in the place of the value: from the inputs of the network, from the raw products
 * of a layer (kept then in their place), or from what was kept. */
template <class Real, bool FAST, class Shape, JetSource SOURCE>
RPINN_INLINE void load_jet(const Member<Real, FAST> &member, const FieldTile<Real> &own, const RpinnDeviceRun &run, const Shape &shape,
                           const RpinnDeviceLayer &layer, int level, int unit, int point, Four<Real> *z) {
  int activation = activation_of(member, own);
  if (SOURCE == FROM_INPUTS) {
    const Real *W = member.theta() + layer.weights + unit * layer.stride;
    const Real *x = own.reals + run.inputs + point;
    Real bias = member.theta()[layer.bias + unit];
    Four<Real> value = {{bias, bias, bias, bias}};
    for (int d = 0; d < layer.num_in; d++) {
      Four<Real> own_x = load_four(x + d * run.num_points);
      Real w = W[d];
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) value.at[q] += own_x.at[q] * w;
    }
    RPINN_UNROLL_SHAPE
    for (int i = 0; i < shape.num_first(); i++) {
      Real w = W[shape.input_of_first(i)];
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) z[1 + i].at[q] = w;
    }
    RPINN_UNROLL_SHAPE
    for (int k = 0; k < shape.num_second(); k++)
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) z[1 + shape.num_first() + k].at[q] = 0;
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) z[0].at[q] = kept_of(activation, value.at[q]);
    return;
  }
  Real *from = own.arrays + level * own.field.array_size + unit * own.field.stride + run.first_column + point;
  RPINN_UNROLL_SHAPE
  for (int c = 0; c < shape.num_channels(); c++) z[c] = load_four(from + c * run.num_points);
  if (SOURCE == FROM_RAW) {
    Real bias = member.theta()[layer.bias + unit];
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) z[0].at[q] = kept_of(activation, z[0].at[q] + bias);
    store_four(from, z[0]);
  }
}

/* ---- activations of a level to array 0, from where the next product takes them ---- */

template <class Real, bool FAST, int FIRST, int SECOND, JetSource SOURCE>
RPINN_INLINE void activate_run(const Member<Real, FAST> &member, const FieldTile<Real> &own, const RpinnDeviceRun &run, int level,
                               int unit) {
  const Team team = member.team();
  typedef JetShape<Real, FIRST, SECOND> Shape;
  Shape shape = make_shape<Real, FIRST, SECOND>(member.work->shapes + run.shape, member.work->numbers);
  const RpinnDeviceLayer layer = own.layers[level];
  Real *to = own.arrays + unit * own.field.stride + run.first_column;
  for (int point = 4 * team.lane; point < run.num_points; point += 4 * team.num_lanes) {
    Four<Real> z[Shape::CHANNELS], a[Shape::CHANNELS];
    load_jet<Real, FAST, Shape, SOURCE>(member, own, run, shape, layer, level, unit, point, z);
    jet_forward(shape, activation_of(member, own), z, a);
    RPINN_UNROLL_SHAPE
    for (int c = 0; c < shape.num_channels(); c++) store_four(to + c * run.num_points + point, a[c]);
  }
}

template <class Real, bool FAST, JetSource SOURCE>
RPINN_INLINE void activate_unit(const Member<Real, FAST> &member, const FieldTile<Real> &own, int level, int unit) {
  for (int s = 0; s < own.num_segments; s++) {
    const RpinnDeviceRun run = own.runs[s * own.run_step];
    if (!run.num_points) continue;
#define RPINN_CALL(FIRST, SECOND) activate_run<Real, FAST, FIRST, SECOND, SOURCE>(member, own, run, level, unit)
    RPINN_WITH_SHAPE(member.work->shapes[run.shape], RPINN_CALL)
#undef RPINN_CALL
  }
}

/* Fields with more than level + 1 + beyond hidden layers. */
template <class Real, bool FAST, JetSource SOURCE>
RPINN_PHASE void activate_level(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, int level, int beyond) {
  const Team team = member.team();
  int first = 0; /* of the field among the units of all fields, which are laid end to end */
  for (int f = 0; f < member.work->num_fields; f++) {
    FieldTile<Real> own = field_tile(member, tile, f);
    if (!own.use.num_columns || own.field.num_hidden <= level + 1 + beyond) continue;
    int width = own.layers[level].num_out;
    for (int unit = first_unit(team, first); unit < width; unit += team.num_groups)
      activate_unit<Real, FAST, SOURCE>(member, own, level, unit);
    first += width;
  }
}

/* The same, of the first level from the inputs and of others from SOURCE. */
template <class Real, bool FAST, JetSource SOURCE>
RPINN_INLINE void activate(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, int level, int beyond) {
  if (level == 0)
    activate_level<Real, FAST, FROM_INPUTS>(member, tile, level, beyond);
  else
    activate_level<Real, FAST, SOURCE>(member, tile, level, beyond);
}

/* ---- outputs: u_c = sum over units of w a_c, and the bias for values ---- */

template <class Real, bool FAST, int FIRST, int SECOND, JetSource SOURCE>
RPINN_INLINE void output_run(const Member<Real, FAST> &member, const FieldTile<Real> &own, const RpinnDeviceRun &run, int level) {
  typedef JetShape<Real, FIRST, SECOND> Shape;
  const Team team = member.team();
  Shape shape = make_shape<Real, FIRST, SECOND>(member.work->shapes + run.shape, member.work->numbers);
  const Real *weights = member.theta() + own.layers[level + 1].weights;
  const RpinnDeviceLayer layer = own.layers[level];
  int width = layer.num_out;
  Real *partial = member.arrays() + own.field.partial + team.warp * own.field.stride + run.first_column;
  for (int first = 0; first < run.num_points; first += 4 * team.num_lanes) {
    int point = first + 4 * team.lane;
    Four<Real> sum[Shape::CHANNELS];
    RPINN_UNROLL_SHAPE
    for (int c = 0; c < shape.num_channels(); c++)
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) sum[c].at[q] = 0;
    for (int unit = team.group; point < run.num_points && unit < width; unit += team.num_groups) {
      Four<Real> z[Shape::CHANNELS], a[Shape::CHANNELS];
      load_jet<Real, FAST, Shape, SOURCE>(member, own, run, shape, layer, level, unit, point, z);
      jet_forward(shape, activation_of(member, own), z, a);
      Real w = weights[unit];
      RPINN_UNROLL_SHAPE
      for (int c = 0; c < shape.num_channels(); c++)
        RPINN_UNROLL
        for (int q = 0; q < 4; q++) sum[c].at[q] += w * a[c].at[q];
    }
    RPINN_UNROLL_SHAPE
    for (int c = 0; c < shape.num_channels(); c++) {
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) sum[c].at[q] = warp_group_sum(team, sum[c].at[q]);
      /* the first group of the warp writes */
      if (point < run.num_points && team.thread % 32 < team.num_lanes) store_four(partial + c * run.num_points + point, sum[c]);
    }
  }
}

template <class Real, bool FAST> RPINN_PHASE void output_sums(const Member<Real, FAST> &member, const RpinnDeviceTile &tile) {
  for (int f = 0; f < member.work->num_fields; f++) {
    FieldTile<Real> own = field_tile(member, tile, f);
    if (!own.use.num_columns) continue;
    int level = own.field.num_hidden - 1;
    for (int s = 0; s < own.num_segments; s++) {
      const RpinnDeviceRun run = own.runs[s * own.run_step];
      if (!run.num_points) continue;
#define RPINN_CALL(FIRST, SECOND)                                                                                          \
  if (!FAST && level == 0)                                                                                                 \
    output_run<Real, FAST, FIRST, SECOND, FROM_INPUTS>(member, own, run, level);                                                 \
  else                                                                                                                     \
    output_run<Real, FAST, FIRST, SECOND, FROM_RAW>(member, own, run, level)
      RPINN_WITH_SHAPE(member.work->shapes[run.shape], RPINN_CALL)
#undef RPINN_CALL
    }
  }
}

template <class Real, bool FAST> RPINN_INLINE void output_finish(const Member<Real, FAST> &member, const RpinnDeviceTile &tile) {
  const Team team = member.team();
  for (int f = 0; f < member.work->num_fields; f++) {
    FieldTile<Real> own = field_tile(member, tile, f);
    if (!own.use.num_columns) continue;
    Real bias = member.theta()[own.layers[own.field.num_hidden].bias];
    const Real *partial = member.arrays() + own.field.partial;
    Real *outputs = member.arrays() + own.field.outputs;
    for (int s = 0; s < own.num_segments; s++) {
      const RpinnDeviceRun run = own.runs[s * own.run_step];
      if (!run.num_points) continue;
      const RpinnDeviceShape &shape = member.work->shapes[run.shape];
      int count = (1 + shape.num_first + shape.num_second) * run.num_points;
      for (int i = team.thread; i < count; i += team.num_threads) {
        Real sum = i < run.num_points ? bias : Real(0);
        for (int warp = 0; warp < team.num_warps; warp++) sum += partial[warp * own.field.stride + run.first_column + i];
        outputs[run.first_column + i] = sum;
      }
    }
  }
}

/* ---- the way back ---- */

/* Sums of one unit over the points of a tile. */
template <class Real> struct UnitSums {
  Real output; /* of the weight to the output */
  Real bias;
  Real inputs[RPINN_DEVICE_MAX_FIRST]; /* of the weights from the inputs */
};

/* Where the slopes of four points go, with as many of them as are points and no padding. */
template <class Real> struct PointSlopes {
  Real *first;
  int64_t step;
  int count;
};
template <class Real> RPINN_INLINE void put_slopes(const PointSlopes<Real> &to, int place, const Four<Real> &four) {
  RPINN_UNROLL
  for (int q = 0; q < 4; q++)
    if (q < to.count) to.first[q * to.step + place] = four.at[q];
}

/* One unit of a level over one run: abar from the outputs' bars (LAST) or array 0; zbar goes to the place of what was kept, for
 * the first level to array 0 where slopes of points are wanted (POINTS) and into sums otherwise. */
template <class Real, bool FAST, int FIRST, int SECOND, bool IS_INPUT, bool LAST, bool POINTS>
RPINN_INLINE void reverse_run(const Member<Real, FAST> &member, const FieldTile<Real> &own, const RpinnDeviceSegment &segment,
                              const RpinnDeviceRun &run, int level, int unit, UnitSums<Real> &sums) {
  const Team team = member.team();
  typedef JetShape<Real, FIRST, SECOND> Shape;
  Shape shape = make_shape<Real, FIRST, SECOND>(member.work->shapes + run.shape, member.work->numbers);
  const RpinnDeviceField &field = own.field;
  const RpinnDeviceLayer layer = own.layers[level];
  const Real *bars = LAST ? member.arrays() + field.bars + run.first_column
                          : own.arrays + unit * field.stride + run.first_column;
  Real *to = own.arrays + (IS_INPUT ? 0 : level) * field.array_size + unit * field.stride + run.first_column;
  Real weight = LAST ? member.theta()[own.layers[level + 1].weights + unit] : Real(1);
  bool is_frozen = field.output_only;
  for (int point = 4 * team.lane; point < run.num_points; point += 4 * team.num_lanes) {
    Four<Real> z[Shape::CHANNELS], bar[Shape::CHANNELS];
    PointSlopes<Real> slopes = {0, 0, 0};
    if (POINTS) {
      const RpinnDeviceItem &item = member.work->items[segment.item];
      slopes.step = member.work->num_parameters;
      slopes.count = segment.num_points - point;
      slopes.first = member.slopes + (item.first_result + segment.first_point + point) * slopes.step;
    }
    load_jet<Real, FAST, Shape, IS_INPUT ? FROM_INPUTS : FROM_KEPT>(member, own, run, shape, layer, level, unit, point, z);
    RPINN_UNROLL_SHAPE
    for (int c = 0; c < shape.num_channels(); c++) bar[c] = load_four(bars + c * run.num_points + point);
    if (LAST) {
      Four<Real> a[Shape::CHANNELS], product = {{0, 0, 0, 0}};
      jet_forward(shape, activation_of(member, own), z, a);
      RPINN_UNROLL_SHAPE
      for (int c = 0; c < shape.num_channels(); c++)
        RPINN_UNROLL
        for (int q = 0; q < 4; q++) {
          product.at[q] += bar[c].at[q] * a[c].at[q];
          bar[c].at[q] *= weight;
        }
      if (POINTS) put_slopes(slopes, own.layers[level + 1].plain + unit, product);
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) sums.output += product.at[q];
    }
    if (is_frozen) continue;
    jet_reverse(shape, activation_of(member, own), z, bar);
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) sums.bias += bar[0].at[q];
    if (POINTS) put_slopes(slopes, layer.plain + layer.num_in * layer.num_out + unit, bar[0]);
    if (!IS_INPUT || POINTS) {
      RPINN_UNROLL_SHAPE
      for (int c = 0; c < shape.num_channels(); c++) store_four(to + c * run.num_points + point, bar[c]);
    } else {
      const Real *x = own.reals + run.inputs + point;
      RPINN_UNROLL
      for (int d = 0; d < RPINN_DEVICE_MAX_FIRST; d++) {
        if (d >= layer.num_in) break;
        Four<Real> own_x = load_four(x + d * run.num_points);
        RPINN_UNROLL
        for (int q = 0; q < 4; q++) sums.inputs[d] += bar[0].at[q] * own_x.at[q];
        RPINN_UNROLL_SHAPE
        for (int i = 0; i < shape.num_first(); i++)
          if (shape.input_of_first(i) == d) {
            RPINN_UNROLL
            for (int q = 0; q < 4; q++) sums.inputs[d] += bar[1 + i].at[q];
          }
      }
    }
  }
}

/* before: what is there already, asked for before the work. */
template <class Real> RPINN_INLINE void put_sum(const Team &team, Real sum, Real before, bool is_mine, Real *to) {
  sum = lane_sum(team, sum);
  if (is_mine && team.lane == 0) *to = before + sum;
}

/* The bias of the output is one more unit, behind the last. */
template <class Real, bool FAST> RPINN_INLINE Real output_bias_sum(const Member<Real, FAST> &member, const FieldTile<Real> &own) {
  const Team team = member.team();
  const Real *bars = member.arrays() + own.field.bars;
  Real sum = 0;
  for (int s = 0; s < own.num_segments; s++) {
    const RpinnDeviceRun run = own.runs[s * own.run_step];
    for (int point = team.lane; point < run.num_points; point += team.num_lanes)
      sum += bars[run.first_column + point];
  }
  return sum;
}

template <class Real, bool FAST, bool POINTS>
RPINN_INLINE void reverse_field(const Member<Real, FAST> &member, const FieldTile<Real> &own, int level, bool is_last, int first) {
  const Team team = member.team();
  const RpinnDeviceLayer layer = own.layers[level], next = own.layers[level + 1];
  bool is_first = own.use.is_first;
  int width = layer.num_out, count = width + (is_last ? 1 : 0), unit = first_unit(team, first);
  /* all threads go round equally often: sums of groups are sums over threads of a warp */
  for (int round = 0; round < rounds(count, team.num_groups); round++, unit += team.num_groups) {
    UnitSums<Real> sums = {0, 0, {0, 0, 0, 0}}, before = {0, 0, {0, 0, 0, 0}};
    bool is_unit = unit < width;
    Real *output = member.gradient + (unit == width ? next.bias : next.weights + unit), *bias = member.gradient + layer.bias + unit,
         *inputs = member.gradient + layer.weights + unit * layer.stride;
    if (!POINTS && !is_first && team.lane == 0) {
      if (is_last && unit <= width) before.output = *output;
      if (is_unit && !own.field.output_only) before.bias = *bias;
      RPINN_UNROLL
      for (int d = 0; d < RPINN_DEVICE_MAX_FIRST; d++)
        if (level == 0 && is_unit && !own.field.output_only && d < layer.num_in) before.inputs[d] = inputs[d];
    }
    for (int s = 0; is_unit && s < own.num_segments; s++) {
      const RpinnDeviceRun run = own.runs[s * own.run_step];
      if (!run.num_points) continue;
#define RPINN_CALL(FIRST, SECOND)                                                                                          \
  if (!FAST && level == 0 && is_last)                                                                                      \
    reverse_run<Real, FAST, FIRST, SECOND, true, true, POINTS>(member, own, own.segments[s], run, level, unit, sums);            \
  else if (level == 0)                                                                                                     \
    reverse_run<Real, FAST, FIRST, SECOND, true, false, POINTS>(member, own, own.segments[s], run, level, unit, sums);           \
  else if (is_last)                                                                                                        \
    reverse_run<Real, FAST, FIRST, SECOND, false, true, POINTS>(member, own, own.segments[s], run, level, unit, sums);           \
  else                                                                                                                     \
    reverse_run<Real, FAST, FIRST, SECOND, false, false, POINTS>(member, own, own.segments[s], run, level, unit, sums)
      RPINN_WITH_SHAPE(member.work->shapes[run.shape], RPINN_CALL)
#undef RPINN_CALL
    }
    if (POINTS) continue;
    if (is_last) {
      if (unit == width) sums.output = output_bias_sum(member, own);
      put_sum(team, sums.output, before.output, unit <= width, output);
    }
    if (own.field.output_only) continue;
    put_sum(team, sums.bias, before.bias, is_unit, bias);
    if (level > 0) continue;
    RPINN_UNROLL
    for (int d = 0; d < RPINN_DEVICE_MAX_FIRST; d++)
      if (d < layer.num_in) put_sum(team, sums.inputs[d], before.inputs[d], is_unit, inputs + d);
  }
}

/* is_last: every field at its last hidden level; else those that have more levels than this one. */
template <class Real, bool FAST, bool POINTS>
RPINN_PHASE void reverse_level(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, int level, bool is_last) {
  int first = 0;
  for (int f = 0; f < member.work->num_fields; f++) {
    FieldTile<Real> own = field_tile(member, tile, f);
    bool fits = is_last || (own.field.num_hidden - 1 > level && !own.field.output_only);
    if (!own.use.num_columns || !fits) continue;
    int own_level = is_last ? own.field.num_hidden - 1 : level;
    reverse_field<Real, FAST, POINTS>(member, own, own_level, is_last, first);
    first += own.layers[own_level].num_out + (is_last ? 1 : 0);
  }
}

#endif
