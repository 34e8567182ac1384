/* log_prior: the log density of the prior at what a draw has in `posterior`, with its constants.
 *
 *   <field>_parameters   sum_j log N(theta_j; m_j, s_j) over the parameters of its network
 *   <unknown>            log N(v; m, s); with transform: log, log N(log v; m, s) - log v
 *   noise_<term>         the latter of noise that is not known
 *   <term>               of a gaussian term: sum_j log N(v_j^T y; v_j^T m, l_j) over the directions of gaussian_rows.h
 *
 * What has no prior is not there. Where members have scales of their own, the density is the one given the member's. */
#include <math.h>

#include "posterior_file_state.h"

static const double half_log_two_pi = 0.91893853320467274178;

/* ---- group ---- */

static bool have_prior(const double *root, size_t count) {
  for (size_t j = 0; j < count; j++)
    if (!(root[j] > 0)) return false;
  return true;
}

/* Rows of mix are v_j^T / sqrt(l_j) with |v_j| = 1. */
static double sum_log_scales(const RpinnTermModel *term) {
  double sum = 0;
  for (size_t j = 0; j < term->num_rows; j++) {
    double square = 0;
    for (size_t p = 0; p < term->num_points; p++) {
      double entry = term->mix[j * term->num_points + p];
      square += entry * entry;
    }
    sum += 0.5 * log(square);
  }
  return sum;
}

static RpinnStatus allocate(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  RpinnLogPrior *prior = &file->log_prior;
  size_t num_terms = posterior->model.num_terms;
  prior->fields = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, posterior->problem->num_fields);
  prior->unknowns = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, posterior->problem->num_unknowns);
  prior->noises = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, posterior->num_noises);
  prior->terms = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, num_terms);
  prior->log_scales = RPINN_ARENA_NEW(file->arena, double, num_terms);
  prior->root = RPINN_ARENA_NEW(file->arena, double, posterior->model.unknown_start);
  bool is_complete =
      prior->fields && prior->unknowns && prior->noises && prior->terms && prior->log_scales && prior->root;
  return is_complete ? RPINN_OK : rpinn_fail_memory(context);
}

static RpinnStatus define_scalar(RpinnContext *context, const RpinnDrawGroup *group, const char *stem,
                                 const char *suffix, RpinnDrawVariable *variable) {
  return rpinn_draw_variable_define(context, group, stem, suffix, NC_DOUBLE, 0, NULL, variable);
}

static RpinnStatus define_parameters(RpinnContext *context, RpinnPosteriorFile *file,
                                     const RpinnDrawGroup *group) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnProblem *problem = posterior->problem;
  const double *root = posterior->model.prior_root;
  for (size_t f = 0; f < problem->num_fields; f++) {
    const RpinnNetwork *network = &posterior->networks[f];
    if (have_prior(root + network->parameter_start, network->num_trainable))
      RPINN_TRY(
          define_scalar(context, group, problem->fields[f].name, "_parameters", &file->log_prior.fields[f]));
  }
  for (size_t k = 0; k < problem->num_unknowns; k++)
    if (have_prior(root + posterior->model.unknown_start + k, 1))
      RPINN_TRY(define_scalar(context, group, problem->unknowns[k].name, "", &file->log_prior.unknowns[k]));
  for (size_t k = 0; k < posterior->num_noises; k++)
    RPINN_TRY(define_scalar(context, group, posterior->noises[k].name, "", &file->log_prior.noises[k]));
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_define_log_prior(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  RpinnDrawGroup group;
  RPINN_TRY(allocate(context, file));
  RPINN_TRY(rpinn_posterior_file_define_group(context, file, "log_prior", file->draws.num_draws, 1, &group));
  RPINN_TRY(define_parameters(context, file, &group));
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    if (rpinn_posterior_file_has_data(posterior, t)) continue;
    file->log_prior.log_scales[t] = sum_log_scales(&posterior->terms[t]);
    RPINN_TRY(define_scalar(context, &group, rpinn_posterior_term_name(posterior, t), "",
                            &file->log_prior.terms[t]));
  }
  return RPINN_OK;
}

/* ---- draws ---- */

static double log_normal_of(double value, double mean, double root, double log_root) {
  double z = root * (value - mean);
  return log_root - half_log_two_pi - 0.5 * z * z;
}

static double log_normal(double value, double mean, double root) {
  return log_normal_of(value, mean, root, log(root));
}

static RpinnStatus add_scalar(RpinnContext *context, RpinnDrawVariable *variable, double value) {
  bool is_defined = variable->row > 0;
  return is_defined ? rpinn_draw_variable_add(context, variable, &value) : RPINN_OK;
}

static RpinnStatus add_fields(RpinnContext *context, RpinnPosteriorFile *file,
                              const RpinnPosteriorDraw *added) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnEnergyModel *model = &posterior->model;
  bool has_own_scale = posterior->sigmas.integrates;
  const double *root = has_own_scale ? file->log_prior.root : model->prior_root;
  if (has_own_scale) rpinn_posterior_network_roots(posterior, added->prior_scale, file->log_prior.root);
  for (size_t f = 0; f < posterior->problem->num_fields; f++) {
    size_t first = posterior->networks[f].parameter_start, end = first + posterior->networks[f].num_trainable;
    double sum = 0, known = (double)NAN, log_known = 0; /* most parameters have the root of the one before */
    for (size_t j = first; j < end; j++) {
      if (root[j] != known) log_known = log(known = root[j]);
      sum += log_normal_of(added->parameters[j], model->prior_mean[j], root[j], log_known);
    }
    RPINN_TRY(add_scalar(context, &file->log_prior.fields[f], sum));
  }
  return RPINN_OK;
}

static RpinnStatus add_unknowns(RpinnContext *context, RpinnPosteriorFile *file, const double *parameters) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnEnergyModel *model = &posterior->model;
  for (size_t k = 0; k < posterior->problem->num_unknowns; k++) {
    size_t j = model->unknown_start + k;
    double density = log_normal(parameters[j], model->prior_mean[j], model->prior_root[j]);
    bool is_log = posterior->problem->unknowns[k].transform == RPINN_TRANSFORM_LOG;
    RPINN_TRY(add_scalar(context, &file->log_prior.unknowns[k], is_log ? density - parameters[j] : density));
  }
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    double eta = parameters[model->num_parameters + k];
    double density = log_normal(eta, noise->prior_mean, 1 / noise->prior_std);
    RPINN_TRY(add_scalar(context, &file->log_prior.noises[k], density - eta));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_add_log_prior(RpinnContext *context, RpinnPosteriorFile *file,
                                               const RpinnPosteriorDraw *added) {
  const RpinnPosterior *posterior = file->posterior;
  RPINN_TRY(add_fields(context, file, added));
  RPINN_TRY(add_unknowns(context, file, added->parameters));
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    const RpinnTermModel *term = &posterior->terms[t];
    double sum = file->log_prior.log_scales[t];
    for (size_t j = 0; j < term->num_rows; j++) sum += added->log_likelihood[term->first_row + j];
    RPINN_TRY(add_scalar(context, &file->log_prior.terms[t], sum));
  }
  return RPINN_OK;
}
