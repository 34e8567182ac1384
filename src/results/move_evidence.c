/* What predictions do when draws are moved: taken on by Levenberg–Marquardt, where they had not converged, or with a prior that
 * pulls half as hard, towards the same point, where the loss says that the prior presses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judged_draws.h"
#include "moments.h"
#include "row_evidence.h"
#include "run_record.h"
#include "scale_trial.h"
#include "unknown_noise.h"

/* A fifth of the members, and at most as many iterations as they had: a small part of the run. */
enum { MIN_MOVED = 2, MAX_MOVED = 8, SHARE_MOVED = 5, MAX_ITERATIONS = 100 };

typedef struct Moves {
  RpinnJudgedDraws *draws;
  double pull; /* of the prior on networks, by what it was */
  size_t count, iterations;
  RpinnMoments *before, *after; /* of all outputs */
  double *theta;                /* [N], then the noise [K] of the draw */
  double *offsets;              /* [M + N] */
  double *values;               /* [outputs] */
} Moves;

static bool is_stopped(void *user) {
  const Moves *moves = user;
  return rpinn_run_is_stopped(moves->draws->context, moves->draws->run);
}

/* theta becomes the minimiser of the draw's own energy, from the draw on. The prior row (theta - m) / s - xi becomes `pull` times
 * itself, so that it pulls to where it did. */
static RpinnStatus minimise(Moves *moves) {
  RpinnJudgedDraws *draws = moves->draws;
  const RpinnEnergyModel *model = &draws->posterior->model;
  RpinnLeastSquares squares = draws->target.squares;
  double energy;
  bool converged;
  memcpy(moves->offsets, draws->offsets, (model->num_rows + model->num_parameters) * sizeof(double));
  for (size_t j = 0; j < model->unknown_start; j++) {
    draws->root[j] *= moves->pull;
    moves->offsets[model->num_rows + j] *= moves->pull;
  }
  squares.prior_root = draws->root;
  return rpinn_scale_minimise(draws->context, &squares, moves->offsets, moves->iterations, is_stopped, moves,
                              moves->theta, &energy, &converged);
}

static RpinnStatus add_outputs(const Moves *moves, const double *theta, RpinnMoments *moments) {
  RPINN_TRY(rpinn_draw_outputs_evaluate(moves->draws->context, &moves->draws->run->outputs,
                                        moves->draws->posterior, theta, moves->values));
  rpinn_moments_add(moments, moves->values);
  return RPINN_OK;
}

static RpinnStatus move_all(Moves *moves) {
  RpinnJudgedDraws *draws = moves->draws;
  size_t length = rpinn_posterior_num_drawn(draws->posterior);
  for (size_t k = 0; k < moves->count; k++) {
    const double *theta = rpinn_judged_draw(draws, k);
    memcpy(moves->theta, theta, length * sizeof(double));
    RPINN_TRY(add_outputs(moves, theta, moves->before));
    RPINN_TRY(minimise(moves));
    if (is_stopped(moves)) return rpinn_fail_interrupted(draws->context);
    RPINN_TRY(add_outputs(moves, moves->theta, moves->after));
  }
  return RPINN_OK;
}

/* Shifts are in the larger of the two spreads: the mean of some wide draws says less. Points without a spread, such as those of
 * exact conditions, are left out. */
static RpinnStatus compare(const Moves *moves, double *shifts, double *widths) {
  const RpinnRun *run = moves->draws->run;
  size_t count = run->outputs.num_values, num_points = run->outputs.num_points;
  double *memory = malloc((4 * count + 1) * sizeof *memory);
  if (!memory) return rpinn_fail_memory(moves->draws->context);
  double *before = memory, *narrow = before + count, *after = narrow + count, *wide = after + count;
  rpinn_moments_get(moves->before, before, narrow);
  rpinn_moments_get(moves->after, after, wide);
  for (size_t q = 0; q < run->outputs.num_quantities; q++) {
    double shift = 0, width = 0, compared = 0;
    for (size_t i = q * num_points; i < (q + 1) * num_points; i++) {
      double step = (after[i] - before[i]) / fmax(run->results.deviation[i], wide[i]),
             ratio = narrow[i] / wide[i];
      if (!isfinite(step)) continue;
      shift += step * step;
      width += ratio > 0 && isfinite(ratio) ? log(ratio) : 0;
      compared += 1;
    }
    shifts[q] = sqrt(shift / compared);
    widths[q] = exp(width / compared);
  }
  free(memory);
  return RPINN_OK;
}

static size_t clamp(double number, size_t low, size_t high) {
  return number < (double)low ? low : number > (double)high ? high : (size_t)number;
}

static RpinnStatus perform(Moves *moves, double *shifts, double *widths) {
  const RpinnEnergyModel *model = &moves->draws->posterior->model;
  if (!moves->before || !moves->after || !moves->theta) return RPINN_ERROR_MEMORY;
  moves->offsets = moves->theta + rpinn_posterior_num_drawn(moves->draws->posterior);
  moves->values = moves->offsets + model->num_rows + model->num_parameters;
  RPINN_TRY(move_all(moves));
  return compare(moves, shifts, widths);
}

RpinnStatus rpinn_run_move_draws(RpinnJudgedDraws *draws, double pull, double *shifts, double *widths) {
  const RpinnEnergyModel *model = &draws->posterior->model;
  const RpinnRun *run = draws->run;
  size_t num_values = run->outputs.num_values,
         count = clamp((double)run->results.num_draws / SHARE_MOVED, MIN_MOVED, MAX_MOVED),
         room = rpinn_posterior_num_drawn(draws->posterior) + model->num_parameters + model->num_rows +
                num_values + 1;
  Moves moves = {.draws = draws,
                 .pull = pull,
                 .count = count < draws->count ? count : draws->count,
                 .iterations =
                     clamp(run->problem->settings.values[RPINN_SETTING_ITERATIONS].number, 1, MAX_ITERATIONS),
                 .before = rpinn_moments_create(num_values),
                 .after = rpinn_moments_create(num_values),
                 .theta = malloc(room * sizeof(double))};
  RpinnStatus status = perform(&moves, shifts, widths);
  rpinn_moments_destroy(moves.before);
  rpinn_moments_destroy(moves.after);
  free(moves.theta);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(draws->context) : status;
}
