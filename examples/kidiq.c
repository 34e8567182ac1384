/* Test scores of children on the IQ of their mothers (Gelman & Hill 2007):
 *
 *   kid_score_i ~ N(b1 + b2 mom_iq_i, s),  s ~ half-Cauchy(0, 2.5),  flat b1, b2
 *
 * Sampled as (a, b2, log s) with a = b1 + b2 mean(mom_iq), the score of a child with a mother of mean IQ: b1, the
 * score of one with a mother of IQ 0, is almost a function of b2. The Jacobian of this shift is 1; the log scale
 * brings a factor s.
 *
 * Usage: kidiq DATA.json */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 10000 };
typedef struct Scores {
  size_t count;
  double score[MOST], iq[MOST], mean_iq;
} Scores;

/* The numbers of the array "name": [ … ] in a text. */
static size_t read_array(const char *text, const char *name, double *values) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\"", name);
  const char *place = strstr(text, key);
  place = place ? strchr(place, '[') : NULL;
  size_t count = 0;
  while (place && count < MOST && *place != ']') {
    char *end;
    values[count] = strtod(place + 1, &end);
    if (end == place + 1) break;
    count++;
    place = end + strspn(end, " \t\r\n");
  }
  return count;
}

static int read_scores(const char *path, Scores *scores) {
  static char text[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  scores->count = read_array(text, "kid_score", scores->score);
  if (scores->count < 3 || read_array(text, "mom_iq", scores->iq) != scores->count) return 0;
  for (size_t i = 0; i < scores->count; i++) scores->mean_iq += scores->iq[i] / (double)scores->count;
  return 1;
}

static RpinnStatus evaluate(void *data, const double *t, double *log_density, double *gradient) {
  const Scores *scores = data;
  double s = exp(t[2]), scaled = s / 2.5, squares = 0, slope = 0, slope_iq = 0;
  for (size_t i = 0; i < scores->count; i++) {
    double x = scores->iq[i] - scores->mean_iq, off = (scores->score[i] - t[0] - t[1] * x) / s;
    squares += off * off;
    slope += off / s;
    slope_iq += off / s * x;
  }
  double n = (double)scores->count;
  *log_density = -0.5 * squares - (n - 1) * t[2] - log1p(scaled * scaled);
  if (gradient) {
    gradient[0] = slope;
    gradient[1] = slope_iq;
    gradient[2] = squares - (n - 1) - 2 * scaled * scaled / (1 + scaled * scaled);
  }
  return RPINN_OK;
}

static double mean_iq;

/* which: 0 b1, 1 b2, 2 s */
static double quantity(const double *t, int which) {
  return which == 0 ? t[0] - t[1] * mean_iq : which == 1 ? t[1] : exp(t[2]);
}

int main(int argc, char **argv) {
  static Scores scores;
  static const double starts[4][3] = {{80, 0, 3}, {90, 1, 3}, {85, 0.5, 2}, {70, 0.5, 4}};
  if (argc != 2 || !read_scores(argv[1], &scores)) {
    fprintf(stderr, "usage: kidiq DATA.json, with arrays kid_score and mom_iq of the same length\n");
    return 2;
  }
  mean_iq = scores.mean_iq;
  RpinnContext *context = rpinn_context_create();
  RpinnDraws *draws;
  if (!context) return 1;
  RpinnLogDensity target = {.num_parameters = 3, .data = &scores, .evaluate = evaluate};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_draws = 5000;
  if (rpinn_nuts_sample(context, &target, &options, 1, 4, starts[0], &draws) != RPINN_OK)
    return print_failure(context);
  printf("%-10s %12s %12s %12s\n", "parameter", "mean", "sd", "mcse");
  print_summary("beta1", draws, quantity, 0);
  print_summary("beta2", draws, quantity, 1);
  print_summary("sigma", draws, quantity, 2);
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
  return 0;
}
