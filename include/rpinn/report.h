/* report.html: a finished run as one page with figures, tables and warnings, for any browser and for print.
 */
#ifndef RPINN_REPORT_H
#define RPINN_REPORT_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Write report.html into the folder of the run. The page needs nothing else: no scripts, no network. The
 * problem of the run must still be there, and the run must not have been interrupted. */
RPINN_API RpinnStatus rpinn_report_write(RpinnContext *context, const RpinnRun *run);

#ifdef __cplusplus
}
#endif
#endif
