/* The files that a problem names: in its folder, or in memory. */
#include <string.h>

#include "problem.h"

static const RpinnFileInMemory *find(size_t count, const RpinnFileInMemory *files, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(files[i].name, name)) return &files[i];
  return NULL;
}

const RpinnFileInMemory *rpinn_problem_file_in_memory(const RpinnProblem *problem, const char *name) {
  return find(problem->num_files, problem->files, name);
}

RpinnStatus rpinn_problem_keep_files(RpinnContext *context, RpinnProblem *problem, size_t count,
                                     const RpinnFileInMemory *files) {
  RpinnFileInMemory *kept = RPINN_ARENA_NEW(problem->arena, RpinnFileInMemory, count);
  if (!kept) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) {
    if (find(i, files, files[i].name))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "two files in memory are called '%.200s'; expected one",
                        files[i].name);
    kept[i] = (RpinnFileInMemory){
        .name = rpinn_arena_copy_text(problem->arena, files[i].name, strlen(files[i].name)),
        .bytes = rpinn_arena_copy_text(problem->arena, files[i].bytes, files[i].length),
        .length = files[i].length};
    if (!kept[i].name || !kept[i].bytes) return rpinn_fail_memory(context);
  }
  problem->num_files = count;
  problem->files = kept;
  return RPINN_OK;
}

const char *rpinn_problem_path(RpinnProblem *problem, const char *file) {
  if (file[0] == '/' || !problem->folder[0] || rpinn_problem_file_in_memory(problem, file))
    return rpinn_arena_copy_text(problem->arena, file, strlen(file));
  size_t folder_length = strlen(problem->folder), length = strlen(file);
  char *path = rpinn_arena_allocate(problem->arena, folder_length + length + 1, 1);
  if (!path) return NULL;
  memcpy(path, problem->folder, folder_length);
  memcpy(path + folder_length, file, length);
  return path;
}
