/* The files that a run keeps in its directory. */
#ifndef RPINN_RESULTS_RUN_FILES_H
#define RPINN_RESULTS_RUN_FILES_H

#include "folders.h"
#include "problem.h"

/* File number index that a run of the problem may write beside checkpoint.db; false behind the last one. */
bool rpinn_run_file_name(const RpinnProblem *problem, size_t index, char name[RPINN_PATH_SIZE]);
/* Whether the file is one that a run of the problem keeps in the folder, by whatever name. */
bool rpinn_run_owns_file(const char *folder, const RpinnProblem *problem, const char *file);

#endif
