/* What the model, linearised where a candidate leads, says of the data: at a few rPINN members for methods that draw, at the most
 * probable parameters for those that seek them, as where a run chooses the scale of its prior (prior_choice.h). Densities are those
 * of the data and not of whitened rows, so that candidates of other deviations can be compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prior_trials.h"
#include "steady_clock.h"
#include "weights_state.h"

double rpinn_weights_log_scale(const RpinnPosterior *posterior, const bool *is_data) {
  double sum = 0;
  for (size_t t = 0, row = 0; t < posterior->model.num_terms; row += posterior->terms[t++].num_rows) {
    bool is_unknown = posterior->problem->terms[posterior->fitted[t]].unknown_noise.present;
    for (size_t i = 0; i < posterior->terms[t].num_rows && !is_unknown; i++)
      if (is_data[row + i]) sum -= log(rpinn_posterior_row_sigma(posterior, t, i));
  }
  return sum;
}

/* ---- searches under one candidate ---- */

typedef struct Trial {
  RpinnPriorChoice choice;
  RpinnPriorChoiceOptions options;
  RpinnPriorTrials trials;
} Trial;

static RpinnStatus make_trial(RpinnContext *context, RpinnWeightSearch *search,
                              const RpinnPosterior *posterior, bool at_minimum, Trial *trial) {
  *trial = (Trial){.choice = {.at_minimum = at_minimum, .num_trials = 1},
                   .options = {.at_minimum = at_minimum,
                               .num_threads = search->num_threads,
                               .interrupted = rpinn_weights_are_stopped,
                               .user = search}};
  trial->choice.trials[0] = (RpinnScaleTrial){.scale = posterior->sigmas.prior,
                                              .energy = (double)INFINITY,
                                              .log_evidence = (double)NAN,
                                              .leave_one_out = (double)NAN,
                                              .misfit = (double)NAN};
  trial->trials.posterior = posterior;
  trial->trials.options = &trial->options;
  trial->trials.choice = &trial->choice;
  RPINN_TRY(rpinn_prior_trials_open(context, &trial->trials));
  return rpinn_prior_trials_make(context, &trial->trials, 0, 1);
}

RpinnStatus rpinn_weights_find_minimum(RpinnContext *context, RpinnWeightSearch *search,
                                       const RpinnPosterior *posterior, double *theta) {
  Trial trial;
  RpinnStatus status = make_trial(context, search, posterior, true, &trial);
  if (status == RPINN_OK) memcpy(theta, trial.trials.best[0], trial.trials.N * sizeof *theta);
  rpinn_prior_trials_close(&trial.trials);
  return status;
}

static RpinnStatus look_at(RpinnContext *context, RpinnWeightSearch *search, const RpinnPosterior *posterior,
                           RpinnWeightLook *look) {
  Trial trial;
  RpinnStatus status = make_trial(context, search, posterior, search->at_minimum, &trial);
  if (status == RPINN_OK) {
    const RpinnScaleTrial *found = &trial.choice.trials[0];
    double log_scale = rpinn_weights_log_scale(posterior, trial.trials.is_data);
    *look = (RpinnWeightLook){.leave_one_out = found->leave_one_out + log_scale,
                              .log_evidence = found->log_evidence + log_scale,
                              .misfit = found->misfit};
  }
  rpinn_prior_trials_close(&trial.trials);
  return status;
}

/* ---- all candidates ---- */

/* Of one of them, by its posterior. */
typedef RpinnStatus Work(RpinnContext *context, RpinnWeightSearch *search, const RpinnPosterior *posterior,
                         double *numbers);

static RpinnStatus work_look(RpinnContext *context, RpinnWeightSearch *search,
                             const RpinnPosterior *posterior, double *numbers) {
  RpinnWeightLook look;
  RPINN_TRY(look_at(context, search, posterior, &look));
  numbers[0] = look.leave_one_out, numbers[1] = look.log_evidence, numbers[2] = look.misfit;
  return RPINN_OK;
}

static RpinnStatus work_on(RpinnContext *context, RpinnWeightSearch *search,
                           const RpinnWeightCandidate *candidate, Work *work, double *numbers) {
  RpinnProblem *problem;
  RpinnPosterior *posterior = NULL;
  RPINN_TRY(rpinn_weights_load(context, search, search->draw_method, candidate, NULL, &problem));
  RpinnStatus status = rpinn_posterior_create(context, problem, true, &posterior);
  if (status == RPINN_OK) status = work(context, search, posterior, numbers);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  return status;
}

typedef struct Stage {
  const char *file; /* look-0012 */
  Work *work;
  size_t count; /* of numbers */
} Stage;

/* From an earlier session, or now. */
static RpinnStatus find_numbers(RpinnContext *context, RpinnWeightSearch *search, const Stage *stage,
                                size_t candidate, double *numbers, bool *is_new) {
  char name[64];
  bool found;
  snprintf(name, sizeof name, "%s-%04zu", stage->file, candidate);
  RPINN_TRY(rpinn_weights_read_numbers(context, search, name, stage->count, numbers, &found));
  *is_new = !found;
  if (found) return RPINN_OK;
  if (rpinn_weights_are_stopped(search) || rpinn_is_interrupted(context))
    return rpinn_fail_interrupted(context);
  RPINN_TRY(work_on(context, search, &search->candidates[candidate], stage->work, numbers));
  return rpinn_weights_write_numbers(context, search, name, stage->count, numbers);
}

static void tell(const RpinnWeightSearch *search, size_t done, size_t made, double started) {
  const RpinnWeightOptions *options = search->options;
  size_t total = 0;
  for (size_t k = 0; k < search->num_candidates; k++)
    total += search->candidates[k].is_there && search->candidates[k].same_as == k;
  if (options->told)
    options->told(options->user,
                  &(RpinnWeightProgress){.work = "searches",
                                         .done = done,
                                         .total = total,
                                         .seconds_left = (rpinn_steady_seconds() - started) / (double)made *
                                                         (double)(total - done)});
}

static void take_numbers(const Stage *stage, const double *numbers, RpinnWeightCandidate *candidate) {
  if (stage->count == 1)
    candidate->folds = numbers[0];
  else
    candidate->look = (RpinnWeightLook){numbers[0], numbers[1], numbers[2]};
}

static RpinnStatus perform(RpinnContext *context, RpinnWeightSearch *search, const Stage *stage) {
  double started = rpinn_steady_seconds();
  for (size_t k = 0, done = 0, made = 0; k < search->num_candidates; k++) {
    RpinnWeightCandidate *candidate = &search->candidates[k];
    double numbers[3];
    bool is_new;
    if (!candidate->is_there || candidate->same_as != k) continue;
    RPINN_TRY(find_numbers(context, search, stage, k, numbers, &is_new));
    take_numbers(stage, numbers, candidate);
    made += is_new;
    done++;
    if (is_new) tell(search, done, made, started);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_weights_look(RpinnContext *context, RpinnWeightSearch *search) {
  static const Stage looks = {"look", work_look, 3}, folds = {"folds", rpinn_weights_foretell_folds, 1};
  if (rpinn_weights_need(search, RPINN_STAGE_LOOK)) RPINN_TRY(perform(context, search, &looks));
  return rpinn_weights_need(search, RPINN_STAGE_FOLDS) ? perform(context, search, &folds) : RPINN_OK;
}
