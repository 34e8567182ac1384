/* Variational inference in memory: its starts, and how far each is. */
#ifndef RPINN_SAMPLE_VARIATIONAL_FIT_H
#define RPINN_SAMPLE_VARIATIONAL_FIT_H

#include "rpinn/variational.h"
#include "variational_points.h"

typedef enum RpinnVariationalStage {
  RPINN_VARIATIONAL_CLIMBING,
  RPINN_VARIATIONAL_MEASURING, /* the ELBO of the average of the last window */
  RPINN_VARIATIONAL_DONE
} RpinnVariationalStage;

/* What a start saves beside its vectors, in words of 64 bits. */
typedef struct RpinnVariationalCounts {
  uint64_t stage;      /* RpinnVariationalStage */
  uint64_t rounds;     /* of draws, those that led to no step included: they name its streams */
  uint64_t iterations; /* steps of Adam */
  uint64_t in_window;  /* … since the window began */
  uint64_t halvings;
  uint64_t failures; /* rounds in a row whose draws were not finite */
  uint64_t converged;
  uint64_t num_windows;
  /* Mean and sum of squared differences of the ELBO over the pairs since the window, or the measurement, began. */
  uint64_t num_pairs;
  double mean, squares;
  double best; /* ELBO of a window */
  double elbo, error;
} RpinnVariationalCounts;

typedef struct RpinnVariationalClimb {
  RpinnVariationalGaussian q;
  RpinnVariationalPair *pairs; /* [num_pairs] */
  double *gradient;            /* [size] */
  bool *finite;                /* [tiles] is the gradient there? */
  RpinnVariationalCounts counts;
  double *m, *v;                   /* [size] Adam's moments */
  double *sum;                     /* [size] of phi over the window */
  RpinnVariationalWindow *windows; /* [counts.num_windows], from malloc */
  size_t capacity;                 /* of windows */
} RpinnVariationalClimb;

struct RpinnVariational {
  RpinnArena *arena; /* holds all but the team, the points and the windows */
  RpinnTeam *team;
  RpinnVariationalOptions options; /* rank 0 for a mean field */
  size_t N, size;
  RpinnVariationalPoints points;
  RpinnVariationalClimb *climbs; /* [num_starts] */
  size_t *active, num_active;    /* climbs of this round */
  double *room;                  /* [2 N + 2 rank] of a draw */
  bool started;
};

/* Room for one more window. */
RpinnStatus rpinn_variational_grow(RpinnContext *context, RpinnVariationalClimb *climb, size_t num_windows);

#endif
