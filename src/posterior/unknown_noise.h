/* Noise that the data are to tell. Term t has s_t = exp(eta_t) with a normal prior on eta_t, and its n_t rows bring the
 * constants of their densities along:
 *
 *   E(theta, eta) = E(theta; s = exp(eta)) + sum_t n_t eta_t + 1/2 sum_t (eta_t - m_t)^2 / v_t^2
 *   dE/deta_t     = -2 E_t + n_t + (eta_t - m_t) / v_t^2          with E_t = 1/2 sum of squares of the rows of t
 *
 * Where nothing is said, eta starts at a tenth of the spread of the term's values, and its prior is N(log start, 3^2).
 *
 * A draw of such a posterior is theta [N], then eta [K]. A posterior is at one eta at a time, its start at first: all its rows,
 * energies and products are those of that eta, and each thread's posterior has an eta of its own. */
#ifndef RPINN_POSTERIOR_UNKNOWN_NOISE_H
#define RPINN_POSTERIOR_UNKNOWN_NOISE_H

#include "posterior.h"

/* Find them among the fitted terms, before these become models: their start is their s. */
RpinnStatus rpinn_unknown_noise_list(RpinnContext *context, RpinnPosterior *posterior);
/* The posterior's own copies of what its eta changes, for one that shares all else. */
RpinnStatus rpinn_unknown_noise_separate(RpinnContext *context, RpinnPosterior *posterior);

/* Be at eta [K]; NULL: at the starts. posterior->eta tells where it is. */
void rpinn_posterior_set_noise(RpinnPosterior *posterior, const double *eta);
/* N + K: numbers of a draw. */
size_t rpinn_posterior_num_drawn(const RpinnPosterior *posterior);
/* sum_t n_t eta_t + 1/2 sum_t (eta_t - m_t)^2 / v_t^2, and its slopes [K] (may be NULL). */
double rpinn_noise_energy(const RpinnPosterior *posterior, const double *eta, double *slopes);

#endif
