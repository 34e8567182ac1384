/* What cheaper ways to the posterior are tried on: a problem with a prior of a stated scale, in double, on one thread. */
#ifndef RPINN_BENCH_SUBJECT_H
#define RPINN_BENCH_SUBJECT_H

#include "draw_outputs.h"
#include "rpinn/draws.h"

typedef struct Subject {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnPosteriorMember member; /* without offsets */
  RpinnObjective objective;
  RpinnLogDensity density;
  RpinnLeastSquares squares;
  RpinnDrawOutputs outputs;
  size_t num_parameters, num_rows; /* N, M */
  size_t num_judged;       /* numbers that draws are judged by: the outputs, and |z|^2 of the whole draw */
  double scale;            /* of the prior */
  double gradient_seconds; /* of the processor: what prices are told in */
} Subject;

/* Points into the subject, which must stay where it is. */
RpinnStatus subject_open(RpinnContext *context, const char *problem, const char *scale, const char *shape,
                         Subject *subject);
void subject_close(Subject *subject);

/* rPINN's members under a prior whose network part is narrower by `narrower` (1: the subject's). The caller destroys them. */
RpinnStatus subject_members(Subject *subject, size_t count, double narrower, RpinnDraws **members);

/* mu of parameter j. */
double subject_prior_mean(const Subject *subject, size_t j);
/* theta = mean + z / prior_root */
void subject_theta(const Subject *subject, const double *z, double *theta);
/* The other way round. */
void subject_whiten(const Subject *subject, const double *theta, double *z);

/* Seconds of the processor that this process has had. */
double subject_seconds(void);

#endif
