/* Damage to a checkpoint is noticed wherever it is: every column of every row is changed by hand and must be refused. What
 * is pending when a process ends or memory lacks is lost or kept as the store promises. */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "member_store.h"
#include "run_bench.h"

static const char identity[] = "seed: 0\n";
static const double numbers[] = {1.5, -2, 3e-300, 4};

static const char *store_path(const RunBench *bench) {
  return run_path(bench, "checkpoint.db", NULL);
}

static RpinnMemberStore *open_store(const RunBench *bench) {
  RpinnMemberStore *store;
  run_require(bench, rpinn_member_store_open(bench->context, store_path(bench), identity, &store));
  return store;
}

static RpinnStatus put_member(const RunBench *bench, RpinnMemberStore *store, uint64_t index) {
  RpinnStoredMember member = {.index = index,
                              .num_parameters = 4,
                              .parameters = numbers,
                              .num_statistics = 3,
                              .statistics = numbers,
                              .num_trace = 2,
                              .trace = numbers,
                              .stop = "budget"};
  return rpinn_member_store_put(bench->context, store, &member);
}

/* Member 5, and a state of member 6 in three pieces. */
static void make_store(const RunBench *bench) {
  remove(store_path(bench));
  RpinnMemberStore *store = open_store(bench);
  rpinn_member_store_cut_states(store, 10);
  run_require(bench, put_member(bench, store, 5));
  run_require(bench, rpinn_member_store_put_state(bench->context, store, 6, "twenty five bytes of this", 25));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  rpinn_member_store_close(store);
}

static void change(const RunBench *bench, const char *statement) {
  sqlite3 *database;
  assert_int_equal(sqlite3_open(store_path(bench), &database), SQLITE_OK);
  check_true(sqlite3_exec(database, statement, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", statement,
             sqlite3_errmsg(database));
  check_true(sqlite3_changes(database) > 0, "%s changes nothing", statement);
  assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static RpinnStatus count_one(void *user, const RpinnStoredMember *member) {
  (void)member;
  ++*(size_t *)user;
  return RPINN_OK;
}

/* What a reader of everything finds. */
static RpinnStatus read_all(const RunBench *bench) {
  RpinnMemberStore *store = open_store(bench);
  size_t count = 0, size, expected = 25;
  void *state = NULL;
  RpinnStatus status =
      rpinn_member_store_visit(bench->context, store, (RpinnStoreRange){0, 100}, count_one, &count);
  for (uint64_t k = 0; k < 10 && status == RPINN_OK; k++) {
    status = rpinn_member_store_get_state(bench->context, store, k, &state, &size);
    if (status == RPINN_OK && state) assert_int_equal(size, expected);
    if (status == RPINN_OK && state) assert_int_equal(k, 6);
    free(state);
  }
  rpinn_member_store_close(store);
  return status;
}

/* Every column of members, states and pieces. */
static void every_changed_column_is_noticed(void **state) {
  RunBench *bench = *state;
  static const char *const statements[] = {
      "UPDATE members SET failed = 1",
      "UPDATE members SET failed = 2",
      "UPDATE members SET member = 7",
      "UPDATE members SET stop = 'budgets'",
      "UPDATE members SET stop = ''",
      "UPDATE members SET checksum = checksum + 1",
      "UPDATE members SET checksum = 0",
      "UPDATE members SET parameters = x'0000000000000000' || substr(parameters, 9)",
      "UPDATE members SET parameters = substr(parameters, 1, length(parameters) - 8)",
      "UPDATE members SET parameters = parameters || x'0000000000000000'",
      "UPDATE members SET parameters = statistics, statistics = parameters",
      "UPDATE members SET statistics = substr(statistics, 1, 16) || x'0000000000000001'",
      "UPDATE members SET trace = x'01' || substr(trace, 2)",
      "UPDATE members SET trace = x''",
      "UPDATE states SET checksum = checksum - 1",
      "UPDATE states SET member = 8",
      "UPDATE states SET state = x'00' || substr(state, 2)",
      "UPDATE states SET state = x''",
      "UPDATE state_pieces SET bytes = x'00' || substr(bytes, 2) WHERE piece = 2",
      "UPDATE state_pieces SET piece = 3 - piece + 10",
      "DELETE FROM state_pieces WHERE piece = 1",
      "DELETE FROM state_pieces WHERE piece = 2",
      "INSERT INTO state_pieces VALUES (6, 3, x'00')"};
  make_store(bench);
  run_require(bench, read_all(bench));
  for (size_t k = 0; k < sizeof statements / sizeof *statements; k++) {
    make_store(bench);
    change(bench, statements[k]);
    RpinnStatus status = read_all(bench);
    check_true(status == RPINN_ERROR_INPUT, "'%s' is not noticed", statements[k]);
    check_true(strstr(run_message(bench), "damaged") != NULL, "%s", run_message(bench));
  }
}

/* ---- what is pending ---- */

/* Put members in a process that ends without closing its store; how many of them are there afterwards. */
static uint64_t left_by_a_process_that_ends(const RunBench *bench, unsigned num_first,
                                            unsigned pause_milliseconds, unsigned num_second) {
  remove(store_path(bench));
  pid_t child = fork();
  if (child == 0) {
    RpinnMemberStore *store = open_store(bench);
    for (unsigned k = 0; k < num_first; k++) put_member(bench, store, k);
    nanosleep(&(struct timespec){.tv_sec = pause_milliseconds / 1000,
                                 .tv_nsec = pause_milliseconds % 1000 * 1000000L},
              NULL);
    for (unsigned k = 0; k < num_second; k++) put_member(bench, store, num_first + k);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  uint64_t finished, failed;
  RpinnMemberStore *store = open_store(bench);
  run_require(bench,
              rpinn_member_store_count(bench->context, store, (RpinnStoreRange){0, 100}, &finished, &failed));
  rpinn_member_store_close(store);
  return finished;
}

/* The first member is safe at once, the next ones when a second has passed. */
static void members_are_safe_in_time(void **state) {
  RunBench *bench = *state;
  assert_int_equal(left_by_a_process_that_ends(bench, 1, 0, 0), 1);
  assert_int_equal(left_by_a_process_that_ends(bench, 1, 1050, 1), 2);
  assert_int_equal(left_by_a_process_that_ends(bench, 2, 1050, 1), 3);
}

/* ---- lack of memory ---- */

static sqlite3_mem_methods own_memory, system_memory;
static int allocations_until_failure; /* 1: the next one fails; 0: none does */

static bool lacks_memory(void) {
  return allocations_until_failure > 0 && --allocations_until_failure == 0;
}

static void *allocate(int size) {
  return lacks_memory() ? NULL : system_memory.xMalloc(size);
}

static void *reallocate(void *memory, int size) {
  return lacks_memory() ? NULL : system_memory.xRealloc(memory, size);
}

static int watch_memory(void **state) {
  (void)state;
  sqlite3_shutdown();
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory) != SQLITE_OK) return -1;
  own_memory = system_memory;
  own_memory.xMalloc = allocate;
  own_memory.xRealloc = reallocate;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &own_memory) != SQLITE_OK) return -1;
  return sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK ? 0 : -1;
}

/* Wherever memory lacks in a commit: it is told, what was pending goes as a whole, and the store works on. */
static void failed_commits_take_what_is_pending(void **state) {
  RunBench *bench = *state;
  size_t num_failures = 0;
  for (int lack = 1; lack < 40; lack++) {
    bool has[3];
    remove(store_path(bench));
    RpinnMemberStore *store = open_store(bench);
    run_require(bench, put_member(bench, store, 0));
    run_require(bench, rpinn_member_store_flush(bench->context, store));
    run_require(bench, put_member(bench, store, 1));
    allocations_until_failure = lack;
    RpinnStatus status = rpinn_member_store_flush(bench->context, store);
    allocations_until_failure = 0;
    num_failures += status != RPINN_OK;
    run_require(bench, put_member(bench, store, 2));
    run_require(bench, rpinn_member_store_flush(bench->context, store));
    for (uint64_t k = 0; k < 3; k++)
      run_require(bench, rpinn_member_store_has(bench->context, store, k, &has[k]));
    assert_true(has[0] && has[2]);
    check_true(has[1] == (status == RPINN_OK), "allocation %d: a failed commit kept what was pending", lack);
    rpinn_member_store_close(store);
  }
  assert_true(num_failures > 0);
}

/* ---- draws that do not belong to the run ---- */

static const char yaml[] = "name: line\n"
                           "coordinates: {x: [0, 1]}\n"
                           "fields: {u: {network: [2]}}\n"
                           "truth: {u: x}\n"
                           "terms: {a: {expect: u, at: {grid: 3}, data: truth, noise: 0.1}}\n"
                           "prior: {reference_term: a}\n"
                           "predict: {grid: 3, quantities: [u]}\n";
static const char settings[] = "method=ensemble samples=2 iterations=20 threads=1";
enum { NUM_PARAMETERS = 7, NUM_STATISTICS = 7 + 2 };

/* Replace member 1 by one of other lengths, with a good checksum. */
static void replace_member(const RunBench *bench, size_t num_parameters, size_t num_statistics) {
  sqlite3 *database;
  sqlite3_stmt *statement;
  double values[32] = {0};
  const char *path = run_path(bench, "run", "checkpoint.db");
  RpinnMemberStore *store;
  assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(database, "SELECT text FROM identity", -1, &statement, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  char *text = strdup((const char *)sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(database);
  run_require(bench, rpinn_member_store_open(bench->context, path, text, &store));
  free(text);
  RpinnStoredMember member = {.index = 1,
                              .num_parameters = num_parameters,
                              .parameters = values,
                              .num_statistics = num_statistics,
                              .statistics = values,
                              .stop = "budget"};
  run_require(bench, rpinn_member_store_put(bench->context, store, &member));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  rpinn_member_store_close(store);
}

static void foreign_draws_are_refused(void **state) {
  RunBench *bench = *state;
  static const size_t lengths[][2] = {{NUM_PARAMETERS - 1, NUM_STATISTICS},
                                      {NUM_PARAMETERS + 1, NUM_STATISTICS},
                                      {NUM_PARAMETERS, NUM_STATISTICS - 1},
                                      {NUM_PARAMETERS, NUM_STATISTICS + 1},
                                      {NUM_PARAMETERS, 0}};
  RpinnRun *run;
  run_make(bench, "run", yaml, settings);
  replace_member(bench, NUM_PARAMETERS, NUM_STATISTICS);
  run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, "run", NULL), &run));
  rpinn_run_destroy(run);
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    replace_member(bench, lengths[k][0], lengths[k][1]);
    RpinnStatus status = rpinn_run_reopen(bench->context, run_path(bench, "run", NULL), &run);
    check_true(status == RPINN_ERROR_INPUT, "%zu parameters and %zu statistics are accepted", lengths[k][0],
               lengths[k][1]);
    status = run_try(bench, "run", yaml, settings, (RpinnRunOptions){.resume = true}, &run);
    check_true(status == RPINN_ERROR_INPUT, "%zu parameters and %zu statistics are resumed", lengths[k][0],
               lengths[k][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      test_in_folder(every_changed_column_is_noticed), test_in_folder(members_are_safe_in_time),
      test_in_folder(failed_commits_take_what_is_pending), test_in_folder(foreign_draws_are_refused)};
  return cmocka_run_group_tests(tests, watch_memory, NULL);
}
