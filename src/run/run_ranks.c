#include "run_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learnt_store.h"
#include "maker.h"
#include "part_file.h"
#include "rank_stores.h"
#include "ranks.h"
#include "whole_file.h"

/* ---- who wants an end ---- */

static bool anybody_wants_end(void *user) {
  const RpinnRankOptions *own = user;
  if (own->asked->interrupted && own->asked->interrupted(own->asked->user))
    rpinn_ranks_ask_stop(own->asked->ranks);
  return rpinn_ranks_is_stopped(own->asked->ranks);
}

static void pass_on(void *user, const RpinnProgress *progress) {
  const RpinnRankOptions *own = user;
  own->asked->progress(own->asked->user, progress);
}

void rpinn_rank_options_make(const RpinnRunOptions *asked, RpinnRankOptions *own) {
  bool is_first = rpinn_ranks_rank(asked->ranks) == 0;
  own->options = *asked;
  own->asked = asked;
  own->options.interrupted = anybody_wants_end;
  own->options.progress = is_first && asked->progress ? pass_on : NULL;
  own->options.user = own;
  if (is_first) return;
  rpinn_rank_store_path(asked->folder, rpinn_ranks_rank(asked->ranks), ".learnt.db", own->learnt);
  own->options.learnt = own->learnt;
  own->options.resume = false;
}

bool rpinn_run_follows(const RpinnDriver *driver) {
  return rpinn_ranks_rank(driver->options->ranks) > 0;
}

/* ---- whether, and how ---- */

static void describe(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRanks *ranks = driver->options->ranks;
  size_t size = rpinn_ranks_size(ranks), num_machines = 0, least = SIZE_MAX, most = 0;
  for (size_t r = 0; r < size; r++) {
    bool is_new = true;
    size_t threads = rpinn_driver_rank_threads(driver, r);
    if (threads < least) least = threads;
    if (threads > most) most = threads;
    for (size_t before = 0; before < r; before++)
      is_new &= strcmp(rpinn_ranks_place(ranks, r)->node, rpinn_ranks_place(ranks, before)->node) != 0;
    num_machines += is_new;
  }
  char threads[64];
  if (least == most)
    snprintf(threads, sizeof threads, "%zu thread%s", least, least == 1 ? "" : "s");
  else
    snprintf(threads, sizeof threads, "%zu to %zu threads", least, most);
  rpinn_log(context, RPINN_LOG_INFO, "%zu ranks on %zu machine%s, with at most %s each", size, num_machines,
            num_machines == 1 ? "" : "s", threads);
}

RpinnStatus rpinn_run_check_ranks(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  size_t size = rpinn_ranks_size(driver->options->ranks);
  if (size == 1) return RPINN_OK;
  if (rpinn_run_follows(driver)) return RPINN_OK;
  if (driver->maker->splits || run->method->moves_together) {
    describe(context, driver);
    return RPINN_OK;
  }
  rpinn_log(context, RPINN_LOG_WARNING,
            "method %s makes all draws in one process: rank 0 makes them, and the other %zu ranks have "
            "nothing to do",
            run->problem->settings.values[RPINN_SETTING_METHOD].text, size - 1);
  return RPINN_OK;
}

/* ---- what was learnt ---- */

enum { MOST_MEBIBYTES = 4096 };

RpinnStatus rpinn_run_tell_learnt(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRanks *ranks = driver->options->ranks;
  char path[RPINN_PATH_SIZE];
  RpinnText bytes = {0};
  RPINN_TRY(rpinn_rank_stores_make_folder(context, driver));
  rpinn_rank_store_path(driver->run->folder, 0, ".learnt.db", path);
  RPINN_TRY(rpinn_learnt_leave(context, driver, path));
  RpinnStatus status = rpinn_file_read(context, path, MOST_MEBIBYTES, &bytes);
  unlink(path);
  for (size_t r = 1; r < rpinn_ranks_size(ranks) && status == RPINN_OK; r++)
    status = rpinn_ranks_send(context, ranks, r, RPINN_TAG_LEARNT, bytes.bytes, bytes.length);
  rpinn_text_free(&bytes);
  return status;
}

RpinnStatus rpinn_run_await_learnt(RpinnContext *context, RpinnDriver *driver, bool *is_told) {
  RpinnRunOptions const *options = driver->options;
  RpinnRankMessage message = {0};
  bool wants_end = false;
  while (!message.bytes && !wants_end) {
    RPINN_TRY(rpinn_ranks_receive(context, options->ranks, 0, RPINN_TAG_LEARNT, 0.1, &message));
    wants_end = options->interrupted(options->user);
  }
  *is_told = message.bytes != NULL;
  if (!*is_told) return RPINN_OK;
  RpinnText text = {.bytes = message.bytes, .length = message.size, .capacity = message.size};
  RpinnStatus status = rpinn_rank_stores_make_folder(context, driver);
  if (status == RPINN_OK) status = rpinn_part_file_write(context, options->learnt, &text);
  rpinn_text_free(&text);
  return status;
}

RpinnStatus rpinn_run_hand_in(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  const char is_out_of_time = driver->out_of_time;
  RPINN_TRY(rpinn_member_store_flush(context, run->store));
  rpinn_member_store_close(run->store);
  run->store = NULL;
  unlink(driver->options->learnt);
  if (rpinn_ranks_has_left(driver->options->ranks, 0)) return RPINN_OK;
  return rpinn_ranks_send(context, driver->options->ranks, 0, RPINN_TAG_DONE, &is_out_of_time,
                          sizeof is_out_of_time);
}

RpinnStatus rpinn_run_await_handed_in(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRanks *ranks = driver->options->ranks;
  for (size_t r = 1; r < rpinn_ranks_size(ranks); r++) {
    RpinnRankMessage message = {0};
    while (!message.bytes && !rpinn_ranks_has_left(ranks, r))
      RPINN_TRY(rpinn_ranks_receive(context, ranks, (int)r, RPINN_TAG_DONE, 0.1, &message));
    free(message.bytes);
  }
  return RPINN_OK;
}
