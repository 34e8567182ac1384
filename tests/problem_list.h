/* Every problem file of the tree: those of problems/ and of tests/problems/. */
#ifndef RPINN_TESTS_PROBLEM_LIST_H
#define RPINN_TESTS_PROBLEM_LIST_H

#include <glob.h>

#include "check.h"

/* Call visit(path) for each; returns how many there are. */
static inline size_t for_each_problem_file(void (*visit)(const char *path)) {
  const char *root = getenv("RPINN_SOURCE_DIR");
  const char *folders[] = {"problems", "tests/problems"};
  size_t count = 0;
  check_true(root != NULL, "RPINN_SOURCE_DIR is not set");
  for (size_t k = 0; k < 2; k++) {
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/*.yaml", root, folders[k]);
    if (glob(pattern, 0, NULL, &found) != 0) continue;
    for (size_t i = 0; i < found.gl_pathc; i++) visit(found.gl_pathv[i]);
    count += found.gl_pathc;
    globfree(&found);
  }
  return count;
}

#endif
