/* report.html: finished runs as one page with figures, tables and warnings, for any browser and for print. */
#ifndef RPINN_REPORT_H
#define RPINN_REPORT_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Write report.html into the folder of the run. The page needs nothing else: no scripts, no network. The
 * problem of the run must still be there, and the run must not have been interrupted. */
RPINN_API RpinnStatus rpinn_report_write(RpinnContext *context, const RpinnRun *run);

typedef struct RpinnReportOptions {
  const char *
      folder; /* where report.html and figures/ go, made if need be; NULL: into the run, or "report" for several */
  bool shape; /* of one run: also the plane through three of its draws and the eigenvalues of the Hessian */
  bool json;  /* the answer for programs */
} RpinnReportOptions;

/* What `rpinn report` does. One finished run: its page, made anew without sampling. Several: a page that shows them side by
 * side; they must be of one problem, with the same predicted points. Every figure of the page is also a script for
 * gnuplot, figures/NAME.gp, and where there is gnuplot NAME.svg, NAME.pdf and NAME.png.
 *
 * Returns the paths of what was written, NULL on failure, with the reason on the context (missing, unfinished or damaged
 * runs, and runs that do not belong together, are bad input); the caller frees the text. */
RPINN_API char *rpinn_report(RpinnContext *context, size_t num_runs, const char *const *folders,
                             const RpinnReportOptions *options);

#ifdef __cplusplus
}
#endif
#endif
