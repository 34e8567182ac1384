/* The threads of a block as the kernels see them. Loops are strided by the team between barriers, so that the same source runs
 * on a device with hundreds of threads and, for tests, on the host with one thread, whose barriers are empty.
 *
 * A *group* is num_lanes adjacent threads of one warp: it has a unit of a layer, and each of its lanes four points at a time. */
#ifndef RPINN_BACKEND_CUDA_TEAM_CUH
#define RPINN_BACKEND_CUDA_TEAM_CUH

#include <math.h>

#if defined(__CUDACC__)
#define RPINN_INLINE static __device__ __forceinline__
#define RPINN_INLINE_METHOD __device__ __forceinline__
#define RPINN_PHASE         static __device__ __noinline__ /* a phase between barriers: compiled once */
#define RPINN_SHARED       __shared__ /* one for the block */
#define RPINN_UNROLL       _Pragma("unroll")
#define RPINN_UNROLL_SHAPE _Pragma("unroll Shape::UNROLL")
#define RPINN_UNROLL_SIZES _Pragma("unroll UNROLL") /* by an enumerator of the function */
#define RPINN_UNROLL_TWO   _Pragma("unroll 2")
#define RPINN_UNROLL_ONE   _Pragma("unroll 1")
#define RPINN_UNROLL_THREE _Pragma("unroll 3")
#else
#define RPINN_INLINE static inline
#define RPINN_PHASE  static
#define RPINN_SHARED
#define RPINN_INLINE_METHOD inline
#define RPINN_UNROLL
#define RPINN_UNROLL_SHAPE
#define RPINN_UNROLL_SIZES
#define RPINN_UNROLL_TWO
#define RPINN_UNROLL_ONE
#define RPINN_UNROLL_THREE
#endif

struct Team {
  int thread, num_threads;
  int lane, num_lanes;   /* of the group */
  int group, num_groups; /* of the block */
  int warp, num_warps;
};

#if defined(__CUDACC__)

/* lane_bits: the logarithm of the number of lanes. */
RPINN_INLINE Team make_team(int lane_bits) {
  Team team;
  team.thread = (int)threadIdx.x;
  team.num_threads = (int)blockDim.x;
  team.num_lanes = 1 << lane_bits;
  team.lane = team.thread & (team.num_lanes - 1);
  team.group = team.thread >> lane_bits;
  team.num_groups = team.num_threads >> lane_bits;
  team.warp = team.thread / 32;
  team.num_warps = team.num_threads / 32;
  return team;
}

RPINN_INLINE void barrier() { __syncthreads(); }

/* The shared memory of the block. */
template <class Real> RPINN_INLINE Real *shared_memory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<Real *>(memory);
}

/* The sum over the lanes of a group, known to all of them; every thread of the warp takes part. */
template <class Number> RPINN_INLINE Number lane_sum(const Team &team, Number x) {
  for (int step = team.num_lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/* The sum over the groups of a warp, lane by lane. */
template <class Number> RPINN_INLINE Number warp_group_sum(const Team &team, Number x) {
  for (int step = 16; step >= team.num_lanes; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

#else

RPINN_INLINE Team make_team(int lane_bits) {
  (void)lane_bits;
  Team team = {0, 1, 0, 1, 0, 1, 0, 1};
  return team;
}
RPINN_INLINE void barrier() {}
template <class Number> RPINN_INLINE Number lane_sum(const Team &, Number x) { return x; }
template <class Number> RPINN_INLINE Number warp_group_sum(const Team &, Number x) { return x; }

#endif

/* Four neighbours in memory, moved together. */
template <class Real> struct alignas(16) Four { Real at[4]; };

template <class Real> RPINN_INLINE Four<Real> load_four(const Real *from) {
  return *reinterpret_cast<const Four<Real> *>(from);
}
template <class Real> RPINN_INLINE void store_four(Real *to, const Four<Real> &four) {
  *reinterpret_cast<Four<Real> *>(to) = four;
}

#endif
