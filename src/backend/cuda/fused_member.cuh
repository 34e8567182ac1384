/* One member on one block of threads, from its parameters to many iterations of Adam, or to its energy and gradient. Parameters and
 * the arrays of a tile stay in shared memory; sums of products are made in registers.
 *
 * Everything is a sequence of phases between barriers, and what a thread carries from one to another is in its FusedOwn. On a
 * device that is registers; on the host (tests) a phase is a loop over the threads of the block. */
#ifndef RPINN_BACKEND_CUDA_FUSED_MEMBER_CUH
#define RPINN_BACKEND_CUDA_FUSED_MEMBER_CUH

#include "fused_products.cuh"
#include "program_points.cuh"

/* What a thread has. */
template <class S> struct FusedOwn {
  typename S::Sums sums;             /* of a product */
  typename S::GradientSums gradient; /* of a layer's weights */
  float first[S::MOST_CHANNELS][2];  /* of the last layer's first row, in whose place the sum over rows waits */
  RpinnFusedPoint point;             /* whose program the thread runs */
};

/* And what it has by row, which loops find by their index: sums of the weights to the output over the points of the thread. No part of
 * the above, for what is found so has no place in registers. */
template <class S> struct FusedRows {
  float output[S::ROWS];
};

/* What all threads of a block know. */
template <class S> struct FusedBlock {
  const RpinnDeviceWork *work;
  const RpinnFusedWork *fused;
  const RpinnDeviceCall *call;
  int64_t member;
  float *shared;
  FusedOwn<S> *own; /* of the thread, or on the host of all of them */
  FusedRows<S> *rows;

  RPINN_INLINE_METHOD float *activations() const { return shared + fused->activations; }
  RPINN_INLINE_METHOD float *bars() const { return shared; }
  template <class Table> RPINN_INLINE_METHOD const Table *table(int32_t place) const { return (const Table *)((const char *)shared + place); }
  RPINN_INLINE_METHOD const RpinnFusedField *field(int f) const { return table<RpinnFusedField>(fused->fields) + f; }
  RPINN_INLINE_METHOD const RpinnFusedLayer *layer(int l) const { return table<RpinnFusedLayer>(fused->layers) + l; }
  RPINN_INLINE_METHOD float *in_layout(void *array) const { return (float *)array + member * work->layout_size; }
};

template <class S> RPINN_INLINE int threads_of(const FusedBlock<S> &block) { return S::threads(block.fused->num_threads); }

#if defined(__CUDACC__)
/* Asked for anew by every phase: the compiler would keep what it derived of it in one phase for the next ones, and has no room for it. */
RPINN_INLINE int own_thread() {
  int thread;
  asm volatile("mov.u32 %0, %tid.x;" : "=r"(thread));
  return thread;
}
#endif

/* A phase: body(thread, what it has) for every thread of the block, and a barrier. */
template <class S, class Body> RPINN_INLINE void each_thread(const FusedBlock<S> &block, Body body) {
#if defined(__CUDACC__)
  body(own_thread(), *block.own);
  __syncthreads();
#else
  /* In turn from the first and from the last: what depended on the order of threads would show. */
  static thread_local bool backwards = false;
  int count = threads_of(block);
  for (int i = 0; i < count; i++) body(backwards ? count - 1 - i : i, block.own[backwards ? count - 1 - i : i]);
  backwards = !backwards;
#endif
}

/* A thread that takes no part in a product has zeros: else it would carry what it had before through all that lies between, in
 * registers that the others lack. */
template <class S, int FROM> RPINN_INLINE void clear_sums(typename S::Sums &sums) {
  RPINN_UNROLL
  for (int i = 0; i < S::ROWS; i++)
    RPINN_UNROLL
    for (int c = FROM; c < S::MOST_CHANNELS; c++) sums[i][c][0] = sums[i][c][1] = 0;
}
template <class S> RPINN_INLINE void clear_entries(typename S::GradientSums &sums) {
  RPINN_UNROLL
  for (int i = 0; i < S::GRADIENT_ROWS; i++)
    RPINN_UNROLL
    for (int j = 0; j < S::GRADIENT_COLUMNS; j++) sums[i][j] = 0;
}

template <class S> RPINN_INLINE FusedRows<S> &rows_of(const FusedBlock<S> &block, int thread) {
#if defined(__CUDACC__)
  (void)thread;
  return *block.rows;
#else
  return block.rows[thread];
#endif
}

/* body(thread) for every thread that has a point, without a barrier: what it reads was there before, and what it writes is read by
 * the same thread. */
template <class S, class Body> RPINN_INLINE void each_point(const FusedBlock<S> &block, Body body) {
#if defined(__CUDACC__)
  (void)block;
  if (threadIdx.x < S::POINTS) body((int)threadIdx.x);
#else
  (void)block;
  for (int i = 0; i < S::POINTS; i++) body(i);
#endif
}

/* ---- shapes ---- */

template <class S, int SHAPE> struct FusedChannels {
  enum { FIRST = SHAPE ? (int)S::FIRSTS : 0, SECOND = SHAPE == 2, C = 1 + FIRST + SECOND, ROW = S::row_size(C) };
  typedef FusedJet<FIRST, SECOND> Jet;
};

/* CALL(SHAPE) for the shape of a field in a tile, which is the same for all threads. */
#define RPINN_WITH_FUSED_SHAPE(use, CALL)                                                                                  \
  if ((use).shape == 2)                                                                                                    \
    CALL(2);                                                                                                               \
  else if ((use).shape == 1)                                                                                               \
    CALL(1);                                                                                                               \
  else                                                                                                                     \
    CALL(0)

/* A field in a tile. */
template <class S> struct FusedField {
  const RpinnFusedField *field;
  const RpinnFusedLayer *layers;
  const RpinnFusedUse *use;
};

template <class S> RPINN_INLINE int hidden_of(const FusedField<S> &own) { return S::hidden(own.field->num_hidden); }
template <class S> RPINN_INLINE int groups_of(int stated) { return S::groups(stated, S::GROUP_ROWS); } /* of a hidden layer */

template <class S, int SHAPE> RPINN_INLINE typename FusedChannels<S, SHAPE>::Jet jet_of(const FusedField<S> &own) {
  typename FusedChannels<S, SHAPE>::Jet jet;
  RPINN_UNROLL
  for (int i = 0; i < 3; i++) jet.hessian[i] = own.use->hessian[i];
  return jet;
}

/* Units of a layer that threads have, and the place of a thread among them. */
template <class S> RPINN_INLINE bool find_place(int thread, int groups, FusedPlace &place) {
  place = S::place(thread, groups);
  return place.group < groups;
}
/* Rows that planes have room for, and products read. */
template <class S> RPINN_INLINE int padded_rows(int width) { return (width + S::INNER - 1) / S::INNER * S::INNER; }

/* ---- the numbers that a layer keeps, of a thread for itself, in global memory ---- */

template <class S> RPINN_INLINE float *kept_place(const FusedBlock<S> &block, const FusedField<S> &own, int level, int thread) {
  return (float *)block.call->workspace + block.member * block.fused->kept_size + own.field->kept +
         2 * ((level - 1) * S::ROWS * S::MOST_CHANNELS * threads_of(block) + thread);
}

template <class S, int C> RPINN_INLINE void keep(const FusedBlock<S> &block, float *kept, int i, const float (&z)[2][C]) {
  RPINN_UNROLL
  for (int c = 0; c < C; c++) store_two(kept + 2 * (i * C + c) * threads_of(block), z[0][c], z[1][c]);
}

template <class S, int C> RPINN_INLINE void load_kept(const FusedBlock<S> &block, const float *kept, int i, float (&z)[2][C]) {
  RPINN_UNROLL
  for (int c = 0; c < C; c++) {
    Two two = load_two(kept + 2 * (i * C + c) * threads_of(block));
    z[0][c] = two.x;
    z[1][c] = two.y;
  }
}

/* What was kept of rows, one after the other, each asked for while the one before it is worked on. */
template <class S, int C> struct KeptRows {
  const float *kept;
  int rows; /* that planes have room for: of others nothing was kept */
  float next[2][C];

  RPINN_INLINE_METHOD void ask(const FusedBlock<S> &block, const FusedPlace &place, int i) {
    if (i < S::ROWS && S::has_room(S::row(place, i), rows)) load_kept<S, C>(block, kept, i, next);
  }
  RPINN_INLINE_METHOD void take(const FusedBlock<S> &block, const FusedPlace &place, int i, float (&z)[2][C]) {
    RPINN_UNROLL
    for (int c = 0; c < C; c++) {
      z[0][c] = next[0][c];
      z[1][c] = next[1][c];
    }
    ask(block, place, i + 1);
  }
};

/* ---- a thread's own numbers in a plane ----
 *
 * What follows a product is short for a row and long for all rows of a thread. So the sums of a product go from registers to the
 * thread's places of a plane, and a loop takes them from there row by row: the code stays in the caches of instructions. */

/* The numbers of a row at both points. */
template <class S, int C> RPINN_INLINE void load_row(const float *from, float (&z)[2][C]) {
  RPINN_UNROLL
  for (int c = 0; c < C; c++) {
    Two two = load_two(from + c * S::POINTS);
    z[0][c] = two.x;
    z[1][c] = two.y;
  }
}
template <class S, int C> RPINN_INLINE void store_row(float *to, const float (&z)[2][C]) {
  RPINN_UNROLL
  for (int c = 0; c < C; c++) store_two(to + c * S::POINTS, z[0][c], z[1][c]);
}
template <class S, int C> RPINN_INLINE void store_operands(float *to, const float (&z)[2][C]) {
  RPINN_UNROLL
  for (int c = 0; c < C; c++) store_two(to + c * S::POINTS, S::operand(z[0][c]), S::operand(z[1][c]));
}

/* Sums of all rows; ROW: floats from row to row. */
template <class S, int C, int ROW>
RPINN_INLINE void store_sums(float *plane, const FusedPlace &place, int rows, const typename S::Sums &sums) {
  RPINN_UNROLL
  for (int i = 0; i < S::ROWS; i++) {
    int row = S::row(place, i);
    RPINN_UNROLL
    for (int c = 0; c < C; c++)
      if (S::has_room(row, rows)) store_two(plane + row * ROW + c * S::POINTS + 2 * place.pair, sums[i][c][0], sums[i][c][1]);
  }
}

/* ---- the first layer, from the inputs ---- */

template <class S> struct FusedInputs {
  Two x[S::FIRSTS];
};

template <class S> RPINN_INLINE FusedInputs<S> inputs_of(const FusedBlock<S> &block, const FusedField<S> &own, int pair) {
  FusedInputs<S> inputs;
  RPINN_UNROLL
  for (int d = 0; d < S::FIRSTS; d++)
    inputs.x[d] = load_two(block.fused->inputs + own.use->inputs + (d < own.field->num_inputs ? d : 0) * S::POINTS + 2 * pair);
  return inputs;
}

/* z of both points of a unit, tanh in the place of the value. Inputs that a network lacks have no weight. */
template <class S, int SHAPE>
RPINN_INLINE void first_jet(const FusedBlock<S> &block, const FusedField<S> &own, const FusedInputs<S> &inputs, int row,
                            float (&z)[2][FusedChannels<S, SHAPE>::C]) {
  typedef FusedChannels<S, SHAPE> Channels;
  const RpinnFusedLayer &layer = own.layers[0];
  float value[2], weight[S::FIRSTS];
  value[0] = value[1] = block.shared[layer.bias + row];
  RPINN_UNROLL
  for (int d = 0; d < S::FIRSTS; d++) {
    weight[d] = block.shared[layer.weights + d * layer.padded + row];
    value[0] = multiply_add(weight[d], inputs.x[d].x, value[0]);
    value[1] = multiply_add(weight[d], inputs.x[d].y, value[1]);
  }
  RPINN_UNROLL
  for (int q = 0; q < 2; q++) {
    z[q][0] = short_tanh(value[q]);
    RPINN_UNROLL
    for (int i = 0; i < Channels::FIRST; i++) z[q][1 + i] = weight[i];
    if (Channels::SECOND > 0) z[q][Channels::C - 1] = 0;
  }
}

/* Activations of a layer to the plane, from the inputs (level 0) or from what was kept. */
template <class S, int SHAPE>
RPINN_INLINE void activate_again(const FusedBlock<S> &block, const FusedField<S> &own, int level, int thread) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C;
  FusedPlace place;
  if (!find_place<S>(thread, groups_of<S>(own.layers[level].out_groups), place)) return;
  typename Channels::Jet jet = jet_of<S, SHAPE>(own);
  FusedInputs<S> inputs = inputs_of(block, own, place.pair);
  int rows = padded_rows<S>(S::width(own.layers[level].num_out));
  KeptRows<S, C> kept = {level ? kept_place(block, own, level, thread) : 0, rows, {}};
  if (level) kept.ask(block, place, 0);
  RPINN_UNROLL_ONE
  for (int i = 0; i < S::ROWS; i++) {
    int row = S::row(place, i);
    float z[2][C], a[2][C];
    if (!S::has_room(row, rows)) continue;
    if (level)
      kept.take(block, place, i, z);
    else
      first_jet<S, SHAPE>(block, own, inputs, row, z);
    jet.forward(z[0], a[0]);
    jet.forward(z[1], a[1]);
    store_operands<S, C>(block.activations() + row * Channels::ROW + 2 * place.pair, a);
  }
}

/* ---- forward ---- */

/* The sums of a row of a layer become what is kept: tanh in the place of the value. */
template <class S, int C> RPINN_INLINE void take_tanh(const FusedBlock<S> &block, const RpinnFusedLayer &layer, int row, float (&z)[2][C]) {
  float bias = block.shared[layer.bias + row];
  RPINN_UNROLL
  for (int q = 0; q < 2; q++) z[q][0] = short_tanh(z[q][0] + bias);
}

/* A hidden layer that is not the last, in two phases: all have read the plane of activations before it is written. */
template <class S, int SHAPE> RPINN_INLINE void forward_layer(const FusedBlock<S> &block, const FusedField<S> &field, int level) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C;
  const RpinnFusedLayer layer = field.layers[level];
  int rows = padded_rows<S>(S::width(layer.num_out));
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    FusedPlace place;
    typename S::Sums sums;
    if (!find_place<S>(thread, groups_of<S>(layer.out_groups), place)) return;
    S::template forward<C>(layer, place, block.shared + layer.weights, block.activations(), sums);
    store_sums<S, C, Channels::ROW>(block.bars(), place, rows, sums);
  });
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    FusedPlace place;
    if (!find_place<S>(thread, groups_of<S>(layer.out_groups), place)) return;
    typename Channels::Jet jet = jet_of<S, SHAPE>(field);
    float *kept = kept_place(block, field, level, thread);
    RPINN_UNROLL_ONE
    for (int i = 0; i < S::ROWS; i++) {
      float z[2][C], a[2][C];
      int row = S::row(place, i), at = row * Channels::ROW + 2 * place.pair;
      if (!S::has_room(row, rows)) continue;
      load_row<S, C>(block.bars() + at, z);
      take_tanh<S, C>(block, layer, row, z);
      keep<S, C>(block, kept, i, z);
      jet.forward(z[0], a[0]);
      jet.forward(z[1], a[1]);
      store_operands<S, C>(block.activations() + at, a);
    }
  });
}

/* The last hidden layer and the outputs: u_c = sum over units of w a_c. Each thread sums its own units; what there is of them for a
 * point goes to the plane of bars, in the place of the thread's first row. */
template <class S, int SHAPE> RPINN_INLINE void forward_last(const FusedBlock<S> &block, const FusedField<S> &field) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C, level = hidden_of(field) - 1;
  const RpinnFusedLayer layer = field.layers[level], output = field.layers[level + 1];
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    FusedPlace place;
    typename S::Sums sums;
    RPINN_UNROLL
    for (int c = 0; c < S::MOST_CHANNELS; c++) own.first[c][0] = own.first[c][1] = 0;
    if (!find_place<S>(thread, groups_of<S>(layer.out_groups), place)) return;
    int rows = padded_rows<S>(S::width(layer.num_out));
    S::template forward<C>(layer, place, block.shared + layer.weights, block.activations(), sums);
    store_sums<S, C, Channels::ROW>(block.bars(), place, rows, sums);
    typename Channels::Jet jet = jet_of<S, SHAPE>(field);
    float sum[2][C], z[2][C], *kept = kept_place(block, field, level, thread);
    RPINN_UNROLL
    for (int c = 0; c < C; c++) sum[0][c] = sum[1][c] = 0;
    RPINN_UNROLL_ONE
    for (int i = 0; i < S::ROWS; i++) {
      int row = S::row(place, i);
      float *at = block.bars() + row * Channels::ROW + 2 * place.pair;
      if (!S::has_room(row, rows)) continue;
      load_row<S, C>(at, z);
      take_tanh<S, C>(block, layer, row, z);
      if (S::has_several_fields(block.fused->keeps_last))
        keep<S, C>(block, kept, i, z);
      else
        store_two(at, z[0][0], z[1][0]);
      float weight = block.shared[output.weights + row];
      RPINN_UNROLL
      for (int q = 0; q < 2; q++) {
        float a[C];
        jet.forward(z[q], a);
        RPINN_UNROLL
        for (int c = 0; c < C; c++) sum[q][c] = multiply_add(weight, a[c], sum[q][c]);
      }
    }
    float *first = block.bars() + S::row(place, 0) * Channels::ROW + 2 * place.pair;
    load_row<S, C>(first, z);
    RPINN_UNROLL
    for (int c = 0; c < C; c++) {
      own.first[c][0] = z[0][c];
      own.first[c][1] = z[1][c];
    }
    store_row<S, C>(first, sum);
  });
}

/* The outputs of a point are summed by its thread, which needs no barrier behind it. */
template <class S, int SHAPE>
RPINN_INLINE void sum_outputs(const FusedBlock<S> &block, const FusedField<S> &field, int thread) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C;
  const RpinnFusedLayer &layer = field.layers[hidden_of(field) - 1], &output = field.layers[hidden_of(field)];
  float *outputs = block.shared + field.field->outputs + thread;
  const float *parts = block.bars() + thread;
  float sum[C];
  RPINN_UNROLL
  for (int c = 0; c < C; c++) sum[c] = c ? 0.0f : block.shared[output.bias];
  for (int group = 0; group < groups_of<S>(layer.out_groups); group++)
    RPINN_UNROLL
    for (int part = 0; part < S::PARTS; part++)
      RPINN_UNROLL
      for (int c = 0; c < C; c++) sum[c] += parts[(group * S::GROUP_ROWS + part) * Channels::ROW + c * S::POINTS];
  RPINN_UNROLL
  for (int c = 0; c < C; c++) outputs[c * S::POINTS] = sum[c];
}

template <class S> RPINN_INLINE void field_forward(const FusedBlock<S> &block, const FusedField<S> &field, int tile) {
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    own.point = thread < S::POINTS ? block.fused->points[tile * S::POINTS + thread] : -1; /* long before it is needed */
#define RPINN_CALL(SHAPE) activate_again<S, SHAPE>(block, field, 0, thread)
    RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
  });
  for (int level = 1; level + 1 < hidden_of(field); level++) {
#define RPINN_CALL(SHAPE) forward_layer<S, SHAPE>(block, field, level)
    RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
  }
#define RPINN_CALL(SHAPE) forward_last<S, SHAPE>(block, field)
  RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
}

/* ---- programs ---- */

/* The tables of programs in shared memory. */
template <class S> RPINN_INLINE RpinnDeviceWork program_work(const FusedBlock<S> &block) {
  const RpinnFusedWork &fused = *block.fused;
  RpinnDeviceWork work = *block.work;
  work.fields = block.template table<RpinnDeviceField>(fused.program_fields);
  work.runs = block.template table<RpinnDeviceRun>(fused.program_runs);
  work.items = block.template table<RpinnDeviceItem>(fused.items);
  work.instructions = block.template table<RpinnDeviceInstruction>(fused.instructions);
  work.maps = block.template table<RpinnDeviceMap>(fused.maps);
  work.constants = block.template table<double>(fused.constants);
  return work;
}

template <class S> RPINN_INLINE double *squares_of(const FusedBlock<S> &block) {
  return block.call->squares + block.member * block.work->num_results;
}
template <class S> RPINN_INLINE double *unknown_slopes_of(const FusedBlock<S> &block) {
  return block.call->unknown_slopes + block.member * block.work->num_results * (int64_t)block.work->num_unknowns;
}

template <class S> RPINN_INLINE Member<float, false> program_member(const FusedBlock<S> &block, const RpinnDeviceWork &work) {
  const RpinnDeviceCall &call = *block.call;
  int64_t k = block.member;
  Member<float, false> member = {};
  member.work = &work;
  member.call = &call;
  member.own_theta = block.shared + block.fused->unknowns - work.unknowns;
  member.own_arrays = block.shared;
  member.registers = (float *)call.registers + k * work.registers_size;
  member.row_scale = call.row_scale + k * call.scale_step;
  member.offsets = call.offsets ? call.offsets + k * work.num_rows : 0;
  member.weights = call.weights ? call.weights + k * work.num_rows : 0;
  member.results = call.results + k * work.num_results;
  member.squares = squares_of(block);
  member.unknown_slopes = unknown_slopes_of(block);
  return member;
}

/* The outputs of a point from the tile's channels to those of its item, or back. */
template <class S> RPINN_INLINE void to_item(const RpinnFusedChannels &channels, float *outputs) {
  float value[RPINN_FUSED_MOST_CHANNELS];
  RPINN_UNROLL
  for (int c = 0; c < RPINN_FUSED_MOST_CHANNELS; c++) value[c] = c < channels.count ? outputs[channels.from[c] * S::POINTS] : 0.0f;
  RPINN_UNROLL
  for (int c = 0; c < S::MOST_CHANNELS; c++) outputs[c * S::POINTS] = value[c];
}
template <class S> RPINN_INLINE void to_tile(const RpinnFusedChannels &channels, float *bars) {
  float value[RPINN_FUSED_MOST_CHANNELS];
  RPINN_UNROLL
  for (int c = 0; c < S::MOST_CHANNELS; c++) {
    value[c] = bars[c * S::POINTS];
    bars[c * S::POINTS] = 0;
  }
  RPINN_UNROLL
  for (int c = 0; c < S::MOST_CHANNELS; c++)
    if (c < channels.count) bars[channels.from[c] * S::POINTS] = value[c];
}
template <class S> RPINN_INLINE void clear_outputs(float *outputs) {
  RPINN_UNROLL
  for (int c = 0; c < S::MOST_CHANNELS; c++) outputs[c * S::POINTS] = 0;
}

/* The same for a program that is linear in its channels. */
template <class S>
RPINN_INLINE void linear_at(const FusedBlock<S> &block, const Member<float, false> &member, const RpinnDeviceItem &item,
                            const RpinnFusedChannels *channels, int place, int thread) {
  const int num_fields = S::fields(member.work->num_fields);
  RowData data = row_data(member, item, place);
  float R = 0, weight;
  for (int f = 0; f < num_fields; f++) {
    const float *outputs = block.shared + block.field(f)->outputs + thread;
    R += channels[f].shift;
    RPINN_UNROLL
    for (int c = 0; c < S::MOST_CHANNELS; c++)
      if (channels[f].factors[c] != 0) R = multiply_add(channels[f].factors[c], outputs[c * S::POINTS], R);
  }
  double *unknown_slopes = member.unknown_slopes + (int64_t)(item.first_result + place) * member.work->num_unknowns;
  for (int k = 0; k < member.work->num_unknowns; k++) unknown_slopes[k] = 0;
  if (!point_weight(member, item, data, place, R, false, weight)) weight = 0;
  for (int f = 0; f < num_fields; f++) {
    float *bars = block.shared + block.field(f)->outputs + thread;
    RPINN_UNROLL
    for (int c = 0; c < S::MOST_CHANNELS; c++) bars[c * S::POINTS] = channels[f].factors[c] != 0 ? channels[f].factors[c] * weight : 0.0f;
  }
}

/* The program of a point: outputs become bars in their place. */
template <class S>
RPINN_INLINE void program_at(const FusedBlock<S> &block, const Member<float, false> &member, RpinnFusedPoint point, int thread) {
  const RpinnDeviceWork &work = *member.work;
  const int index = point / RPINN_FUSED_MOST_PLACE, place = point % RPINN_FUSED_MOST_PLACE;
  const RpinnDeviceItem &item = work.items[index];
  const RpinnFusedChannels *channels = block.template table<RpinnFusedChannels>(block.fused->channels) + index * S::fields(work.num_fields);
  if (channels->is_linear) {
    linear_at(block, member, item, channels, place, thread);
    return;
  }
  float registers[2 * OWN_REGISTERS];
  bool fits = item.num_instructions <= OWN_REGISTERS;
  PointProgram<float> program;
  program.item = &item;
  program.instructions = work.instructions + item.first_instruction;
  program.runs = work.runs;
  program.point = thread;
  program.place = place;
  program.step = fits ? 1 : S::POINTS;
  program.registers = fits ? registers : member.registers + thread;
  program.adjoints = fits ? registers + OWN_REGISTERS : member.registers + item.num_instructions * S::POINTS + thread;
  RowData data = row_data(member, item, place);
  for (int f = 0; f < S::fields(work.num_fields); f++) to_item<S>(channels[f], block.shared + block.field(f)->outputs + thread);
  float R = program_forward(member, program), weight;
  for (int f = 0; f < S::fields(work.num_fields); f++) clear_outputs<S>(block.shared + block.field(f)->outputs + thread);
  double *unknown_slopes = member.unknown_slopes + (int64_t)(item.first_result + place) * work.num_unknowns;
  for (int k = 0; k < work.num_unknowns; k++) unknown_slopes[k] = 0;
  if (point_weight(member, item, data, place, R, false, weight)) program_reverse(member, program, weight, unknown_slopes);
  for (int f = 0; f < S::fields(work.num_fields); f++) to_tile<S>(channels[f], block.shared + block.field(f)->outputs + thread);
}

template <class S> RPINN_INLINE void tile_programs(const FusedBlock<S> &block) {
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    if (thread >= S::POINTS) return;
    const RpinnDeviceWork work = program_work(block);
    const Member<float, false> member = program_member(block, work);
    if (own.point >= 0)
      program_at(block, member, own.point, thread);
    else
      for (int f = 0; f < S::fields(block.work->num_fields); f++) clear_outputs<S>(block.shared + block.field(f)->outputs + thread);
  });
}

/* ---- sums over tiles, and Adam ---- */

/* What becomes of a sum: it goes on in the next tile, or it is the gradient. */
struct Settling {
  bool is_first, is_last, is_adam;
  float rate, root_scale, beta1, beta2, epsilon;
  float *gradient;
  Four<float> *records;
};

/* Is the kernel compiled for Adam's iterations, too? */
template <class S> struct HasAdam { enum { VALUE = 1 }; };

template <class S> RPINN_INLINE Settling settling_of(const FusedBlock<S> &block, int step) {
  const RpinnDeviceCall &call = *block.call;
  Settling how = {true, true, HasAdam<S>::VALUE && call.task == RPINN_TASK_ADAM, 0, 0, 0, 0, 0, block.in_layout(call.gradient), 0};
  if (!how.is_adam) return how;
  const RpinnDeviceAdamStep own = call.steps[(int64_t)call.step_row[block.member] * call.num_steps + step];
  how.rate = own.near_rate;
  how.root_scale = own.near_root_scale;
  how.beta1 = (float)call.beta1;
  how.beta2 = (float)call.beta2;
  how.epsilon = (float)call.epsilon;
  how.records = (Four<float> *)call.records + block.member * block.work->layout_size;
  return how;
}

/* A load that stays where it is written, for the compiler would make all of them at once and has no room for it, and that leaves the
 * first cache to what is read again. */
RPINN_INLINE Four<float> load_now(const Four<float> *from) {
#if defined(__CUDACC__)
  Four<float> four;
  asm volatile("ld.global.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.at[0]), "=f"(four.at[1]), "=f"(four.at[2]), "=f"(four.at[3])
               : "l"(from));
  return four;
#else
  return *from;
#endif
}

/* What a thread alone adds to needs no answer before it goes on. */
RPINN_INLINE void add_to(float *sum, float x) {
#if defined(__CUDACC__)
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(sum), "f"(x) : "memory");
#else
  *sum += x;
#endif
}

/* From where the additions went, which is L2. */
RPINN_INLINE float sum_at(const float *sum) {
#if defined(__CUDACC__)
  float value;
  asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(value) : "l"(sum) : "memory");
  return value;
#else
  return *sum;
#endif
}

/* A parameter by its record (m, v, prior_scale, prior_shift), of which m and v move:
 *
 *   m = beta1 m + (1-beta1) g;  v = beta2 v + (1-beta2) g^2;  theta -= rate m / (root_scale sqrt(v) + epsilon), where
 *   g = gradient + prior_scale theta - prior_shift */
RPINN_INLINE float move_parameter(const Settling &how, Four<float> &record, float theta, float gradient) {
  float g = multiply_add(record.at[2], theta, gradient - record.at[3]), square = g * g;
  record.at[0] = multiply_add(how.beta1, record.at[0] - g, g);
  record.at[1] = multiply_add(how.beta2, record.at[1] - square, square);
  float root = multiply_add(short_root(record.at[1]), how.root_scale, how.epsilon);
  return multiply_add(-how.rate * record.at[0], short_inverse(root), theta);
}

/* One parameter. What it needs of memory is asked for before the sum is known. */
struct SettledOne {
  int place;
  float before;
  Four<float> record;

  RPINN_INLINE_METHOD void load(const Settling &how, int own_place) {
    clear();
    place = own_place;
    if (!how.is_first) before = how.gradient[place];
    if (how.is_adam && how.is_last) record = load_now(how.records + place);
  }
  RPINN_INLINE_METHOD void clear() {
    place = 0;
    before = 0;
    record = Four<float>{{0, 0, 0, 0}};
  }
  RPINN_INLINE_METHOD void settle(const Settling &how, float *value, float sum) {
    if (how.is_adam && how.is_last) {
      *value = move_parameter(how, record, *value, sum + before);
      store_two((float *)(how.records + place), record.at[0], record.at[1]);
    } else {
      how.gradient[place] = sum + before;
    }
  }
};

/* A thread's entries of the weights of a hidden layer, column by column; columns and rows that the layer lacks stand for its last. */
template <class S> struct EntryColumns {
  enum { COUNT = S::GRADIENT_COLUMNS };
  int column[COUNT];
  bool is_there[COUNT];
};

template <class S> RPINN_INLINE EntryColumns<S> entry_columns(const RpinnFusedLayer &layer, const GradientPlace &own) {
  EntryColumns<S> columns;
  RPINN_UNROLL
  for (int j = 0; j < S::GRADIENT_COLUMNS; j++) {
    int column = S::gradient_column(own, j);
    columns.is_there[j] = column < S::width(layer.num_in);
    columns.column[j] = column < S::width(layer.num_in) ? column : S::width(layer.num_in) - 1;
  }
  return columns;
}

/* What a row of them needs of memory, asked for before its work. */
template <class S> struct EntryRow {
  enum { COUNT = S::GRADIENT_COLUMNS };
  Four<float> record[COUNT];
  float before[COUNT];

  RPINN_INLINE_METHOD void load(const Settling &how, const RpinnFusedLayer &layer, const GradientPlace &own,
                                const EntryColumns<S> &columns, int i) {
    int row = S::gradient_row(own, i), place = layer.layout_weights + (row < S::width(layer.num_out) ? row : S::width(layer.num_out) - 1) * layer.layout_stride;
    clear();
    if (!S::HAS_ONE_MATRIX && !how.is_first)
      RPINN_UNROLL
      for (int j = 0; j < COUNT; j++) before[j] = sum_at(how.gradient + place + columns.column[j]);
    RPINN_UNROLL
    for (int j = 0; j < COUNT; j++) record[j] = load_now(how.records + place + columns.column[j]);
  }
  RPINN_INLINE_METHOD void clear() {
    RPINN_UNROLL
    for (int j = 0; j < COUNT; j++) {
      before[j] = 0;
      record[j] = Four<float>{{0, 0, 0, 0}};
    }
  }
  /* Of the last tile, in an iteration. sums: where those of the row lie */
  RPINN_INLINE_METHOD void settle(const Settling &how, const RpinnFusedLayer &layer, const GradientPlace &own,
                                  const EntryColumns<S> &columns, int i, float *weights, const float *sums) {
    int row = S::gradient_row(own, i), place = layer.layout_weights + row * layer.layout_stride;
    bool has_row = row < S::width(layer.num_out);
    float *of_row = weights + S::weight_place(0, row);
    RPINN_UNROLL
    for (int j = 0; j < COUNT; j++) {
      bool is_there = has_row && columns.is_there[j];
      float *value = of_row + columns.column[j] * S::STRIDE;
      float moved = move_parameter(how, record[j], is_there ? *value : 0.0f, sums[j] + before[j]);
      if (is_there) *value = moved;
      if (is_there) store_two((float *)(how.records + place + columns.column[j]), record[j].at[0], record[j].at[1]);
    }
  }
};

/* Sums of a thread's entries to those of the tiles before, or to the gradient where that is what is wanted. */
template <class S>
RPINN_INLINE void add_entries(const Settling &how, const RpinnFusedLayer &layer, const GradientPlace &own, const typename S::GradientSums &sums) {
  const EntryColumns<S> columns = entry_columns<S>(layer, own);
  const bool begins = S::HAS_ONE_MATRIX || how.is_first;
  RPINN_UNROLL
  for (int i = 0; i < S::GRADIENT_ROWS; i++) {
    const int row = S::gradient_row(own, i);
    float *to = how.gradient + layer.layout_weights + row * layer.layout_stride;
    RPINN_UNROLL
    for (int j = 0; j < S::GRADIENT_COLUMNS; j++) {
      if (row >= S::width(layer.num_out) || !columns.is_there[j]) continue;
      if (begins)
        to[columns.column[j]] = sums[i][j];
      else
        add_to(to + columns.column[j], sums[i][j]);
    }
  }
}

/* Sums of a thread's entries wait in its places of the plane of activations, [thread][entry], an odd number of floats apart; those of a field's
 * only matrix stay in registers from the first tile to the last. */
template <class S> RPINN_INLINE float *entries_of(const FusedBlock<S> &block, int thread) {
  return block.activations() + thread * S::ENTRIES_STEP;
}
template <class S> RPINN_INLINE void store_entries(const FusedBlock<S> &block, int thread, const typename S::GradientSums &sums) {
  RPINN_UNROLL
  for (int i = 0; i < S::GRADIENT_ROWS; i++)
    RPINN_UNROLL
    for (int j = 0; j < S::GRADIENT_COLUMNS; j++) entries_of(block, thread)[i * S::GRADIENT_COLUMNS + j] = sums[i][j];
}

/* The weights of a hidden layer. sums: of the thread's entries, row by row; rows: the first ones, all at hand but the last of which have been
 * asked for. */
template <class S>
RPINN_INLINE void settle_weights(const FusedBlock<S> &block, const Settling &how, const RpinnFusedLayer &layer,
                                 const GradientPlace &own, const float *sums, EntryRow<S> (&rows)[S::ROWS_AT_HAND]) {
  enum { AT_HAND = S::ROWS_AT_HAND, UNROLL = S::HAS_ONE_MATRIX ? S::GRADIENT_ROWS : 1 };
  const EntryColumns<S> columns = entry_columns<S>(layer, own);
  float *weights = block.shared + layer.weights;
  RPINN_UNROLL_SIZES
  for (int first = 0; first < S::GRADIENT_ROWS; first += AT_HAND)
    RPINN_UNROLL
    for (int i = 0; i < AT_HAND; i++) {
      const int row = first + i, next = row + AT_HAND - 1;
      if (next < S::GRADIENT_ROWS) rows[(i + AT_HAND - 1) % AT_HAND].load(how, layer, own, columns, next);
      if (row < S::GRADIENT_ROWS) rows[i].settle(how, layer, own, columns, row, weights, sums + row * S::GRADIENT_COLUMNS);
    }
}

/* ---- the way back ---- */

/* From row to row of the plane of bars where the parameters of the first layer find their sums: room for those of the bias and of
 * each weight, or for what the level above sends back. */
template <class S> RPINN_INLINE int first_sums_row(int shape) { return S::row_size(shape == 2 ? 2 + S::FIRSTS : 1 + S::FIRSTS); }

/* What the parameters of a unit of the first layer get of two points: its bias, then its weights, [parameter][point]. */
template <class S, int SHAPE>
RPINN_INLINE void store_first_sums(float *to, const FusedInputs<S> &inputs, const float (&bar)[2][FusedChannels<S, SHAPE>::C]) {
  store_two(to, bar[0][0], bar[1][0]);
  RPINN_UNROLL
  for (int d = 0; d < S::FIRSTS; d++) {
    float x = bar[0][0] * inputs.x[d].x, y = bar[1][0] * inputs.x[d].y;
    if constexpr (FusedChannels<S, SHAPE>::FIRST > 0) {
      x += bar[0][1 + d];
      y += bar[1][1 + d];
    }
    store_two(to + (1 + d) * S::POINTS, x, y);
  }
}

/* From the bars of the outputs through the last hidden layer's activation. */
template <class S, int SHAPE> RPINN_INLINE void reverse_last(const FusedBlock<S> &block, const FusedField<S> &field, int thread,
                                                             FusedOwn<S> &own) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C, level = hidden_of(field) - 1;
  const RpinnFusedLayer &layer = field.layers[level], &output = field.layers[level + 1];
  FusedPlace place;
  if (!find_place<S>(thread, groups_of<S>(layer.out_groups), place)) return;
  typename Channels::Jet jet = jet_of<S, SHAPE>(field);
  int rows = padded_rows<S>(S::width(layer.num_out));
  float out[2][C];
  KeptRows<S, C> kept = {kept_place(block, field, level, thread), rows, {}};
  if (S::has_several_fields(block.fused->keeps_last)) kept.ask(block, place, 0);
  load_row<S, C>(block.shared + field.field->outputs + 2 * place.pair, out);
  if (!S::has_several_fields(block.fused->keeps_last))
    RPINN_UNROLL
    for (int c = 0; c < C; c++)
      store_two(block.bars() + S::row(place, 0) * Channels::ROW + c * S::POINTS + 2 * place.pair, own.first[c][0], own.first[c][1]);
  RPINN_UNROLL_ONE
  for (int i = 0; i < S::ROWS; i++) {
    int row = S::row(place, i);
    float *at = block.bars() + row * Channels::ROW + 2 * place.pair;
    float z[2][C], bar[2][C], weight = block.shared[output.weights + row], sum = 0;
    if (!S::has_room(row, rows)) continue;
    if (S::has_several_fields(block.fused->keeps_last))
      kept.take(block, place, i, z);
    else
      load_row<S, C>(at, z);
    RPINN_UNROLL
    for (int q = 0; q < 2; q++) {
      float a[C];
      jet.forward(z[q], a);
      RPINN_UNROLL
      for (int c = 0; c < C; c++) {
        sum = multiply_add(a[c], out[q][c], sum);
        bar[q][c] = weight * out[q][c];
      }
      jet.reverse(z[q], bar[q]);
    }
    rows_of(block, thread).output[i] = sum;
    store_operands<S, C>(at, bar);
  }
}

/* Bars of the last hidden layer, and activations of the one before. */
template <class S, int SHAPE> RPINN_INLINE void reverse_begin(const FusedBlock<S> &block, const FusedField<S> &field, int thread,
                                                              FusedOwn<S> &own) {
  reverse_last<S, SHAPE>(block, field, thread, own);
  if (S::has_several_matrices(block.fused->makes_again)) activate_again<S, SHAPE>(block, field, hidden_of(field) - 2, thread);
}

/* The sum over the points of a row of the plane. */
template <class S> RPINN_INLINE float sum_of_points(const float *from) {
  Four<float> sum = load_four(from);
  RPINN_UNROLL
  for (int p = 4; p < S::POINTS; p += 4) {
    Four<float> four = load_four(from + p);
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) sum.at[q] += four.at[q];
  }
  return (sum.at[0] + sum.at[1]) + (sum.at[2] + sum.at[3]);
}

/* Sums of the weights to the output, [unit][pair] behind the entries of all threads. */
template <class S> RPINN_INLINE float *output_sums(const FusedBlock<S> &block) {
  return entries_of(block, threads_of(block));
}
template <class S>
RPINN_INLINE void store_output_sums(const FusedBlock<S> &block, const FusedField<S> &field, int thread) {
  const RpinnFusedLayer &last = field.layers[hidden_of(field) - 1];
  FusedPlace place;
  if (!find_place<S>(thread, groups_of<S>(last.out_groups), place)) return;
  RPINN_UNROLL /* one load does not wait for another */
  for (int i = 0; i < S::ROWS; i++)
    if (S::row(place, i) < S::width(last.num_out)) output_sums(block)[S::row(place, i) * (S::PAIRS | 1) + place.pair] = rows_of(block, thread).output[i];
}

/* What came back to the outputs of a hidden layer, through its activation: the bars of the level below, or of the first layer the sums
 * of its parameters. */
template <class S, int SHAPE, bool IS_FIRST>
RPINN_INLINE void reverse_activation(const FusedBlock<S> &block, const FusedField<S> &field, int level, int thread,
                                     const FusedPlace &place, const typename S::Sums &sums) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C, ROW = IS_FIRST && SHAPE == 0 ? S::row_size(1 + S::FIRSTS) : Channels::ROW;
  typename Channels::Jet jet = jet_of<S, SHAPE>(field);
  FusedInputs<S> inputs = inputs_of(block, field, place.pair);
  int rows = padded_rows<S>(S::width(field.layers[level].num_out));
  KeptRows<S, C> kept = {IS_FIRST ? 0 : kept_place(block, field, level, thread), rows, {}};
  if (!IS_FIRST) kept.ask(block, place, 0);
  store_sums<S, C, ROW>(block.bars(), place, rows, sums);
  RPINN_UNROLL_ONE
  for (int i = 0; i < S::ROWS; i++) {
    int row = S::row(place, i);
    float *at = block.bars() + row * ROW + 2 * place.pair;
    float z[2][C], bar[2][C];
    if (!S::has_room(row, rows)) continue;
    if constexpr (IS_FIRST)
      first_jet<S, SHAPE>(block, field, inputs, row, z);
    else
      kept.take(block, place, i, z);
    load_row<S, C>(at, bar);
    jet.reverse(z[0], bar[0]);
    jet.reverse(z[1], bar[1]);
    if constexpr (IS_FIRST)
      store_first_sums<S, SHAPE>(at, inputs, bar);
    else
      store_operands<S, C>(at, bar);
  }
}

/* A level: bars of its outputs are in their plane, activations of its inputs in theirs. */
template <class S, int SHAPE>
RPINN_INLINE void reverse_layer(const FusedBlock<S> &block, const FusedField<S> &field, const Settling &how, int level) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C;
  const RpinnFusedLayer layer = field.layers[level];
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    SettledOne bias;
    if (thread < S::width(layer.num_out))
      bias.load(how, layer.layout_bias + thread);
    else
      bias.clear();
    GradientPlace entries = S::gradient_place(thread, layer);
    if (entries.works)
      S::template gradient<C>(layer, entries, block.bars(), block.activations(), !S::HAS_ONE_MATRIX || how.is_first, own.gradient);
    else
      clear_entries<S>(own.gradient);
    FusedPlace place;
    if (find_place<S>(thread, groups_of<S>(layer.in_groups), place)) {
      S::template backward<C>(layer, place, block.shared + layer.weights, block.bars(), own.sums);
      clear_sums<S, C>(own.sums);
    } else {
      clear_sums<S, 0>(own.sums);
    }
    if (thread < S::width(layer.num_out))
      bias.settle(how, block.shared + layer.bias + thread, sum_of_points<S>(block.bars() + thread * Channels::ROW));
  });
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    FusedPlace place;
    GradientPlace entries = S::gradient_place(thread, layer);
    EntryRow<S> rows[S::ROWS_AT_HAND];
    const bool settles = entries.works && how.is_adam && how.is_last;
    const float *sums = S::HAS_ONE_MATRIX ? &own.gradient[0][0] : entries_of(block, thread);
    if (settles) {
      if (!S::HAS_ONE_MATRIX) store_entries<S>(block, thread, own.gradient);
      const EntryColumns<S> columns = entry_columns<S>(layer, entries);
      RPINN_UNROLL
      for (int i = 0; i + 1 < S::ROWS_AT_HAND; i++) rows[i].load(how, layer, entries, columns, i);
    } else {
      RPINN_UNROLL
      for (int i = 0; i + 1 < S::ROWS_AT_HAND; i++) rows[i].clear();
      if (entries.works && (!S::HAS_ONE_MATRIX || how.is_last)) add_entries<S>(how, layer, entries, own.gradient);
    }
    if (find_place<S>(thread, groups_of<S>(layer.in_groups), place)) {
      if (level > 1)
        reverse_activation<S, SHAPE, false>(block, field, level - 1, thread, place, own.sums);
      else
        reverse_activation<S, SHAPE, true>(block, field, level - 1, thread, place, own.sums);
    }
    if (settles) settle_weights<S>(block, how, layer, entries, sums, rows);
    if (level == 1) store_output_sums(block, field, thread);
  });
}

/* The sum over the pairs of points. */
template <class S> RPINN_INLINE float sum_of_pairs(const float *from) {
  float even = 0, odd = 0;
  RPINN_UNROLL
  for (int pair = 0; pair < S::PAIRS; pair += 2) {
    even += from[pair];
    odd += from[pair + 1];
  }
  return even + odd;
}

/* Parameters of the first layer, then of the output layer, a thread each. */
template <class S>
RPINN_INLINE void settle_small(const FusedBlock<S> &block, const FusedField<S> &field, const Settling &how, int thread) {
  const RpinnFusedLayer &first = field.layers[0], &output = field.layers[hidden_of(field)];
  const int width = S::width(first.num_out), count = (1 + first.num_in) * width, row_step = first_sums_row<S>(field.use->shape);
  for (int index = thread; index <= count + S::width(output.num_in); index += threads_of(block)) {
    int input = (index >= width) + (index >= 2 * width) - 1, row = index - (input + 1) * width, last = index - count;
    bool is_first = index < count, is_bias = last == S::width(output.num_in);
    int place = is_first && input < 0 ? first.layout_bias + row
                : is_first            ? first.layout_weights + row * first.layout_stride + input
                : is_bias             ? output.layout_bias
                                      : output.layout_weights + last;
    int value = is_first && input < 0 ? first.bias + row
                : is_first            ? first.weights + input * first.padded + row
                : is_bias             ? output.bias
                                      : output.weights + last;
    SettledOne one;
    one.load(how, place);
    float sum = is_bias ? sum_of_points<S>(block.shared + field.field->outputs)
                  : is_first ? sum_of_points<S>(block.bars() + row * row_step + (1 + input) * S::POINTS)
                             : sum_of_pairs<S>(output_sums(block) + last * (S::PAIRS | 1));
    one.settle(how, block.shared + value, sum);
  }
}

template <class S> RPINN_INLINE void field_reverse(const FusedBlock<S> &block, const FusedField<S> &field, Settling how) {
  how.is_first = field.use->is_first;
  how.is_last = field.use->is_last;
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
#define RPINN_CALL(SHAPE) reverse_begin<S, SHAPE>(block, field, thread, own)
    RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
  });
  for (int level = hidden_of(field) - 1; level > 0; level--) {
#define RPINN_CALL(SHAPE) reverse_layer<S, SHAPE>(block, field, how, level)
    RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
    if (level == 1) break;
    each_thread(block, [&](int thread, FusedOwn<S> &) {
#define RPINN_CALL(SHAPE) activate_again<S, SHAPE>(block, field, level - 2, thread)
      RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
    });
  }
  each_thread(block, [&](int thread, FusedOwn<S> &) { settle_small(block, field, how, thread); });
}

/* ---- sums over all points, in double: a thread sums some of them, and one thread what these have ---- */

template <class S> RPINN_INLINE void settle_unknowns(const FusedBlock<S> &block, const double *slopes, const Settling &how) {
  const RpinnDeviceWork &work = *block.work;
  int count = work.num_unknowns, parts = threads_of(block) / (count ? count : 1);
  double *scratch = (double *)(block.shared + block.fused->activations);
  if (!count) return;
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    double sum = 0;
    for (int i = thread / count; thread / count < parts && i < work.num_results; i += parts) sum += slopes[(int64_t)i * count + thread % count];
    scratch[thread] = sum;
  });
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    double sum = 0;
    for (int part = 0; part < parts && thread < count; part++) sum += scratch[part * count + thread];
    if (thread < count) {
      SettledOne one;
      one.load(how, work.unknowns + thread);
      one.settle(how, block.shared + block.fused->unknowns + thread, (float)sum);
    }
  });
}

template <class S> RPINN_INLINE void sum_energies(const FusedBlock<S> &block, const double *squares, double *term_sums) {
  const RpinnDeviceWork &work = *block.work;
  double *scratch = (double *)(block.shared + block.fused->activations);
  for (int t = 0; t < work.num_items; t++) {
    const RpinnDeviceItem &item = work.items[t];
    each_thread(block, [&](int thread, FusedOwn<S> &) {
      double sum = 0;
      for (int i = thread; i < item.num_rows; i += threads_of(block)) sum += squares[item.first_result + i];
      scratch[thread] = sum;
    });
    each_thread(block, [&](int thread, FusedOwn<S> &) {
      double sum = 0;
      for (int i = 0; thread == 0 && i < threads_of(block); i++) sum += scratch[i];
      if (thread == 0) term_sums[t] = sum;
    });
  }
}

/* ---- parameters between the device's layout and shared memory ---- */

template <class S, class Move> RPINN_INLINE void move_parameters(const FusedBlock<S> &block, int thread, Move move) {
  const RpinnDeviceWork &work = *block.work;
  int step = threads_of(block);
  for (int f = 0; f < S::fields(work.num_fields); f++) {
    const RpinnFusedField &field = *block.field(f);
    for (int l = 0; l <= S::hidden(field.num_hidden); l++) {
      const RpinnFusedLayer layer = *block.layer(field.first_layer + l);
      for (int i = thread; i < layer.num_in * layer.num_out; i += step) {
        int m = i / layer.num_in, k = i % layer.num_in;
        int place = l == 0 ? k * layer.padded + m : l == S::hidden(field.num_hidden) ? k : S::weight_place(k, m);
        move(layer.layout_weights + m * layer.layout_stride + k, layer.weights + place);
      }
      for (int i = thread; i < layer.num_out; i += step) move(layer.layout_bias + i, layer.bias + i);
    }
  }
  for (int i = thread; i < work.num_unknowns; i += step) move(work.unknowns + i, block.fused->unknowns + i);
}

template <class S> RPINN_INLINE void clear_shared(const FusedBlock<S> &block) {
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    for (int i = thread; i < block.fused->shared_size; i += threads_of(block)) block.shared[i] = 0;
  });
}

template <class S> RPINN_INLINE void load_parameters(const FusedBlock<S> &block, const float *theta) {
  clear_shared(block);
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    move_parameters(block, thread, [&](int from, int to) { block.shared[to] = theta[from]; });
  });
}

/* What belongs to no parameter stays what it was. */
template <class S> RPINN_INLINE void store_parameters(const FusedBlock<S> &block, float *theta) {
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    move_parameters(block, thread, [&](int to, int from) { theta[to] = block.shared[from]; });
  });
}

/* ---- the whole ---- */

template <class S> RPINN_INLINE void fused_tile(const FusedBlock<S> &block, const Settling &how, int tile) {
  int num_fields = S::fields(block.work->num_fields);
  const RpinnFusedUse *uses = block.template table<RpinnFusedUse>(block.fused->uses) + tile * num_fields;
  for (int f = 0; f < num_fields; f++) {
    FusedField<S> field = {block.field(f), block.layer(block.field(f)->first_layer), uses + f};
    if (field.use->shape < 0) continue;
    field_forward(block, field, tile);
    each_point<S>(block, [&](int thread) {
#define RPINN_CALL(SHAPE) sum_outputs<S, SHAPE>(block, field, thread)
      RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
    });
  }
  tile_programs(block);
  for (int f = 0; f < num_fields && block.call->wants_gradient; f++) {
    FusedField<S> field = {block.field(f), block.layer(block.field(f)->first_layer), uses + f};
    if (field.use->shape >= 0) field_reverse(block, field, how);
  }
}

template <class S> RPINN_INLINE void fused_gradient(const FusedBlock<S> &block, int step) {
  Settling how = settling_of(block, step);
  for (int tile = 0; tile < block.fused->num_tiles; tile++) fused_tile(block, how, tile);
  if (block.call->wants_gradient) settle_unknowns(block, unknown_slopes_of(block), how);
}

/* Tables to shared memory. */
template <class S> RPINN_INLINE void load_tables(const FusedBlock<S> &block) {
  const RpinnFusedWork &fused = *block.fused;
  const Four<float> *tables = (const Four<float> *)fused.tables, *programs = (const Four<float> *)block.work->items;
  Four<float> *to = (Four<float> *)(block.shared + fused.shared_size);
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    int count = fused.tables_bytes / 16, num_programs = fused.program_bytes / 16;
    for (int i = thread; i < count; i += threads_of(block)) to[i] = tables[i];
    for (int i = thread; i < num_programs; i += threads_of(block)) to[count + i] = programs[i];
  });
}

/* Share `share` of member k of a launch. own, rows: one for the thread, or on the host one for every thread. */
template <class S>
RPINN_INLINE void run_fused(const RpinnDeviceWork &work, const RpinnFusedWork &fused, const RpinnDeviceCall &call, int64_t k,
                            int share, float *shared, FusedOwn<S> *own, FusedRows<S> *rows) {
  FusedBlock<S> block = {&work, &fused, &call, k, shared, own, rows};
  load_tables(block);
  bool is_adam = call.task == RPINN_TASK_ADAM;
  const int num_steps = is_adam ? call.num_steps : 1;
  const int first = (int)((int64_t)num_steps * share / call.num_shares), end = (int)((int64_t)num_steps * (share + 1) / call.num_shares);
  load_parameters(block, (const float *)block.in_layout(call.theta));
  for (int step = first; step < end; step++) {
    if (is_adam && step + 1 == num_steps) store_parameters(block, block.in_layout(call.theta_before));
    fused_gradient(block, step);
  }
  if ((is_adam || call.task == RPINN_TASK_ENERGY) && end == num_steps) sum_energies(block, squares_of(block), call.term_sums + k * work.num_items);
  if (is_adam) store_parameters(block, block.in_layout(call.theta));
}

#endif
