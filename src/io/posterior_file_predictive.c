/* posterior_predictive: data as a draw foretells them, y_i = expected_i + s_i e_i with e_i ~ N(0, 1).
 *
 * s_i is that of the likelihood, under the noise of the draw where that is not known. The e_i of a draw come from a stream of its own,
 * so that they depend on nothing but its number, its chain and the seed. */
#include <math.h>
#include <stdlib.h>

#include "posterior_file_state.h"
#include "random_stream.h"

RpinnStatus rpinn_posterior_file_define_predictive(RpinnContext *context, RpinnPosteriorFile *file) {
  if (!file->keep_every) return RPINN_OK;
  return rpinn_posterior_file_define_data_groups(context, file, "posterior_predictive", file->num_kept,
                                                 file->keep_every, &file->predictive);
}

/* NULL: the noise of the term is known. */
static const double *find_log_noise(const RpinnPosterior *posterior, size_t term, const double *parameters) {
  for (size_t k = 0; k < posterior->num_noises; k++)
    if (posterior->noises[k].term == term) return parameters + posterior->model.num_parameters + k;
  return NULL;
}

/* values [num_points of the term] */
static void foretell(const RpinnPosterior *posterior, size_t term, const RpinnPosteriorDraw *draw,
                     RpinnStream *stream, double *values) {
  const RpinnTermModel *model = &posterior->terms[term];
  const double *expected = draw->expected + model->first_row;
  const double *log_noise = find_log_noise(posterior, term, draw->parameters);
  for (size_t p = 0; p < model->num_points; p++) {
    double sigma = log_noise ? exp(*log_noise) : rpinn_posterior_row_sigma(posterior, term, p);
    values[p] = expected[p] + sigma * rpinn_stream_normal(stream);
  }
}

RpinnStatus rpinn_posterior_file_add_predictive(RpinnContext *context, RpinnPosteriorFile *file,
                                                const RpinnPosteriorDraw *added) {
  const RpinnPosterior *posterior = file->posterior;
  RpinnStream stream =
      rpinn_stream(posterior->seed, RPINN_PURPOSE_PREDICTIVE, added->draw, (uint32_t)added->chain);
  double *values = malloc((posterior->model.num_rows + 1) * sizeof *values);
  RpinnStatus status = values ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t t = 0; t < posterior->model.num_terms && status == RPINN_OK; t++)
    if (rpinn_posterior_file_has_data(posterior, t))
      foretell(posterior, t, added, &stream, values + posterior->terms[t].first_row);
  if (status == RPINN_OK) status = rpinn_posterior_file_add_data(context, file, &file->predictive, values);
  free(values);
  return status;
}
