/* How large posterior.nc can become, so that the disk can be asked for room before it is begun. */
#include "posterior_file_state.h"

/* Numbers beside the variables of draws: data, points, truths, diagnostics, and the places of dimensions. */
static size_t count_constants(const RpinnPosteriorFile *file, size_t num_points) {
  enum { NUM_DRAW_GROUPS = 10, NUM_DIAGNOSTICS = 3 };
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  size_t num_copies = problem->num_coordinates + 3; /* of points among the data that do not depend on draws */
  size_t num_compared = 0;
  size_t num_frozen = 0;
  for (size_t t = 0; t < posterior->model.num_terms; t++) num_compared += posterior->terms[t].num_points;
  for (size_t t = 0; t < problem->num_terms; t++)
    if (rpinn_posterior_file_holds_out(posterior, t)) num_compared += posterior->data->terms[t].points.count;
  for (size_t f = 0; f < problem->num_fields; f++)
    num_frozen += posterior->networks[f].num_all - posterior->networks[f].num_trainable;
  return (num_compared + num_points) * num_copies + 2 * num_frozen +
         (1 + NUM_DIAGNOSTICS) * (num_points * problem->num_predicted + 2 * posterior->model.num_parameters) +
         NUM_DRAW_GROUPS * (file->draws.num_draws + file->warmup.num_draws + file->num_chains);
}

/* Parameters and statistics; unknowns and noises twice, as values before their transform may be kept, too. */
static size_t draw_set_bytes(const RpinnPosteriorFile *file, const RpinnDrawSet *set) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  size_t num_scalars = 2 * (problem->num_unknowns + posterior->num_noises) + 1 + file->num_statistics;
  if (!set->num_draws) return 0;
  size_t size = num_scalars * rpinn_draw_variable_bytes(file->num_chains, set->num_draws, 1, NC_DOUBLE);
  for (size_t f = 0; f < problem->num_fields; f++)
    size += rpinn_draw_variable_bytes(file->num_chains, set->num_draws, posterior->networks[f].num_trainable,
                                      rpinn_posterior_file_real(posterior));
  return size;
}

/* A number of each field, unknown, noise and gaussian term. */
static size_t log_prior_bytes(const RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  size_t count = posterior->problem->num_fields + posterior->problem->num_unknowns + posterior->num_noises;
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    count += !rpinn_posterior_file_has_data(posterior, t);
  return count * rpinn_draw_variable_bytes(file->num_chains, file->draws.num_draws, 1, NC_DOUBLE);
}

size_t rpinn_posterior_file_largest_size(const RpinnPosteriorFile *file) {
  enum { BASE = 1 << 20 };
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  size_t num_points = problem->has_predict ? posterior->data->predict.count : 0;
  size_t size = BASE + count_constants(file, num_points) * sizeof(double);
  size += draw_set_bytes(file, &file->draws) + draw_set_bytes(file, &file->warmup) + log_prior_bytes(file);
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    size_t points = posterior->terms[t].num_points;
    size += rpinn_draw_variable_bytes(file->num_chains, file->draws.num_draws, points, NC_DOUBLE);
    if (file->num_kept)
      size += rpinn_draw_variable_bytes(file->num_chains, file->num_kept, points, NC_DOUBLE);
  }
  for (size_t t = 0; t < problem->num_terms; t++)
    if (file->num_kept && rpinn_posterior_file_holds_out(posterior, t))
      size += rpinn_draw_variable_bytes(file->num_chains, file->num_kept,
                                        posterior->data->terms[t].points.count, NC_DOUBLE);
  if (file->num_kept && num_points)
    size += problem->num_predicted *
            rpinn_draw_variable_bytes(file->num_chains, file->num_kept, num_points, NC_DOUBLE);
  return size;
}
