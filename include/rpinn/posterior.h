/* The posterior of a problem: its energy E(theta) = -log p(theta | data) + constant, the gradient, and the
 * whitened rows with their Jacobian; see rpinn/target.h for the abstract forms that methods take. */
#ifndef RPINN_POSTERIOR_H
#define RPINN_POSTERIOR_H

#include <stdint.h>

#include "rpinn/problem.h"
#include "rpinn/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Used by one thread at a time. */
typedef struct RpinnPosterior RpinnPosterior;

/* Points, data, standard deviations and a backend for the problem, as its settings say. With data_required a
 * term without data is an error; without, its data count as zeros. The problem is only read, so that several threads
 * may make posteriors of it; it must outlive them. */
RPINN_API RpinnStatus rpinn_posterior_create(RpinnContext *context, const RpinnProblem *problem,
                                             bool data_required, RpinnPosterior **posterior);
/* The same posterior for another thread: data and all else that is only read are those of `posterior`, which must outlive
 * it; the work space is its own. Costs little beside rpinn_posterior_create. */
RPINN_API RpinnStatus rpinn_posterior_share(RpinnContext *context, const RpinnPosterior *posterior,
                                            RpinnPosterior **other);
RPINN_API void rpinn_posterior_destroy(RpinnPosterior *posterior);

RPINN_API size_t rpinn_posterior_num_parameters(const RpinnPosterior *posterior); /* N */
RPINN_API size_t rpinn_posterior_num_rows(const RpinnPosterior *posterior);       /* M, without prior rows */
/* The fitted terms, in file order: those with role: test are not among them. */
RPINN_API size_t rpinn_posterior_num_terms(const RpinnPosterior *posterior);
RPINN_API const char *rpinn_posterior_term_name(const RpinnPosterior *posterior, size_t term);
RPINN_API double rpinn_posterior_term_sigma(const RpinnPosterior *posterior, size_t term);
/* s_p; infinity without a prior. */
RPINN_API double rpinn_posterior_prior_sigma(const RpinnPosterior *posterior);

/* Is E known? RPINN_ERROR_INPUT that says what is not: a scale of the prior that the data are to choose, or to be integrated over, or
 * noise that they are to tell. E takes 1 for such a scale, and such noise at its start. */
RPINN_API RpinnStatus rpinn_posterior_require_known(RpinnContext *context, const RpinnPosterior *posterior);

/* E at theta [N] with offsets [M+N] or NULL. gradient [N] and term_energies [num_terms + 1] (prior last) may
 * be NULL. */
RPINN_API RpinnStatus rpinn_posterior_energy(RpinnContext *context, RpinnPosterior *posterior,
                                             const double *theta, const double *offsets, double *energy,
                                             double *gradient, double *term_energies);
/* rows [M] without offsets; jacobian [M][N] may be NULL. */
RPINN_API RpinnStatus rpinn_posterior_residuals(RpinnContext *context, RpinnPosterior *posterior,
                                                const double *theta, double *rows, double *jacobian);

/* The same for `count` parameter vectors, thetas [count][N], each with the bits that it has alone; offsets [count][M+N] or NULL.
 * energies [count]; gradients [count][N] and term_energies [count][num_terms + 1] may be NULL. */
RPINN_API RpinnStatus rpinn_posterior_energy_batch(RpinnContext *context, RpinnPosterior *posterior,
                                                   size_t count, const double *thetas, const double *offsets,
                                                   double *energies, double *gradients,
                                                   double *term_energies);
/* rows [count][M]; jacobians [count][M][N] may be NULL. */
RPINN_API RpinnStatus rpinn_posterior_residual_batch(RpinnContext *context, RpinnPosterior *posterior,
                                                     size_t count, const double *thetas, double *rows,
                                                     double *jacobians);

/* The quantities of `predict:` at its points: values [num quantities][num_predictions]. */
RPINN_API RpinnStatus rpinn_posterior_predict(RpinnContext *context, RpinnPosterior *posterior,
                                              const double *theta, double *values);
RPINN_API size_t rpinn_posterior_num_predictions(const RpinnPosterior *posterior);

/* The same as abstract targets. The member must stay where it is while they are used. */
typedef struct RpinnPosteriorMember {
  RpinnPosterior *posterior;
  const double *offsets; /* [M+N] or NULL; of the objective, for rows are without them */
  RpinnContext *
      context; /* where failures are told, of the thread that uses the targets; NULL: by their status alone */
} RpinnPosteriorMember;
RPINN_API RpinnObjective rpinn_posterior_objective(RpinnPosteriorMember *member);
RPINN_API RpinnLeastSquares rpinn_posterior_least_squares(RpinnPosteriorMember *member);

/* Where member number `member` starts: Glorot's networks, unknowns at their start. */
RPINN_API void rpinn_posterior_start_glorot(const RpinnPosterior *posterior, uint64_t member, double *theta);
/* Zero, with unknowns at their start. */
RPINN_API void rpinn_posterior_start_zero(const RpinnPosterior *posterior, double *theta);
/* Standard normal networks, unknowns at their start. */
RPINN_API void rpinn_posterior_start_normal(const RpinnPosterior *posterior, uint64_t member, double *theta);
/* The prior mean that the offsets [M+N] shift to. */
RPINN_API void rpinn_posterior_start_prior(const RpinnPosterior *posterior, const double *offsets,
                                           double *theta);
/* The standard normal offsets [M+N] of an rPINN member. */
RPINN_API void rpinn_posterior_draw_offsets(const RpinnPosterior *posterior, uint64_t member,
                                            double *offsets);

/* Write run.yaml into a folder, with data.csv, truth.csv and predict.csv beside it where the problem read
 * files: the complete problem with its settings, which loads again to the same posterior. */
RPINN_API RpinnStatus rpinn_posterior_save(RpinnContext *context, const RpinnPosterior *posterior,
                                           const char *folder);

#ifdef __cplusplus
}
#endif
#endif
