/* The directory of a run that is made: begun, or gone on with, and run.log in it. */
#ifndef RPINN_RUN_RUN_FOLDER_H
#define RPINN_RUN_RUN_FOLDER_H

#include "driver.h"

/* Make the folder of the options with its parents: run->folder, and driver->is_new. Refused, as bad input: one that holds a run,
 * unless it is resumed; one without a run that holds files which the run would replace; and to resume, one with other files and
 * no run, or with a link in the place of a file of the run. */
RpinnStatus rpinn_run_folder_open(RpinnContext *context, RpinnDriver *driver);
/* Open run.log, once the store has made the folder the run's own. */
RpinnStatus rpinn_run_folder_open_log(RpinnContext *context, RpinnDriver *driver);
void rpinn_run_folder_close(RpinnDriver *driver);

#endif
