/* The kernels of SVGD: particle_tables.h says what they read and write. Each task is a function of one block of threads; sums are of one
 * block in an order of their own, so that bits depend on the particles alone. */
#ifndef RPINN_BACKEND_CUDA_PARTICLES_CUH
#define RPINN_BACKEND_CUDA_PARTICLES_CUH

#include <float.h>
#include <string.h>

#include "activation_slopes.cuh"
#include "particle_tables.h"
#include "tensor_tiles.cuh"

enum { PARTICLE_THREADS = 256, PARTICLE_SIDE = 32 /* of a tile of distances */, CENTRED_AT_ONCE = 4 };

/* What a block needs at hand. */
struct ParticleMemory {
  uint32_t counts[RPINN_PARTICLE_BINS];
  uint32_t parts[PARTICLE_THREADS / 32];
  double sums[PARTICLE_THREADS / 32];
  double squares[2 * PARTICLE_SIDE];
  double tile[PARTICLE_SIDE][PARTICLE_SIDE + 1];
  uint32_t bin, rank, before;
};

#if defined(__CUDACC__)
RPINN_INLINE void count_one(uint32_t *counter, uint32_t count) { atomicAdd(counter, count); }
RPINN_INLINE void raise_to(uint32_t *largest, uint32_t value) { atomicMax(largest, value); }
RPINN_INLINE void raise_to(uint64_t *largest, uint64_t value) {
  atomicMax((unsigned long long *)largest, (unsigned long long)value);
}
#else
RPINN_INLINE void count_one(uint32_t *counter, uint32_t count) { *counter += count; }
template <class Bits> RPINN_INLINE void raise_to(Bits *largest, Bits value) {
  if (*largest < value) *largest = value;
}
#endif

/* ---- numbers as bits ---- */

template <class Real> struct RealBits;
template <> struct RealBits<float> {
  typedef uint32_t Bits;
  enum { COUNT = 32, PASSES = 3 };
};
template <> struct RealBits<double> {
  typedef uint64_t Bits;
  enum { COUNT = 64, PASSES = 6 };
};

template <class Real> RPINN_INLINE typename RealBits<Real>::Bits bits_of(Real x) {
  typename RealBits<Real>::Bits bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <class Real> RPINN_INLINE Real real_of(uint64_t own) {
  typename RealBits<Real>::Bits bits = (typename RealBits<Real>::Bits)own;
  Real x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
/* Bits behind those of a pass. */
template <class Real> RPINN_INLINE int bits_behind(int pass) {
  int left = RealBits<Real>::COUNT - RPINN_PARTICLE_BITS * (pass + 1);
  return left > 0 ? left : 0;
}
template <class Real> RPINN_INLINE int bits_of_pass(int pass) {
  return RealBits<Real>::COUNT - RPINN_PARTICLE_BITS * pass - bits_behind<Real>(pass);
}

/* ---- what a block finds together ---- */

/* Known to its first thread. */
RPINN_INLINE double block_sum(const Team &team, ParticleMemory &memory, double x) {
  x = lane_sum(team, x);
  if (team.lane == 0) memory.sums[team.group] = x;
  barrier();
  double sum = 0;
  for (int group = 0; team.thread == 0 && group < team.num_groups; group++) sum += memory.sums[group];
  return sum;
}

/* The largest of all, to `largest`: one thread of a warp speaks for it. */
RPINN_INLINE void raise_by_block(const Team &team, uint64_t *largest, uint64_t value) {
#if defined(__CUDACC__)
  for (int step = team.num_lanes / 2; step > 0; step /= 2) {
    unsigned long long other = __shfl_xor_sync(0xffffffffu, (unsigned long long)value, step);
    if (other > value) value = other;
  }
#endif
  if (team.lane == 0 && value) raise_to(largest, value);
}

/* Tile number `index` of a triangle, row by row: its row r is the last one with r (r + 1) / 2 <= index. */
RPINN_INLINE int64_t triangle_row(int64_t index) {
  int64_t row = (int64_t)((sqrt(8 * (double)index + 1) - 1) / 2);
  while (row * (row + 1) / 2 > index) row--;
  while ((row + 1) * (row + 2) / 2 <= index) row++;
  return row;
}

/* ---- what particles are measured from ---- */

/* An operand of both products: in TF32 it is rounded once, where it is made. */
template <class Real> RPINN_INLINE Real product_operand(const RpinnDeviceParticles &own, Real x) {
  return sizeof(Real) == sizeof(float) && own.is_tf32 ? (Real)finite_tf32((float)x) : x;
}

/* Sums of differences from the first particle, exact where all particles are the same; column: of this thread. */
template <class Real> RPINN_INLINE void sum_particles(const RpinnDeviceParticles &own, int part, int64_t column) {
  const Real *theta = (const Real *)own.theta;
  if (column >= own.size) return;
  double origin = (double)theta[column], sum = 0;
  for (int i = part; i < own.n; i += RPINN_PARTICLE_PARTS) sum += (double)theta[i * own.size + column] - origin;
  own.sums[part * own.size + column] = sum;
}

/* first, stride: of this thread among those of all blocks, here and below. */
RPINN_INLINE void clear_search(const RpinnDeviceParticles &own, int64_t first, int64_t stride) {
  uint32_t *words = (uint32_t *)own.search;
  for (int64_t i = first; i < (int64_t)(sizeof *own.search / sizeof *words); i += stride) words[i] = 0;
}

/* A column of some particles: number `part` and every num_parts-th behind it. */
template <class Real> RPINN_INLINE void centre_column(const RpinnDeviceParticles &own, int part, int num_parts, int64_t column) {
  const Real *theta = (const Real *)own.theta;
  if (column >= own.size) return;
  double sum = 0;
  for (int k = 0; k < RPINN_PARTICLE_PARTS; k++) sum += own.sums[k * own.size + column];
  double centre = (double)theta[column] + sum / own.n;
  for (int64_t i = part; i < own.n; i += (int64_t)CENTRED_AT_ONCE * num_parts) { /* loads do not wait for stores */
    double at[CENTRED_AT_ONCE];
    RPINN_UNROLL
    for (int q = 0; q < CENTRED_AT_ONCE; q++) at[q] = (double)theta[(i + q * num_parts < own.n ? i + q * num_parts : i) * own.size + column];
    RPINN_UNROLL
    for (int q = 0; q < CENTRED_AT_ONCE; q++)
      if (i + q * num_parts < own.n) ((Real *)own.centred)[(i + q * num_parts) * own.size + column] = product_operand(own, (Real)(at[q] - centre));
  }
}

/* ---- the median ---- */

/* What a thread has, summed over those before it; also where they have not met. */
RPINN_INLINE uint32_t sum_before(const Team &team, ParticleMemory &memory, uint32_t own) {
  uint32_t sum = own, before = 0;
#if defined(__CUDACC__)
  for (int step = 1; step < team.num_lanes; step *= 2) {
    uint32_t other = __shfl_up_sync(0xffffffffu, sum, step);
    if (team.lane >= step) sum += other;
  }
#endif
  if (team.lane == team.num_lanes - 1) memory.parts[team.group] = sum;
  barrier();
  for (int group = 0; group < team.group; group++) before += memory.parts[group];
  return before + sum - own;
}

/* The bin that has the number of this rank, its place in the bin, and one more than the last bin before it that has a number, or 0. */
RPINN_INLINE void find_bin(const Team &team, ParticleMemory &memory, const uint32_t *counts, uint32_t rank) {
  const int share = RPINN_PARTICLE_BINS / team.num_threads, first = team.thread * share;
  uint32_t sum = 0, last = 0;
  for (int i = 0; i < share; i++) sum += counts[first + i];
  if (team.thread == 0) memory.before = 0;
  uint32_t before = sum_before(team, memory, sum);
  if (rank >= before && rank < before + sum) {
    int bin = first;
    while (rank >= before + counts[bin]) before += counts[bin++];
    memory.bin = (uint32_t)bin;
    memory.rank = rank - before;
  }
  barrier();
  for (int bin = first; bin < first + share && bin < (int)memory.bin; bin++)
    if (counts[bin]) last = (uint32_t)bin + 1;
  if (last) raise_to(&memory.before, last);
  barrier();
}

/* What is known before a pass: each block finds it anew of the last one's counts, and the first one writes it down for later passes. */
template <class Real>
RPINN_INLINE uint64_t known_before(const Team &team, ParticleMemory &memory, const RpinnDeviceParticles &own, int pass, int block) {
  RpinnParticleSearch *search = own.search;
  uint64_t prefix = pass > 1 ? search->prefix[pass - 2] : 0;
  find_bin(team, memory, search->counts[pass - 1], pass > 1 ? search->rank[pass - 2] : own.rank);
  prefix = prefix << bits_of_pass<Real>(pass - 1) | memory.bin;
  if (block == 0 && team.thread == 0) {
    search->prefix[pass - 1] = prefix;
    search->rank[pass - 1] = memory.rank;
  }
  return prefix;
}

RPINN_INLINE void clear_counts(const Team &team, ParticleMemory &memory) {
  for (int i = team.thread; i < RPINN_PARTICLE_BINS; i += team.num_threads) memory.counts[i] = 0;
}

RPINN_INLINE void add_counts(const Team &team, const ParticleMemory &memory, const RpinnDeviceParticles &own, int pass) {
  for (int i = team.thread; i < RPINN_PARTICLE_BINS; i += team.num_threads)
    if (memory.counts[i]) count_one(&own.search->counts[pass][i], memory.counts[i]);
}

/* Of the pairs of rows block, block + num_blocks, …, each pair once. The last pass also finds the largest distance below all that it counts. */
template <class Real>
RPINN_INLINE void search_pass(const Team &team, ParticleMemory &memory, const RpinnDeviceParticles &own, int block, int num_blocks) {
  const Real *distances = (const Real *)own.weights;
  uint64_t prefix = known_before<Real>(team, memory, own, own.pass, block), largest = 0;
  int behind = bits_behind<Real>(own.pass), width = bits_of_pass<Real>(own.pass);
  clear_counts(team, memory);
  barrier();
  for (int64_t i = block; i < own.n; i += num_blocks)
    for (int64_t j = team.thread; j < i; j += team.num_threads) {
      uint64_t bits = bits_of(distances[i * own.stride + j]), front = bits >> behind;
      if (front >> width == prefix) count_one(&memory.counts[front & ((1u << width) - 1)], 1);
      if (front >> width < prefix && bits > largest) largest = bits;
    }
  barrier();
  add_counts(team, memory, own, own.pass);
  if (own.pass + 1 == RealBits<Real>::PASSES) raise_by_block(team, &own.search->below, largest);
}

/* h^2; 0 where the rule gives none. A single particle has no distances. */
template <class Real>
RPINN_INLINE double squared_bandwidth(const Team &team, ParticleMemory &memory, const RpinnDeviceParticles &own, int block) {
  const int last = RealBits<Real>::PASSES - 1;
  if (own.n < 2) return 0;
  uint64_t found = known_before<Real>(team, memory, own, last + 1, block);
  uint64_t below = memory.before ? found - memory.bin + (memory.before - 1) : own.search->below;
  double median = (double)real_of<Real>(found);
  if (own.is_mean && memory.rank == 0) median = 0.5 * (median + (double)real_of<Real>(below));
  double square = median / (2 * own.log_particles);
  return square < DBL_MIN ? 0 : square;
}

template <class Real> RPINN_INLINE double repulsion_of(const RpinnDeviceParticles &own) {
  double square = *own.bandwidth;
  return square == 0 ? 0 : own.repulsion / square; /* what is not a number stays so */
}

/* ---- distances ---- */

/* y_i.y_j, j <= i */
template <class Real> RPINN_INLINE double product_of(const RpinnDeviceParticles &own, int64_t i, int64_t j) {
  const Real *products = (const Real *)own.products + i * own.stride + j;
  double sum = 0;
  for (int part = 0; part < own.num_parts; part++) sum += (double)products[part * own.n * own.stride];
  return sum;
}

/* A tile on or below the diagonal and its mirror image. Zero where rounding leaves nothing: see squared_distance of svgd_products.c. */
template <class Real>
RPINN_INLINE void measure_tile(const Team &team, ParticleMemory &memory, const RpinnDeviceParticles &own, int64_t index) {
  enum { SIDE = PARTICLE_SIDE };
  const double epsilon = sizeof(Real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON;
  const int64_t row = triangle_row(index), i = row * SIDE, j = (index - row * (row + 1) / 2) * SIDE;
  const int behind = bits_behind<Real>(0);
  Real *distances = (Real *)own.weights;
  clear_counts(team, memory);
  for (int e = team.thread; e < 2 * SIDE; e += team.num_threads) {
    int64_t place = e < SIDE ? i + e : j + e - SIDE;
    memory.squares[e] = place < own.n ? product_of<Real>(own, place, place) : 0;
  }
  barrier();
  for (int e = team.thread; e < SIDE * SIDE; e += team.num_threads) {
    int r = e / SIDE, c = e % SIDE;
    if (i + r >= own.n || j + c > i + r) continue;
    double scale = memory.squares[r] + memory.squares[SIDE + c], distance = scale - 2 * product_of<Real>(own, i + r, j + c);
    Real kept = (Real)(distance <= 16 * epsilon * scale ? 0 : distance);
    distances[(i + r) * own.stride + j + c] = kept;
    memory.tile[r][c] = (double)kept;
    if (j + c < i + r) count_one(&memory.counts[(uint64_t)bits_of(kept) >> behind], 1);
  }
  barrier();
  for (int e = team.thread; e < SIDE * SIDE; e += team.num_threads) {
    int r = e / SIDE, c = e % SIDE;
    if (i + c < own.n && j + r < i + c) distances[(j + r) * own.stride + i + c] = (Real)memory.tile[c][r];
  }
  add_counts(team, memory, own, 0);
}

/* ---- the direction and the step ---- */

/* Row i of k. */
template <class Real>
RPINN_INLINE void weigh_row_of_particles(const Team &team, ParticleMemory &memory, const RpinnDeviceParticles &own, int64_t i) {
  Real *row = (Real *)own.weights + i * own.stride;
  double square = squared_bandwidth<Real>(team, memory, own, (int)i), sum = 0;
  const Real factor = (Real)(square == 0 ? 0 : -0.5 / square), smallest = sizeof(Real) == sizeof(float) ? (Real)FLT_MIN : (Real)DBL_MIN;
  for (int64_t j = team.thread; j < own.n; j += team.num_threads) {
    Real value = i == j ? Real(1) : exponential(factor * row[j]);
    row[j] = value < smallest ? Real(0) : product_operand(own, value);
    sum += (double)row[j];
  }
  sum = block_sum(team, memory, sum);
  if (team.thread == 0) own.row_sums[i] = sum;
  if (team.thread == 0 && i == 0) *own.bandwidth = square;
}

/* c_i = a g_i - (b / h^2) y_i, g = -(gradient of the data + that of the prior). By one block, as below: four numbers of a thread at a
 * time, which the layout's size is a multiple of. */
template <class Real> RPINN_INLINE void combine_particle(const Team &team, const RpinnDeviceParticles &own, int64_t i) {
  const Real *theta = (const Real *)own.theta + i * own.size, *gradient = (const Real *)own.gradient + i * own.size,
             *y = (const Real *)own.centred + i * own.size;
  Real *combined = (Real *)own.combined + i * own.size;
  const Real attraction = (Real)own.attraction, repulsion = (Real)repulsion_of<Real>(own);
  for (int64_t j = 4 * team.thread; j < own.size; j += 4 * team.num_threads) {
    Four<Real> at = load_four(theta + j), slope = load_four(gradient + j), centred = load_four(y + j),
               scale = load_four((const Real *)own.prior_scale + j), shift = load_four((const Real *)own.prior_shift + j),
               movable = load_four((const Real *)own.movable + j), result;
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) {
      Real whole = slope.at[q] + scale.at[q] * at.at[q] - shift.at[q];
      result.at[q] = movable.at[q] > 0 ? product_operand(own, -attraction * whole - repulsion * centred.at[q]) : Real(0);
    }
    store_four(combined + j, result);
  }
}

/* One number: phi to the step of the optimiser. */
template <class Real>
RPINN_INLINE Real moved(const RpinnDeviceParticles &own, Real phi, Real theta, Real *m, Real *v) {
  if (own.is_adam) {
    const Real beta1 = (Real)own.beta1, beta2 = (Real)own.beta2;
    *m = beta1 * *m + (1 - beta1) * phi;
    *v = beta2 * *v + (1 - beta2) * phi * phi;
    return theta + (Real)own.rate * *m / (root_of(*v * (Real)own.unbias_v) + (Real)own.epsilon);
  }
  *v = Real(0.9) * *v + (Real)own.share * phi * phi;
  return theta + (Real)own.rate * phi / (Real(1e-6) + root_of(*v));
}

template <class Real>
RPINN_INLINE void move_particle(const Team &team, ParticleMemory &memory, const RpinnDeviceParticles &own, int64_t i) {
  const int64_t first = i * own.size;
  Real *theta = (Real *)own.theta + first, *v = (Real *)own.v + first, *m = own.is_adam ? (Real *)own.m + first : v;
  const Real weight = (Real)(repulsion_of<Real>(own) * own.row_sums[i]);
  double sum = 0;
  for (int64_t j = 4 * team.thread; j < own.size; j += 4 * team.num_threads) {
    Four<Real> direction = load_four((const Real *)own.direction + first + j), y = load_four((const Real *)own.centred + first + j),
               movable = load_four((const Real *)own.movable + j), at = load_four(theta + j), own_m = load_four(m + j),
               own_v = load_four(v + j);
    if (own.keeps_before) store_four((Real *)own.before + first + j, at);
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) {
      Real phi = movable.at[q] > 0 ? direction.at[q] + weight * y.at[q] : Real(0);
      sum += (double)phi * (double)phi;
      Real moved_to = moved<Real>(own, phi, at.at[q], &own_m.at[q], &own_v.at[q]);
      if (movable.at[q] > 0) at.at[q] = moved_to;
    }
    store_four(theta + j, at);
    if (own.is_adam) store_four(m + j, own_m);
    store_four(v + j, own_v);
  }
  sum = block_sum(team, memory, sum);
  if (team.thread == 0) own.norms[i] = sum;
}

#endif
