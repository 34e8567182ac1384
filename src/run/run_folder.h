/* The run directory: its files, each written whole and then renamed into place, and run.log. */
#ifndef RPINN_RUN_RUN_FOLDER_H
#define RPINN_RUN_RUN_FOLDER_H

#include <stdio.h>

#include "context.h"
#include "text.h"

enum { RPINN_PATH_SIZE = 4096 };

typedef struct RpinnRunFolder {
  char path[RPINN_PATH_SIZE - 64];
  FILE *log;
  double started; /* seconds of the steady clock */
} RpinnRunFolder;

/* A folder with its parents, as mkdir -p; path has fewer than RPINN_PATH_SIZE characters. */
RpinnStatus rpinn_make_folders(RpinnContext *context, const char *path);
/* Make the folder with its parents and open run.log. A folder that holds a run is refused, unless it is to be
 * resumed; then one that holds none is. */
RpinnStatus rpinn_run_folder_open(RpinnContext *context, const char *path, bool resume,
                                  RpinnRunFolder *folder);
void rpinn_run_folder_close(RpinnRunFolder *folder);

/* One line with the seconds since the start. */
void rpinn_run_folder_log(RpinnRunFolder *folder, const char *format, ...) RPINN_PRINTF(2, 3);
double rpinn_run_folder_seconds(const RpinnRunFolder *folder);
RpinnStatus rpinn_run_folder_write(RpinnContext *context, const RpinnRunFolder *folder, const char *name,
                                   const RpinnText *text);

#endif
