/* What draws say of predictions and unknowns, beside long chains of NUTS: a row of the table. */
#ifndef RPINN_BENCH_JUDGE_H
#define RPINN_BENCH_JUDGE_H

#include "subject.h"

typedef struct JudgedDraws {
  const char *way;              /* as the table names it */
  const char *note;             /* acceptance, step and the like */
  size_t num_chains, num_draws; /* of each */
  double *outputs;              /* [num_chains][num_draws][num_judged] */
  double price;                 /* of all of them, in gradients */
} JudgedDraws;

/* Room for them; outputs is NULL where there is none. */
JudgedDraws judged_draws(const Subject *subject, size_t num_chains, size_t num_draws);
/* What the draw theta says, as draw number `draw` of a chain. */
RpinnStatus judged_take(Subject *subject, const JudgedDraws *draws, size_t chain, size_t draw,
                        const double *theta);
/* These are the truth from now on: FOLDER/truth.csv. */
RpinnStatus judge_write_truth(Subject *subject, const char *folder, const JudgedDraws *draws);
/* Print the row, beside the truth in FOLDER. */
RpinnStatus judge_print(Subject *subject, const char *folder, const JudgedDraws *draws);

#endif
