/* The page of a run, section by section. */
#ifndef RPINN_REPORT_REPORT_PAGE_H
#define RPINN_REPORT_REPORT_PAGE_H

#include "run_state.h"

/* Draws that the results are made of. */
static inline uint64_t rpinn_report_num_draws(const RpinnRun *run) {
  return run->results.num_draws;
}

/* The predicted quantities: curves over one coordinate, maps over two, or a sentence that says why neither.
 */
RpinnStatus rpinn_report_predictions(RpinnContext *context, const RpinnRun *run, RpinnText *page);
/* Traces of the losses and the histogram of those at the end. */
RpinnStatus rpinn_report_losses(RpinnContext *context, const RpinnRun *run, RpinnText *page);
/* Of chains: tables, histograms of R-hat, traces. Of particles: scores along the iterations. */
RpinnStatus rpinn_report_chains(RpinnContext *context, const RpinnRun *run, RpinnText *page);
RpinnStatus rpinn_report_particles(RpinnContext *context, const RpinnRun *run, RpinnText *page);
/* All of it. */
RpinnStatus rpinn_report_page(RpinnContext *context, const RpinnRun *run, RpinnText *page);

#endif
