#include "rank_uniformity.h"

#include <math.h>
#include <stdlib.h>

#include "context.h"

enum { STEPS = RPINN_UNIFORMITY_STEPS, BISECTIONS = 40 };

/* Of N numbers. */
typedef struct Counts {
  size_t N;
  double *log_factorials; /* [N + 1] */
  double *here, *next;    /* [N + 1] probabilities of paths */
} Counts;

static void close_counts(Counts *counts) {
  free(counts->log_factorials);
}

static RpinnStatus open_counts(size_t N, Counts *counts) {
  double *memory = malloc(3 * (N + 1) * sizeof *memory);
  *counts = (Counts){.N = N, .log_factorials = memory};
  if (!memory) return RPINN_ERROR_MEMORY;
  counts->here = memory + N + 1;
  counts->next = counts->here + N + 1;
  memory[0] = 0;
  for (size_t n = 1; n <= N; n++) memory[n] = memory[n - 1] + log((double)n);
  return RPINN_OK;
}

/* P(X = n), X ~ Bin(size, share), size <= N. */
static double mass(const Counts *counts, size_t size, double share, size_t n) {
  if (share >= 1) return n == size;
  const double *log_factorial = counts->log_factorials;
  return exp(log_factorial[size] - log_factorial[n] - log_factorial[size - n] + (double)n * log(share) +
             (double)(size - n) * log1p(-share));
}

/* p_k of n; each tail is summed from its own end, for neither is to be a difference of numbers near 1. */
static double pointwise(const Counts *counts, double share, size_t n) {
  double below = 0, above = 0;
  for (size_t k = 0; k <= n; k++) below += mass(counts, counts->N, share, k);
  for (size_t k = counts->N + 1; k-- > n;) above += mass(counts, counts->N, share, k);
  return fmin(1, 2 * fmin(below, above));
}

/* The n whose p is above the limit: from *low to *high; none where *low > *high. */
static void find_range(const Counts *counts, double share, double limit, size_t *low, size_t *high) {
  size_t N = counts->N;
  double below = mass(counts, N, share, 0), above = mass(counts, N, share, N);
  for (*low = 0; 2 * below <= limit && *low < N;) below += mass(counts, N, share, ++*low);
  for (*high = N; 2 * above <= limit && *high > 0;) above += mass(counts, N, share, --*high);
}

/* P(all p_k > limit). */
static double stay_within(Counts *counts, double limit) {
  size_t N = counts->N, first = 0, last = 0;
  counts->here[0] = 1;
  for (size_t k = 0; k + 1 < STEPS; k++) {
    size_t low, high;
    double share = 1.0 / (double)(STEPS - k);
    find_range(counts, (double)(k + 1) / STEPS, limit, &low, &high);
    if (low > high) return 0;
    for (size_t n = low; n <= high; n++) {
      double sum = 0;
      for (size_t from = first; from <= last && from <= n; from++)
        sum += counts->here[from] * mass(counts, N - from, share, n - from);
      counts->next[n] = sum;
    }
    double *swap = counts->here;
    counts->here = counts->next;
    counts->next = swap;
    first = low;
    last = high;
  }
  double total = 0;
  for (size_t n = first; n <= last; n++) total += counts->here[n];
  return total;
}

static double statistic_of(const Counts *counts, const double *numbers) {
  double least = 1;
  for (size_t k = 1; k < STEPS; k++) {
    size_t below = 0;
    for (size_t i = 0; i < counts->N; i++) below += numbers[i] < (double)k / STEPS;
    least = fmin(least, pointwise(counts, (double)k / STEPS, below));
  }
  return least;
}

RpinnStatus rpinn_uniformity_p_value(size_t count, const double *numbers, double *p_value) {
  Counts counts;
  RPINN_TRY(open_counts(count, &counts));
  double least = statistic_of(&counts, numbers);
  /* Equal p of other counts are equal but for rounding. */
  *p_value = least < 1 ? fmin(1, fmax(0, 1 - stay_within(&counts, least * (1 + 1e-9)))) : 1;
  close_counts(&counts);
  return RPINN_OK;
}

RpinnStatus rpinn_uniformity_band(size_t count, double level, double *low, double *high) {
  Counts counts;
  RPINN_TRY(open_counts(count, &counts));
  double below = log(1e-12), above = 0; /* of the limit; the wanted one lies between */
  for (int k = 0; k < BISECTIONS; k++) {
    double middle = 0.5 * (below + above);
    *(stay_within(&counts, exp(middle)) >= level ? &below : &above) = middle;
  }
  low[0] = high[0] = 0;
  low[STEPS] = high[STEPS] = 1;
  for (size_t k = 1; k < STEPS; k++) {
    size_t first, last;
    find_range(&counts, (double)k / STEPS, exp(below), &first, &last);
    low[k] = count ? (double)first / (double)count : 0;
    high[k] = count ? (double)last / (double)count : 1;
  }
  close_counts(&counts);
  return RPINN_OK;
}

RpinnStatus rpinn_share_band(size_t count, double share, double level, double *low, double *high) {
  Counts counts;
  size_t first, last;
  RPINN_TRY(open_counts(count, &counts));
  find_range(&counts, share, 1 - level, &first, &last);
  *low = count ? (double)first / (double)count : 0;
  *high = count ? (double)last / (double)count : 1;
  close_counts(&counts);
  return RPINN_OK;
}
