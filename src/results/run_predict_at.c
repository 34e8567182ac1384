/* A finished run at points in memory, with its draws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "point_prediction.h"

struct RpinnPrediction {
  RpinnArena *arena; /* that all of it lives in, but for the numbers */
  size_t num_quantities, num_values, num_chains, num_draws;
  const char **names; /* [num_quantities] */
  double *statistics; /* [RPINN_NUM_PREDICTED_STATISTICS][num_values] */
  double *draws;      /* [num_draws][num_values], or NULL */
};

static RpinnStatus check_points(RpinnContext *context, const RpinnProblem *problem,
                                const RpinnPointOptions *options) {
  if (!options->num_points) return rpinn_fail(context, RPINN_ERROR_INPUT, "no points; expected one at least");
  if (options->num_points > RPINN_MAX_POINTS)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu points; expected at most %d", options->num_points,
                      RPINN_MAX_POINTS);
  for (size_t p = 0; p < options->num_points; p++)
    for (size_t i = 0; i < problem->num_coordinates; i++) {
      const RpinnCoordinate *coordinate = &problem->coordinates[i];
      double x = options->points[p * problem->num_coordinates + i];
      double tolerance = RPINN_DOMAIN_TOLERANCE * (coordinate->high - coordinate->low);
      bool inside = x >= coordinate->low - tolerance && x <= coordinate->high + tolerance;
      if (!isfinite(x) || (!inside && !options->extrapolate))
        return rpinn_fail(context, RPINN_ERROR_INPUT,
                          "%s = %.10g of point %zu is outside the domain; expected %.10g to %.10g",
                          coordinate->name, x, p, coordinate->low, coordinate->high);
    }
  return RPINN_OK;
}

static RpinnStatus predict(RpinnPointPrediction *made, const char *folder, const RpinnPointOptions *options) {
  RPINN_TRY(rpinn_point_prediction_open(made, folder));
  RPINN_TRY(rpinn_point_prediction_choose(made, options->quantities));
  RPINN_TRY(check_points(made->context, made->problem, options));
  size_t count = options->num_points * made->problem->num_coordinates;
  made->points.count = options->num_points;
  made->points.x = RPINN_ARENA_NEW(made->posterior->arena, double, count);
  if (!made->points.x) return rpinn_fail_memory(made->context);
  memcpy(made->points.x, options->points, count * sizeof(double));
  return rpinn_point_prediction_make(made);
}

/* What outlives the run: names are copied, numbers change hands. */
static RpinnStatus take_results(RpinnPointPrediction *made, RpinnPrediction **result) {
  RpinnArena *arena = rpinn_arena_create();
  RpinnPrediction *prediction = arena ? RPINN_ARENA_NEW(arena, RpinnPrediction, 1) : NULL;
  if (!prediction) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(made->context);
  }
  *result = prediction;
  *prediction = (RpinnPrediction){.arena = arena,
                                  .num_quantities = made->num_quantities,
                                  .num_values = made->num_values,
                                  .num_chains = (size_t)made->run->plan.num_chains,
                                  .num_draws = (size_t)made->draw,
                                  .names = RPINN_ARENA_NEW(arena, const char *, made->num_quantities)};
  for (size_t q = 0; prediction->names && q < made->num_quantities; q++) {
    prediction->names[q] = rpinn_arena_copy_text(arena, made->names[q], strlen(made->names[q]));
    if (!prediction->names[q]) return rpinn_fail_memory(made->context);
  }
  if (!prediction->names) return rpinn_fail_memory(made->context);
  prediction->statistics = made->mean; /* deviation and quantiles are behind it */
  prediction->draws = made->draws;
  made->mean = made->draws = NULL;
  return RPINN_OK;
}

RpinnStatus rpinn_run_predict_at(RpinnContext *context, const char *folder, const RpinnPointOptions *options,
                                 RpinnPrediction **prediction) {
  RpinnPointPrediction made = {.context = context, .keeps_draws = options->keep_draws};
  *prediction = NULL;
  RpinnStatus status = predict(&made, folder, options);
  if (status == RPINN_OK) status = take_results(&made, prediction);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* backends report no message of their own */
  rpinn_point_prediction_close(&made);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_prediction_destroy(*prediction);
  *prediction = NULL;
  return status;
}

void rpinn_prediction_destroy(RpinnPrediction *prediction) {
  if (!prediction) return;
  free(prediction->statistics);
  free(prediction->draws);
  rpinn_arena_destroy(prediction->arena); /* the prediction itself lives in it */
}

size_t rpinn_prediction_num_quantities(const RpinnPrediction *prediction) {
  return prediction->num_quantities;
}
const char *rpinn_prediction_name(const RpinnPrediction *prediction, size_t quantity) {
  return prediction->names[quantity];
}
size_t rpinn_prediction_num_chains(const RpinnPrediction *prediction) {
  return prediction->num_chains;
}
size_t rpinn_prediction_num_draws(const RpinnPrediction *prediction) {
  return prediction->num_draws;
}
const double *rpinn_prediction_statistic(const RpinnPrediction *prediction,
                                         RpinnPredictedStatistic statistic) {
  return prediction->statistics + (size_t)statistic * prediction->num_values;
}
const double *rpinn_prediction_draws(const RpinnPrediction *prediction) {
  return prediction->draws;
}
