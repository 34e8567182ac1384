#include "unknown_noise.h"

#include <math.h>
#include <string.h>

/* ---- which there are ---- */

/* Standard deviation of the values; their size where they are alike; 1 where they are zero. */
static double spread_of(const RpinnTermData *data) {
  double count = 0, mean = 0, squares = 0;
  for (size_t p = 0; p < data->points.count; p++) {
    double difference = data->values[p] - mean;
    count += 1;
    mean += difference / count;
    squares += difference * (data->values[p] - mean);
  }
  double spread = count > 1 ? sqrt(squares / (count - 1)) : 0;
  if (!(spread > 1e-12 * fabs(mean))) spread = fabs(mean);
  return spread > 0 ? spread : 1;
}

static RpinnStatus describe(RpinnContext *context, const RpinnPosterior *posterior, size_t t,
                            RpinnNoiseLevel *noise) {
  static const double share = 0.1, wide = 3;
  const RpinnTerm *term = &posterior->problem->terms[t];
  const RpinnUnknownNoise *unknown = &term->unknown_noise;
  const RpinnTermData *data = &posterior->data->terms[t];
  size_t size = strlen(term->name) + sizeof "noise_";
  char *name = rpinn_arena_allocate(posterior->arena, size, 1);
  if (!name) return rpinn_fail_memory(context);
  rpinn_format(name, size, "noise_%s", term->name);
  *noise = (RpinnNoiseLevel){.name = name,
                             .num_rows = data->num_rows,
                             .spread = spread_of(data),
                             .truth = unknown->truth > 0 ? unknown->truth : (double)NAN};
  noise->start = unknown->start > 0 ? unknown->start : share * noise->spread;
  noise->prior_mean = unknown->has_prior ? unknown->prior_mean : log(noise->start);
  noise->prior_std = unknown->has_prior ? unknown->prior_std : wide;
  return RPINN_OK;
}

RpinnStatus rpinn_unknown_noise_list(RpinnContext *context, RpinnPosterior *posterior) {
  const RpinnProblem *problem = posterior->problem;
  posterior->noises = RPINN_ARENA_NEW(posterior->arena, RpinnNoiseLevel, problem->num_terms);
  posterior->eta = RPINN_ARENA_NEW(posterior->arena, double, problem->num_terms);
  if (!posterior->noises || !posterior->eta) return rpinn_fail_memory(context);
  for (size_t t = 0, fitted = 0; t < problem->num_terms; t++) {
    if (problem->terms[t].is_test) continue;
    if (problem->terms[t].unknown_noise.present) {
      RpinnNoiseLevel *noise = &posterior->noises[posterior->num_noises++];
      RPINN_TRY(describe(context, posterior, t, noise));
      noise->term = fitted;
      posterior->sigmas.terms[t] = noise->start;
      posterior->eta[posterior->num_noises - 1] = log(noise->start);
    }
    fitted++;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_unknown_noise_separate(RpinnContext *context, RpinnPosterior *posterior) {
  size_t num_rows = posterior->model.num_rows, num_all = posterior->problem->num_terms;
  if (!posterior->num_noises) return RPINN_OK;
  double *row_scale = RPINN_ARENA_NEW(posterior->arena, double, num_rows);
  double *sigmas = RPINN_ARENA_NEW(posterior->arena, double, num_all);
  double *eta = RPINN_ARENA_NEW(posterior->arena, double, posterior->num_noises);
  if (!row_scale || !sigmas || !eta) return rpinn_fail_memory(context);
  memcpy(eta, posterior->eta, posterior->num_noises * sizeof *eta);
  posterior->eta = eta;
  memcpy(row_scale, posterior->row_scale, num_rows * sizeof *row_scale);
  memcpy(sigmas, posterior->sigmas.terms, num_all * sizeof *sigmas);
  posterior->model.row_scale = posterior->row_scale = row_scale;
  posterior->sigmas.terms = sigmas;
  return RPINN_OK;
}

/* ---- where it is ---- */

void rpinn_posterior_set_noise(RpinnPosterior *posterior, const double *eta) {
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    double sigma = eta ? exp(eta[k]) : noise->start;
    posterior->eta[k] = eta ? eta[k] : log(noise->start);
    posterior->sigmas.terms[posterior->fitted[noise->term]] = sigma;
    double *scale = posterior->row_scale + posterior->terms[noise->term].first_row;
    for (size_t i = 0; i < noise->num_rows; i++)
      scale[i] = 1 / rpinn_posterior_row_sigma(posterior, noise->term, i);
  }
}

size_t rpinn_posterior_num_drawn(const RpinnPosterior *posterior) {
  return posterior->model.num_parameters + posterior->num_noises;
}

/* ---- the joint energy ---- */

double rpinn_noise_energy(const RpinnPosterior *posterior, const double *eta, double *slopes) {
  double energy = 0;
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    double z = (eta[k] - noise->prior_mean) / noise->prior_std;
    energy += (double)noise->num_rows * eta[k] + 0.5 * z * z;
    if (slopes) slopes[k] = (double)noise->num_rows + z / noise->prior_std;
  }
  return energy;
}
