/* May a run go on? */
#ifndef RPINN_RUN_RUN_RESUMED_H
#define RPINN_RUN_RUN_RESUMED_H

#include "driver.h"

/* In its folder, whose store is open. Bad input: a run.yaml there that is not the run's, more draws there than are asked for,
 * another number of draws that move together. */
RpinnStatus rpinn_run_check_resumed(RpinnContext *context, const RpinnDriver *driver);

#endif
