/* Transitions of NUTS on a block of threads: the trees of src/sample/nuts_trajectory.c with all vectors on the device.
 *
 * Point n of a half completes as many trees as n can be halved. The tree that waits at level l (2^l points) has the momenta of its
 * first and last point and the sum of all; the one that is completed at level l begins where the tree that waited at level l - 1
 * begins, and ends at the last point. A proposal is drawn as points come: point n takes the place of those before it with the probability
 * of its share of the weight so far, which leaves each point of a half with its share, as choices between halves of halves do.
 *
 * Positions are double, and so are energies and the sums of products; momenta and gradients have the precision of the density, which
 * the fused kernel computes. Random numbers are those of a
 * counter (Philox) under a key that belongs to the transition, so that it is the same however launches cut it. One thread takes all
 * decisions, in the seat's record. */
#ifndef RPINN_BACKEND_CUDA_CHAIN_TREE_CUH
#define RPINN_BACKEND_CUDA_CHAIN_TREE_CUH

#include <float.h>

#include "chain_tables.h"
#include "fused_member.cuh"

/* ---- random numbers ---- */

enum { CHAIN_MOMENTA, CHAIN_CHOICES, CHAIN_DIRECTIONS };

/* Philox 4x32-10: a round is c = (high(B c2) ^ c1 ^ k0, low(B c2), high(A c0) ^ c3 ^ k1, low(A c0)). */
RPINN_INLINE void philox(uint32_t k0, uint32_t k1, uint32_t (&c)[4]) {
  for (int round = 0; round < 10; round++) {
    uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
    c[3] = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

/* Two numbers in (0, 1), as rpinn_stream_uniform makes them. */
RPINN_INLINE void chain_uniforms(uint64_t key, uint32_t purpose, uint32_t index, double (&u)[2]) {
  uint32_t words[4] = {index, purpose, 0, 0};
  philox((uint32_t)key, (uint32_t)(key >> 32), words);
  for (int i = 0; i < 2; i++) {
    uint64_t bits = (uint64_t)words[2 * i] << 32 | words[2 * i + 1];
    u[i] = ((double)(bits >> 12) + 0.5) * 0x1p-52;
  }
}

/* ---- a chain on its block ---- */

/* A shape of the fused kernel without Adam, for the sake of registers. */
template <class S> struct WithoutAdam : S {};
template <class S> struct HasAdam<WithoutAdam<S>> { enum { VALUE = 0 }; };

template <class S> struct FusedChain {
  FusedBlock<S> block;
  const RpinnChainOrder *order;
  RpinnChainRecord *record;
  double *positions;
  float *vectors;
  const double *prior;
  int32_t *shared_places;

  RPINN_INLINE_METHOD double *position(int64_t number) const { return positions + number * block.work->layout_size; }
  RPINN_INLINE_METHOD float *vector(int64_t number) const { return vectors + number * block.work->layout_size; }
  RPINN_INLINE_METHOD float *tree(int level, int part) const { return vector(RPINN_CHAIN_TREES + 3 * level + part); }
};
enum { FIRST, LAST, SUM }; /* of a tree */

/* body(block) for a part of the fused kernel. On a device, what a thread has of its own is there for as long as that, and does not take
 * registers from phases of trees. */
template <class S, class Body> RPINN_INLINE void with_own(const FusedBlock<S> &block, Body body) {
#if defined(__CUDACC__)
  FusedOwn<S> own;
  FusedRows<S> rows;
  FusedBlock<S> complete = block;
  complete.own = &own;
  complete.rows = &rows;
  body(complete);
#else
  body(block);
#endif
}

/* body(thread) for every thread, and a barrier. */
template <class S, class Body> RPINN_INLINE void each(const FusedChain<S> &chain, Body body) {
#if defined(__CUDACC__)
  (void)chain;
  body((int)threadIdx.x);
  __syncthreads();
#else
  each_thread(chain.block, [&](int thread, FusedOwn<S> &) { body(thread); });
#endif
}
/* One thread alone. */
template <class S, class Body> RPINN_INLINE void decide(const FusedChain<S> &chain, Body body) {
  each(chain, [&](int thread) {
    if (thread == 0) body(*chain.record);
  });
}

/* work(i, load(i)) for the thread's entries of a vector: loads of a batch of them come before what is stored, and wait together. */
template <class S, class Load, class Work> RPINN_INLINE void each_entry(const FusedChain<S> &chain, int thread, Load load, Work work) {
  enum { BATCH = 4 };
  const int size = chain.block.work->layout_size, step = chain.block.fused->num_threads;
  for (int first = thread; first < size; first += BATCH * step) {
    decltype(load(0)) now[BATCH];
    RPINN_UNROLL
    for (int b = 0; b < BATCH; b++) now[b] = load(first + b * step < size ? first + b * step : first);
    RPINN_UNROLL
    for (int b = 0; b < BATCH; b++)
      if (first + b * step < size) work(first + b * step, now[b]);
  }
}

/* ---- sums over the block ---- */

/* The sum over a warp, in the same order on the device and on the host. */
#if defined(__CUDACC__)
RPINN_INLINE double warp_sum(double x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
#else
RPINN_INLINE double warp_sum(const double *lanes) {
  double now[32], next[32];
  for (int i = 0; i < 32; i++) now[i] = lanes[i];
  for (int step = 16; step > 0; step /= 2) {
    for (int i = 0; i < 32; i++) next[i] = now[i] + now[i ^ step];
    for (int i = 0; i < 32; i++) now[i] = next[i];
  }
  return now[0];
}
#endif

/* body(thread, parts) for every thread; the sums of parts [COUNT] over all threads, in shared memory until the next phase of the
 * gradient or the next sums. The plane of bars has room: 32 doubles for every warp. */
template <int COUNT, class S, class Body> RPINN_INLINE const double *sum_parts(const FusedChain<S> &chain, Body body) {
  const int num_warps = chain.block.fused->num_threads / 32;
  double *warps = (double *)chain.block.bars(), *sums = warps + COUNT * num_warps;
#if defined(__CUDACC__)
  int thread = (int)threadIdx.x;
  double parts[COUNT];
  RPINN_UNROLL
  for (int c = 0; c < COUNT; c++) parts[c] = 0;
  body(thread, parts);
  RPINN_UNROLL
  for (int c = 0; c < COUNT; c++) {
    double sum = warp_sum(parts[c]);
    if (thread % 32 == 0) warps[c * num_warps + thread / 32] = sum;
  }
  __syncthreads();
#else
  double parts[COUNT][1024];
  each(chain, [&](int thread) {
    double own[COUNT] = {0};
    body(thread, own);
    for (int c = 0; c < COUNT; c++) parts[c][thread] = own[c];
  });
  for (int c = 0; c < COUNT; c++)
    for (int w = 0; w < num_warps; w++) warps[c * num_warps + w] = warp_sum(parts[c] + 32 * w);
#endif
  each(chain, [&](int thread) {
    if (thread >= COUNT) return;
    double sum = 0;
    for (int w = 0; w < num_warps; w++) sum += warps[thread * num_warps + w];
    sums[thread] = sum;
  });
  return sums;
}

/* ---- numbers ---- */

RPINN_INLINE double log_sum(double a, double b) {
  double larger = fmax(a, b);
  return larger + log1p(exp(fmin(a, b) - larger));
}

RPINN_INLINE double kinetic_energy(float inverse, float p) { return 0.5 * (double)inverse * (double)p * (double)p; }

RPINN_INLINE double total_energy(double kinetic, double log_density) {
  double energy = kinetic - log_density;
  return fabs(energy) <= DBL_MAX ? energy : HUGE_VAL;
}

/* Products above zero, and nothing else, mean that nothing turns back. */
RPINN_INLINE int turns(const double *products, int count) {
  int has_turned = 0;
  for (int i = 0; i < count; i++) has_turned |= !(products[i] > 0);
  return has_turned;
}

/* ---- halves ---- */

/* Which end the next half grows from, and in which direction of time. */
template <class S> RPINN_INLINE void choose_end(const FusedChain<S> &chain, RpinnChainRecord &record) {
  double u[2];
  chain_uniforms(chain.order->key, CHAIN_DIRECTIONS, (uint32_t)record.depth, u);
  record.end = u[0] > 0.5;
  record.direction = record.end ? 1 : -1;
  record.num_leaves = 0;
  record.half_weight = 0;
  record.begins_half = 1;
}

/* A fresh momentum for the chain's state, at which both ends begin. */
template <class S> RPINN_INLINE void begin_transition(const FusedChain<S> &chain) {
  const RpinnChainOrder &order = *chain.order;
  decide(chain, [&](RpinnChainRecord &record) {
    int chosen = order.is_new ? 0 : record.chosen;
    record = RpinnChainRecord();
    record.chosen = chosen;
    record.log_density[chosen] = order.log_density;
    choose_end(chain, record);
  });
  const int chosen = chain.record->chosen;
  const float *inverse = chain.vector(RPINN_CHAIN_INVERSE), *slope = chain.vector(RPINN_CHAIN_PROPOSED_SLOPES + chosen);
  const double *theta = chain.position(RPINN_CHAIN_PROPOSED + chosen);
  const double *sums = sum_parts<1>(chain, [&](int thread, double *parts) {
    for (int i = 2 * thread; i < chain.block.work->layout_size; i += 2 * chain.block.fused->num_threads) {
      double u[2];
      chain_uniforms(order.key, CHAIN_MOMENTA, (uint32_t)(i / 2), u);
      double radius = sqrt(-2.0 * log(u[0])), angle = 6.283185307179586476925 * u[1];
      for (int k = 0; k < 2; k++) {
        double normal = radius * (k ? sin(angle) : cos(angle));
        float p = inverse[i + k] > 0 ? (float)(normal / sqrt((double)inverse[i + k])) : 0.0f;
        for (int which = 0; which < 2; which++) {
          chain.position(RPINN_CHAIN_REACHED + which)[i + k] = theta[i + k];
          chain.vector(RPINN_CHAIN_MOMENTA + which)[i + k] = p;
          chain.vector(RPINN_CHAIN_SLOPES + which)[i + k] = slope[i + k];
        }
        chain.vector(RPINN_CHAIN_SEAM)[i + k] = p;
        chain.vector(RPINN_CHAIN_SUM)[i + k] = p;
        parts[0] += kinetic_energy(inverse[i + k], p);
      }
    }
  });
  decide(chain, [&](RpinnChainRecord &record) {
    record.first_energy = total_energy(sums[0], order.log_density);
    record.energy[record.chosen] = record.first_energy;
  });
}

/* ---- a leapfrog ---- */

/* p += e/2 g, q += e M^-1 p; the new position to shared memory. */
template <class S> RPINN_INLINE void drift(const FusedChain<S> &chain) {
  struct Entry {
    double q;
    float p, g, inverse;
    int32_t to;
  };
  const int end = chain.record->end;
  const double step = chain.record->direction * chain.order->step;
  const float half = (float)(0.5 * step), *inverse = chain.vector(RPINN_CHAIN_INVERSE), *slope = chain.vector(RPINN_CHAIN_SLOPES + end);
  double *theta = chain.position(RPINN_CHAIN_REACHED + end);
  float *momentum = chain.vector(RPINN_CHAIN_MOMENTA + end);
  each(chain, [&](int thread) {
    each_entry(
        chain, thread, [&](int i) { return Entry{theta[i], momentum[i], slope[i], inverse[i], chain.shared_places[i]}; },
        [&](int i, const Entry &own) {
          float p = multiply_add(half, own.g, own.p);
          double q = own.q + step * (double)(own.inverse * p);
          momentum[i] = p;
          theta[i] = q;
          if (own.to >= 0) chain.block.shared[own.to] = (float)q;
        });
  });
}

/* What waits of a half when its point n has come. Taken once by every thread, before the barriers of settle_point: a later look at the
 * record might find it changed already, by a thread 0 that is ahead, and lead warps to different barriers. */
struct Completion {
  int end, depth;  /* of the trajectory, as the point found them */
  int64_t number;
  int levels;      /* trees that it completes: how often n can be halved */
  bool ends_half;  /* n = 2^depth */
  int top;         /* level of the last of these within the half that has to wait; -1: none, the half is complete */
};
RPINN_INLINE Completion completion_of(const RpinnChainRecord &record) {
  Completion now;
  now.end = record.end;
  now.depth = record.depth;
  now.number = record.num_leaves + 1;
  now.levels = 0;
  while (((now.number >> now.levels) & 1) == 0) now.levels++;
  now.ends_half = now.number == (int64_t)1 << now.depth;
  now.top = now.ends_half ? -1 : now.levels;
  return now;
}

/* p += e/2 g with the gradient at the new position; the energies there; and the point joins the one that waits for it: sums are
 * -log density, kinetic energy, and the products of a pair with its sum. */
template <class S> RPINN_INLINE const double *settle_point(const FusedChain<S> &chain, const Completion &now) {
  struct Entry {
    double q, root, shift;
    float p, gradient, inverse, first;
  };
  const RpinnDeviceWork &work = *chain.block.work;
  const int end = now.end;
  const bool is_start = now.depth == 0; /* the pair is the trajectory */
  const double step = chain.record->direction * chain.order->step, *theta = chain.position(RPINN_CHAIN_REACHED + end),
               *root = chain.prior, *shift = root + work.layout_size, *squares = squares_of(chain.block);
  const float half = (float)(0.5 * step), *inverse = chain.vector(RPINN_CHAIN_INVERSE),
              *gradient = chain.block.in_layout(chain.block.call->gradient);
  const bool has_partner = is_start || now.levels;
  const float *partner = is_start ? chain.vector(RPINN_CHAIN_SEAM) : chain.tree(0, FIRST);
  float *momentum = chain.vector(RPINN_CHAIN_MOMENTA + end), *slope = chain.vector(RPINN_CHAIN_SLOPES + end),
        *sum = chain.vector(is_start ? RPINN_CHAIN_SUM : RPINN_CHAIN_PART), *waiting = chain.tree(now.top == 1, FIRST);
  return sum_parts<4>(chain, [&](int thread, double *parts) {
    each_entry(
        chain, thread,
        [&](int i) {
          return Entry{theta[i], root[i], shift[i], momentum[i], gradient[i], inverse[i], has_partner ? partner[i] : 0.0f};
        },
        [&](int i, const Entry &own) {
          double row = own.root * own.q - own.shift;
          float g = (float)-((double)own.gradient + own.root * row), p = multiply_add(half, g, own.p), both = own.first + p;
          slope[i] = g;
          momentum[i] = p;
          parts[0] += 0.5 * row * row;
          parts[1] += kinetic_energy(own.inverse, p);
          if (has_partner) {
            sum[i] = both;
            parts[2] += (double)(own.inverse * own.first) * (double)both;
            parts[3] += (double)(own.inverse * p) * (double)both;
          }
          if (now.top == 0) waiting[i] = p;
          if (now.top == 1) {
            waiting[i] = own.first;
            waiting[i + work.layout_size] = p;
            waiting[i + 2 * work.layout_size] = both;
          }
        });
    for (int t = 0; t < work.num_items; t++) {
      const RpinnDeviceItem &item = work.items[t];
      for (int i = thread; i < item.num_rows; i += chain.block.fused->num_threads) parts[0] += 0.5 * squares[item.first_result + i];
    }
  });
}

/* Two trees A, B of which B is complete with the last point: sums are the products of both ends with what lies between, as a whole and
 * up to the seam. */
struct Joined {
  const float *first_a, *last_a, *sum_a, *first_b, *sum_b, *last_b;
  float *sum; /* of both */
};
template <class S> RPINN_INLINE const double *join_trees(const FusedChain<S> &chain, const Joined &joined, int waits_at) {
  struct Entry {
    float first_a, last_a, sum_a, first_b, sum_b, last_b, inverse;
  };
  const float *inverse = chain.vector(RPINN_CHAIN_INVERSE), cut = chain.order->turns_by_path ? 0.5f : 0.0f;
  const int size = chain.block.work->layout_size;
  float *waiting = chain.tree(waits_at < 0 ? 0 : waits_at, FIRST);
  return sum_parts<6>(chain, [&](int thread, double *parts) {
    each_entry(
        chain, thread,
        [&](int i) {
          return Entry{joined.first_a[i], joined.last_a[i], joined.sum_a[i], joined.first_b[i], joined.sum_b[i], joined.last_b[i], inverse[i]};
        },
        [&](int i, const Entry &own) {
          float both = own.sum_a + own.sum_b;
          double whole = (double)(both - cut * (own.first_a + own.last_b)),
                 over = (double)(own.sum_a + own.first_b - cut * (own.first_a + own.first_b)),
                 under = (double)(own.sum_b + own.last_a - cut * (own.last_a + own.last_b));
          double first_a = (double)(own.inverse * own.first_a), last_b = (double)(own.inverse * own.last_b);
          joined.sum[i] = both;
          parts[0] += first_a * whole;
          parts[1] += last_b * whole;
          parts[2] += first_a * over;
          parts[3] += (double)(own.inverse * own.first_b) * over;
          parts[4] += (double)(own.inverse * own.last_a) * under;
          parts[5] += last_b * under;
          if (waits_at < 0) return;
          waiting[i] = own.first_a;
          waiting[i + size] = own.last_b;
          waiting[i + 2 * size] = both;
        });
  });
}

/* All trees that the last point completes, from pairs on, and the trajectory with the half. */
template <class S> RPINN_INLINE void complete_trees(const FusedChain<S> &chain, const Completion &now) {
  const int end = now.end, depth = now.depth;
  const float *last = chain.vector(RPINN_CHAIN_MOMENTA + end);
  float *part = chain.vector(RPINN_CHAIN_PART);
  for (int level = 1; level < now.levels; level++) {
    Joined joined = {chain.tree(level, FIRST), chain.tree(level, LAST), chain.tree(level, SUM), chain.tree(level - 1, FIRST), part, last, part};
    const double *products = join_trees(chain, joined, level + 1 == now.top ? now.top : -1);
    decide(chain, [&](RpinnChainRecord &record) { record.has_turned |= turns(products, 6); });
  }
  if (!now.ends_half || depth == 0) return;
  float *sum = chain.vector(RPINN_CHAIN_SUM);
  Joined joined = {chain.vector(RPINN_CHAIN_MOMENTA + 1 - end), chain.vector(RPINN_CHAIN_SEAM), sum, chain.tree(depth - 1, FIRST), part, last, sum};
  const double *products = join_trees(chain, joined, -1);
  decide(chain, [&](RpinnChainRecord &record) { record.whole_has_turned = turns(products, 6); });
}

/* ---- decisions ---- */

/* The energies of the point, and whether its pair turns back. */
template <class S> RPINN_INLINE void take_energies(const FusedChain<S> &chain, const Completion &now, const double *sums) {
  decide(chain, [&](RpinnChainRecord &record) {
    record.point_density = -sums[0];
    record.point_energy = total_energy(sums[1], record.point_density);
    record.has_turned = record.whole_has_turned = 0;
    if (record.depth == 0)
      record.whole_has_turned = turns(sums + 2, 2);
    else if (now.levels)
      record.has_turned = turns(sums + 2, 2);
  });
}

/* The half is one tree: the trajectory takes it, and its proposal with the probability min(1, w_new / w_old). */
template <class S> RPINN_INLINE void take_half(const FusedChain<S> &chain, RpinnChainRecord &record, double u) {
  if (u < exp(record.half_weight - record.log_weight)) record.chosen = 1 - record.chosen;
  record.log_weight = log_sum(record.log_weight, record.half_weight);
  record.depth++;
  record.reached_max_depth = !record.whole_has_turned && record.depth == chain.order->max_depth;
  record.has_finished = record.whole_has_turned || record.reached_max_depth;
  if (!record.has_finished) choose_end(chain, record);
}

/* What the last point means for the transition. */
template <class S> RPINN_INLINE void weigh_point(const FusedChain<S> &chain, const Completion &now, const RpinnDeviceChains &chains, int num_made) {
  decide(chain, [&](RpinnChainRecord &record) {
    record.has_to_stop = num_made >= chains.least && *(const volatile int32_t *)chains.num_finished >= chains.enough;
    double error = record.point_energy - record.first_energy, u[2];
    record.num_steps++;
    record.num_leaves++;
    record.acceptance_sum += fabs(error) <= chain.order->ignored ? 1 : fmin(1.0, exp(-error));
    if (fabs(error) > fabs(record.max_error)) record.max_error = error;
    record.diverging = !(error <= chain.order->max_energy_error);
    record.copies = record.begins_half = 0;
    record.has_finished = record.diverging || record.has_turned;
    if (record.has_finished) return;
    chain_uniforms(chain.order->key, CHAIN_CHOICES, (uint32_t)record.num_steps, u);
    record.half_weight = record.num_leaves == 1 ? -error : log_sum(record.half_weight, -error);
    record.copies = record.num_leaves == 1 || u[0] < exp(-error - record.half_weight);
    record.copied_end = record.end;
    if (record.copies) {
      record.energy[1 - record.chosen] = record.point_energy;
      record.log_density[1 - record.chosen] = record.point_density;
    }
    if (now.ends_half) take_half(chain, record, u[1]);
  });
}

/* The point as proposal of its half, which is `to`; and the seam of a half that begins. */
template <class S> RPINN_INLINE void copy_point(const FusedChain<S> &chain, int to) {
  struct Entry {
    double q;
    float g, p;
  };
  const bool copies = chain.record->copies, begins_half = chain.record->begins_half;
  const int from = chain.record->copied_end;
  const double *theta = chain.position(RPINN_CHAIN_REACHED + from);
  const float *slope = chain.vector(RPINN_CHAIN_SLOPES + from), *momentum = chain.vector(RPINN_CHAIN_MOMENTA + chain.record->end);
  if (!copies && !begins_half) return;
  each(chain, [&](int thread) {
    each_entry(
        chain, thread, [&](int i) { return Entry{theta[i], slope[i], momentum[i]}; },
        [&](int i, const Entry &own) {
          if (copies) chain.position(RPINN_CHAIN_PROPOSED + to)[i] = own.q;
          if (copies) chain.vector(RPINN_CHAIN_PROPOSED_SLOPES + to)[i] = own.g;
          if (begins_half) chain.vector(RPINN_CHAIN_SEAM)[i] = own.p;
        });
  });
}

/* ---- the whole ---- */

RPINN_INLINE int count_finished(int32_t *counter) {
#if defined(__CUDACC__)
  return atomicAdd(counter, 1);
#else
  return (*counter)++;
#endif
}

/* A leapfrog and what follows from it. */
template <class S> RPINN_INLINE void make_point(const FusedChain<S> &chain, const RpinnDeviceChains &chains, int num_made) {
  drift(chain);
  with_own(chain.block, [&](const FusedBlock<S> &block) { fused_gradient(block, 0); });
  const Completion now = completion_of(*chain.record);
  const int half_proposal = 1 - chain.record->chosen;
  take_energies(chain, now, settle_point(chain, now));
  complete_trees(chain, now);
  weigh_point(chain, now, chains, num_made);
  copy_point(chain, half_proposal);
}

/* The new state of a chain whose transition is complete, and what is known of it. */
template <class S> RPINN_INLINE void tell_outcome(const FusedChain<S> &chain, const RpinnDeviceChains &chains, int num_made) {
  RpinnChainOutcome *outcome = chains.outcomes + chain.block.member;
  decide(chain, [&](RpinnChainRecord &record) {
    RpinnChainOutcome own = {record.has_finished, 0, record.depth, record.diverging, record.reached_max_depth, num_made, record.num_steps,
                             record.log_density[record.chosen], record.energy[record.chosen], record.first_energy, record.max_error,
                             record.acceptance_sum};
    if (record.has_finished) own.result = count_finished(chains.num_finished);
    *outcome = own;
  });
  if (!chain.record->has_finished) return;
  const int64_t size = chains.num_parameters;
  const double *theta = chain.position(RPINN_CHAIN_PROPOSED + chain.record->chosen);
  const float *slope = chain.vector(RPINN_CHAIN_PROPOSED_SLOPES + chain.record->chosen);
  double *to = chains.results + 2 * size * outcome->result;
  each(chain, [&](int thread) {
    for (int i = thread; i < chain.block.work->layout_size; i += chain.block.fused->num_threads) {
      int parameter = chains.parameters[i];
      if (parameter < 0) continue;
      to[parameter] = theta[i];
      to[size + parameter] = (double)slope[i];
    }
  });
}

/* Where the parameters are in shared memory, for drift. */
template <class S> RPINN_INLINE void find_places(const FusedChain<S> &chain) {
  each(chain, [&](int thread) {
    for (int i = thread; i < chain.block.work->layout_size; i += chain.block.fused->num_threads) chain.shared_places[i] = -1;
  });
  each(chain, [&](int thread) {
    move_parameters(chain.block, thread, [&](int place, int to) { chain.shared_places[place] = to; });
  });
}

/* Place k of a launch. own, rows: on the host one for every thread, and nothing on a device. */
template <class S>
RPINN_INLINE void run_chain(const RpinnDeviceWork &work, const RpinnFusedWork &fused, const RpinnDeviceCall &call,
                            const RpinnDeviceChains &chains, int64_t k, float *shared, FusedOwn<S> *own, FusedRows<S> *rows) {
  const RpinnChainOrder *order = chains.orders + k;
  const int64_t size = work.layout_size, seat = order->seat;
  FusedChain<S> chain = {{&work, &fused, &call, k, shared, own, rows},
                         order,
                         chains.records + seat,
                         chains.positions + seat * RPINN_CHAIN_NUM_POSITIONS * size,
                         chains.vectors + seat * chains.vectors_of_seat * size,
                         chains.priors + order->prior * 2 * size,
                         chains.shared_places + k * size};
  int num_made = 0;
  if (order->is_idle) return;
  with_own(chain.block, [&](const FusedBlock<S> &block) {
    load_tables(block);
    clear_shared(block);
  });
  find_places(chain);
  if (order->begins) begin_transition(chain);
  do make_point(chain, chains, num_made++);
  while (num_made < chains.num_steps && !chain.record->has_finished && !chain.record->has_to_stop);
  tell_outcome(chain, chains, num_made);
}

#endif
