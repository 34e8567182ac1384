/* A table that a problem names: a CSV file, or the bytes in memory that stand in for it. */
#ifndef RPINN_DATA_PROBLEM_TABLE_H
#define RPINN_DATA_PROBLEM_TABLE_H

#include "csv_table.h"
#include "problem.h"

/* path: of rpinn_problem_path; place: where the problem names it. */
RpinnStatus rpinn_problem_table_read(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                     const char *path, RpinnPlace place, RpinnCsvTable **table);

#endif
