/* What a study may say about numbers with errors. */
#ifndef RPINN_STUDY_CLAIMS_H
#define RPINN_STUDY_CLAIMS_H

#include <stddef.h>

/* A number and its standard error; NaN: not known. */
typedef struct RpinnEstimate {
  double value, error;
} RpinnEstimate;

typedef enum RpinnClaimVerdict {
  RPINN_CLAIM_OPEN, /* no error is known, or there is no number */
  RPINN_CLAIM_UNDECIDED,
  RPINN_CLAIM_HOLDS,
  RPINN_CLAIM_CONTRADICTED,
  RPINN_NUM_CLAIM_VERDICTS
} RpinnClaimVerdict;

extern const char *const rpinn_claim_verdicts[RPINN_NUM_CLAIM_VERDICTS];

/* Mean and standard error of the mean of the finite ones among count values; one value has no error. */
RpinnEstimate rpinn_estimate_mean(size_t count, const double *values);
/* later - earlier of independent estimates. */
RpinnEstimate rpinn_estimate_change(RpinnEstimate earlier, RpinnEstimate later);
/* Has the change the claimed sign (1: rises, -1: falls), by more than two standard errors? */
RpinnClaimVerdict rpinn_claim_judge(RpinnEstimate change, int claimed);

/* The place of the largest value, the first of equal ones; count when all are NaN. */
size_t rpinn_largest_place(size_t count, const double *values);

typedef enum RpinnPrintedVerdict {
  RPINN_PRINTED_DIFFERS,
  RPINN_PRINTED_NEAR, /* off by one unit of the last digit: rounded twice, or cut off */
  RPINN_PRINTED_AGREES
} RpinnPrintedVerdict;

/* Is value, rounded to as many decimals, what was printed, such as "0.079"? */
RpinnPrintedVerdict rpinn_printed_judge(double value, const char *printed);

#endif
