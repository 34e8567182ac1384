#include "subject.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "context.h"
#include "rpinn/randomized.h"

enum { TIMED_GRADIENTS = 2000, SEED = 1 };

double subject_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static RpinnStatus time_gradient(Subject *subject) {
  double *theta = calloc(2 * subject->num_parameters, sizeof *theta), value;
  if (!theta) return rpinn_fail_memory(subject->context);
  RpinnStatus status = RPINN_OK;
  rpinn_posterior_start_glorot(subject->posterior, 0, theta);
  double start = subject_seconds();
  for (size_t i = 0; i < TIMED_GRADIENTS && status == RPINN_OK; i++)
    status =
        subject->objective.evaluate(subject->objective.data, theta, &value, theta + subject->num_parameters);
  subject->gradient_seconds = (subject_seconds() - start) / TIMED_GRADIENTS;
  free(theta);
  return status;
}

RpinnStatus subject_open(RpinnContext *context, const char *problem, const char *scale, const char *shape,
                         Subject *subject) {
  RpinnOverride overrides[] = {{"precision", "double", "bench", true},
                               {"prior_scale", scale, "bench", true},
                               {"prior_shape", shape, "bench", true}};
  RpinnProblemOptions options = {.num_overrides = sizeof overrides / sizeof overrides[0],
                                 .overrides = overrides};
  *subject = (Subject){.context = context, .scale = strtod(scale, NULL)};
  RPINN_TRY(rpinn_problem_load(context, problem, &options, &subject->problem));
  RPINN_TRY(rpinn_posterior_create(context, subject->problem, true, &subject->posterior));
  RPINN_TRY(rpinn_draw_outputs_plan(context, subject->posterior, &subject->outputs));
  subject->member = (RpinnPosteriorMember){.posterior = subject->posterior, .context = context};
  subject->objective = rpinn_posterior_objective(&subject->member);
  subject->density = rpinn_log_density_of_objective(&subject->objective);
  subject->squares = rpinn_posterior_least_squares(&subject->member);
  subject->num_parameters = subject->squares.num_parameters;
  subject->num_rows = subject->squares.num_rows;
  subject->num_judged = subject->outputs.num_values + 1;
  return time_gradient(subject);
}

void subject_close(Subject *subject) {
  rpinn_posterior_destroy(subject->posterior);
  rpinn_problem_destroy(subject->problem);
}

RpinnStatus subject_members(Subject *subject, size_t count, double narrower, RpinnDraws **members) {
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnLeastSquares squares = subject->squares;
  size_t N = subject->num_parameters;
  double *root = malloc(N * sizeof *root);
  if (!root) return rpinn_fail_memory(subject->context);
  memcpy(root, squares.prior_root, N * sizeof *root);
  for (size_t j = 0; j < subject->posterior->model.unknown_start; j++) root[j] *= narrower;
  squares.prior_root = root;
  options.seed = SEED;
  options.num_draws = count;
  options.momentum = true;
  options.weights = false;
  RpinnStatus status = rpinn_randomized_sample(subject->context, 1, &squares, &options, members);
  free(root);
  return status;
}

double subject_prior_mean(const Subject *subject, size_t j) {
  return subject->squares.prior_mean ? subject->squares.prior_mean[j] : 0;
}

void subject_theta(const Subject *subject, const double *z, double *theta) {
  for (size_t j = 0; j < subject->num_parameters; j++)
    theta[j] = subject_prior_mean(subject, j) + z[j] / subject->squares.prior_root[j];
}

void subject_whiten(const Subject *subject, const double *theta, double *z) {
  for (size_t j = 0; j < subject->num_parameters; j++)
    z[j] = (theta[j] - subject_prior_mean(subject, j)) * subject->squares.prior_root[j];
}
