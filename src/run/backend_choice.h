/* `backend: auto`: which backend a run has. */
#ifndef RPINN_RUN_BACKEND_CHOICE_H
#define RPINN_RUN_BACKEND_CHOICE_H

#include "driver.h"

/* Where the problem leaves it open: that of the run that is resumed, or how many members or chains it is to be chosen for. */
RpinnStatus rpinn_driver_choose_backend(RpinnContext *context, RpinnDriver *driver);

#endif
