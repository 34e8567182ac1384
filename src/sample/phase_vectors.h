/* The vector loops of a trajectory, each a single pass over memory.
 *
 * Vectors have rpinn_phase_length(N) entries, start at 64-byte boundaries, and hold zeros from N on, which
 * all loops keep. Sums have a fixed number of lanes that are added in a fixed order: the same bits with any
 * instruction set. */
#ifndef RPINN_SAMPLE_PHASE_VECTORS_H
#define RPINN_SAMPLE_PHASE_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

/* N rounded up to whole cache lines. */
size_t rpinn_phase_length(size_t num_parameters);

/* Two halves of a trajectory, A then B: their sums of momenta, and the momenta (with sharp ones) at the outer
 * ends and on both sides of the seam. */
typedef struct RpinnPhaseHalves {
  const double *rho_a, *rho_b;
  const double *first_a_sharp, *last_b_sharp;                    /* outer ends */
  const double *last_a, *last_a_sharp, *first_b, *first_b_sharp; /* at the seam */
} RpinnPhaseHalves;

typedef struct RpinnPhaseVectors {
  /* new_p = p + kick g;  new_q = q + drift * inverse * new_p, with inverse NULL for ones */
  void (*kick_drift)(size_t length, double kick, double drift, const double *inverse, const double *p,
                     const double *g, const double *q, double *new_p, double *new_q);
  /* p += kick g;  sharp = inverse * p where there is an inverse. Returns p.sharp, or p.p where inverse is
   * NULL (sharp is not used then). */
  double (*kick)(size_t length, double kick, const double *inverse, const double *g, double *p,
                 double *sharp);
  /* kick, and in the same pass kick_drift from where it leads: new_p, new_q are those of the next leapfrog. */
  double (*kick_on)(size_t length, double kick, double drift, const double *inverse, const double *g,
                    const double *q, double *p, double *sharp, double *new_p, double *new_q);
  double (*dot)(size_t length, const double *a, const double *b);
  /* Two neighbours: rho = a + b and the products a_sharp.rho, b_sharp.rho. */
  void (*join_pair)(size_t length, const double *a, const double *b, const double *a_sharp,
                    const double *b_sharp, double *rho, double products[2]);
  /* rho = rho_a + rho_b, which may be stored in rho_a, and the products
   *   first_a#.rho, last_b#.rho,
   *   first_a#.x, first_b#.x with x = rho_a + first_b,
   *   last_a#.y, last_b#.y   with y = rho_b + last_a */
  void (*join)(size_t length, const RpinnPhaseHalves *halves, double *rho, double products[6]);
} RpinnPhaseVectors;

/* The loops as compiled for this machine, or with `portable` for any. */
const RpinnPhaseVectors *rpinn_phase_vectors(bool portable);

#endif
