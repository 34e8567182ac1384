#include "problem_table.h"

RpinnStatus rpinn_problem_table_read(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                     const char *path, RpinnPlace place, RpinnCsvTable **table) {
  const RpinnFileInMemory *file = rpinn_problem_file_in_memory(problem, path);
  return file ? rpinn_csv_parse(context, arena, path, file->bytes, file->length, table)
              : rpinn_csv_read_named(context, arena, path, place, table);
}
