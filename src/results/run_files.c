#include "run_files.h"

#include <stdio.h>
#include <sys/stat.h>

#include "method.h"

/* Of every run; the file of its method and those of its terms come behind. */
static const char *const own_names[] = {
    "run.yaml",    "data.csv",     "truth.csv",  "predict.csv",        "posterior.nc",    "predictions.csv",
    "summary.csv", "summary.json", "fields.vti", "report.html",        "shape_plane.csv", "shape_points.csv",
    "run.log",     "draws.spool",  "figures",    "shape_spectrum.csv", "learnt.db"};
enum { NUM_OWN_NAMES = sizeof own_names / sizeof own_names[0] };

bool rpinn_run_file_name(const RpinnProblem *problem, size_t index, char name[RPINN_PATH_SIZE]) {
  if (index < NUM_OWN_NAMES) {
    snprintf(name, RPINN_PATH_SIZE, "%s", own_names[index]);
    return true;
  }
  index -= NUM_OWN_NAMES;
  const char *file = rpinn_problem_method(problem)->about.file;
  if (file && index-- == 0) {
    snprintf(name, RPINN_PATH_SIZE, "%s", file);
    return true;
  }
  if (index / 2 >= problem->num_terms) return false;
  snprintf(name, RPINN_PATH_SIZE, "%.200s_%s.csv", problem->terms[index / 2].name,
           index % 2 ? "points" : "given");
  return true;
}

bool rpinn_run_owns_file(const char *folder, const RpinnProblem *problem, const char *file) {
  char name[RPINN_PATH_SIZE] = "checkpoint.db", path[2 * RPINN_PATH_SIZE];
  struct stat found, own;
  bool same = false, more = stat(file, &found) == 0;
  for (size_t i = 0; more && !same; i++) {
    snprintf(path, sizeof path, "%.4000s/%s", folder, name);
    same = stat(path, &own) == 0 && own.st_dev == found.st_dev && own.st_ino == found.st_ino;
    more = rpinn_run_file_name(problem, i, name);
  }
  return same;
}
