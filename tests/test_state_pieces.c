/* Saved states in pieces: what was put comes back whatever its size, within one transaction; a piece that is lost, changed
 * or swapped is noticed; stores from before there were pieces go on. */
#include "check.h"
#include "temporary_folder.h"

#include <sqlite3.h>

#include "member_store.h"

enum { PIECE = 16, LARGEST = 100 };
static const char path[] = "checkpoint.db";
static const uint64_t index_of_state = 5;

#define require(call)                                                                                        \
  do {                                                                                                       \
    RpinnStatus require_status = (call);                                                                     \
    check_true(require_status == RPINN_OK, "%s", rpinn_context_error(context)->message);                     \
  } while (0)

static RpinnContext *context;

static int enter(void **state) {
  context = rpinn_context_create();
  return enter_temporary_folder(state);
}

static int leave(void **state) {
  rpinn_context_destroy(context);
  return leave_temporary_folder(state);
}

static RpinnMemberStore *open_store(void) {
  RpinnMemberStore *store;
  require(rpinn_member_store_open(context, path, "seed: 0\n", &store));
  rpinn_member_store_cut_states(store, PIECE);
  return store;
}

static int remove_store(void **state) {
  (void)state;
  return remove(path);
}

static void fill(unsigned char *bytes, size_t size, unsigned salt) {
  for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(31 * i + i / 256 + salt);
}

static void put(RpinnMemberStore *store, size_t size, unsigned salt) {
  unsigned char bytes[LARGEST];
  fill(bytes, size, salt);
  require(rpinn_member_store_put_state(context, store, index_of_state, bytes, size));
}

static void expect(RpinnMemberStore *store, size_t size, unsigned salt) {
  unsigned char bytes[LARGEST];
  void *found;
  size_t found_size;
  fill(bytes, size, salt);
  require(rpinn_member_store_get_state(context, store, index_of_state, &found, &found_size));
  assert_non_null(found);
  assert_int_equal(found_size, size);
  assert_memory_equal(found, bytes, size);
  free(found);
}

/* A number from the file, without the store. */
static int look(const char *query) {
  sqlite3 *database;
  sqlite3_stmt *statement;
  assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(database, query, -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  int number = sqlite3_column_int(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return number;
}

static void change(const char *statement) {
  sqlite3 *database;
  assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
  assert_int_equal(sqlite3_exec(database, statement, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(database);
}

static void every_size_comes_back(void **state) {
  (void)state;
  RpinnMemberStore *store = open_store();
  /* Up over the limits of one, two, … pieces, then down again: nothing of a longer one remains. */
  for (size_t k = 0; k <= 2 * (size_t)LARGEST; k++) {
    size_t size = k <= LARGEST ? k : 2 * (size_t)LARGEST - k;
    put(store, size, (unsigned)k);
    expect(store, size, (unsigned)k);
    if (k % 10) continue;
    rpinn_member_store_close(store);
    assert_int_equal(look("SELECT count(*) FROM state_pieces"), size ? (size - 1) / PIECE : 0);
    assert_int_equal(look("SELECT coalesce(max(length(bytes)), 0) <= 16 FROM state_pieces"), 1);
    store = open_store();
    expect(store, size, (unsigned)k);
  }
  rpinn_member_store_close(store);
}

static void finished_members_drop_all_pieces(void **state) {
  (void)state;
  RpinnMemberStore *store = open_store();
  double numbers[] = {1, 2};
  void *found;
  size_t size;
  put(store, LARGEST, 1);
  require(rpinn_member_store_put(
      context, store,
      &(RpinnStoredMember){
          .index = index_of_state, .num_parameters = 2, .parameters = numbers, .stop = "budget"}));
  require(rpinn_member_store_get_state(context, store, index_of_state, &found, &size));
  assert_null(found);
  rpinn_member_store_close(store);
  assert_int_equal(look("SELECT count(*) FROM state_pieces"), 0);
}

static void torn_pieces_are_noticed(void **state) {
  (void)state;
  static const char *const damages[] = {
      "DELETE FROM state_pieces WHERE piece = 2",
      "DELETE FROM state_pieces WHERE piece = 6",
      "UPDATE state_pieces SET bytes = zeroblob(16) WHERE piece = 3",
      "UPDATE state_pieces SET piece = 20 WHERE piece = 1", /* another order */
      "UPDATE states SET state = zeroblob(16)",
      "INSERT INTO state_pieces VALUES (5, 7, x'00')"};
  for (size_t k = 0; k < sizeof damages / sizeof *damages; k++) {
    RpinnMemberStore *store = open_store();
    void *found;
    size_t size;
    put(store, LARGEST, 1);
    rpinn_member_store_close(store);
    change(damages[k]);
    store = open_store();
    assert_int_equal(rpinn_member_store_get_state(context, store, index_of_state, &found, &size),
                     RPINN_ERROR_INPUT);
    assert_null(found);
    assert_string_equal(rpinn_context_error(context)->message,
                        "'checkpoint.db' is damaged: the state of member 5 has a wrong checksum");
    rpinn_member_store_close(store);
    change("DELETE FROM state_pieces");
  }
}

static void old_stores_go_on(void **state) {
  (void)state;
  RpinnMemberStore *store = open_store();
  put(store, PIECE, 3); /* one piece: as it was kept before */
  rpinn_member_store_close(store);
  change("DROP TABLE state_pieces");
  require(rpinn_member_store_open_existing(context, path, &store));
  expect(store, PIECE, 3);
  rpinn_member_store_close(store);
  store = open_store();
  expect(store, PIECE, 3);
  put(store, LARGEST, 4);
  rpinn_member_store_close(store);
  require(rpinn_member_store_open_existing(context, path, &store));
  expect(store, LARGEST, 4);
  rpinn_member_store_close(store);
}

/* Above the 1e9 bytes that SQLite takes in one row, with the usual pieces. */
static void gigabytes_come_back(void **state) {
  (void)state;
  const size_t size = 1100000000;
  unsigned char *bytes = malloc(size);
  RpinnMemberStore *store;
  void *found;
  size_t found_size;
  assert_non_null(bytes);
  fill(bytes, size, 7);
  require(rpinn_member_store_open(context, path, "seed: 0\n", &store));
  require(rpinn_member_store_put_state(context, store, index_of_state, bytes, size));
  rpinn_member_store_close(store);
  require(rpinn_member_store_open_existing(context, path, &store));
  require(rpinn_member_store_get_state(context, store, index_of_state, &found, &found_size));
  assert_int_equal(found_size, size);
  assert_int_equal(memcmp(found, bytes, size), 0);
  free(found);
  free(bytes);
  rpinn_member_store_close(store);
}

/* With an argument: the large state, which needs 3 GB of memory and 1.1 GB of disk. */
int main(int argc, char **argv) {
  (void)argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(every_size_comes_back, remove_store),
      cmocka_unit_test_teardown(finished_members_drop_all_pieces, remove_store),
      cmocka_unit_test_teardown(torn_pieces_are_noticed, remove_store),
      cmocka_unit_test_teardown(old_stores_go_on, remove_store)};
  const struct CMUnitTest large_tests[] = {cmocka_unit_test(gigabytes_come_back)};
  return argc > 1 ? cmocka_run_group_tests(large_tests, enter, leave)
                  : cmocka_run_group_tests(tests, enter, leave);
}
