/* --write FILE: the problem in its resolved form, with the values that were chosen, and beside it the files that it reads. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weights_state.h"
#include "whole_file.h"

/* By which a file is known as one of ours. */
static const char mark[] = "# written by rpinn weights";

static RpinnStatus refuse(RpinnContext *context, const char *path, const char *why) {
  return rpinn_fail_at(context, (RpinnPlace){.file = "--write"}, "'%.200s' %s", path, why);
}

RpinnStatus rpinn_weights_check_file(RpinnContext *context, const RpinnWeightSearch *search) {
  const char *path = search->options->file;
  size_t length = strlen(path);
  struct stat info;
  RpinnText found = {0};
  if (length > RPINN_PATH_SIZE / 2 || length < 6 || strcmp(path + length - 5, ".yaml") != 0 ||
      path[length - 6] == '/')
    return refuse(context, path, "is no name of a problem file; expected NAME.yaml");
  if (lstat(path, &info) != 0) return RPINN_OK;
  if (!S_ISREG(info.st_mode)) return refuse(context, path, "is there and is no file; expected another name");
  RPINN_TRY(rpinn_file_read(context, path, 64, &found));
  bool is_ours = found.bytes && !strncmp(found.bytes, mark, strlen(mark));
  rpinn_text_free(&found);
  return is_ours ? RPINN_OK
                 : refuse(context, path, "is there and was not written by a search; expected another name");
}

/* Files that FILE.yaml reads are called FILE-data.csv and so on. */
static RpinnStatus save(RpinnContext *context, const RpinnPosterior *posterior, const char *path,
                        const char *head) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char folder[RPINN_PATH_SIZE], prefix[RPINN_PATH_SIZE];
  if (slash)
    snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  else
    snprintf(folder, sizeof folder, ".");
  snprintf(prefix, sizeof prefix, "%.*s-", (int)(strlen(name) - strlen(".yaml")), name);
  RPINN_TRY(rpinn_make_folders(context, folder));
  return rpinn_posterior_save_as(
      context, posterior, &(RpinnSavedNames){.folder = folder, .prefix = prefix, .file = name, .head = head});
}

RpinnStatus rpinn_weights_write_problem(RpinnContext *context, const RpinnWeightSearch *search) {
  const RpinnWeightChoice *choice = &search->choices[search->num_choices > 1];
  const char *path = search->options->file;
  char head[512];
  RpinnProblem *problem;
  RpinnPosterior *posterior = NULL;
  RPINN_TRY(rpinn_weights_check_file(context, search)); /* it may have come since */
  snprintf(head, sizeof head, "%s: %.200s with the values that %.80s chose\n", mark, search->problem,
           choice->rule ? choice->rule->name : "nobody");
  if (access(path, F_OK) == 0)
    rpinn_log(context, RPINN_LOG_INFO, "%s is of an earlier search, and is replaced", path);
  RPINN_TRY(
      rpinn_weights_load(context, search, NULL, &search->candidates[choice->candidate], NULL, &problem));
  RpinnStatus status = rpinn_posterior_create(context, problem, true, &posterior);
  if (status == RPINN_OK) status = save(context, posterior, path, head);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  return status;
}
