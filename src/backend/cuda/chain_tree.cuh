/* Transitions of NUTS on a block of threads: the trees of src/sample/nuts_trajectory.c with all vectors on the device.
 *
 * Point n of a half completes as many trees as n can be halved. The tree that waits at level l (2^l points) has the momenta of its
 * first and last point and the sum of all; the one that is completed at level l begins where the tree that waited at level l - 1
 * begins, and ends at the last point. A proposal is drawn as points come: point n takes the place of those before it with the probability
 * of its share of the weight so far, which leaves each point of a half with its share, as choices between halves of halves do.
 *
 * The usual leapfrog is the gradient and one pass over the vectors, which ends it and sets out on the next one:
 *
 *   q += e M^-1 p,  g = gradient of the log density at q,  p += e/2 g: the point;  p += e/2 g,  q' = q + e M^-1 p to shared memory
 *
 * so that between leapfrogs of a half the position is that of the last point, for it may become a proposal, and the momentum is half a
 * step ahead. At the last point of a half the momentum is that of the point, and the next half sets out in a pass of its own.
 *
 * A thread has the same entries of all vectors in all passes, so that passes need no barrier between them. What threads have of each other is
 * the gradient, parameters in shared memory, sums over the block, and the seat's record. Decisions are made by all threads, from the
 * same sums and the same record: it is read before the barrier that makes sums known and written by one thread behind it, and the next to
 * read it do so behind the gradient.
 *
 * Positions are double, and so are energies and the sums of products; momenta, gradients and the products that decide about turning have
 * the precision of the density, which the fused kernel computes. Random numbers are those of a counter (Philox) under a key that belongs to
 * the transition, so that it is the same however launches cut it. */
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

/* A shape of the fused kernel without Adam, for the sake of registers, of which there are enough for loads of so many pairs of entries. */
template <class S, int PAIRS = 4> struct WithoutAdam : S {
  enum { PAIRS_AT_ONCE = PAIRS };
};
template <class S, int PAIRS> struct HasAdam<WithoutAdam<S, PAIRS>> { enum { VALUE = 0 }; };

template <class S> struct FusedChain {
  FusedBlock<S> block;
  const RpinnDeviceChains *chains;
  int64_t seat, prior;

  RPINN_INLINE_METHOD const RpinnChainOrder &order() const { return chains->orders[block.member]; }
  RPINN_INLINE_METHOD RpinnChainRecord &record() const { return chains->records[seat]; }
  RPINN_INLINE_METHOD double *position(int64_t number) const {
    return chains->positions + (seat * RPINN_CHAIN_NUM_POSITIONS + number) * block.work->layout_size;
  }
  RPINN_INLINE_METHOD float *vector(int64_t number) const {
    return chains->vectors + (seat * chains->vectors_of_seat + number) * block.work->layout_size;
  }
  RPINN_INLINE_METHOD float *tree(int level, int part) const { return vector(RPINN_CHAIN_TREES + 3 * level + part); }
  RPINN_INLINE_METHOD const float *gradient() const { return block.in_layout(block.call->gradient); }
  RPINN_INLINE_METHOD const double *rows() const { return chains->rows + prior * 2 * block.work->layout_size; }
  RPINN_INLINE_METHOD const uint16_t *row_numbers() const { return chains->row_numbers + prior * block.work->layout_size; }
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

RPINN_INLINE void meet() {
#if defined(__CUDACC__)
  __syncthreads();
#endif
}
/* body(thread) for every thread, without a barrier: nobody reads what another one writes. */
template <class S, class Body> RPINN_INLINE void each_alone(const FusedChain<S> &chain, Body body) {
#if defined(__CUDACC__)
  (void)chain;
  body((int)threadIdx.x);
#else
  each_thread(chain.block, [&](int thread, FusedOwn<S> &) { body(thread); });
#endif
}
/* body(thread) for every thread, and a barrier. */
template <class S, class Body> RPINN_INLINE void each(const FusedChain<S> &chain, Body body) {
  each_alone(chain, body);
  meet();
}
/* One thread alone. */
template <class Body> RPINN_INLINE void by_one(Body body) {
#if defined(__CUDACC__)
  if (threadIdx.x == 0) body();
#else
  body();
#endif
}

/* Two neighbours of a vector, which a thread loads and stores at once. */
template <class Number> struct alignas(2 * sizeof(Number)) Neighbours { Number at[2]; };
template <class Number> RPINN_INLINE Neighbours<Number> load_pair(const Number *vector, int i) {
  return *reinterpret_cast<const Neighbours<Number> *>(vector + i);
}
template <class Number> RPINN_INLINE void store_pair(Number *vector, int i, const Neighbours<Number> &pair) {
  *reinterpret_cast<Neighbours<Number> *>(vector + i) = pair;
}

/* Two of a table that no kernel changes: such a load need not wait for stores before it. */
RPINN_INLINE Neighbours<double> load_constants(const double *table, int i) {
#if defined(__CUDACC__)
  double2 two = __ldg(reinterpret_cast<const double2 *>(table + i));
  return Neighbours<double>{{two.x, two.y}};
#else
  return load_pair(table, i);
#endif
}

/* work(i, load(i)) for the thread's pairs of neighbours i, i + 1: loads of a batch of them come before what is stored, and wait together.
 * Whatever the batch, pair n is that of thread n modulo their number. */
template <int BATCH, class S, class Load, class Work>
RPINN_INLINE void each_pair(const FusedChain<S> &chain, int thread, Load load, Work work) {
  const int size = chain.block.work->layout_size, step = 2 * chain.block.fused->num_threads;
  for (int first = 2 * thread; first < size; first += BATCH * step) {
    decltype(load(0)) now[BATCH];
    RPINN_UNROLL
    for (int b = 0; b < BATCH; b++) now[b] = load(first + b * step < size ? first + b * step : first);
    RPINN_UNROLL
    for (int b = 0; b < BATCH; b++)
      if (first + b * step < size) work(first + b * step, now[b]);
  }
}

/* ---- sums over the block ---- */

/* Sums that are known at a time, of 32 that the plane of bars has room for. */
enum {
  OF_DENSITY, /* -log density */
  OF_KINETIC, /* p M^-1 p */
  OF_STOP,    /* not zero: the launch ends */
  OF_POINTS,  /* products of two points */
  OF_PAIRS = OF_POINTS + 2,
  OF_TREES = OF_PAIRS + 6,
  TREES_AT_ONCE = 3,
  NUM_SUMS = OF_TREES + 6 * TREES_AT_ONCE
};
static_assert(NUM_SUMS <= 32, "sums of a block");

/* Where those of a warp lie. */
template <class S> RPINN_INLINE double *sums_of_warp(const FusedChain<S> &chain, int warp) {
  return (double *)chain.block.bars() + 32 * warp;
}

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
/* What threads have left of a sum. */
RPINN_INLINE double *parts_of_sum(int number) {
  static thread_local double parts[NUM_SUMS][1024];
  return parts[number];
}
#endif

/* What a thread has of sums [COUNT] from `first` on. All threads come here. */
template <int COUNT, class S>
RPINN_INLINE void leave_parts(const FusedChain<S> &chain, int thread, int first, const double (&parts)[COUNT]) {
#if defined(__CUDACC__)
  RPINN_UNROLL
  for (int c = 0; c < COUNT; c++) {
    double sum = warp_sum(parts[c]);
    if (thread % 32 == 0) sums_of_warp(chain, thread / 32)[first + c] = sum;
  }
#else
  (void)chain;
  for (int c = 0; c < COUNT; c++) parts_of_sum(first + c)[thread] = parts[c];
#endif
}
/* The same for what the first of a warp has alone. */
template <class S> RPINN_INLINE void leave_one(const FusedChain<S> &chain, int thread, int number, double part) {
#if defined(__CUDACC__)
  if (thread % 32 == 0) sums_of_warp(chain, thread / 32)[number] = part;
#else
  (void)chain;
  parts_of_sum(number)[thread] = thread % 32 ? 0 : part;
#endif
}

/* All sums, known to every thread: on a device a lane has the one of its number. */
struct ChainSums {
#if defined(__CUDACC__)
  double own;
  RPINN_INLINE_METHOD double of(int number) const { return __shfl_sync(0xffffffffu, own, number); }
  RPINN_INLINE_METHOD uint32_t not_above_zero() const { return __ballot_sync(0xffffffffu, !(own > 0)); }
#else
  double all[32];
  RPINN_INLINE_METHOD double of(int number) const { return all[number]; }
  RPINN_INLINE_METHOD uint32_t not_above_zero() const {
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++) bits |= (uint32_t) !(all[i] > 0) << i;
    return bits;
  }
#endif
};

/* After a barrier behind what threads left; and before another one in front of what is written there next. */
template <class S> RPINN_INLINE ChainSums known_sums(const FusedChain<S> &chain) {
  const int num_warps = chain.block.fused->num_threads / 32;
  ChainSums sums;
#if defined(__CUDACC__)
  sums.own = 0;
  for (int w = 0; w < num_warps; w++) sums.own += sums_of_warp(chain, w)[threadIdx.x % 32];
#else
  for (int w = 0; w < num_warps; w++)
    for (int i = 0; i < NUM_SUMS; i++) sums_of_warp(chain, w)[i] = warp_sum(parts_of_sum(i) + 32 * w);
  for (int i = 0; i < 32; i++) {
    sums.all[i] = 0;
    for (int w = 0; w < num_warps; w++) sums.all[i] += sums_of_warp(chain, w)[i];
  }
#endif
  return sums;
}

/* Products above zero, and nothing else, mean that nothing turns back. */
RPINN_INLINE bool turns(const ChainSums &sums, int first, int count) {
  return (sums.not_above_zero() >> first & ((1u << count) - 1)) != 0;
}

/* ---- numbers ---- */

RPINN_INLINE double log_sum(double a, double b) {
  double larger = fmax(a, b);
  return larger + log1p(exp(fmin(a, b) - larger));
}

RPINN_INLINE double total_energy(double kinetic, double log_density) {
  double energy = kinetic - log_density;
  return fabs(energy) <= DBL_MAX ? energy : HUGE_VAL;
}

/* Twice the kinetic energy of an entry, added up. */
RPINN_INLINE double add_kinetic(double sum, float inverse, float p) { return fma((double)inverse * (double)p, (double)p, sum); }

/* q + e M^-1 p: the same bits wherever it is made, for a pass sends it to shared memory and the next one makes it again. */
RPINN_INLINE double moved(double q, double step, float inverse, float p) { return fma(step, (double)(inverse * p), q); }

/* A row of the prior, and the gradient of the log density with it: row = root theta - shift, g = -(gradient + root row). */
RPINN_INLINE double row_at(const Neighbours<double> &prior, double q) { return fma(prior.at[0], q, -prior.at[1]); }
RPINN_INLINE float slope_at(const Neighbours<double> &prior, double row, float gradient) {
  return (float)-fma(prior.at[0], row, (double)gradient);
}

/* ---- halves ---- */

/* Which end the next half grows from, and in which direction of time. */
RPINN_INLINE void choose_end(uint64_t key, RpinnChainCourse &course) {
  double u[2];
  chain_uniforms(key, CHAIN_DIRECTIONS, (uint32_t)course.depth, u);
  course.end = u[0] > 0.5;
  course.direction = course.end ? 1 : -1;
  course.num_leaves = 0;
  course.half_weight = 0;
}

/* A fresh momentum for the chain's state, at which both ends begin. */
template <class S> RPINN_INLINE RpinnChainCourse begin_transition(const FusedChain<S> &chain) {
  const RpinnChainOrder &order = chain.order();
  const int chosen = order.is_new ? 0 : chain.record().course.chosen;
  const float *inverse = chain.vector(RPINN_CHAIN_INVERSE), *slope = chain.vector(RPINN_CHAIN_PROPOSED_SLOPES + chosen);
  const double *theta = chain.position(RPINN_CHAIN_PROPOSED + chosen);
  each(chain, [&](int thread) {
    double parts[1] = {0};
    each_pair<1>(
        chain, thread, [&](int i) { return i; },
        [&](int i, int) {
          Neighbours<float> p, own = load_pair(inverse, i);
          double u[2];
          chain_uniforms(order.key, CHAIN_MOMENTA, (uint32_t)(i / 2), u);
          double radius = sqrt(-2.0 * log(u[0])), angle = 6.283185307179586476925 * u[1];
          for (int k = 0; k < 2; k++) {
            double normal = radius * (k ? sin(angle) : cos(angle));
            p.at[k] = own.at[k] > 0 ? (float)(normal / sqrt((double)own.at[k])) : 0.0f;
            parts[0] = add_kinetic(parts[0], own.at[k], p.at[k]);
          }
          for (int which = 0; which < 2; which++) {
            store_pair(chain.position(RPINN_CHAIN_REACHED + which), i, load_pair(theta, i));
            store_pair(chain.vector(RPINN_CHAIN_MOMENTA + which), i, p);
            store_pair(chain.vector(RPINN_CHAIN_SLOPES + which), i, load_pair(slope, i));
          }
          store_pair(chain.vector(RPINN_CHAIN_SUM), i, p);
        });
    leave_parts(chain, thread, OF_KINETIC, parts);
  });
  RpinnChainCourse course = RpinnChainCourse();
  course.chosen = chosen;
  course.first_energy = total_energy(0.5 * known_sums(chain).of(OF_KINETIC), order.log_density);
  choose_end(order.key, course);
  by_one([&] {
    chain.record().course = course;
    chain.record().energy[chosen] = course.first_energy;
    chain.record().log_density[chosen] = order.log_density;
  });
  return course;
}

/* ---- a leapfrog ---- */

template <class S> RPINN_INLINE void put_shared(const FusedChain<S> &chain, int to, double q) {
  if (to != RPINN_CHAIN_NOWHERE) chain.block.shared[to] = (float)q;
}

/* Parameters for the next gradient to shared memory. A half that begins leaves its seam and makes its first half step; in the middle of
 * one, where an earlier launch stopped, that has been made. */
template <class S> RPINN_INLINE void set_out(const FusedChain<S> &chain, const RpinnChainCourse &course) {
  struct Entry {
    Neighbours<double> q;
    Neighbours<float> p, g, inverse;
    Neighbours<uint16_t> to;
  };
  const bool begins = course.num_leaves == 0;
  const double step = course.direction * chain.order().step, *theta = chain.position(RPINN_CHAIN_REACHED + course.end);
  const float half = (float)(0.5 * step), *inverse = chain.vector(RPINN_CHAIN_INVERSE), *slope = chain.vector(RPINN_CHAIN_SLOPES + course.end);
  float *momentum = chain.vector(RPINN_CHAIN_MOMENTA + course.end), *seam = chain.vector(RPINN_CHAIN_SEAM);
  each_alone(chain, [&](int thread) {
    each_pair<S::PAIRS_AT_ONCE>(
        chain, thread,
        [&](int i) {
          return Entry{load_pair(theta, i), load_pair(momentum, i), load_pair(slope, i), load_pair(inverse, i),
                       load_pair((const uint16_t *)chain.chains->shared_places, i)};
        },
        [&](int i, const Entry &own) {
          Neighbours<float> p = own.p;
          RPINN_UNROLL
          for (int k = 0; k < 2; k++) {
            if (begins) p.at[k] = multiply_add(half, own.g.at[k], own.p.at[k]);
            put_shared(chain, own.to.at[k], moved(own.q.at[k], step, own.inverse.at[k], p.at[k]));
          }
          if (!begins) return;
          store_pair(seam, i, own.p);
          store_pair(momentum, i, p);
        });
  });
}

/* What waits of a half when its point n has come. */
struct Completion {
  int end, depth;  /* of the trajectory, as the point found them */
  double step;     /* e, below zero backwards in time */
  int levels;      /* trees that it completes: how often n can be halved */
  bool is_start;   /* the half is one point, and the pair with the other one is the trajectory */
  bool ends_half;  /* n = 2^depth */
  int top;         /* level of the last of these within the half that has to wait; -1: none, the half is complete */
  int num_joins;   /* of trees, after points and pairs of them: those of the half, and the trajectory with it */
};
RPINN_INLINE Completion completion_of(const RpinnChainCourse &course, double step) {
  const int64_t number = course.num_leaves + 1;
  Completion now;
  now.end = course.end;
  now.depth = course.depth;
  now.step = course.direction * step;
  now.levels = 0;
  while (((number >> now.levels) & 1) == 0) now.levels++;
  now.is_start = now.depth == 0;
  now.ends_half = number == (int64_t)1 << now.depth;
  now.top = now.ends_half ? -1 : now.levels;
  now.num_joins = (now.levels > 2 ? now.levels - 2 : 0) + (now.ends_half && !now.is_start);
  return now;
}

/* Momenta of a tree, of two entries. */
struct TreePair {
  Neighbours<float> first, last, sum;
};

/* The tree of a and b; parts: products of both ends of a stretch with the sum of what it has, for the whole, and for each of the two
 * with the nearest point of the other. Those of two entries are added up before they are double. */
RPINN_INLINE TreePair join(const TreePair &a, const TreePair &b, const Neighbours<float> &inverse, float cut, double *parts) {
  TreePair both = {a.first, b.last, {{0, 0}}};
  float products[6] = {0, 0, 0, 0, 0, 0};
  RPINN_UNROLL
  for (int k = 0; k < 2; k++) {
    float first_a = a.first.at[k], last_a = a.last.at[k], first_b = b.first.at[k], last_b = b.last.at[k], sum = a.sum.at[k] + b.sum.at[k];
    float whole = sum - cut * (first_a + last_b), over = a.sum.at[k] + first_b - cut * (first_a + first_b),
          under = b.sum.at[k] + last_a - cut * (last_a + last_b);
    float begin = inverse.at[k] * first_a, end = inverse.at[k] * last_b;
    products[0] = multiply_add(begin, whole, products[0]);
    products[1] = multiply_add(end, whole, products[1]);
    products[2] = multiply_add(begin, over, products[2]);
    products[3] = multiply_add(inverse.at[k] * first_b, over, products[3]);
    products[4] = multiply_add(inverse.at[k] * last_a, under, products[4]);
    products[5] = multiply_add(end, under, products[5]);
    both.sum.at[k] = sum;
  }
  RPINN_UNROLL
  for (int c = 0; c < 6; c++) parts[c] += (double)products[c];
  return both;
}
/* The same for two points, whose halves are points. */
RPINN_INLINE TreePair join_points(const Neighbours<float> &a, const Neighbours<float> &b, const Neighbours<float> &inverse, double *parts) {
  TreePair both = {a, b, {{0, 0}}};
  float products[2] = {0, 0};
  RPINN_UNROLL
  for (int k = 0; k < 2; k++) {
    float sum = both.sum.at[k] = a.at[k] + b.at[k];
    products[0] = multiply_add(inverse.at[k] * a.at[k], sum, products[0]);
    products[1] = multiply_add(inverse.at[k] * b.at[k], sum, products[1]);
  }
  parts[0] += (double)products[0];
  parts[1] += (double)products[1];
  return both;
}

template <class S> RPINN_INLINE TreePair load_tree(const FusedChain<S> &chain, int level, int i) {
  return TreePair{load_pair(chain.tree(level, FIRST), i), load_pair(chain.tree(level, LAST), i), load_pair(chain.tree(level, SUM), i)};
}
template <class S> RPINN_INLINE void store_tree(const FusedChain<S> &chain, int level, int i, const TreePair &tree) {
  store_pair(chain.tree(level, FIRST), i, tree.first);
  store_pair(chain.tree(level, LAST), i, tree.last);
  store_pair(chain.tree(level, SUM), i, tree.sum);
}

/* The point that the gradient is for, and the way to the next one of its half. It joins the one that waits for it (JOINED > 0) and the
 * pair with the one that waits for that (JOINED > 1). */
template <int JOINED, class S>
RPINN_INLINE void settle_point(const FusedChain<S> &chain, const Completion &now, int thread) {
  enum { BATCH = JOINED > 1 ? (S::PAIRS_AT_ONCE + 1) / 2 : S::PAIRS_AT_ONCE };
  struct Entry {
    Neighbours<double> q;
    Neighbours<float> p, gradient, inverse, waiting;
    TreePair pair;
    Neighbours<uint16_t> row, to;
  };
  const bool goes_on = !now.ends_half, waits = now.top == JOINED;
  const double step = now.step, *rows = chain.rows(), *squares = squares_of(chain.block);
  const float half = (float)(0.5 * step), cut = chain.order().turns_by_path ? 0.5f : 0.0f;
  const float *inverse = chain.vector(RPINN_CHAIN_INVERSE), *gradient = chain.gradient(),
              *waiting = now.is_start ? chain.vector(RPINN_CHAIN_SEAM) : chain.tree(0, FIRST);
  const uint16_t *row_numbers = chain.row_numbers(), *places = chain.chains->shared_places;
  double *theta = chain.position(RPINN_CHAIN_REACHED + now.end);
  float *momentum = chain.vector(RPINN_CHAIN_MOMENTA + now.end), *slope = chain.vector(RPINN_CHAIN_SLOPES + now.end),
        *sum = chain.vector(now.is_start ? RPINN_CHAIN_SUM : RPINN_CHAIN_PART), *last = chain.vector(RPINN_CHAIN_LAST);
  double energies[2] = {0, 0}, of_points[2] = {0, 0}, of_pairs[6] = {0, 0, 0, 0, 0, 0};
  each_pair<BATCH>(
      chain, thread,
      [&](int i) {
        Entry own = Entry();
        own.row = load_pair(row_numbers, i);
        own.q = load_pair(theta, i);
        own.p = load_pair((const float *)momentum, i);
        own.gradient = load_pair(gradient, i);
        own.inverse = load_pair(inverse, i);
        own.to = load_pair(places, i);
        if constexpr (JOINED > 0) own.waiting = load_pair(waiting, i);
        if constexpr (JOINED > 1) own.pair = load_tree(chain, 1, i);
        return own;
      },
      [&](int i, const Entry &own) {
        Neighbours<double> q;
        Neighbours<float> g, p, ahead;
        RPINN_UNROLL
        for (int k = 0; k < 2; k++) {
          const Neighbours<double> prior = load_constants(rows, 2 * own.row.at[k]);
          q.at[k] = moved(own.q.at[k], step, own.inverse.at[k], own.p.at[k]);
          double row = row_at(prior, q.at[k]);
          g.at[k] = slope_at(prior, row, own.gradient.at[k]);
          p.at[k] = multiply_add(half, g.at[k], own.p.at[k]);
          energies[0] = fma(0.5 * row, row, energies[0]);
          energies[1] = add_kinetic(energies[1], own.inverse.at[k], p.at[k]);
          ahead.at[k] = multiply_add(half, g.at[k], p.at[k]);
          if (goes_on) put_shared(chain, own.to.at[k], moved(q.at[k], step, own.inverse.at[k], ahead.at[k]));
        }
        store_pair(theta, i, q);
        store_pair(momentum, i, goes_on ? ahead : p);
        if (!goes_on) store_pair(slope, i, g);
        if constexpr (JOINED == 0) {
          store_pair(chain.tree(0, FIRST), i, p);
        } else {
          TreePair tree = join_points(own.waiting, p, own.inverse, of_points);
          if constexpr (JOINED > 1) tree = join(own.pair, tree, own.inverse, cut, of_pairs);
          if (waits) {
            store_tree(chain, JOINED, i, tree);
          } else {
            store_pair(sum, i, tree.sum);
            store_pair(last, i, p);
          }
        }
      });
  for (int i = thread; i < chain.block.work->num_results; i += chain.block.fused->num_threads) energies[0] = fma(0.5, squares[i], energies[0]);
  leave_parts(chain, thread, OF_DENSITY, energies);
  if constexpr (JOINED > 0) leave_parts(chain, thread, OF_POINTS, of_points);
  if constexpr (JOINED > 1) leave_parts(chain, thread, OF_PAIRS, of_pairs);
}

/* ---- trees ---- */

/* Join `number` of those that the last point makes: of the tree that waits at a level with the one that ends at the point, or of the trajectory
 * with the half. */
struct Join {
  bool is_whole;
  int level;
};
RPINN_INLINE Join join_number(const Completion &now, int number) {
  Join own = {2 + number >= now.levels, 2 + number};
  return own;
}

template <class S>
RPINN_INLINE void join_trees(const FusedChain<S> &chain, const Completion &now, const Join &own, int thread,
                             int first_sum) {
  struct Entry {
    TreePair a, b;
    Neighbours<float> inverse;
  };
  const bool waits = !own.is_whole && now.top == own.level + 1;
  const float cut = chain.order().turns_by_path ? 0.5f : 0.0f, *inverse = chain.vector(RPINN_CHAIN_INVERSE);
  float *part = chain.vector(RPINN_CHAIN_PART), *sum = own.is_whole ? chain.vector(RPINN_CHAIN_SUM) : part;
  const float *first_a = own.is_whole ? chain.vector(RPINN_CHAIN_MOMENTA + 1 - now.end) : chain.tree(own.level, FIRST),
              *last_a = own.is_whole ? chain.vector(RPINN_CHAIN_SEAM) : chain.tree(own.level, LAST),
              *sum_a = own.is_whole ? sum : chain.tree(own.level, SUM),
              *first_b = chain.tree(own.is_whole ? now.depth - 1 : own.level - 1, FIRST), *last_b = chain.vector(RPINN_CHAIN_LAST);
  double products[6] = {0, 0, 0, 0, 0, 0};
  each_pair<(S::PAIRS_AT_ONCE + 1) / 2>(
      chain, thread,
      [&](int i) {
        return Entry{{load_pair(first_a, i), load_pair(last_a, i), load_pair(sum_a, i)},
                     {load_pair(first_b, i), load_pair(last_b, i), load_pair((const float *)part, i)},
                     load_pair(inverse, i)};
      },
      [&](int i, const Entry &entry) {
        TreePair tree = join(entry.a, entry.b, entry.inverse, cut, products);
        if (waits)
          store_tree(chain, now.top, i, tree);
        else
          store_pair(sum, i, tree.sum);
      });
  leave_parts(chain, thread, first_sum, products);
}

/* What turns back. */
struct Turned {
  bool half, whole; /* the new half; the trajectory with it */
};

/* As many joins as sums have room for, from `first` on. */
template <class S>
RPINN_INLINE void join_some(const FusedChain<S> &chain, const Completion &now, int thread, int first) {
  for (int j = first; j < now.num_joins && j < first + TREES_AT_ONCE; j++)
    join_trees(chain, now, join_number(now, j), thread, OF_TREES + 6 * (j - first));
}
RPINN_INLINE void look_at_some(const ChainSums &sums, const Completion &now, int first, Turned &turned) {
  for (int j = first; j < now.num_joins && j < first + TREES_AT_ONCE; j++) {
    bool own = turns(sums, OF_TREES + 6 * (j - first), 6);
    if (join_number(now, j).is_whole)
      turned.whole |= own;
    else
      turned.half |= own;
  }
}

/* What a point and its pair say, and the first joins; sums of them are what is returned, and the course as the point found it, which
 * is read behind the pass for the sake of registers. The barrier makes parameters in shared memory known, too. */
template <class S>
RPINN_INLINE ChainSums settle(const FusedChain<S> &chain, const Completion &now, int num_made, RpinnChainCourse &course) {
  const RpinnDeviceChains &chains = *chain.chains;
  each_alone(chain, [&](int thread) {
    /* Another block may have finished in the meantime: one thread looks, for all. */
    int32_t num_finished = thread == 0 && num_made >= chains.least ? *(const volatile int32_t *)chains.num_finished : 0;
    if (now.levels > 1)
      settle_point<2>(chain, now, thread);
    else if (now.levels || now.is_start)
      settle_point<1>(chain, now, thread);
    else
      settle_point<0>(chain, now, thread);
    join_some(chain, now, thread, 0);
    leave_one(chain, thread, OF_STOP, num_finished >= chains.enough ? 1.0 : 0.0);
  });
  course = chain.record().course;
  meet();
  return known_sums(chain);
}

/* Does anything turn back? Joins that sums had no room for are made here. */
template <class S>
RPINN_INLINE Turned look_back(const FusedChain<S> &chain, const Completion &now, const ChainSums &sums) {
  Turned turned = {now.levels && turns(sums, OF_POINTS, now.levels > 1 ? 8 : 2), now.is_start && turns(sums, OF_POINTS, 2)};
  look_at_some(sums, now, 0, turned);
  for (int first = TREES_AT_ONCE; first < now.num_joins && !turned.half; first += TREES_AT_ONCE) {
    meet(); /* the last sums have been read */
    each(chain, [&](int thread) { join_some(chain, now, thread, first); });
    look_at_some(known_sums(chain), now, first, turned);
  }
  return turned;
}

/* ---- decisions ---- */

/* The half is one tree: the trajectory takes it, and its proposal with the probability min(1, w_new / w_old). */
RPINN_INLINE void take_half(const RpinnChainOrder &order, RpinnChainCourse &course, bool whole_has_turned, double u) {
  if (u < exp(course.half_weight - course.log_weight)) course.chosen = 1 - course.chosen;
  course.log_weight = log_sum(course.log_weight, course.half_weight);
  course.depth++;
  course.reached_max_depth = !whole_has_turned && course.depth == order.max_depth;
  course.has_finished = whole_has_turned || course.reached_max_depth;
  if (!course.has_finished) choose_end(order.key, course);
}

/* The weight w of a point joins W, that of its half before it. Returns whether it becomes the half's proposal, with the probability
 * w / (W + w): with d = log W - log w, 1 / (1 + exp(-|d|)) is the share of the larger weight. */
RPINN_INLINE bool add_weight(RpinnChainCourse &course, double log_weight, double u) {
  if (course.num_leaves == 1) {
    course.half_weight = log_weight;
    return true;
  }
  double d = course.half_weight - log_weight, ratio = exp(-fabs(d));
  course.half_weight = fmax(course.half_weight, log_weight) + log1p(ratio);
  return u * (1 + ratio) < (d > 0 ? ratio : 1);
}

/* What the last point means for the transition. Returns whether it becomes the proposal of its half. */
template <class S>
RPINN_INLINE bool weigh_point(const FusedChain<S> &chain, RpinnChainCourse &course, const Completion &now, const ChainSums &sums, const Turned &turned) {
  const RpinnChainOrder &order = chain.order();
  const double density = -sums.of(OF_DENSITY), energy = total_energy(0.5 * sums.of(OF_KINETIC), density), error = energy - course.first_energy;
  const int half_proposal = 1 - course.chosen;
  double u[2];
  course.num_steps++;
  course.num_leaves++;
  course.acceptance_sum += fabs(error) <= order.ignored ? 1 : fmin(1.0, exp(-error));
  if (fabs(error) > fabs(course.max_error)) course.max_error = error;
  course.diverging = !(error <= order.max_energy_error);
  course.has_finished = course.diverging || turned.half;
  if (course.has_finished) return false;
  chain_uniforms(order.key, CHAIN_CHOICES, (uint32_t)course.num_steps, u);
  bool copies = add_weight(course, -error, u[0]);
  if (copies)
    by_one([&] {
      chain.record().energy[half_proposal] = energy;
      chain.record().log_density[half_proposal] = density;
    });
  if (now.ends_half) take_half(order, course, turned.whole, u[1]);
  return copies;
}

/* The point as proposal of its half. The gradient at it is there until the next one is made, which writes it behind barriers. */
template <class S> RPINN_INLINE void copy_point(const FusedChain<S> &chain, int end, int to) {
  struct Entry {
    Neighbours<double> q;
    Neighbours<float> gradient;
    Neighbours<uint16_t> row;
  };
  const double *theta = chain.position(RPINN_CHAIN_REACHED + end), *rows = chain.rows();
  const float *gradient = chain.gradient();
  const uint16_t *row_numbers = chain.row_numbers();
  double *proposed = chain.position(RPINN_CHAIN_PROPOSED + to);
  float *proposed_slope = chain.vector(RPINN_CHAIN_PROPOSED_SLOPES + to);
  each_alone(chain, [&](int thread) {
    each_pair<S::PAIRS_AT_ONCE>(
        chain, thread,
        [&](int i) { return Entry{load_pair(theta, i), load_pair(gradient, i), load_pair(row_numbers, i)}; },
        [&](int i, const Entry &own) {
          Neighbours<float> g;
          RPINN_UNROLL
          for (int k = 0; k < 2; k++) {
            const Neighbours<double> prior = load_constants(rows, 2 * own.row.at[k]);
            g.at[k] = slope_at(prior, row_at(prior, own.q.at[k]), own.gradient.at[k]);
          }
          store_pair(proposed, i, own.q);
          store_pair(proposed_slope, i, g);
        });
  });
}

/* ---- the whole ---- */

RPINN_INLINE void count_finished(int32_t *counter) {
#if defined(__CUDACC__)
  atomicAdd(counter, 1);
#else
  (*counter)++;
#endif
}

/* A leapfrog and what follows from it, for parameters that are in shared memory. Returns whether the launch is to end. The barrier before the
 * gradient: sums of the last point have been read, in whose place it writes, and its record is written; the one behind settle's pass:
 * the record has been read. */
template <class S> RPINN_INLINE bool make_point(const FusedChain<S> &chain, RpinnChainCourse &course, int num_made) {
  meet();
  with_own(chain.block, [&](const FusedBlock<S> &block) { fused_gradient(block, 0); });
  const Completion now = completion_of(chain.record().course, chain.order().step);
  const ChainSums sums = settle(chain, now, num_made, course);
  const int half_proposal = 1 - course.chosen;
  const bool stops = sums.of(OF_STOP) > 0;
  const Turned turned = look_back(chain, now, sums);
  const bool copies = weigh_point(chain, course, now, sums, turned);
  by_one([&] { chain.record().course = course; });
  if (copies) copy_point(chain, now.end, half_proposal);
  return stops;
}

/* What is known of a chain, and where its transition is complete its new state, to memory of the host: in the order of parameters, so that a
 * warp writes whole lines. */
template <class S> RPINN_INLINE void tell_outcome(const FusedChain<S> &chain, const RpinnChainCourse &course, int num_made) {
  const RpinnDeviceChains &chains = *chain.chains;
  RpinnChainOutcome *outcome = chains.outcomes + chain.block.member;
  by_one([&] {
    const RpinnChainRecord &record = chain.record();
    RpinnChainOutcome own = {course.has_finished, course.depth, course.diverging, course.reached_max_depth, num_made, course.num_steps,
                             record.log_density[course.chosen], record.energy[course.chosen], course.first_energy, course.max_error,
                             course.acceptance_sum};
    if (course.has_finished) count_finished(chains.num_finished);
    *outcome = own;
  });
  if (!course.has_finished) return;
  meet();
  const int64_t size = chains.num_parameters;
  const double *theta = chain.position(RPINN_CHAIN_PROPOSED + course.chosen);
  const float *slope = chain.vector(RPINN_CHAIN_PROPOSED_SLOPES + course.chosen);
  double *to_theta = chain.order().theta, *to_gradient = chain.order().gradient;
  each(chain, [&](int thread) {
    for (int64_t j = thread; j < size; j += chain.block.fused->num_threads) {
      const int place = chains.parameters[j];
      to_theta[j] = theta[place];
      to_gradient[j] = (double)slope[place];
    }
  });
}

/* Where the parameters are in shared memory. All blocks write the same numbers to the same places, and none reads one before it has written
 * it; what has no place in shared memory was marked by the host. */
template <class S> RPINN_INLINE void find_places(const FusedChain<S> &chain) {
  each(chain, [&](int thread) {
    move_parameters(chain.block, thread, [&](int place, int to) { chain.chains->shared_places[place] = (uint16_t)to; });
  });
}

/* Place k of a launch. own, rows: on the host one for every thread, and nothing on a device. */
template <class S>
RPINN_INLINE void run_chain(const RpinnDeviceWork &work, const RpinnFusedWork &fused, const RpinnDeviceCall &call,
                            const RpinnDeviceChains &chains, int64_t k, float *shared, FusedOwn<S> *own, FusedRows<S> *rows) {
  const RpinnChainOrder &order = chains.orders[k];
  FusedChain<S> chain = {{&work, &fused, &call, k, shared, own, rows}, &chains, order.seat, order.prior};
  if (order.is_idle) return;
  with_own(chain.block, [&](const FusedBlock<S> &block) {
    load_tables(block);
    clear_shared(block);
  });
  find_places(chain);
  RpinnChainCourse course = order.begins ? begin_transition(chain) : chain.record().course;
  int num_made = 0;
  bool goes_on = true;
  set_out(chain, course);
  while (goes_on) {
    bool stops = make_point(chain, course, num_made++);
    goes_on = num_made < chains.num_steps && !course.has_finished && !stops;
    if (goes_on && course.num_leaves == 0) set_out(chain, course);
  }
  tell_outcome(chain, course, num_made);
}

#endif
