#include "claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number_text.h"

const char *const rpinn_claim_verdicts[] = {"-", "undecided", "holds", "contradicted"};

RpinnEstimate rpinn_estimate_mean(size_t count, const double *values) {
  double sum = 0, squares = 0, n = 0;
  for (size_t i = 0; i < count; i++)
    if (isfinite(values[i])) {
      sum += values[i];
      n++;
    }
  double mean = sum / n; /* of none: NaN */
  for (size_t i = 0; i < count; i++)
    if (isfinite(values[i])) squares += (values[i] - mean) * (values[i] - mean);
  return (RpinnEstimate){mean, n > 1 ? sqrt(squares / (n - 1) / n) : (double)NAN};
}

RpinnEstimate rpinn_estimate_change(RpinnEstimate earlier, RpinnEstimate later) {
  return (RpinnEstimate){later.value - earlier.value, hypot(later.error, earlier.error)};
}

RpinnClaimVerdict rpinn_claim_judge(RpinnEstimate change, int claimed) {
  if (isnan(change.value) || isnan(change.error)) return RPINN_CLAIM_OPEN;
  if (fabs(change.value) <= 2 * change.error) return RPINN_CLAIM_UNDECIDED;
  return change.value * claimed > 0 ? RPINN_CLAIM_HOLDS : RPINN_CLAIM_CONTRADICTED;
}

size_t rpinn_largest_place(size_t count, const double *values) {
  size_t best = count;
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i]) && (best == count || values[i] > values[best])) best = i;
  return best;
}

RpinnPrintedVerdict rpinn_printed_judge(double value, const char *printed) {
  const char *point = strchr(printed, '.');
  double unit = pow(10, point ? -(double)strlen(point + 1) : 0), theirs = rpinn_number_read(printed, NULL);
  double units = fabs(round(value / unit) - round(theirs / unit));
  return units < 0.5 ? RPINN_PRINTED_AGREES : units < 1.5 ? RPINN_PRINTED_NEAR : RPINN_PRINTED_DIFFERS;
}
