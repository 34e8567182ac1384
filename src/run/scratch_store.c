#include "scratch_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker.h"
#include "number_text.h"
#include "ranks.h"
#include "run_identity.h"
#include "run_ranks.h"
#include "steady_clock.h"
#include "store_pour.h"

/* ---- the folder ---- */

const char *rpinn_scratch_folder(const RpinnDriver *driver) {
  return driver->scratch[0] ? driver->scratch : NULL;
}

void rpinn_scratch_path(const char *folder, const char *mark, size_t rank, char path[RPINN_PATH_SIZE]) {
  snprintf(path, RPINN_PATH_SIZE, "%.4000s/rpinn-%s-%04zu.db", folder, mark, rank);
}

RpinnStatus rpinn_scratch_remove(RpinnContext *context, const char *path) {
  char journal[RPINN_PATH_SIZE + 16];
  snprintf(journal, sizeof journal, "%s-journal", path);
  if (unlink(path) != 0 && errno != ENOENT) return rpinn_fail_file(context, RPINN_ERROR_IO, "remove", path);
  unlink(journal);
  return RPINN_OK;
}

static RpinnStatus refuse(RpinnContext *context, const char *folder, const char *reason) {
  return rpinn_fail_at(
      context, (RpinnPlace){.file = "--scratch"},
      "draws cannot be kept in '%.400s': %s; expected a folder that is there on every machine of the run and "
      "can be read and written to, or none",
      folder, reason);
}

/* From the root on, as other sessions look for it from other places. */
static RpinnStatus find_folder(RpinnContext *context, RpinnDriver *driver, const char *folder) {
  enum { NAME = 1 + sizeof "rpinn--000000.db" + RPINN_SCRATCH_MARK };
  char here[RPINN_PATH_SIZE] = "";
  if (folder[0] != '/' && !getcwd(here, sizeof here))
    return rpinn_fail_file(context, RPINN_ERROR_IO, "read", ".");
  size_t length = strlen(here) + 1 + strlen(folder);
  if (length > RPINN_STORE_MAX_PATH - NAME) return refuse(context, folder, "its name is too long for SQLite");
  if (here[0]) strcat(here, "/");
  strcat(here, folder);
  memcpy(driver->scratch, here, strlen(here) + 1);
  return RPINN_OK;
}

RpinnStatus rpinn_scratch_check(RpinnContext *context, RpinnDriver *driver) {
  const RpinnSettingsValues *settings = &driver->run->problem->settings;
  const char *folder = settings->values[RPINN_SETTING_SCRATCH].text;
  struct stat info;
  if (rpinn_settings_choice(settings, RPINN_SETTING_SCRATCH) == 0) return RPINN_OK;
  if (stat(folder, &info) != 0) return refuse(context, folder, strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refuse(context, folder, "it is no folder");
  if (access(folder, R_OK | W_OK | X_OK) != 0) return refuse(context, folder, strerror(errno));
  if (!driver->maker->splits && !rpinn_run_follows(driver))
    rpinn_log(context, RPINN_LOG_WARNING,
              "method %s saves its draws all at once, into the run directory: --scratch is not used",
              settings->values[RPINN_SETTING_METHOD].text);
  if (!driver->maker->splits) return RPINN_OK;
  RPINN_TRY(find_folder(context, driver, folder));
  return rpinn_ranks_barrier(context, driver->options->ranks); /* where it is missing, all hear of it */
}

/* ---- the store ---- */

struct RpinnScratch {
  RpinnScratch *next; /* of those that are open */
  char path[RPINN_PATH_SIZE];
  RpinnMemberStore *store;
  RpinnMemberStore *home; /* the store of the run, or of the rank, in the run directory */
  double interval;        /* seconds that a draw waits, at most */
  double first;           /* when the first came that waits … */
  bool is_waiting;        /* … if there is one */
};

/* Those that are open in this process: of its own locks the system tells a process nothing, and takes them away when it closes the file once more. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static RpinnScratch *first_open;

static void enter(RpinnScratch *scratch) {
  pthread_mutex_lock(&one_at_a_time);
  scratch->next = first_open;
  first_open = scratch;
  pthread_mutex_unlock(&one_at_a_time);
}

static void leave(RpinnScratch *scratch) {
  pthread_mutex_lock(&one_at_a_time);
  RpinnScratch **place = &first_open;
  while (*place != scratch) place = &(*place)->next;
  *place = scratch->next;
  pthread_mutex_unlock(&one_at_a_time);
}

bool rpinn_scratch_is_open(const char *name) {
  bool is_open = false;
  pthread_mutex_lock(&one_at_a_time);
  for (const RpinnScratch *scratch = first_open; scratch && !is_open; scratch = scratch->next)
    is_open = !strcmp(strrchr(scratch->path, '/') + 1, name);
  pthread_mutex_unlock(&one_at_a_time);
  return is_open;
}

static double read_interval(void) {
  const char *text = getenv("RPINN_SCRATCH_SECONDS");
  double seconds;
  return text && rpinn_number_parse(text, &seconds) && seconds >= 0 ? seconds : 60;
}

static void destroy(RpinnScratch *scratch) {
  leave(scratch);
  free(scratch);
}

RpinnStatus rpinn_scratch_open(RpinnContext *context, const RpinnDriver *driver, RpinnScratch **result) {
  const char *folder = rpinn_scratch_folder(driver);
  RpinnText identity = {0};
  *result = NULL;
  if (!folder) return RPINN_OK;
  RpinnScratch *scratch = calloc(1, sizeof *scratch);
  if (!scratch) return rpinn_fail_memory(context);
  scratch->home = driver->run->store;
  scratch->interval = read_interval();
  rpinn_scratch_path(folder, driver->session, rpinn_ranks_rank(driver->options->ranks), scratch->path);
  enter(scratch); /* before the file is there, for others to see */
  RpinnStatus status = rpinn_run_identity(context, driver->run->posteriors[0], &identity);
  if (status == RPINN_OK)
    status = rpinn_member_store_open(context, scratch->path, identity.bytes, &scratch->store);
  rpinn_text_free(&identity);
  if (status == RPINN_OK)
    *result = scratch;
  else
    destroy(scratch);
  return status;
}

RpinnStatus rpinn_scratch_keep(RpinnContext *context, const RpinnDriver *driver, RpinnScratch *scratch,
                               const RpinnRunEvent *event) {
  if (!scratch) return rpinn_run_event_store(context, driver->run->store, event);
  if (!scratch->is_waiting) scratch->first = rpinn_steady_seconds();
  scratch->is_waiting = true;
  return rpinn_run_event_store(context, scratch->store, event);
}

/* What is safe in the run directory leaves the scratch store, and not before. It is safe here first: a process that is killed in between would
 * leave older states here than there, and a rescue would put these in their place. */
static RpinnStatus deposit(RpinnContext *context, RpinnScratch *scratch) {
  uint64_t num_draws;
  RPINN_TRY(rpinn_member_store_flush(context, scratch->store));
  RPINN_TRY(rpinn_store_pour(context, scratch->store, scratch->home, &num_draws));
  RPINN_TRY(rpinn_member_store_drop(context, scratch->store, (RpinnStoreRange){0, UINT64_MAX}));
  scratch->is_waiting = false;
  return rpinn_member_store_flush(context, scratch->store);
}

RpinnStatus rpinn_scratch_deposit_when_due(RpinnContext *context, RpinnScratch *scratch) {
  if (!scratch || !scratch->is_waiting) return RPINN_OK;
  return rpinn_steady_seconds() - scratch->first >= scratch->interval ? deposit(context, scratch) : RPINN_OK;
}

RpinnStatus rpinn_scratch_close(RpinnContext *context, RpinnScratch *scratch) {
  if (!scratch) return RPINN_OK;
  RpinnStatus status = scratch->is_waiting ? deposit(context, scratch) : RPINN_OK;
  rpinn_member_store_close(scratch->store);
  if (status == RPINN_OK) status = rpinn_scratch_remove(context, scratch->path);
  destroy(scratch);
  return status;
}
