/* Draws on a disk of the machine itself: with --scratch DIR what a process makes goes into a store in DIR, and all of that into its store in the
 * run directory, on a file system that many machines share, once a minute and at every end. So a killed process loses nothing, and a machine that
 * is lost takes no more along than it made in that minute (RPINN_SCRATCH_SECONDS).
 *
 * The file is DIR/rpinn-MARK-0003.db: the mark is that of the session, 3 the rank. It holds what is not in the run directory yet, and goes with
 * the last of it. */
#ifndef RPINN_RUN_SCRATCH_STORE_H
#define RPINN_RUN_SCRATCH_STORE_H

#include "driver.h"
#include "folders.h"
#include "run_event.h"

/* From the root on; NULL: there is none. */
const char *rpinn_scratch_folder(const RpinnDriver *driver);
/* Finds it, as the setting says. Bad input: it is no folder, or cannot be read and written to, here or where another rank is; all ranks call this. */
RpinnStatus rpinn_scratch_check(RpinnContext *context, RpinnDriver *driver);
void rpinn_scratch_path(const char *folder, const char *mark, size_t rank, char path[RPINN_PATH_SIZE]);
/* The file goes, with its journal, which is empty; it may be gone already. */
RpinnStatus rpinn_scratch_remove(RpinnContext *context, const char *path);

typedef struct RpinnScratch RpinnScratch;

/* Does a run of this process have the file of this name, in whichever folder, open? Such a file must not be opened otherwise. */
bool rpinn_scratch_is_open(const char *name);

/* *scratch is NULL where the run has none; the functions below accept that. */
RpinnStatus rpinn_scratch_open(RpinnContext *context, const RpinnDriver *driver, RpinnScratch **scratch);
/* An event into the scratch store, or where there is none into that of the run. */
RpinnStatus rpinn_scratch_keep(RpinnContext *context, const RpinnDriver *driver, RpinnScratch *scratch,
                               const RpinnRunEvent *event);
/* All of it into the store of the run, where something has waited for a minute. */
RpinnStatus rpinn_scratch_deposit_when_due(RpinnContext *context, RpinnScratch *scratch);
/* All of it, at once, and the file goes. After a failure it stays, for the next session. */
RpinnStatus rpinn_scratch_close(RpinnContext *context, RpinnScratch *scratch);

#endif
