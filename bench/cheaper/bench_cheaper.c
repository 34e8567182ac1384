/* Cheaper ways from rPINN's members to the posterior than NUTS, beside long chains of NUTS.
 *
 *   bench_cheaper PROBLEM SCALE SHAPE FOLDER WAY NUMBER...
 *
 * SCALE and SHAPE are those of the prior. The way `truth` comes first: its long chains, kept in FOLDER, are what the others are compared with.
 * Each way prints rows of a table; prices are told in gradients, time of the processor that is not spent on gradients as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "ways.h"

enum { FIRST_NUMBER = 6, MAX_NUMBERS = 8 };

static const Way ways[] = {
    {"truth", "CHAINS WARMUP DRAWS ACCEPTANCE", 4, run_truth},
    {"members", "COUNT", 1, run_members},
    {"present", "CHAINS GRADIENTS", 2, run_present},
    {"start", "CHAINS GRADIENTS", 2, run_start},
    {"mixture", "MEMBERS DRAWS", 2, run_mixture},
    {"annealing", "PARTICLES NARROW_SCALE SCALES ITERATIONS DEPTH RESAMPLES", 6, run_annealing},
};

static int explain(const char *program) {
  fprintf(stderr, "usage: %s PROBLEM SCALE SHAPE FOLDER WAY NUMBER...\n", program);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
    fprintf(stderr, "  %s %s\n", ways[i].name, ways[i].numbers);
  return EXIT_FAILURE;
}

static const Way *find_way(int argc, char **argv) {
  for (size_t i = 0; argc > FIRST_NUMBER && i < sizeof ways / sizeof ways[0]; i++)
    if (!strcmp(argv[FIRST_NUMBER - 1], ways[i].name) && (size_t)(argc - FIRST_NUMBER) == ways[i].num_numbers)
      return &ways[i];
  return NULL;
}

int main(int argc, char **argv) {
  const Way *way = find_way(argc, argv);
  if (!way) return explain(argv[0]);
  double numbers[MAX_NUMBERS];
  for (size_t i = 0; i < way->num_numbers; i++) numbers[i] = strtod(argv[FIRST_NUMBER + i], NULL);
  RpinnContext *context = rpinn_context_create();
  if (!context) return EXIT_FAILURE;
  Subject subject = {0};
  RpinnStatus status = subject_open(context, argv[1], argv[2], argv[3], &subject);
  if (status == RPINN_OK) status = way->run(&subject, argv[4], numbers);
  if (status != RPINN_OK) fprintf(stderr, "%s: %s\n", argv[0], rpinn_context_error(context)->message);
  subject_close(&subject);
  rpinn_context_destroy(context);
  return status == RPINN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
