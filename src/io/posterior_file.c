/* The file and its life: what is defined before the first draw, what a draw adds, and the end. */
#include "posterior_file.h"

#include <stdlib.h>

#include "posterior_file_state.h"

RpinnStatus rpinn_posterior_file_define_group(RpinnContext *context, RpinnPosteriorFile *file,
                                              const char *name, size_t num_draws, size_t step,
                                              RpinnDrawGroup *group) {
  return rpinn_draw_group_define(context, &file->netcdf, file->arena, name, file->num_chains, num_draws, step,
                                 group);
}

static RpinnStatus start(RpinnContext *context, RpinnPosteriorFile *file, const char *path,
                         const RpinnPosteriorFileOptions *options) {
  if (!file->arena) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_netcdf_create(context, path, options->method, rpinn_posterior_file_largest_size(file),
                                &file->netcdf));
  RPINN_TRY(rpinn_netcdf_put_text(context, &file->netcdf, file->netcdf.root, NC_GLOBAL, "name",
                                  file->posterior->problem->name));
  RPINN_TRY(rpinn_posterior_file_define_draws(context, file, options));
  RPINN_TRY(rpinn_posterior_file_count_measured(context, file));
  RPINN_TRY(rpinn_posterior_file_define_data_groups(context, file, "log_likelihood", file->draws.num_draws, 1,
                                                    &file->log_likelihood));
  RPINN_TRY(rpinn_posterior_file_define_log_prior(context, file));
  RPINN_TRY(rpinn_posterior_file_define_predictive(context, file));
  RPINN_TRY(rpinn_posterior_file_define_predictions(context, file));
  return rpinn_posterior_file_write_data(context, file);
}

RpinnStatus rpinn_posterior_file_create(RpinnContext *context, const char *path,
                                        const RpinnPosterior *posterior,
                                        const RpinnPosteriorFileOptions *options,
                                        RpinnPosteriorFile **result) {
  *result = NULL;
  if (options->num_chains == 0 || options->num_draws == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no draws to write to '%s'", path);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (posterior->terms[t].num_points == 0)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "term '%s' has no data",
                        rpinn_posterior_term_name(posterior, t));
  RpinnPosteriorFile *file = calloc(1, sizeof *file);
  if (!file) return rpinn_fail_memory(context);
  *file = (RpinnPosteriorFile){.arena = rpinn_arena_create(),
                               .posterior = posterior,
                               .num_chains = options->num_chains,
                               .num_statistics = options->num_statistics,
                               .keep_every = options->keep_every,
                               .draws = {.num_draws = options->num_draws},
                               .warmup = {.num_draws = options->num_warmup}};
  if (file->keep_every) file->num_kept = (options->num_draws - 1) / file->keep_every + 1;
  RpinnStatus status = start(context, file, path, options);
  if (status != RPINN_OK) {
    rpinn_posterior_file_destroy(file);
    return status;
  }
  *result = file;
  return RPINN_OK;
}

/* Is all there that is kept of a draw? */
static bool has_predictions(const RpinnPosteriorFile *file, const RpinnPosteriorDraw *added) {
  return added->expected && (!file->predictions || added->predictions) &&
         (!file->held_out || added->held_out);
}

RpinnStatus rpinn_posterior_file_add(RpinnContext *context, RpinnPosteriorFile *file,
                                     const RpinnPosteriorDraw *added) {
  bool is_kept = file->keep_every && added->draw % file->keep_every == 0;
  if (is_kept && !has_predictions(file, added))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "draw %zu of '%s' has no predictions", (size_t)added->draw,
                      file->netcdf.path);
  RPINN_TRY(rpinn_posterior_file_add_draw(context, file, &file->draws, added));
  RPINN_TRY(rpinn_posterior_file_add_data(context, file, &file->log_likelihood, added->log_likelihood));
  RPINN_TRY(rpinn_posterior_file_add_log_prior(context, file, added));
  if (!is_kept) return RPINN_OK;
  RPINN_TRY(rpinn_posterior_file_add_predictive(context, file, added));
  if (file->held_out) RPINN_TRY(rpinn_posterior_file_add_held_out(context, file, added->held_out));
  return file->predictions ? rpinn_posterior_file_add_predictions(context, file, added->predictions)
                           : RPINN_OK;
}

RpinnStatus rpinn_posterior_file_add_warmup(RpinnContext *context, RpinnPosteriorFile *file,
                                            const RpinnPosteriorDraw *added) {
  return rpinn_posterior_file_add_draw(context, file, &file->warmup, added);
}

RpinnStatus rpinn_posterior_file_finish(RpinnContext *context, RpinnPosteriorFile *file) {
  size_t added = file->draws.num_added + file->warmup.num_added;
  size_t expected = file->num_chains * (file->draws.num_draws + file->warmup.num_draws);
  if (added != expected)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' has %zu draws; expected %zu", file->netcdf.path,
                      added, expected);
  return rpinn_netcdf_finish(context, &file->netcdf);
}

void rpinn_posterior_file_destroy(RpinnPosteriorFile *file) {
  if (!file) return;
  rpinn_netcdf_destroy(&file->netcdf);
  rpinn_arena_destroy(file->arena);
  free(file);
}
