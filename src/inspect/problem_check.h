/* The check in memory: the posterior that was examined and what was found. */
#ifndef RPINN_INSPECT_PROBLEM_CHECK_H
#define RPINN_INSPECT_PROBLEM_CHECK_H

#include "posterior.h"
#include "rpinn/check.h"

enum { RPINN_MAX_WARNINGS = 64 };

struct RpinnCheck {
  RpinnArena *arena;
  RpinnPosterior *posterior;
  bool is_reduced; /* the networks are too large for all that is usually tried */
  double energy;
  double *term_energies;    /* [num fitted terms + 1] */
  double *jet_errors;       /* [num fitted terms] worst over fields and channels */
  double *jacobian_errors;  /* [num fitted terms] */
  double gradient_error;    /* against finite differences, without and with offsets */
  double consistency_error; /* gradient against J^T r + prior, entry by entry */
  size_t num_warnings;
  const char *warnings[RPINN_MAX_WARNINGS];
};

#endif
