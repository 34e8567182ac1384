/* Iterations of SVGD on the device: what the kernels of particles.cuh read and write. svgd_kernel.h has the formulas; particles, gradients
 * and moments lie in the device's layout (parameter_layout.h), n rows of `size` numbers each. All pointers are the device's. */
#ifndef RPINN_BACKEND_CUDA_PARTICLE_TABLES_H
#define RPINN_BACKEND_CUDA_PARTICLE_TABLES_H

#include <stdint.h>

/* The tasks of an iteration, in this order. In double both products are the device's library's. */
typedef enum RpinnParticleTask {
  RPINN_PARTICLES_SUM,       /* parts of the sums over particles; the search begins anew */
  RPINN_PARTICLES_CENTRE,    /* y = x - centre */
  RPINN_PARTICLES_GRAM,      /* y y^T */
  RPINN_PARTICLES_DISTANCES, /* |y_i|^2 + |y_j|^2 - 2 y_i.y_j; the first pass of the search for their median */
  RPINN_PARTICLES_SEARCH,    /* a further one */
  RPINN_PARTICLES_WEIGHTS,   /* h^2, k and its sums over rows */
  RPINN_PARTICLES_COMBINE,   /* c */
  RPINN_PARTICLES_DIRECT,    /* k c */
  RPINN_PARTICLES_MOVE       /* phi, and what the optimiser makes of it */
} RpinnParticleTask;

/* The search goes through the bits of the distances, the highest first, RPINN_PARTICLE_BITS in a pass: numbers that are not negative are
 * ordered as their bits are. */
enum {
  RPINN_PARTICLE_BITS = 11,
  RPINN_PARTICLE_BINS = 1 << RPINN_PARTICLE_BITS,
  RPINN_PARTICLE_PASSES = 6, /* of double; float needs three */
  RPINN_PARTICLE_PARTS = 32  /* into which particles fall where they are summed */
};

/* Of y y^T in float a block of threads makes this many rows and columns, from a part of the depth: so many parts that there are about
 * as many blocks as a large GPU has multiprocessors, whatever GPU it is, for bits depend on them. */
enum { RPINN_PARTICLE_TILE = 128, RPINN_PARTICLE_BLOCKS = 132, RPINN_PARTICLE_MOST_PARTS = 8 };

typedef struct RpinnParticleSearch {
  uint64_t below; /* bits of the largest distance below those of the last pass; 0 at first */
  uint64_t prefix[RPINN_PARTICLE_PASSES]; /* bits that are known behind each pass … */
  uint32_t rank[RPINN_PARTICLE_PASSES];   /* … and the place among the distances that have them */
  uint32_t counts[RPINN_PARTICLE_PASSES][RPINN_PARTICLE_BINS]; /* zero at first */
} RpinnParticleSearch;

typedef struct RpinnDeviceParticles {
  RpinnParticleTask task;
  int32_t n;
  int64_t size;         /* a multiple of four */
  int64_t stride;       /* n, rounded up to a multiple of four */
  int32_t num_parts;    /* that y y^T is the sum of */
  int32_t is_tf32;      /* operands of both products are rounded, else split */
  int32_t pass;         /* of SEARCH */
  int32_t keeps_before; /* MOVE: where the particles were is wanted */
  int32_t is_adam;      /* or AdaGrad */
  int32_t is_mean;      /* the median is the mean of two: of number `rank` and the one before it */
  uint32_t rank;        /* among the n (n - 1) / 2 distances */
  double log_particles; /* log(n + 1) */
  double attraction;    /* a */
  double repulsion;     /* b, to be divided by h^2 */
  /* ---- of an iteration ---- */
  double rate, unbias_v, share; /* of the optimiser, see svgd.c */
  double beta1, beta2, epsilon;
  /* ---- arrays ---- */
  void *theta, *before, *m, *v; /* Real [n][size] */
  const void *gradient;         /* Real [n][size] of the energies of the data */
  const void *prior_scale,
      *prior_shift;    /* Real [size]: the prior's gradient is prior_scale theta - prior_shift */
  const void *movable; /* Real [size]: 1 for parameters, 0 for what is frozen or belongs to none */
  double *sums;        /* [RPINN_PARTICLE_PARTS][size] */
  void *centred, *combined, *direction; /* Real [n][size]: y, c, k c */
  void *products; /* Real [num_parts][n][stride]: parts of y y^T, on and below the diagonal */
  void *weights;  /* Real [n][stride]: distances, then k; behind each row what is not read */
  RpinnParticleSearch *search;
  double *row_sums;  /* [n] sums of k */
  double *norms;     /* [n] |phi|^2 */
  double *bandwidth; /* [1] h^2 */
} RpinnDeviceParticles;

#endif
