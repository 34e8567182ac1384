/* The draws themselves: parameters of networks, unknowns and noises, and the statistics beside them. */
#include <math.h>

#include "posterior_file_state.h"

/* ---- groups ---- */

static RpinnDrawVariable *new_variables(RpinnPosteriorFile *file, size_t count) {
  return RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, count);
}

static RpinnStatus define_fields(RpinnContext *context, RpinnPosteriorFile *file, const RpinnDrawGroup *group,
                                 RpinnDrawSet *set) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  int dimensions[RPINN_MAX_FIELDS];
  for (size_t f = 0; f < problem->num_fields; f++)
    RPINN_TRY(rpinn_netcdf_define_numbers(context, group->netcdf, group->id, problem->fields[f].name,
                                          "_parameter", posterior->networks[f].num_trainable, 1,
                                          &dimensions[f]));
  for (size_t f = 0; f < problem->num_fields; f++)
    RPINN_TRY(rpinn_draw_variable_define(context, group, problem->fields[f].name, "_parameters",
                                         rpinn_posterior_file_real(posterior), 1, &dimensions[f],
                                         &set->fields[f]));
  return RPINN_OK;
}

static RpinnStatus define_parameters(RpinnContext *context, RpinnPosteriorFile *file, const char *name,
                                     RpinnDrawSet *set) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  RpinnDrawGroup group;
  RPINN_TRY(rpinn_posterior_file_define_group(context, file, name, set->num_draws, 1, &group));
  set->fields = new_variables(file, problem->num_fields);
  set->unknowns = new_variables(file, problem->num_unknowns);
  set->noises = new_variables(file, posterior->num_noises);
  if (!set->fields || !set->unknowns || !set->noises) return rpinn_fail_memory(context);
  RPINN_TRY(define_fields(context, file, &group, set));
  for (size_t k = 0; k < problem->num_unknowns; k++)
    RPINN_TRY(rpinn_draw_variable_define(context, &group, problem->unknowns[k].name, "", NC_DOUBLE, 0, NULL,
                                         &set->unknowns[k]));
  for (size_t k = 0; k < posterior->num_noises; k++)
    RPINN_TRY(rpinn_draw_variable_define(context, &group, posterior->noises[k].name, "", NC_DOUBLE, 0, NULL,
                                         &set->noises[k]));
  return RPINN_OK;
}

static RpinnStatus define_unconstrained(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnProblem *problem = file->posterior->problem;
  bool any = false;
  RpinnDrawGroup group;
  size_t num_unknowns = problem->num_unknowns, num_noises = file->posterior->num_noises;
  file->unconstrained = new_variables(file, num_unknowns + num_noises);
  if (!file->unconstrained) return rpinn_fail_memory(context);
  for (size_t k = 0; k < num_unknowns + num_noises; k++) {
    bool is_noise = k >= num_unknowns;
    if (!is_noise && problem->unknowns[k].transform == RPINN_TRANSFORM_NONE) continue;
    if (!any)
      RPINN_TRY(rpinn_posterior_file_define_group(context, file, "unconstrained_posterior",
                                                  file->draws.num_draws, 1, &group));
    any = true;
    const char *name = is_noise ? file->posterior->noises[k - num_unknowns].name : problem->unknowns[k].name;
    RPINN_TRY(
        rpinn_draw_variable_define(context, &group, name, "", NC_DOUBLE, 0, NULL, &file->unconstrained[k]));
  }
  return RPINN_OK;
}

static RpinnStatus define_statistics(RpinnContext *context, RpinnPosteriorFile *file, const char *name,
                                     const RpinnPosteriorFileOptions *options, RpinnDrawSet *set) {
  RpinnDrawGroup group;
  RPINN_TRY(rpinn_posterior_file_define_group(context, file, name, set->num_draws, 1, &group));
  set->statistics = new_variables(file, options->num_statistics);
  if (!set->statistics) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_draw_variable_define(context, &group, "member", "", NC_INT64, 0, NULL, &set->member));
  for (size_t s = 0; s < options->num_statistics; s++) {
    nc_type type = options->statistic_is_boolean && options->statistic_is_boolean[s] ? NC_BYTE : NC_DOUBLE;
    RPINN_TRY(rpinn_draw_variable_define(context, &group, options->statistic_names[s], "", type, 0, NULL,
                                         &set->statistics[s]));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_define_draws(RpinnContext *context, RpinnPosteriorFile *file,
                                              const RpinnPosteriorFileOptions *options) {
  RPINN_TRY(define_parameters(context, file, "posterior", &file->draws));
  RPINN_TRY(define_unconstrained(context, file));
  RPINN_TRY(define_statistics(context, file, "sample_stats", options, &file->draws));
  if (!file->warmup.num_draws) return RPINN_OK;
  RPINN_TRY(define_parameters(context, file, "warmup_posterior", &file->warmup));
  return define_statistics(context, file, "warmup_sample_stats", options, &file->warmup);
}

/* ---- draws ---- */

/* Of a draw of the posterior; the warmup has no group of its own for values before their transform. */
static RpinnStatus add_unknowns(RpinnContext *context, RpinnPosteriorFile *file, RpinnDrawSet *set,
                                const double *parameters) {
  const RpinnPosterior *posterior = file->posterior;
  for (size_t k = 0; k < posterior->problem->num_unknowns; k++) {
    double value = parameters[posterior->model.unknown_start + k];
    if (posterior->problem->unknowns[k].transform == RPINN_TRANSFORM_LOG) {
      if (set == &file->draws) RPINN_TRY(rpinn_draw_variable_add(context, &file->unconstrained[k], &value));
      value = exp(value);
    }
    RPINN_TRY(rpinn_draw_variable_add(context, &set->unknowns[k], &value));
  }
  return RPINN_OK;
}

static RpinnStatus add_noises(RpinnContext *context, RpinnPosteriorFile *file, RpinnDrawSet *set,
                              const double *parameters) {
  const RpinnPosterior *posterior = file->posterior;
  RpinnDrawVariable *logarithms = file->unconstrained + posterior->problem->num_unknowns;
  for (size_t k = 0; k < posterior->num_noises; k++) {
    double eta = parameters[posterior->model.num_parameters + k], sigma = exp(eta);
    if (set == &file->draws) RPINN_TRY(rpinn_draw_variable_add(context, &logarithms[k], &eta));
    RPINN_TRY(rpinn_draw_variable_add(context, &set->noises[k], &sigma));
  }
  return RPINN_OK;
}

/* Chain by chain, draws in order from 0, and no more than were announced. */
static RpinnStatus check_order(RpinnContext *context, const RpinnPosteriorFile *file, const RpinnDrawSet *set,
                               const RpinnPosteriorDraw *added) {
  size_t chain = set->num_draws ? set->num_added / set->num_draws : file->num_chains;
  size_t draw = set->num_draws ? set->num_added % set->num_draws : 0;
  if (chain < file->num_chains && added->chain == chain && added->draw == draw) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "draw %zu of chain %zu of '%s' came out of order; expected draw %zu of chain %zu",
                    (size_t)added->draw, (size_t)added->chain, file->netcdf.path, draw, chain);
}

RpinnStatus rpinn_posterior_file_add_draw(RpinnContext *context, RpinnPosteriorFile *file, RpinnDrawSet *set,
                                          const RpinnPosteriorDraw *added) {
  const RpinnPosterior *posterior = file->posterior;
  double member = (double)added->member;
  RPINN_TRY(check_order(context, file, set, added));
  for (size_t f = 0; f < posterior->problem->num_fields; f++)
    RPINN_TRY(rpinn_draw_variable_add(context, &set->fields[f],
                                      added->parameters + posterior->networks[f].parameter_start));
  RPINN_TRY(add_unknowns(context, file, set, added->parameters));
  RPINN_TRY(add_noises(context, file, set, added->parameters));
  RPINN_TRY(rpinn_draw_variable_add(context, &set->member, &member));
  for (size_t s = 0; s < file->num_statistics; s++)
    RPINN_TRY(rpinn_draw_variable_add(context, &set->statistics[s], &added->statistics[s]));
  set->num_added++;
  return RPINN_OK;
}
