/* Mean, standard deviation and Monte Carlo standard error of quantities over chains in memory. */
#ifndef EXAMPLES_SUMMARY_H
#define EXAMPLES_SUMMARY_H

#include <math.h>
#include <rpinn/rpinn.h>
#include <stdio.h>

/* A number made of the parameters of a draw. */
typedef double (*Quantity)(const double *parameters, int which);

/* The standard error comes from the means of batches: with 100 of them they are long beside the correlation of
 * the draws. */
static inline void print_summary(const char *name, const RpinnDraws *draws, Quantity quantity, int which) {
  enum { BATCHES = 100 };
  size_t count = rpinn_draws_count(draws), size = count / BATCHES, used = size * BATCHES;
  double batch[BATCHES] = {0}, mean = 0, variance = 0, between = 0;
  for (size_t i = 0; i < used; i++) batch[i / size] += quantity(rpinn_draws_get(draws, i).parameters, which);
  for (int b = 0; b < BATCHES; b++) mean += batch[b] / (double)used;
  for (size_t i = 0; i < used; i++)
    variance += pow(quantity(rpinn_draws_get(draws, i).parameters, which) - mean, 2) / (double)(used - 1);
  for (int b = 0; b < BATCHES; b++) between += pow(batch[b] / (double)size - mean, 2) / (BATCHES - 1);
  printf("%-10s %12.6f %12.6f %12.6f\n", name, mean, sqrt(variance), sqrt(between / BATCHES));
}

static inline int print_failure(const RpinnContext *context) {
  char message[2048];
  rpinn_error_format(rpinn_context_error(context), message, sizeof message);
  fprintf(stderr, "%s\n", message);
  return 1;
}

#endif
