/* One member on one block of threads, from its parameters to many iterations of Adam, or to its energy and gradient. Parameters and
 * the arrays of a tile stay in shared memory, sums of products in registers from the product to what is made of them.
 *
 * Everything is a sequence of phases between barriers, and what a thread carries from one to another is in its FusedOwn. On a
 * device that is registers; on the host (tests) a phase is a loop over the threads of the block. */
#ifndef RPINN_BACKEND_CUDA_FUSED_MEMBER_CUH
#define RPINN_BACKEND_CUDA_FUSED_MEMBER_CUH

#include "fused_products.cuh"
#include "program_points.cuh"

/* What a thread has. */
template <class S> struct FusedOwn {
  typename S::Sums sums;             /* of a product, or what a layer keeps */
  typename S::GradientSums gradient; /* of a layer's weights */
  float output[S::ROWS];             /* of the weights to the output, over the points of the thread */
  RpinnFusedPoint point;             /* whose program the thread runs */
};

/* What all threads of a block know. */
template <class S> struct FusedBlock {
  const RpinnDeviceWork *work;
  const RpinnFusedWork *fused;
  const RpinnDeviceCall *call;
  int64_t member;
  float *shared;
  FusedOwn<S> *own; /* of the thread, or on the host of all of them */

  RPINN_INLINE_METHOD float *activations() const { return shared + fused->activations; }
  RPINN_INLINE_METHOD float *bars() const { return shared; }
  template <class Table> RPINN_INLINE_METHOD const Table *table(int32_t place) const { return (const Table *)((const char *)shared + place); }
  RPINN_INLINE_METHOD const RpinnFusedField *field(int f) const { return table<RpinnFusedField>(fused->fields) + f; }
  RPINN_INLINE_METHOD const RpinnFusedLayer *layer(int l) const { return table<RpinnFusedLayer>(fused->layers) + l; }
  RPINN_INLINE_METHOD float *in_layout(void *array) const { return (float *)array + member * work->layout_size; }
};

/* A phase: body(thread, what it has) for every thread of the block, and a barrier. */
template <class S, class Body> RPINN_INLINE void each_thread(const FusedBlock<S> &block, Body body) {
#if defined(__CUDACC__)
  body((int)threadIdx.x, *block.own);
  __syncthreads();
#else
  /* In turn from the first and from the last: what depended on the order of threads would show. */
  static bool backwards = false;
  int count = block.fused->num_threads;
  for (int i = 0; i < count; i++) body(backwards ? count - 1 - i : i, block.own[backwards ? count - 1 - i : i]);
  backwards = !backwards;
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
         2 * ((level - 1) * S::ROWS * S::MOST_CHANNELS * block.fused->num_threads + thread);
}

template <class S, int C> RPINN_INLINE void keep(const FusedBlock<S> &block, float *kept, const typename S::Sums &z) {
  RPINN_UNROLL
  for (int i = 0; i < S::ROWS; i++)
    RPINN_UNROLL
    for (int c = 0; c < C; c++) store_two(kept + 2 * (i * C + c) * block.fused->num_threads, z[i][c][0], z[i][c][1]);
}

template <class S, int C> RPINN_INLINE void load_kept(const FusedBlock<S> &block, const float *kept, int i, float (&z)[2][C]) {
  RPINN_UNROLL
  for (int c = 0; c < C; c++) {
    Two two = load_two(kept + 2 * (i * C + c) * block.fused->num_threads);
    z[0][c] = two.x;
    z[1][c] = two.y;
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
  if (!find_place<S>(thread, own.layers[level].out_groups, place)) return;
  typename Channels::Jet jet = jet_of<S, SHAPE>(own);
  FusedInputs<S> inputs = inputs_of(block, own, place.pair);
  const float *kept = level ? kept_place(block, own, level, thread) : 0;
  int rows = padded_rows<S>(own.layers[level].num_out);
  RPINN_UNROLL
  for (int i = 0; i < S::ROWS; i++) {
    int row = S::row(place, i);
    float z[2][C], a[2][C];
    if (level)
      load_kept<S, C>(block, kept, i, z);
    else
      first_jet<S, SHAPE>(block, own, inputs, row, z);
    jet.forward(z[0], a[0]);
    jet.forward(z[1], a[1]);
    float *to = block.activations() + row * Channels::ROW + 2 * place.pair;
    RPINN_UNROLL
    for (int c = 0; c < C; c++)
      if (S::has_room(row, rows)) store_two(to + c * S::POINTS, S::operand(a[0][c]), S::operand(a[1][c]));
  }
}

/* ---- forward ---- */

/* The sums of a product become what is kept: tanh in the place of the value. */
template <class S, int SHAPE>
RPINN_INLINE void take_tanh(const FusedBlock<S> &block, const RpinnFusedLayer &layer, const FusedPlace &place, typename S::Sums &z) {
  RPINN_UNROLL
  for (int i = 0; i < S::ROWS; i++) {
    int row = S::row(place, i);
    float bias = block.shared[layer.bias + row];
    RPINN_UNROLL
    for (int q = 0; q < 2; q++) z[i][0][q] = short_tanh(z[i][0][q] + bias);
  }
}

template <class S, int SHAPE> RPINN_INLINE void channels_of(const typename S::Sums &sums, int i, int q, float *z) {
  RPINN_UNROLL
  for (int c = 0; c < FusedChannels<S, SHAPE>::C; c++) z[c] = sums[i][c][q];
}

/* A hidden layer that is not the last, in two phases: all have read the plane before it is written. */
template <class S, int SHAPE> RPINN_INLINE void forward_layer(const FusedBlock<S> &block, const FusedField<S> &field, int level) {
  typedef FusedChannels<S, SHAPE> Channels;
  const RpinnFusedLayer layer = field.layers[level];
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    FusedPlace place;
    if (!find_place<S>(thread, layer.out_groups, place)) return;
    S::template forward<Channels::C>(layer, place, block.shared + layer.weights, block.activations(), own.sums);
    take_tanh<S, SHAPE>(block, layer, place, own.sums);
    keep<S, Channels::C>(block, kept_place(block, field, level, thread), own.sums);
  });
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    FusedPlace place;
    if (!find_place<S>(thread, layer.out_groups, place)) return;
    typename Channels::Jet jet = jet_of<S, SHAPE>(field);
    int rows = padded_rows<S>(layer.num_out);
    RPINN_UNROLL
    for (int i = 0; i < S::ROWS; i++) {
      float z[2][Channels::C], a[2][Channels::C];
      int row = S::row(place, i);
      RPINN_UNROLL
      for (int q = 0; q < 2; q++) {
        channels_of<S, SHAPE>(own.sums, i, q, z[q]);
        jet.forward(z[q], a[q]);
      }
      float *to = block.activations() + row * Channels::ROW + 2 * place.pair;
      RPINN_UNROLL
      for (int c = 0; c < Channels::C; c++)
        if (S::has_room(row, rows)) store_two(to + c * S::POINTS, S::operand(a[0][c]), S::operand(a[1][c]));
    }
  });
}

/* Nothing that follows is computed before it: the compiler would keep what it derived of these, and has no room for it. */
template <class S, int SHAPE> RPINN_INLINE void forget_derived(typename S::Sums &sums) {
#if defined(__CUDACC__)
  RPINN_UNROLL
  for (int i = 0; i < S::ROWS; i++)
    RPINN_UNROLL
    for (int c = 0; c < FusedChannels<S, SHAPE>::C; c++) asm volatile("" : "+f"(sums[i][c][0]), "+f"(sums[i][c][1]));
#else
  (void)sums;
#endif
}

/* The last hidden layer and the outputs: u_c = sum over units of w a_c. Each thread sums its own units; what there is of them for a
 * point goes to [part][channel][point] in the plane of bars. */
template <class S, int SHAPE> RPINN_INLINE void forward_last(const FusedBlock<S> &block, const FusedField<S> &field) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int level = field.field->num_hidden - 1;
  const RpinnFusedLayer layer = field.layers[level], output = field.layers[level + 1];
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    FusedPlace place;
    if (!find_place<S>(thread, layer.out_groups, place)) return;
    S::template forward<Channels::C>(layer, place, block.shared + layer.weights, block.activations(), own.sums);
    take_tanh<S, SHAPE>(block, layer, place, own.sums);
    typename Channels::Jet jet = jet_of<S, SHAPE>(field);
    float sum[2][Channels::C];
    RPINN_UNROLL
    for (int c = 0; c < Channels::C; c++) sum[0][c] = sum[1][c] = 0;
    RPINN_UNROLL
    for (int i = 0; i < S::ROWS; i++) {
      int row = S::row(place, i);
      float weight = block.shared[output.weights + row];
      RPINN_UNROLL
      for (int q = 0; q < 2; q++) {
        float z[Channels::C], a[Channels::C];
        channels_of<S, SHAPE>(own.sums, i, q, z);
        jet.forward(z, a);
        RPINN_UNROLL
        for (int c = 0; c < Channels::C; c++) sum[q][c] = multiply_add(weight, a[c], sum[q][c]);
      }
    }
    if (block.fused->keeps_last) keep<S, Channels::C>(block, kept_place(block, field, level, thread), own.sums);
    forget_derived<S, SHAPE>(own.sums);
    float *to = block.bars() + S::part(thread, place) * Channels::C * S::POINTS + 2 * place.pair;
    RPINN_UNROLL
    for (int c = 0; c < Channels::C; c++) store_two(to + c * S::POINTS, sum[0][c], sum[1][c]);
  });
}

/* The outputs of a point are summed by its thread, which needs no barrier behind it. */
template <class S, int SHAPE>
RPINN_INLINE void sum_outputs(const FusedBlock<S> &block, const FusedField<S> &field, int thread) {
  const int C = FusedChannels<S, SHAPE>::C;
  const RpinnFusedLayer &layer = field.layers[field.field->num_hidden - 1], &output = field.layers[field.field->num_hidden];
  float *outputs = block.shared + field.field->outputs + thread;
  const float *parts = block.bars() + thread;
  int count = layer.out_groups * S::PARTS;
  RPINN_UNROLL
  for (int c = 0; c < C; c++) {
    float sum = c ? 0.0f : block.shared[output.bias];
    for (int part = 0; part < count; part++) sum += parts[(part * C + c) * S::POINTS];
    outputs[c * S::POINTS] = sum;
  }
}

template <class S> RPINN_INLINE void field_forward(const FusedBlock<S> &block, const FusedField<S> &field, int tile) {
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    if (thread < S::POINTS) own.point = block.fused->points[tile * S::POINTS + thread]; /* long before it is needed */
#define RPINN_CALL(SHAPE) activate_again<S, SHAPE>(block, field, 0, thread)
    RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
  });
  for (int level = 1; level + 1 < field.field->num_hidden; level++) {
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

/* The program of a point: outputs become bars in their place. */
template <class S>
RPINN_INLINE void program_at(const FusedBlock<S> &block, const Member<float, false> &member, RpinnFusedPoint point, int thread) {
  const RpinnDeviceWork &work = *member.work;
  const int index = point / RPINN_FUSED_MOST_PLACE, place = point % RPINN_FUSED_MOST_PLACE;
  const RpinnDeviceItem &item = work.items[index];
  const RpinnFusedChannels *channels = block.template table<RpinnFusedChannels>(block.fused->channels) + index * work.num_fields;
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
  for (int f = 0; f < work.num_fields; f++) to_item<S>(channels[f], block.shared + block.field(f)->outputs + thread);
  float R = program_forward(member, program), weight;
  for (int f = 0; f < work.num_fields; f++) clear_outputs<S>(block.shared + block.field(f)->outputs + thread);
  double *unknown_slopes = member.unknown_slopes + (int64_t)(item.first_result + place) * work.num_unknowns;
  for (int k = 0; k < work.num_unknowns; k++) unknown_slopes[k] = 0;
  if (point_weight(member, item, data, place, R, false, weight)) program_reverse(member, program, weight, unknown_slopes);
  for (int f = 0; f < work.num_fields; f++) to_tile<S>(channels[f], block.shared + block.field(f)->outputs + thread);
}

template <class S> RPINN_INLINE void tile_programs(const FusedBlock<S> &block) {
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    if (thread >= S::POINTS) return;
    const RpinnDeviceWork work = program_work(block);
    const Member<float, false> member = program_member(block, work);
    if (own.point >= 0)
      program_at(block, member, own.point, thread);
    else
      for (int f = 0; f < block.work->num_fields; f++) clear_outputs<S>(block.shared + block.field(f)->outputs + thread);
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

template <class S> RPINN_INLINE Settling settling_of(const FusedBlock<S> &block, int step) {
  const RpinnDeviceCall &call = *block.call;
  Settling how = {true, true, call.task == RPINN_TASK_ADAM, 0, 0, 0, 0, 0, block.in_layout(call.gradient), 0};
  if (!how.is_adam) return how;
  const RpinnDeviceAdamStep own = call.steps[(int64_t)call.step_row[block.member] * call.num_steps + step];
  how.rate = (float)own.rate;
  how.root_scale = (float)own.root_scale;
  how.beta1 = (float)call.beta1;
  how.beta2 = (float)call.beta2;
  how.epsilon = (float)call.epsilon;
  how.records = (Four<float> *)call.records + block.member * block.work->layout_size;
  return how;
}

/* A load that stays where it is written: the compiler would make all of them at once, and has no room for it. */
RPINN_INLINE Four<float> load_now(const Four<float> *from) {
#if defined(__CUDACC__)
  Four<float> four;
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.at[0]), "=f"(four.at[1]), "=f"(four.at[2]), "=f"(four.at[3])
               : "l"(from));
  return four;
#else
  return *from;
#endif
}

/* COUNT parameters at places of the device's layout, with their values in shared memory; place -1: none.
 *
 *   m = beta1 m + (1-beta1) g;  v = beta2 v + (1-beta2) g^2;  theta -= rate m / (root_scale sqrt(v) + epsilon), where
 *   g = gradient + prior_scale theta - prior_shift */
template <int COUNT> struct AdamPart {
  Four<float> record[COUNT]; /* m, v, prior_scale, prior_shift */

  RPINN_INLINE_METHOD void load(const Settling &how, const int *place) {
    RPINN_UNROLL
    for (int e = 0; e < COUNT; e++) record[e] = load_now(how.records + (place[e] < 0 ? 0 : place[e]));
  }
  RPINN_INLINE_METHOD void move(const Settling &how, const int *place, float *const *value, const float *gradient) const {
    RPINN_UNROLL
    for (int e = 0; e < COUNT; e++) {
      if (place[e] < 0) continue;
      float theta = *value[e], g = multiply_add(record[e].at[2], theta, gradient[e] - record[e].at[3]);
      float m = multiply_add(how.beta1, record[e].at[0] - g, g), v = multiply_add(how.beta2, record[e].at[1] - g * g, g * g);
      store_two((float *)(how.records + place[e]), m, v);
      *value[e] = multiply_add(-how.rate * m, short_inverse(multiply_add(short_root(v), how.root_scale, how.epsilon)), theta);
    }
  }
};

/* One parameter. What it needs of memory is asked for before the sum is known. */
struct SettledOne {
  int place;
  float before;
  AdamPart<1> part;

  RPINN_INLINE_METHOD void load(const Settling &how, int own_place) {
    place = own_place;
    before = how.is_first ? 0.0f : how.gradient[place];
    if (how.is_adam && how.is_last) part.load(how, &place);
  }
  RPINN_INLINE_METHOD void settle(const Settling &how, float *value, float sum) const {
    sum += before;
    if (how.is_adam && how.is_last)
      part.move(how, &place, &value, &sum);
    else
      how.gradient[place] = sum;
  }
};

/* Places of a row of a thread's entries in a layer's weights. */
template <class S>
RPINN_INLINE void entry_places(const RpinnFusedLayer &layer, const GradientPlace &own, int i, int (&place)[S::GRADIENT_COLUMNS]) {
  int row = S::gradient_row(own, i);
  RPINN_UNROLL
  for (int j = 0; j < S::GRADIENT_COLUMNS; j++) {
    int column = S::gradient_column(own, i, j);
    place[j] = row < layer.num_out && column < layer.num_in ? layer.layout_weights + row * layer.layout_stride + column : -1;
  }
}

/* The weights of a hidden layer. Adam takes a row of the thread's entries at a time, the loads of the next row before its
 * work. */
template <class S>
RPINN_INLINE void settle_weights(const FusedBlock<S> &block, const Settling &how, const RpinnFusedLayer &layer,
                                 const GradientPlace &own, typename S::GradientSums &sums) {
  const int COUNT = S::GRADIENT_COLUMNS;
  int place[COUNT];
  if (!how.is_first)
    RPINN_UNROLL
    for (int i = 0; i < S::GRADIENT_ROWS; i++) {
      entry_places<S>(layer, own, i, place);
      RPINN_UNROLL
      for (int j = 0; j < COUNT; j++) sums[i][j] += how.gradient[place[j] < 0 ? 0 : place[j]];
    }
  if (!how.is_adam || !how.is_last) {
    RPINN_UNROLL
    for (int i = 0; i < S::GRADIENT_ROWS; i++) {
      entry_places<S>(layer, own, i, place);
      RPINN_UNROLL
      for (int j = 0; j < COUNT; j++)
        if (place[j] >= 0) how.gradient[place[j]] = sums[i][j];
    }
    return;
  }
  AdamPart<COUNT> part[2];
  float *value[COUNT];
  RPINN_UNROLL
  for (int i = 0; i <= S::GRADIENT_ROWS; i++) {
    if (i < S::GRADIENT_ROWS) {
      entry_places<S>(layer, own, i, place);
      part[i % 2].load(how, place);
    }
    if (i == 0) continue;
    entry_places<S>(layer, own, i - 1, place);
    RPINN_UNROLL
    for (int j = 0; j < COUNT; j++)
      value[j] = block.shared + layer.weights + S::weight_place(S::gradient_column(own, i - 1, j), S::gradient_row(own, i - 1));
    part[(i - 1) % 2].move(how, place, value, sums[i - 1]);
  }
}

/* ---- the way back ---- */

template <class S, int SHAPE> RPINN_INLINE void store_bars(const FusedBlock<S> &block, const FusedPlace &place, int row, int rows,
                                                           const float (&bar)[2][FusedChannels<S, SHAPE>::C]) {
  typedef FusedChannels<S, SHAPE> Channels;
  float *to = block.bars() + row * Channels::ROW + 2 * place.pair;
  RPINN_UNROLL
  for (int c = 0; c < Channels::C; c++)
    if (S::has_room(row, rows))
      store_two(to + c * S::POINTS, S::operand(bar[0][c]), S::operand(bar[1][c]));
}

/* What the parameters of a unit of the first layer get of two points, to the plane of bars, [parameter][unit][pair]: its bias, then its
 * weights. */
template <class S, int SHAPE>
RPINN_INLINE void store_first_sums(const FusedBlock<S> &block, const FusedField<S> &field, const FusedInputs<S> &inputs,
                                   const FusedPlace &place, int row, const float (&bar)[2][FusedChannels<S, SHAPE>::C]) {
  float *to = block.bars() + row * (S::PAIRS | 1) + place.pair;
  int step = field.layers[0].num_out * (S::PAIRS | 1);
  if (row >= field.layers[0].num_out) return;
  *to = bar[0][0] + bar[1][0];
  RPINN_UNROLL
  for (int d = 0; d < S::FIRSTS; d++) {
    float sum = multiply_add(bar[0][0], inputs.x[d].x, bar[1][0] * inputs.x[d].y);
    if constexpr (FusedChannels<S, SHAPE>::FIRST > 0) sum += bar[0][1 + d] + bar[1][1 + d];
    if (d < field.field->num_inputs) to[(1 + d) * step] = sum;
  }
}

/* From the bars of the outputs through the last hidden layer's activation. */
template <class S, int SHAPE> RPINN_INLINE void reverse_last(const FusedBlock<S> &block, const FusedField<S> &field, int thread,
                                                             FusedOwn<S> &own) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C, level = field.field->num_hidden - 1;
  const RpinnFusedLayer &layer = field.layers[level], &output = field.layers[level + 1];
  FusedPlace place;
  if (!find_place<S>(thread, layer.out_groups, place)) return;
  typename Channels::Jet jet = jet_of<S, SHAPE>(field);
  const float *outputs = block.shared + field.field->outputs + 2 * place.pair, *kept = kept_place(block, field, level, thread);
  int rows = padded_rows<S>(layer.num_out);
  float out[2][C];
  RPINN_UNROLL
  for (int c = 0; c < C; c++) {
    Two two = load_two(outputs + c * S::POINTS);
    out[0][c] = two.x;
    out[1][c] = two.y;
  }
  RPINN_UNROLL
  for (int i = 0; i < S::ROWS; i++) {
    int row = S::row(place, i);
    float weight = block.shared[output.weights + row], sum = 0;
    float z[2][C], bar[2][C];
    if (block.fused->keeps_last)
      load_kept<S, C>(block, kept, i, z);
    else
      RPINN_UNROLL
      for (int q = 0; q < 2; q++) channels_of<S, SHAPE>(own.sums, i, q, z[q]);
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
    own.output[i] = sum;
    store_bars<S, SHAPE>(block, place, row, rows, bar);
  }
}

/* Bars of the last hidden layer, and activations of the one before. */
template <class S, int SHAPE> RPINN_INLINE void reverse_begin(const FusedBlock<S> &block, const FusedField<S> &field, int thread,
                                                              FusedOwn<S> &own) {
  reverse_last<S, SHAPE>(block, field, thread, own);
  if (block.fused->makes_again) activate_again<S, SHAPE>(block, field, field.field->num_hidden - 2, thread);
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

/* A level: bars of its outputs are in their plane, activations of its inputs in theirs. */
template <class S, int SHAPE>
RPINN_INLINE void reverse_layer(const FusedBlock<S> &block, const FusedField<S> &field, const Settling &how, int level) {
  typedef FusedChannels<S, SHAPE> Channels;
  const int C = Channels::C;
  const RpinnFusedLayer layer = field.layers[level];
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    SettledOne bias;
    if (thread < layer.num_out) bias.load(how, layer.layout_bias + thread);
    GradientPlace entries = S::gradient_place(thread, layer);
    if (entries.works) S::template gradient<C>(layer, entries, block.bars(), block.activations(), own.gradient);
    FusedPlace place;
    if (find_place<S>(thread, layer.in_groups, place))
      S::template backward<C>(layer, place, block.shared + layer.weights, block.bars(), own.sums);
    if (thread < layer.num_out)
      bias.settle(how, block.shared + layer.bias + thread, sum_of_points<S>(block.bars() + thread * Channels::ROW));
  });
  each_thread(block, [&](int thread, FusedOwn<S> &own) {
    FusedPlace place;
    if (find_place<S>(thread, layer.in_groups, place)) {
      typename Channels::Jet jet = jet_of<S, SHAPE>(field);
      FusedInputs<S> inputs = inputs_of(block, field, place.pair);
      const float *kept = level > 1 ? kept_place(block, field, level - 1, thread) : 0;
      int rows = padded_rows<S>(layer.num_in);
      RPINN_UNROLL
      for (int i = 0; i < S::ROWS; i++) {
        int row = S::row(place, i);
        float z[2][C], bar[2][C];
        if (level > 1)
          load_kept<S, C>(block, kept, i, z);
        else
          first_jet<S, SHAPE>(block, field, inputs, row, z);
        RPINN_UNROLL
        for (int q = 0; q < 2; q++) {
          channels_of<S, SHAPE>(own.sums, i, q, bar[q]);
          jet.reverse(z[q], bar[q]);
        }
        if (level > 1)
          store_bars<S, SHAPE>(block, place, row, rows, bar);
        else if (S::has_room(row, rows))
          store_first_sums<S, SHAPE>(block, field, inputs, place, row, bar);
      }
    }
    if (level > 1) activate_again<S, SHAPE>(block, field, level - 2, thread);
    GradientPlace entries = S::gradient_place(thread, layer);
    if (entries.works) settle_weights(block, how, layer, entries, own.gradient);
    if (level > 1) return;
    /* The plane of activations is free: sums of the weights to the output wait there. */
    const RpinnFusedLayer &last = field.layers[field.field->num_hidden - 1];
    if (find_place<S>(thread, last.out_groups, place))
      RPINN_UNROLL
      for (int i = 0; i < S::ROWS; i++)
        if (S::row(place, i) < last.num_out) block.activations()[S::row(place, i) * (S::PAIRS | 1) + place.pair] = own.output[i];
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
  const RpinnFusedLayer &first = field.layers[0], &output = field.layers[field.field->num_hidden];
  const int width = first.num_out, count = (1 + first.num_in) * width;
  for (int index = thread; index <= count + output.num_in; index += block.fused->num_threads) {
    int input = (index >= width) + (index >= 2 * width) - 1, row = index - (input + 1) * width, last = index - count;
    bool is_first = index < count, is_bias = last == output.num_in;
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
                        : sum_of_pairs<S>((is_first ? block.bars() + index * (S::PAIRS | 1) : block.activations() + last * (S::PAIRS | 1)));
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
  for (int level = field.field->num_hidden - 1; level > 0; level--) {
#define RPINN_CALL(SHAPE) reverse_layer<S, SHAPE>(block, field, how, level)
    RPINN_WITH_FUSED_SHAPE(*field.use, RPINN_CALL);
#undef RPINN_CALL
  }
  each_thread(block, [&](int thread, FusedOwn<S> &) { settle_small(block, field, how, thread); });
}

/* ---- sums over all points, in double: a thread sums some of them, and one thread what these have ---- */

template <class S> RPINN_INLINE void settle_unknowns(const FusedBlock<S> &block, const double *slopes, const Settling &how) {
  const RpinnDeviceWork &work = *block.work;
  int count = work.num_unknowns, parts = block.fused->num_threads / (count ? count : 1);
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
      for (int i = thread; i < item.num_rows; i += block.fused->num_threads) sum += squares[item.first_result + i];
      scratch[thread] = sum;
    });
    each_thread(block, [&](int thread, FusedOwn<S> &) {
      double sum = 0;
      for (int i = 0; thread == 0 && i < block.fused->num_threads; i++) sum += scratch[i];
      if (thread == 0) term_sums[t] = sum;
    });
  }
}

/* ---- parameters between the device's layout and shared memory ---- */

template <class S, class Move> RPINN_INLINE void move_parameters(const FusedBlock<S> &block, int thread, Move move) {
  const RpinnDeviceWork &work = *block.work;
  int step = block.fused->num_threads;
  for (int f = 0; f < work.num_fields; f++) {
    const RpinnFusedField &field = *block.field(f);
    for (int l = 0; l <= field.num_hidden; l++) {
      const RpinnFusedLayer layer = *block.layer(field.first_layer + l);
      for (int i = thread; i < layer.num_in * layer.num_out; i += step) {
        int m = i / layer.num_in, k = i % layer.num_in;
        int place = l == 0 ? k * layer.padded + m : l == field.num_hidden ? k : S::weight_place(k, m);
        move(layer.layout_weights + m * layer.layout_stride + k, layer.weights + place);
      }
      for (int i = thread; i < layer.num_out; i += step) move(layer.layout_bias + i, layer.bias + i);
    }
  }
  for (int i = thread; i < work.num_unknowns; i += step) move(work.unknowns + i, block.fused->unknowns + i);
}

template <class S> RPINN_INLINE void load_parameters(const FusedBlock<S> &block, const float *theta) {
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    for (int i = thread; i < block.fused->shared_size; i += block.fused->num_threads) block.shared[i] = 0;
  });
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

template <class S> RPINN_INLINE void fused_gradient(const FusedBlock<S> &block, int step) {
  int num_fields = block.work->num_fields;
  Settling how = settling_of(block, step);
  for (int tile = 0; tile < block.fused->num_tiles; tile++) {
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
  if (block.call->wants_gradient) settle_unknowns(block, unknown_slopes_of(block), how);
}

/* Tables to shared memory. */
template <class S> RPINN_INLINE void load_tables(const FusedBlock<S> &block) {
  const RpinnFusedWork &fused = *block.fused;
  const Four<float> *tables = (const Four<float> *)fused.tables, *programs = (const Four<float> *)block.work->items;
  Four<float> *to = (Four<float> *)(block.shared + fused.shared_size);
  each_thread(block, [&](int thread, FusedOwn<S> &) {
    int count = fused.tables_bytes / 16, num_programs = fused.program_bytes / 16;
    for (int i = thread; i < count; i += fused.num_threads) to[i] = tables[i];
    for (int i = thread; i < num_programs; i += fused.num_threads) to[count + i] = programs[i];
  });
}

/* Member k of a launch. own: one for the thread, or on the host one for every thread. */
template <class S>
RPINN_INLINE void run_fused(const RpinnDeviceWork &work, const RpinnFusedWork &fused, const RpinnDeviceCall &call, int64_t k,
                            float *shared, FusedOwn<S> *own) {
  FusedBlock<S> block = {&work, &fused, &call, k, shared, own};
  load_tables(block);
  bool is_adam = call.task == RPINN_TASK_ADAM;
  int num_steps = is_adam ? call.num_steps : 1;
  load_parameters(block, (const float *)block.in_layout(call.theta));
  for (int step = 0; step < num_steps; step++) {
    if (is_adam && step + 1 == num_steps) store_parameters(block, block.in_layout(call.theta_before));
    fused_gradient(block, step);
  }
  sum_energies(block, squares_of(block), call.term_sums + k * work.num_items);
  if (is_adam) store_parameters(block, block.in_layout(call.theta));
}

#endif
