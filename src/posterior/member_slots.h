/* The members that one thread has at work: as many slots as the posterior's backend takes in one call. A slot holds what sets its
 * member apart, and the posterior is the target of all of them at once. A member in slot 3 has the bits that it has in slot 0, or
 * alone. */
#ifndef RPINN_POSTERIOR_MEMBER_SLOTS_H
#define RPINN_POSTERIOR_MEMBER_SLOTS_H

#include "posterior.h"

typedef struct RpinnMemberSlot {
  double *offsets; /* [M + N] */
  bool has_offsets;
  double *eta;        /* [K] the noise that it has, where that is not known */
  double *row_scale;  /* [M]; NULL where all members have the posterior's */
  double *prior_root; /* [N]; NULL likewise */
} RpinnMemberSlot;

typedef struct RpinnMemberSlots {
  RpinnPosterior *posterior;
  RpinnBackend *backend; /* what computes the targets: the posterior's, … */
  RpinnPrecision precision;
  struct RpinnMemberSlots *twin; /* … or, once they were asked for in double, one in double */
  size_t count;
  RpinnMemberSlot *slots;         /* [count] */
  RpinnBatchObjective objective;  /* E of the member in a slot; members are slots in these targets */
  RpinnBatchLeastSquares squares; /* its rows, without offsets */
  RpinnBatchObjective
      joint; /* E over theta and eta (unknown_noise.h), without offsets, under the prior that the slot has */
  RpinnBatchLogDensity density; /* - joint */
  /* Why chains and particles under it are moved from the host where the backend's device moves others, as the end of a sentence; NULL: there
   * is nothing to be said. */
  const char *host_chains, *host_particles;
  /* ---- room of one call, [count] each ---- */
  RpinnBatchMember *members;
  double **part_energies; /* [num_terms + 1] */
  double **row_scales;    /* [M] of the joint energy; NULL where all noise is known */
} RpinnMemberSlots;

/* Borrows the posterior, and lives in its arena. At first every slot has the posterior's noise and prior, and no offsets. */
RpinnStatus rpinn_member_slots_create(RpinnContext *context, RpinnPosterior *posterior,
                                      RpinnMemberSlots **slots);
/* Targets in double of the members in the same slots. The first call makes the backend that computes them. */
RpinnStatus rpinn_member_slots_open_double(RpinnContext *context, RpinnMemberSlots *slots,
                                           const RpinnMemberSlots **in_double);

/* Let a slot have no offsets and what the posterior has now. */
void rpinn_member_slot_clear(RpinnMemberSlots *slots, size_t slot);
/* Let it have this noise eta [K], which is copied. */
void rpinn_member_slot_take_noise(RpinnMemberSlots *slots, size_t slot, const double *eta);
/* Where slots have priors of their own, because scales are integrated over or members begin under another one, let it have that of this
 * scale. */
void rpinn_member_slot_take_scale(RpinnMemberSlots *slots, size_t slot, double scale);

/* E of theta and eta behind it, without offsets: its parts [num_terms + 1] (the prior last) and gradient [N] are those of
 * E(theta; eta) alone, without the constants of eta. */
RpinnStatus rpinn_member_slots_draw_energy(RpinnContext *context, RpinnMemberSlots *slots,
                                           const double *theta, double *energy, double *parts,
                                           double *gradient);

#endif
