/* The run directory: its files, each written whole and then renamed into place, and run.log. */
#ifndef RPINN_RUN_RUN_FOLDER_H
#define RPINN_RUN_RUN_FOLDER_H

#include <stdio.h>

#include "context.h"
#include "problem.h"
#include "text.h"

enum { RPINN_PATH_SIZE = 4096 };

typedef struct RpinnRunFolder {
  char path[RPINN_PATH_SIZE - 64];
  FILE *log;
  double started; /* seconds of the steady clock */
  bool is_new;    /* there was no run before */
} RpinnRunFolder;

/* A folder with its parents, as mkdir -p; path has fewer than RPINN_PATH_SIZE characters. */
RpinnStatus rpinn_make_folders(RpinnContext *context, const char *path);
/* Make the folder with its parents, for a run of the problem. Refused, as bad input: one that holds a run, unless it is
 * resumed; one without a run that holds files which the run would replace; and to resume, one with other files and no
 * run, or with a link in the place of a file of the run. */
RpinnStatus rpinn_run_folder_open(RpinnContext *context, const char *path, const RpinnProblem *problem,
                                  bool resume, RpinnRunFolder *folder);
/* Whether the file is one that a run of the problem keeps in the folder, by whatever name. */
bool rpinn_run_folder_owns(const char *folder, const RpinnProblem *problem, const char *file);
/* Open run.log, once the store has made the folder the run's own. */
RpinnStatus rpinn_run_folder_open_log(RpinnContext *context, RpinnRunFolder *folder);
void rpinn_run_folder_close(RpinnRunFolder *folder);

/* One line with the seconds since the start. */
void rpinn_run_folder_log(RpinnRunFolder *folder, const char *format, ...) RPINN_PRINTF(2, 3);
double rpinn_run_folder_seconds(const RpinnRunFolder *folder);
RpinnStatus rpinn_run_folder_write(RpinnContext *context, const RpinnRunFolder *folder, const char *name,
                                   const RpinnText *text);

#endif
