/* When ours agrees with the re-run in a figure:
 *
 *   |ours - rerun| <= 4 sqrt(e^2 + e_r^2) + slack |rerun| + half a digit
 *
 * with e the standard error of ours from n draws and e_r = e sqrt(n / n_r) that of the re-run from its n_r, which is
 * not known and taken to scale as ours. A re-run that does not say how many draws it has is one chain: e_r is
 * then e sqrt(chains of ours). The last term is for shares printed as whole per cent. */
#include <math.h>

#include "reproduce_state.h"

/* NULL: all that judging needs is there. */
static const char *find_obstacle(const RpinnReproduction *reproduction, const RpinnReproducedRow *row) {
  const RpinnReproducedRun *run = row->run;
  if (!row->rerun) return "no re-run";
  if (reproduction->scale == RPINN_SCALE_QUICK || !reproduction->has_data) return "not judged";
  if (row->rerun->iterations != run->iterations && !isnan(row->rerun->iterations))
    return "not judged: other iterations than the re-run's";
  if (rpinn_paper_method(run->method)->moves_together && row->rerun->members != run->members)
    return "not judged: other particles than the re-run's";
  return NULL;
}

void rpinn_reproduction_judge(const RpinnReproduction *reproduction, RpinnReproducedRow *row) {
  static const double digits[] = {
#define RPINN_TABLE_METRIC_DIGIT(name, key, title, digit) digit,
      RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_DIGIT)
#undef RPINN_TABLE_METRIC_DIGIT
  };
  const RpinnReproducedRun *run = row->run;
  row->unjudged = find_obstacle(reproduction, row);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) {
    row->verdicts[k] = RPINN_AGREEMENT_NONE;
    row->tolerances[k] = (double)NAN;
    if (row->unjudged) continue;
    double rerun = row->rerun->metrics[k], error = row->errors[k];
    double ratio = isnan(row->rerun->members) ? run->chains : run->members / row->rerun->members;
    row->tolerances[k] = 4 * error * sqrt(1 + ratio) + run->paper_case->slack * fabs(rerun) + digits[k] / 2;
    bool only_reported = run->paper_case->reported[row->quantity] >> k & 1;
    row->verdicts[k] = only_reported                                      ? RPINN_AGREEMENT_REPORTED
                       : fabs(row->ours[k] - rerun) <= row->tolerances[k] ? RPINN_AGREEMENT_AGREES
                                                                          : RPINN_AGREEMENT_DIFFERS;
  }
}
