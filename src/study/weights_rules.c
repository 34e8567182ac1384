/* The rules:
 *
 *   loo        the sum over measured rows of log p(row | all others)                       highest
 *   evidence   log p(measured rows | tolerances)                                           highest
 *   folds      the sum over folds of log p(fold | all other rows), sought without the fold highest
 *   mse        the error of the most probable parameters against the truth (the paper's lambda)   lowest
 *   lpp        the log predictive probability of the truth (the paper's epsilon)           highest
 *   gradients  lambda_t |grad L_t|_2 alike for all terms
 *   annealing  lambda_t = max |grad L_R| / mean |grad L_t|, of which R is the reference term
 *   kernel     lambda_t/N_t trace K_t alike for all terms, K_t = J_t J_t^T
 *
 * The last three have no criterion. With E_t = lambda_t/(2 s_p^2) L_t, L_t the mean square of a term's rows, all of them say what a
 * weight is to be multiplied by in sizes of E_t, where the weight of the reference term stays. */
#include "weights_rules.h"

#include <math.h>

#include "importance.h"
#include "weights_state.h"

const char *const rpinn_balance_points[RPINN_NUM_BALANCE_POINTS] = {"start", "MAP"};

/* ---- criteria ---- */

static double leave_one_out(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate) {
  (void)search;
  return candidate->look.leave_one_out;
}

static double log_evidence(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate) {
  (void)search;
  return candidate->look.log_evidence;
}

static double fold_sum(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate) {
  (void)search;
  return candidate->folds;
}

/* Of several quantities: the root of the mean square of their relative errors. */
static double map_error(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate) {
  double sum = 0, count = 0;
  if (!candidate->map) return (double)NAN;
  for (size_t q = 0; q < search->num_quantities; q++) {
    if (!search->counts[q]) continue;
    sum += candidate->map->scores[q].rl2 * candidate->map->scores[q].rl2;
    count += 1;
  }
  return sqrt(sum / count);
}

static double predictive(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate) {
  double sum = 0;
  if (!candidate->draws) return (double)NAN;
  for (size_t q = 0; q < search->num_quantities; q++)
    if (search->counts[q]) sum += candidate->draws->scores[q].lpp;
  return sum;
}

/* ---- balance ---- */

static double by_norms(const RpinnTermSizes *reference, const RpinnTermSizes *term) {
  return reference->gradient_norm / term->gradient_norm;
}

static double by_largest(const RpinnTermSizes *reference, const RpinnTermSizes *term) {
  return reference == term ? 1 : reference->gradient_most / term->gradient_mean;
}

static double by_traces(const RpinnTermSizes *reference, const RpinnTermSizes *term) {
  return reference->kernel_trace / term->kernel_trace;
}

/* ---- what problems allow ---- */

static const char *needs_truth(const RpinnWeightSearch *search) {
  return search->num_quantities ? NULL : "nothing that is predicted has a truth to be compared with";
}

static const char *needs_another_map(const RpinnWeightSearch *search) {
  if (rpinn_weights_search_epsilon(search))
    return "epsilon widens all deviations alike, and the most probable parameters do not depend on it";
  return needs_truth(search);
}

static const char *needs_prior(const RpinnWeightSearch *search) {
  const RpinnEnergyModel *model = &search->base->posteriors[0]->model;
  return rpinn_importance_available(model->num_parameters, model->prior_root)
             ? NULL
             : "a linearised posterior needs a prior on every parameter";
}

static const char *needs_folds(const RpinnWeightSearch *search) {
  if (search->base->posteriors[0]->num_noises) return "the noise of a term is unknown, and folds need one";
  for (size_t t = 0; t < search->num_terms; t++)
    if (search->folds[t]) return needs_prior(search);
  return "no term has two measured rows or more that could be left out";
}

static const char *needs_weights(const RpinnWeightSearch *search) {
  if (search->likelihood != RPINN_LIKELIHOOD_PAPER)
    return "terms have weights under likelihood paper alone: elsewhere a weight is 1/noise^2, and the noise "
           "is "
           "stated";
  return search->num_weighted > 1 ? needs_prior(search)
                                  : "there is one term alone, and nothing to balance it with";
}

const RpinnWeightRule rpinn_weight_rules[RPINN_NUM_WEIGHT_RULES] = {
    {"loo", "leave-one-out sum, nats", "every measured row foretold by all others", RPINN_STAGE_LOOK, false,
     1, leave_one_out, NULL, needs_prior},
    {"evidence", "log evidence, nats", "the measured rows foretold together", RPINN_STAGE_LOOK, false, 1,
     log_evidence, NULL, needs_prior},
    {"folds", "log density of left-out folds, nats",
     "measured rows in folds, each foretold by a search without it", RPINN_STAGE_FOLDS, false, 1, fold_sum,
     NULL, needs_folds},
    {"mse", "relative error of the MAP", "the MAP estimate against the truth: the paper's way for weights",
     RPINN_STAGE_MAP, true, 0.05, map_error, NULL, needs_another_map},
    {"lpp", "log predictive probability", "draws against the truth: the paper's way for epsilon",
     RPINN_STAGE_DRAWS, false, 1, predictive, NULL, needs_truth},
    {"gradients", "", "gradients of all weighted terms have the same norm", RPINN_STAGE_BALANCE, false, 0,
     NULL, by_norms, needs_weights},
    {"annealing", "",
     "the mean gradient of each weighted term is as large as the largest entry of the reference term's",
     RPINN_STAGE_BALANCE, false, 0, NULL, by_largest, needs_weights},
    {"kernel", "", "tangent kernels of all weighted terms have the same trace", RPINN_STAGE_BALANCE, false, 0,
     NULL, by_traces, needs_weights}};
