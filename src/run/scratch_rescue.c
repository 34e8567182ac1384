#include "scratch_rescue.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file_lock.h"
#include "rank_stores.h"
#include "ranks.h"
#include "scratch_store.h"
#include "shard_record.h"
#include "steady_clock.h"
#include "store_copy.h"
#include "store_pour.h"

/* What rank 0 tells, followed by the identity of the run where there is something to look for: it has all data, and may be long. */
typedef struct Tidings {
  char before[RPINN_SCRATCH_MARK];   /* the session that did not come to its end; empty: there is none … */
  char folder[RPINN_SCRATCH_FOLDER]; /* … and where it kept its draws */
  char session[RPINN_SCRATCH_MARK];  /* this one */
} Tidings;

/* ---- notes: lines for the user, a word of warning first where it is one ---- */

static const char warning[] = "!";

static void show_notes(RpinnContext *context, const char *bytes, size_t length) {
  const char *end = bytes + length;
  for (const char *line = bytes; line < end;) {
    const char *behind = memchr(line, '\n', (size_t)(end - line));
    if (!behind) return;
    bool warns = *line == warning[0];
    rpinn_log(context, warns ? RPINN_LOG_WARNING : RPINN_LOG_INFO, "%.*s", (int)(behind - line - warns),
              line + warns);
    line = behind + 1;
  }
}

/* ---- the files of a folder ---- */

static const double patience = 30; /* seconds */

/* "rpinn-MARK-0003.db", of this mark, or with NULL of any: its rank. */
static bool read_name(const char *name, const char *mark, char found[RPINN_SCRATCH_MARK], size_t *rank) {
  static const char beginning[] = "rpinn-";
  if (strncmp(name, beginning, strlen(beginning)) != 0) return false;
  name += strlen(beginning);
  size_t length = strspn(name, "0123456789abcdef"), digits;
  if (!length || length >= RPINN_SCRATCH_MARK || name[length] != '-') return false;
  memcpy(found, name, length);
  found[length] = '\0';
  name += length + 1;
  digits = strspn(name, "0123456789");
  if (!digits || digits > 9 || strcmp(name + digits, ".db") != 0) return false;
  *rank = (size_t)strtoul(name, NULL, 10);
  return !mark || !strcmp(found, mark);
}

/* Into the store of the rank that had it, where older states of the same chains may be. Where it cannot be read to its end, what came before stays
 * there; a failure is one of that other store, or of memory. */
static RpinnStatus pour(RpinnContext *context, const RpinnDriver *driver, const char *identity, size_t rank,
                        RpinnMemberStore *left, uint64_t *num_draws) {
  char path[RPINN_PATH_SIZE];
  RpinnMemberStore *home;
  rpinn_rank_store_path(driver->run->folder, rank, ".db", path);
  RPINN_TRY(rpinn_rank_stores_make_folder(context, driver));
  RPINN_TRY(rpinn_member_store_open(context, path, identity, &home));
  RpinnStatus status = rpinn_store_pour(context, left, home, num_draws);
  if (rpinn_member_store_has_failed(left)) status = rpinn_member_store_flush(context, home);
  rpinn_member_store_close(home);
  return status;
}

/* Machines may share the folder: what another one is at goes with the last of it, and is waited for. NULL: it is gone. */
static RpinnStatus open_left(RpinnContext *context, const char *path, const char *identity,
                             RpinnMemberStore **left) {
  const struct timespec moment = {.tv_nsec = 50000000};
  double end = rpinn_steady_seconds() + patience;
  for (;;) {
    *left = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) return RPINN_OK;
    RpinnStatus status = rpinn_member_store_open(context, path, identity, left);
    if (status == RPINN_OK || !rpinn_file_is_locked(path) || rpinn_steady_seconds() >= end) return status;
    rpinn_context_clear_error(context);
    nanosleep(&moment, NULL);
  }
}

/* One that cannot be read, or not to its end, stays where it is. */
static RpinnStatus rescue_file(RpinnContext *context, const RpinnDriver *driver, const char *identity,
                               const char *path, size_t rank, RpinnText *notes) {
  RpinnMemberStore *left;
  uint64_t num_draws = 0;
  RpinnStatus status = open_left(context, path, identity, &left);
  if (status == RPINN_OK && !left) return RPINN_OK;
  bool is_open = status == RPINN_OK, is_whole = is_open;
  if (is_open) {
    status = pour(context, driver, identity, rank, left, &num_draws);
    is_whole = !rpinn_member_store_has_failed(left);
    rpinn_member_store_close(left);
  }
  if (status == RPINN_ERROR_MEMORY || (is_open && status != RPINN_OK)) return status;
  if (num_draws)
    rpinn_text_append(notes, "%" PRIu64 " draws that the last session has left in %s are rescued\n",
                      num_draws, path);
  if (!is_whole) {
    rpinn_text_append(notes, "%s%s, which the last session has left, stays where it is: %s\n", warning, path,
                      context->error.message);
    rpinn_context_clear_error(context);
    return RPINN_OK;
  }
  return rpinn_scratch_remove(context, path);
}

/* Those of the session before. A folder that is not there may be on other machines alone; of one that cannot be read the user hears, since nobody
 * will look there again. */
static RpinnStatus rescue_files(RpinnContext *context, const RpinnDriver *driver, const Tidings *tidings,
                                const char *identity, RpinnText *notes) {
  DIR *stream = opendir(tidings->folder);
  int reason = stream ? 0 : errno;
  RpinnStatus status = RPINN_OK;
  while (stream && status == RPINN_OK) {
    char path[RPINN_PATH_SIZE], mark[RPINN_SCRATCH_MARK];
    size_t rank;
    errno = 0;
    const struct dirent *entry = readdir(stream);
    reason = errno;
    if (!entry) break;
    if (!read_name(entry->d_name, tidings->before, mark, &rank)) continue;
    snprintf(path, sizeof path, "%.3500s/%.500s", tidings->folder, entry->d_name);
    status = rescue_file(context, driver, identity, path, rank, notes);
  }
  if (stream) closedir(stream);
  if (reason && reason != ENOENT)
    rpinn_text_append(notes,
                      "%s%s, where the last session may have left draws, cannot be read: %s; they are made "
                      "again\n",
                      warning, tidings->folder, strerror(reason));
  return status;
}

/* Those of others, or of a session that this run has gone on without; not where a run is at work on them. */
static void name_strangers(const RpinnDriver *driver, const Tidings *tidings, RpinnText *notes) {
  const char *folder = rpinn_scratch_folder(driver);
  DIR *stream = folder ? opendir(folder) : NULL;
  char first[RPINN_PATH_SIZE] = "";
  size_t count = 0;
  for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream)) {
    char path[RPINN_PATH_SIZE], mark[RPINN_SCRATCH_MARK];
    size_t rank;
    if (!read_name(entry->d_name, NULL, mark, &rank) || !strcmp(mark, tidings->before)) continue;
    snprintf(path, sizeof path, "%.3500s/%.500s", folder, entry->d_name);
    if (rpinn_scratch_is_open(entry->d_name) || rpinn_file_is_locked(path)) continue;
    if (!count++ || strcmp(path, first) < 0) snprintf(first, sizeof first, "%s", path);
  }
  if (stream) closedir(stream);
  if (count)
    rpinn_text_append(
        notes,
        "%s%s%s, which this run has no use for, %s: left by runs that were killed, whose --resume "
        "takes what is in them, or by an earlier session that this run has gone on without\n",
        warning, first, count > 1 ? " and others beside it" : "",
        count > 1 ? "stay where they are" : "stays where it is");
}

static RpinnStatus rescue_here(RpinnContext *context, const RpinnDriver *driver, const Tidings *tidings,
                               const char *identity, RpinnText *notes) {
  if (tidings->before[0]) RPINN_TRY(rescue_files(context, driver, tidings, identity, notes));
  name_strangers(driver, tidings, notes);
  return notes->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

/* ---- who does it ---- */

/* Of the ranks of a machine the first. */
static bool is_in_charge(const RpinnRanks *ranks, size_t rank) {
  const RpinnRankPlace *own = rpinn_ranks_place(ranks, rank);
  for (size_t r = 0; r < rank; r++) {
    const RpinnRankPlace *other = rpinn_ranks_place(ranks, r);
    if (other->machine == own->machine && !strcmp(other->node, own->node)) return false;
  }
  return true;
}

static bool is_of_use(const RpinnDriver *driver, const Tidings *tidings) {
  return tidings->before[0] || rpinn_scratch_folder(driver);
}

static RpinnStatus tell_others(RpinnContext *context, const RpinnDriver *driver, const Tidings *tidings,
                               const char *identity) {
  RpinnRanks *ranks = driver->options->ranks;
  RpinnText message = {0};
  rpinn_text_append_bytes(&message, (const char *)tidings, sizeof *tidings);
  if (tidings->before[0]) rpinn_text_append_bytes(&message, identity, strlen(identity));
  rpinn_text_append_bytes(&message, "", 1);
  RpinnStatus status = message.failed ? rpinn_fail_memory(context) : RPINN_OK;
  for (size_t r = 1; r < rpinn_ranks_size(ranks) && status == RPINN_OK; r++)
    status = rpinn_ranks_send(context, ranks, r, RPINN_TAG_SCRATCH, message.bytes, message.length);
  rpinn_text_free(&message);
  return status;
}

/* A rank that left before it heard of all this, because somebody wants an end, has rescued nothing: the next session is to do it, and finds the
 * name of the session before only where this one does not begin. */
static RpinnStatus hear_other(RpinnContext *context, RpinnRanks *ranks, size_t rank) {
  RpinnRankMessage message = {0};
  for (bool has_left = false; !message.bytes;) {
    if (has_left)
      return rpinn_fail(context, RPINN_ERROR_INTERRUPTED,
                        "interrupted before what the last session has left was looked for on all machines");
    has_left = rpinn_ranks_has_left(ranks, rank); /* what it has said before comes yet */
    RPINN_TRY(rpinn_ranks_receive(context, ranks, (int)rank, RPINN_TAG_SCRATCH, 0.1, &message));
  }
  show_notes(context, message.bytes, message.size);
  free(message.bytes);
  return RPINN_OK;
}

static RpinnStatus hear_others(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRanks *ranks = driver->options->ranks;
  for (size_t r = 1; r < rpinn_ranks_size(ranks); r++)
    if (is_in_charge(ranks, r)) RPINN_TRY(hear_other(context, ranks, r));
  return RPINN_OK;
}

/* ---- the session ---- */

/* Other sessions have other ones: the time in nanoseconds, the process, and the machine's name. */
static void make_mark(char mark[RPINN_SCRATCH_MARK]) {
  RpinnRankPlace place = rpinn_rank_place_here();
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t hash = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  hash = (hash ^ (uint64_t)place.process) * UINT64_C(0x9e3779b97f4a7c15);
  for (const char *c = place.node; *c; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
  snprintf(mark, RPINN_SCRATCH_MARK, "%016" PRIx64, hash);
}

/* "MARK FOLDER" */
static RpinnStatus read_session(RpinnContext *context, const RpinnDriver *driver, Tidings *tidings) {
  char *text = NULL;
  RPINN_TRY(rpinn_member_store_get_text(context, driver->run->store, RPINN_SESSION_KEY, &text));
  char *space = text ? strchr(text, ' ') : NULL;
  if (space) {
    *space = '\0';
    snprintf(tidings->before, sizeof tidings->before, "%s", text);
    snprintf(tidings->folder, sizeof tidings->folder, "%s", space + 1);
  }
  free(text);
  return RPINN_OK;
}

RpinnStatus rpinn_scratch_begin_session(RpinnContext *context, const RpinnDriver *driver) {
  const char *folder = rpinn_scratch_folder(driver);
  char text[RPINN_SCRATCH_MARK + RPINN_SCRATCH_FOLDER + 1], *before = NULL;
  if (!folder)
    RPINN_TRY(rpinn_member_store_get_text(context, driver->run->store, RPINN_SESSION_KEY, &before));
  bool is_needed = folder || before;
  free(before);
  if (!is_needed) return RPINN_OK;
  snprintf(text, sizeof text, "%s%s%s", folder ? driver->session : "", folder ? " " : "",
           folder ? folder : "");
  RPINN_TRY(rpinn_member_store_set_text(context, driver->run->store, RPINN_SESSION_KEY, text));
  return rpinn_member_store_flush(context, driver->run->store);
}

RpinnStatus rpinn_scratch_end_session(RpinnContext *context, const RpinnDriver *driver) {
  if (!rpinn_scratch_folder(driver)) return RPINN_OK;
  return rpinn_member_store_set_text(context, driver->run->store, RPINN_SESSION_KEY, "");
}

/* ---- the whole ---- */

static RpinnStatus rescue_everywhere(RpinnContext *context, const RpinnDriver *driver, const Tidings *tidings,
                                     const char *identity) {
  RpinnText notes = {0};
  RPINN_TRY(tell_others(context, driver, tidings, identity));
  RpinnStatus status = rescue_here(context, driver, tidings, identity, &notes);
  if (status == RPINN_OK && notes.length) show_notes(context, notes.bytes, notes.length);
  rpinn_text_free(&notes);
  RPINN_TRY(status);
  return is_of_use(driver, tidings) ? hear_others(context, driver) : RPINN_OK;
}

RpinnStatus rpinn_scratch_rescue(RpinnContext *context, RpinnDriver *driver) {
  Tidings tidings = {0};
  char *identity;
  make_mark(tidings.session);
  memcpy(driver->session, tidings.session, sizeof driver->session);
  RPINN_TRY(read_session(context, driver, &tidings));
  RPINN_TRY(rpinn_member_store_get_identity(context, driver->run->store, &identity));
  RpinnStatus status = rescue_everywhere(context, driver, &tidings, identity);
  free(identity);
  return status;
}

/* What rank 0 has told; is it whole? */
static bool read_tidings(const RpinnRankMessage *message, Tidings *tidings, const char **identity) {
  const char *bytes = message->bytes;
  if (message->size <= sizeof *tidings || bytes[message->size - 1] != '\0') return false;
  memcpy(tidings, bytes, sizeof *tidings);
  *identity = bytes + sizeof *tidings;
  return !tidings->before[RPINN_SCRATCH_MARK - 1] && !tidings->folder[RPINN_SCRATCH_FOLDER - 1] &&
         !tidings->session[RPINN_SCRATCH_MARK - 1];
}

static RpinnStatus follow(RpinnContext *context, RpinnDriver *driver, const RpinnRankMessage *message) {
  RpinnRanks *ranks = driver->options->ranks;
  Tidings tidings;
  const char *identity;
  RpinnText notes = {0};
  if (!read_tidings(message, &tidings, &identity))
    return rpinn_fail(context, RPINN_ERROR_IO, "what rank 0 has said of scratch folders is not whole");
  memcpy(driver->session, tidings.session, sizeof driver->session);
  if (!is_of_use(driver, &tidings) || !is_in_charge(ranks, rpinn_ranks_rank(ranks))) return RPINN_OK;
  RpinnStatus status = rescue_here(context, driver, &tidings, identity, &notes);
  if (status == RPINN_OK)
    status = rpinn_ranks_send(context, ranks, 0, RPINN_TAG_SCRATCH, notes.bytes, notes.length);
  rpinn_text_free(&notes);
  return status;
}

RpinnStatus rpinn_scratch_follow(RpinnContext *context, RpinnDriver *driver, bool *is_told) {
  const RpinnRunOptions *options = driver->options;
  RpinnRankMessage message = {0};
  bool wants_end = false;
  while (!message.bytes && !wants_end) {
    RPINN_TRY(rpinn_ranks_receive(context, options->ranks, 0, RPINN_TAG_SCRATCH, 0.1, &message));
    wants_end = options->interrupted(options->user);
  }
  *is_told = message.bytes != NULL;
  RpinnStatus status = *is_told ? follow(context, driver, &message) : RPINN_OK;
  free(message.bytes);
  return status;
}
