/* At random, the rows of a term are dealt out to the folds one by one. In blocks, the points of all measured terms together are cut
 * in two across their widest extent, as large as the folds on either side want, and so on: a fold is then a region, and what is
 * left out has no neighbours that would tell it. */
#include "measured_folds.h"

#include <math.h>
#include <stdlib.h>

#include "random_stream.h"

bool rpinn_term_is_measured(const RpinnPosterior *posterior, size_t term) {
  const RpinnTerm *own = &posterior->problem->terms[term];
  const RpinnTermData *data = &posterior->data->terms[term];
  return !own->is_test && !data->missing && rpinn_term_data_is_measured(own, data);
}

/* Measured rows on their way into folds. */
typedef struct Dealer {
  RpinnContext *context;
  const RpinnPosterior *posterior;
  size_t num_folds;
  size_t **folds; /* [num_terms][points] */
} Dealer;

typedef struct Place {
  const double *x; /* in shares of the domain */
  size_t *fold;
  size_t number; /* of the row, among all */
  double along;  /* the axis that is cut */
} Place;

static int compare_places(const void *left, const void *right) {
  const Place *a = left, *b = right;
  if (a->along != b->along) return a->along < b->along ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

static size_t widest_axis(size_t num_axes, size_t count, const Place *places) {
  size_t widest = 0;
  double width = -1;
  for (size_t i = 0; i < num_axes; i++) {
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t p = 0; p < count; p++) {
      low = fmin(low, places[p].x[i]);
      high = fmax(high, places[p].x[i]);
    }
    if (high - low <= width) continue;
    width = high - low;
    widest = i;
  }
  return widest;
}

/* Folds first_fold … first_fold + num_folds - 1 to the places. */
static void cut(size_t num_axes, size_t count, Place *places, size_t first_fold, size_t num_folds) {
  if (num_folds == 1) {
    for (size_t p = 0; p < count; p++) *places[p].fold = first_fold;
    return;
  }
  size_t left_folds = num_folds / 2, left = count * left_folds / num_folds;
  size_t axis = widest_axis(num_axes, count, places);
  for (size_t p = 0; p < count; p++) places[p].along = places[p].x[axis];
  qsort(places, count, sizeof *places, compare_places);
  cut(num_axes, left, places, first_fold, left_folds);
  cut(num_axes, count - left, places + left, first_fold + left_folds, num_folds - left_folds);
}

static RpinnStatus cut_into_blocks(const Dealer *dealer, size_t total) {
  const RpinnPosterior *posterior = dealer->posterior;
  const RpinnProblem *problem = posterior->problem;
  size_t axes = problem->num_coordinates, count = 0;
  Place *places = calloc(total + 1, sizeof *places);
  double *x = calloc(total * axes + 1, sizeof *x);
  for (size_t t = 0; places && x && t < problem->num_terms; t++)
    for (size_t p = 0; dealer->folds[t] && p < posterior->data->terms[t].points.count; p++, count++) {
      places[count] = (Place){.x = x + count * axes, .fold = &dealer->folds[t][p], .number = count};
      for (size_t i = 0; i < axes; i++) {
        const RpinnCoordinate *coordinate = &problem->coordinates[i];
        x[count * axes + i] = (posterior->data->terms[t].points.x[p * axes + i] - coordinate->low) /
                              (coordinate->high - coordinate->low);
      }
    }
  if (places && x) cut(axes, count, places, 0, dealer->num_folds);
  bool good = places && x;
  free(places);
  free(x);
  return good ? RPINN_OK : rpinn_fail_memory(dealer->context);
}

/* The first row of a term goes to the fold after the last row of the term before, so that those of small terms differ. */
static RpinnStatus deal_out(const Dealer *dealer) {
  const RpinnPosterior *posterior = dealer->posterior;
  size_t next = 0;
  for (size_t t = 0; t < posterior->problem->num_terms; t++) {
    size_t count = posterior->data->terms[t].points.count;
    if (!dealer->folds[t]) continue;
    size_t *order = malloc((count + 1) * sizeof *order);
    if (!order) return rpinn_fail_memory(dealer->context);
    RpinnStream stream = rpinn_stream(rpinn_settings_seed(&posterior->problem->settings, RPINN_SETTING_SEED),
                                      RPINN_PURPOSE_FOLDS, t, 0);
    rpinn_stream_permutation(&stream, count, order);
    for (size_t p = 0; p < count; p++) dealer->folds[t][order[p]] = next++ % dealer->num_folds;
    free(order);
  }
  return RPINN_OK;
}

/* A term of one row would vanish with it, and has nothing that foretells it of its own kind: it stays. */
RpinnStatus rpinn_measured_folds(RpinnContext *context, RpinnArena *arena, const RpinnPosterior *posterior,
                                 size_t num_folds, bool blocks, size_t ***folds) {
  size_t num_terms = posterior->problem->num_terms, total = 0;
  Dealer dealer = {context, posterior, num_folds, RPINN_ARENA_NEW(arena, size_t *, num_terms)};
  if (!dealer.folds) return rpinn_fail_memory(context);
  for (size_t t = 0; t < num_terms; t++) {
    size_t count = posterior->data->terms[t].points.count;
    if (!rpinn_term_is_measured(posterior, t) || count < 2) continue;
    dealer.folds[t] = RPINN_ARENA_NEW(arena, size_t, count);
    if (!dealer.folds[t]) return rpinn_fail_memory(context);
    total += count;
  }
  *folds = dealer.folds;
  if (total < num_folds)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = "--folds"},
        "found %zu, and there are %zu measured rows that can be left out; expected at most as many",
        num_folds, total);
  return blocks ? cut_into_blocks(&dealer, total) : deal_out(&dealer);
}
