/* Finished runs side by side on one page. */
#ifndef RPINN_REPORT_REPORT_COMPARE_H
#define RPINN_REPORT_REPORT_COMPARE_H

#include "report_page.h"

enum { RPINN_RUN_LABEL_SIZE = 256 };

typedef struct RpinnRunLabel {
  char text[RPINN_RUN_LABEL_SIZE];
} RpinnRunLabel;

typedef struct RpinnComparison {
  size_t num_runs;
  RpinnRun *const *runs; /* [num_runs] */
  RpinnRunLabel
      *labels; /* [num_runs] the method where it tells the runs apart, else the name of the directory */
} RpinnComparison;

/* The page. report->run is not used. Runs that cannot stand side by side are bad input. */
RpinnStatus rpinn_report_comparison(RpinnReport *report, size_t num_runs, RpinnRun *const *runs);

/* report_match.c: do the runs belong together? The message names what differs. */
RpinnStatus rpinn_comparison_match(RpinnContext *context, const RpinnComparison *comparison);
/* What differs between them: settings, and lines of the problem. */
RpinnStatus rpinn_comparison_differences(const RpinnReport *report, const RpinnComparison *comparison);
/* report_columns.c: the predictions, one column per run. */
RpinnStatus rpinn_comparison_columns(const RpinnReport *report, const RpinnComparison *comparison);

#endif
