/* Shards as a program of one's own makes and merges them: whose member is whose, versions and machines, what was learnt, limits and
 * interruptions. tests/cli/shards.sh compares whole runs. */
#include "check.h"
#include "run_bench.h"

#include <sys/resource.h>

#include "rpinn/merge.h"
#include "shard.h"
#include "shard_record.h"
#include "store_copy.h"

static const char line[] = "name: line\n"
                           "coordinates: {x: [0, 1]}\n"
                           "fields: {u: {network: [3]}}\n"
                           "terms:\n"
                           "  u: {expect: u, at: {grid: 4}, data: x, noise: 0.1}\n"
                           "predict: {grid: 5, quantities: [u]}\n";
static const char few[] = "samples=9 optimizer=adam iterations=5 prior_scale=1 threads=1";

/* ---- whose is a task ---- */

static void test_every_task_has_one_owner(void **state) {
  (void)state;
  for (size_t count = 1; count <= 9; count++)
    for (uint64_t tasks = 0; tasks <= 20; tasks++) {
      uint64_t total = 0;
      for (size_t number = 0; number <= count; number++) {
        RpinnShard shard = {number, count};
        uint64_t owned = 0;
        for (uint64_t task = 0; task < tasks; task++) owned += rpinn_shard_owns(shard, task);
        assert_int_equal(owned, rpinn_shard_size(shard, tasks));
        total += owned;
      }
      assert_int_equal(total, tasks);
    }
  assert_true(rpinn_shard_owns((RpinnShard){2, 3}, 4));
  assert_int_equal(rpinn_shard_size((RpinnShard){0, 3}, 100), 0);
  assert_int_equal(rpinn_shard_size((RpinnShard){0}, 100), 100);
  assert_int_equal(rpinn_shard_size(rpinn_no_shard, 100), 0);
}

/* ---- shards of a run ---- */

static void make_shard(const RunBench *bench, const char *name, const char *yaml, const char *settings,
                       RpinnShard shard) {
  RpinnRun *run;
  run_require(bench, run_try(bench, name, yaml, settings, (RpinnRunOptions){.shard = shard}, &run));
  assert_true(rpinn_run_is_shard(run));
  assert_false(rpinn_run_interrupted(run));
  rpinn_run_destroy(run);
}

static void make_pair(const RunBench *bench, const char *yaml, const char *settings) {
  make_shard(bench, "one", yaml, settings, (RpinnShard){1, 2});
  make_shard(bench, "two", yaml, settings, (RpinnShard){2, 2});
}

/* Of one and two. */
static RpinnStatus merge(const RunBench *bench, RpinnMergeOptions options) {
  const char *folders[] = {run_path(bench, "one", NULL), run_path(bench, "two", NULL)};
  RpinnRun *run;
  options.num_folders = 2;
  options.folders = folders;
  options.folder = run_path(bench, "merged", NULL);
  RpinnStatus status = rpinn_merge(bench->context, &options, &run);
  assert_int_equal(status == RPINN_OK, run != NULL);
  rpinn_run_destroy(run);
  return status;
}

static RpinnMemberStore *open_store(const RunBench *bench, const char *name) {
  RpinnMemberStore *store;
  char *identity;
  const char *path = run_path(bench, name, "checkpoint.db");
  run_require(bench, rpinn_member_store_open_existing(bench->context, path, &store));
  run_require(bench, rpinn_member_store_get_identity(bench->context, store, &identity));
  rpinn_member_store_close(store);
  run_require(bench, rpinn_member_store_open(bench->context, path, identity, &store));
  free(identity);
  return store;
}

static void set_text(const RunBench *bench, const char *name, const char *key, const char *value) {
  RpinnMemberStore *store = open_store(bench, name);
  run_require(bench, rpinn_member_store_set_text(bench->context, store, key, value));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  rpinn_member_store_close(store);
}

static void check_refused(const RunBench *bench, const char *words) {
  assert_int_equal(merge(bench, (RpinnMergeOptions){0}), RPINN_ERROR_INPUT);
  check_true(strstr(run_message(bench), words) != NULL, "no '%s' in: %s", words, run_message(bench));
  assert_false(run_has(bench, "merged", "checkpoint.db"));
  assert_false(run_has(bench, "merged", "checkpoint.db.part"));
}

static void keep_line(void *user, RpinnLogLevel level, const char *text) {
  if (level == RPINN_LOG_WARNING) snprintf(user, 1024, "%s", text);
}

static void test_versions_are_one(void **state) {
  const RunBench *bench = *state;
  RpinnRun *run;
  char warning[1024] = "";
  make_pair(bench, line, few);
  set_text(bench, "two", "shard_version", "0.0.9");
  check_refused(bench, "this shard was made by rpinn 0.0.9");
  assert_int_equal(run_try(bench, "two", line, few, (RpinnRunOptions){.resume = true, .shard = {2, 2}}, &run),
                   RPINN_ERROR_INPUT);
  check_true(strstr(run_message(bench), "was begun by rpinn 0.0.9") != NULL, "%s", run_message(bench));
  set_text(bench, "one", "shard_version", "0.0.9");
  rpinn_context_set_log(bench->context, keep_line, warning);
  run_require(bench, merge(bench, (RpinnMergeOptions){0}));
  check_true(strstr(warning, "made by rpinn 0.0.9, and the results are made by") != NULL, "%s", warning);
}

static void test_machines_may_differ(void **state) {
  const RunBench *bench = *state;
  char warning[1024] = "";
  make_pair(bench, line, few);
  set_text(bench, "two", "shard_machine", "Sparkling");
  rpinn_context_set_log(bench->context, keep_line, warning);
  run_require(bench, merge(bench, (RpinnMergeOptions){0}));
  check_true(strstr(warning, "another kind of processor (Sparkling)") != NULL, "%s", warning);
}

/* The seconds of a merged run are those of its shards; nothing of a shard is left in it. */
static void test_texts_of_a_merged_run(void **state) {
  const RunBench *bench = *state;
  char *text;
  make_pair(bench, line, few);
  set_text(bench, "one", RPINN_SECONDS_KEY, "1000.5");
  set_text(bench, "two", RPINN_SECONDS_KEY, "2000.25");
  run_require(bench, merge(bench, (RpinnMergeOptions){0}));
  double seconds = json_number(run_json(bench, "merged"), "wall_seconds");
  check_true(seconds >= 3000.75 && seconds < 3100, "%g seconds", seconds);
  RpinnMemberStore *store = open_store(bench, "merged");
  run_require(bench, rpinn_member_store_get_text(bench->context, store, RPINN_SHARD_KEY, &text));
  assert_null(text);
  rpinn_member_store_close(store);
}

/* ---- what was learnt ---- */

static void test_learnt_alike_or_refused(void **state) {
  const RunBench *bench = *state;
  make_pair(bench, line, few);
  set_text(bench, "one", "prior_scale", "1.25");
  set_text(bench, "two", "prior_scale", "1.5");
  check_refused(bench, "what was learnt here (prior_scale) is not what");
  set_text(bench, "two", "prior_scale", "1.25");
  run_require(bench, merge(bench, (RpinnMergeOptions){0}));
}

static void test_states_learnt_alike_or_refused(void **state) {
  const RunBench *bench = *state;
  const char settings[] = "samples=4 optimizer=adam iterations=5 prior_scale=1 threads=1 start=map";
  unsigned char *learnt;
  size_t size;
  make_pair(bench, line, settings);
  RpinnMemberStore *store = open_store(bench, "two");
  run_require(bench, rpinn_member_store_get_state(bench->context, store, rpinn_map_state_key(),
                                                  (void **)&learnt, &size));
  assert_non_null(learnt);
  learnt[size - 1] ^= 1; /* a bit, as another machine may round */
  run_require(bench,
              rpinn_member_store_put_state(bench->context, store, rpinn_map_state_key(), learnt, size));
  free(learnt);
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  rpinn_member_store_close(store);
  check_refused(bench, "what was learnt here (the start) is not what");
}

/* ---- limits and interruptions ---- */

static void test_files_that_may_be_open(void **state) {
  const RunBench *bench = *state;
  struct rlimit before, low;
  make_pair(bench, line, few);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  low = before;
  low.rlim_cur = 41;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
  RpinnStatus status = merge(bench, (RpinnMergeOptions){0});
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(status, RPINN_ERROR_INPUT);
  check_true(strstr(run_message(bench), "expected ulimit -n 42") != NULL, "%s", run_message(bench));
}

static bool stop_after_some(void *user) {
  size_t *left = user;
  return *left == 0 || --*left == 0;
}

/* Wherever it is stopped: there is no run, or one that goes on to the same end. */
static void test_interrupted_merges(void **state) {
  const RunBench *bench = *state;
  make_pair(bench, line, few);
  run_make(bench, "whole", line, few);
  for (size_t steps = 1; steps < 40; steps += 3) {
    size_t left = steps;
    RpinnStatus status = merge(bench, (RpinnMergeOptions){.interrupted = stop_after_some, .user = &left});
    assert_false(run_has(bench, "merged", "checkpoint.db.part"));
    assert_false(run_has(bench, "merged", "checkpoint.db.part-journal"));
    if (run_has(bench, "merged", "checkpoint.db"))
      run_resume(bench, "merged", line, few);
    else {
      assert_int_equal(status, RPINN_ERROR_INTERRUPTED);
      run_require(bench, merge(bench, (RpinnMergeOptions){0}));
    }
    assert_string_equal(run_read(bench, "merged", "predictions.csv"),
                        run_read(bench, "whole", "predictions.csv"));
    remove_tree(run_path(bench, "merged", NULL));
  }
}

static RpinnStatus note_statistics(void *user, const RpinnStoredMember *member) {
  *(size_t *)user = member->num_statistics;
  return RPINN_OK;
}

/* Members that failed are merged as such, and so is the state of one that is under way. */
static void test_failed_and_unfinished_members(void **state) {
  const RunBench *bench = *state;
  size_t num_statistics = 0;
  double numbers[16] = {0};
  void *saved;
  size_t size;
  make_shard(bench, "one", line, few, (RpinnShard){1, 2});
  make_shard(bench, "two", line, "samples=2 optimizer=adam iterations=5 prior_scale=1 threads=1",
             (RpinnShard){2, 2});
  RpinnMemberStore *store = open_store(bench, "two");
  run_require(bench, rpinn_member_store_visit(bench->context, store, (RpinnStoreRange){1, 2}, note_statistics,
                                              &num_statistics));
  assert_true(num_statistics > 0 && num_statistics <= 16);
  RpinnStoredMember failed = {
      .index = 3, .failed = 1, .num_statistics = num_statistics, .statistics = numbers, .stop = "not_finite"};
  run_require(bench, rpinn_member_store_put(bench->context, store, &failed));
  run_require(bench, rpinn_member_store_put_state(bench->context, store, 5, "abc", 3));
  rpinn_member_store_close(store);
  run_require(bench, merge(bench, (RpinnMergeOptions){.partial = true}));
  const RpinnJsonValue *summary = run_json(bench, "merged");
  assert_int_equal(json_number(summary, "samples"), 6); /* 0, 2, 4, 6, 8 and 1 */
  assert_int_equal(json_number(summary, "members/failed"), 1);
  assert_int_equal(json_number(summary, "samples_asked"), 9);
  store = open_store(bench, "merged");
  run_require(bench, rpinn_member_store_get_state(bench->context, store, 5, &saved, &size));
  assert_int_equal(size, 3);
  assert_memory_equal(saved, "abc", 3);
  free(saved);
  rpinn_member_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_task_has_one_owner),   test_in_folder(test_versions_are_one),
      test_in_folder(test_machines_may_differ),          test_in_folder(test_texts_of_a_merged_run),
      test_in_folder(test_learnt_alike_or_refused),      test_in_folder(test_states_learnt_alike_or_refused),
      test_in_folder(test_files_that_may_be_open),       test_in_folder(test_interrupted_merges),
      test_in_folder(test_failed_and_unfinished_members)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
