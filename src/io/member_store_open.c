/* Opening checkpoint.db: its tables, whose it is, and its lock.
 *
 * Why this form. A rollback journal, not a write-ahead log: members are only ever added, and pages added at
 * the end need no journal, so every byte is written once; and after a clean close there is a single file.
 * locking_mode EXCLUSIVE keeps the lock between transactions, so that it guards the directory for as long as
 * the store is open, and the kernel drops it with the process. Where the file system cannot lock, there is none, and callers can ask. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_lock.h"
#include "identity_difference.h"
#include "store_database.h"

enum { APPLICATION_ID = 0x7250494e /* "rPIN" */, FORMAT_VERSION = 1, BUSY_MILLISECONDS = 250 };
enum { PIECE_BYTES = 64 << 20 };

/* The small columns come first, so that counting does not read the numbers. */
static const char schema[] = "CREATE TABLE identity (text TEXT NOT NULL);"
                             "CREATE TABLE members (member INTEGER PRIMARY KEY, failed INTEGER NOT NULL,"
                             " stop TEXT NOT NULL, checksum INTEGER NOT NULL, parameters BLOB NOT NULL,"
                             " statistics BLOB NOT NULL, trace BLOB NOT NULL);"
                             "CREATE TABLE states (member INTEGER PRIMARY KEY, checksum INTEGER NOT NULL,"
                             " state BLOB NOT NULL);"
                             "CREATE TABLE texts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;";

/* Stores from before there were pieces get the table when they are next written. */
static const char schema_of_pieces[] =
    "CREATE TABLE IF NOT EXISTS state_pieces (member INTEGER NOT NULL, piece INTEGER NOT NULL,"
    " bytes BLOB NOT NULL, PRIMARY KEY (member, piece));";

static RpinnStatus make_schema(RpinnContext *context, RpinnMemberStore *store, const char *identity) {
  char header[96];
  snprintf(header, sizeof header, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
           FORMAT_VERSION);
  RPINN_TRY(rpinn_store_execute(context, store, header));
  RPINN_TRY(rpinn_store_execute(context, store, schema));
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(store->database, "INSERT INTO identity (text) VALUES (?)", -1, &statement, NULL) !=
      SQLITE_OK)
    return rpinn_store_fail(context, store, "create");
  RpinnStatus status = rpinn_store_write_with(context, store, statement,
                                              sqlite3_bind_text(statement, 1, identity, -1, SQLITE_STATIC));
  sqlite3_finalize(statement);
  return status;
}

RpinnStatus rpinn_member_store_check_identity(RpinnContext *context, RpinnMemberStore *store,
                                              const char *identity) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(store->database, "SELECT text FROM identity", -1, &statement, NULL) != SQLITE_OK)
    return rpinn_store_fail(context, store, "read");
  RpinnStatus status;
  int code = sqlite3_step(statement);
  const unsigned char *before = code == SQLITE_ROW ? sqlite3_column_text(statement, 0) : NULL;
  if (before)
    status = rpinn_identity_compare(context, (const char *)before, identity);
  else if (code == SQLITE_DONE)
    status = rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' is damaged: it has no identity", store->path);
  else
    status = rpinn_store_fail(context, store, "read");
  sqlite3_finalize(statement);
  return status;
}

/* Within the transaction that holds the lock. An empty file is a store whose maker was killed at once. */
static RpinnStatus make_or_check(RpinnContext *context, RpinnMemberStore *store, const char *identity) {
  int64_t application = 0, version = 0, num_tables = 0;
  RPINN_TRY(rpinn_store_query_number(context, store, "PRAGMA application_id", &application));
  RPINN_TRY(rpinn_store_query_number(context, store, "PRAGMA user_version", &version));
  RPINN_TRY(rpinn_store_query_number(context, store, "SELECT count(*) FROM sqlite_master", &num_tables));
  if (application == 0 && version == 0 && num_tables == 0 && identity)
    return make_schema(context, store, identity);
  if (application != APPLICATION_ID) return rpinn_store_fail_as(context, store, "use", SQLITE_NOTADB);
  if (version != FORMAT_VERSION)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "'%s' has format %" PRId64 ", this version of rpinn reads and writes format %d",
                      store->path, version, FORMAT_VERSION);
  return identity ? rpinn_member_store_check_identity(context, store, identity) : RPINN_OK;
}

static RpinnStatus find_pieces(RpinnContext *context, RpinnMemberStore *store, bool can_make) {
  int64_t count = 0;
  if (can_make) RPINN_TRY(rpinn_store_execute(context, store, schema_of_pieces));
  RPINN_TRY(rpinn_store_query_number(
      context, store, "SELECT count(*) FROM sqlite_master WHERE name = 'state_pieces'", &count));
  store->has_pieces = count > 0;
  return RPINN_OK;
}

/* One transaction for all reading: the lock is shared with other readers and ends with the store. */
static RpinnStatus open_to_read(RpinnContext *context, RpinnMemberStore *store) {
  sqlite3_busy_timeout(store->database, BUSY_MILLISECONDS);
  RPINN_TRY(rpinn_store_execute(context, store, "BEGIN"));
  RPINN_TRY(make_or_check(context, store, NULL));
  return find_pieces(context, store, false);
}

static RpinnStatus open_database(RpinnContext *context, RpinnMemberStore *store, const char *identity) {
  /* To read needs READWRITE as well: the journal of a killed writer has to be played back. */
  int flags = SQLITE_OPEN_READWRITE | (identity ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX;
  store->is_locked = rpinn_file_can_be_locked(store->path);
  int code = sqlite3_open_v2(store->path, &store->database, flags, store->is_locked ? NULL : "unix-none");
  if (!store->database) return rpinn_fail_memory(context);
  if (code != SQLITE_OK) return rpinn_store_fail(context, store, "open");
  sqlite3_extended_result_codes(store->database, 1);
  if (!identity) return open_to_read(context, store);
  sqlite3_busy_timeout(store->database, BUSY_MILLISECONDS);
  /* The lock first: everything after it sees a file that nobody else changes. */
  RPINN_TRY(rpinn_store_execute(context, store, "PRAGMA locking_mode = EXCLUSIVE"));
  RPINN_TRY(rpinn_store_execute(context, store, "PRAGMA synchronous = EXTRA"));
  RPINN_TRY(rpinn_store_execute(context, store, "BEGIN EXCLUSIVE"));
  RpinnStatus status = make_or_check(context, store, identity);
  if (status == RPINN_OK) status = find_pieces(context, store, true);
  if (status == RPINN_OK) return rpinn_member_store_flush(context, store);
  rpinn_store_roll_back(store);
  return status;
}

/* identity NULL: to read. */
static RpinnStatus open_store(RpinnContext *context, const char *path, const char *identity,
                              RpinnMemberStore **result) {
  *result = NULL;
  RpinnMemberStore *store = calloc(1, sizeof *store);
  if (!store) return rpinn_fail_memory(context);
  store->piece_bytes = PIECE_BYTES;
  store->path = malloc(strlen(path) + 1);
  RpinnStatus status = RPINN_ERROR_MEMORY;
  if (store->path) {
    memcpy(store->path, path, strlen(path) + 1);
    status = open_database(context, store, identity);
  } else {
    rpinn_fail_memory(context);
  }
  if (status != RPINN_OK) {
    rpinn_member_store_close(store);
    return status;
  }
  store->last_commit = rpinn_store_seconds() - 1; /* the first member is safe at once */
  *result = store;
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_open(RpinnContext *context, const char *path, const char *identity,
                                    RpinnMemberStore **store) {
  return open_store(context, path, identity, store);
}

RpinnStatus rpinn_member_store_open_existing(RpinnContext *context, const char *path,
                                             RpinnMemberStore **store) {
  return open_store(context, path, NULL, store);
}

bool rpinn_member_store_is_locked(const RpinnMemberStore *store) {
  return store->is_locked;
}

bool rpinn_member_store_has_failed(const RpinnMemberStore *store) {
  return store->has_failed;
}

void rpinn_member_store_close(RpinnMemberStore *store) {
  if (!store) return;
  if (store->database && rpinn_store_in_transaction(store) &&
      sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
    rpinn_store_roll_back(store);
  for (size_t i = 0; i < RPINN_NUM_QUERIES; i++) sqlite3_finalize(store->queries[i]);
  sqlite3_close(store->database);
  free(store->path);
  free(store->numbers);
  free(store);
}
