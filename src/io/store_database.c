#include "store_database.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- failures ---- */

RpinnStatus rpinn_store_fail_as(RpinnContext *context, RpinnMemberStore *store, const char *verb, int code) {
  if ((code & 0xff) == SQLITE_NOMEM) return rpinn_fail_memory(context);
  store->has_failed = true;
  switch (code & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return rpinn_fail(context, RPINN_ERROR_INPUT, "another run is using this directory: '%s' is locked",
                      store->path);
  case SQLITE_NOTADB:
    return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' is not a checkpoint of rpinn", store->path);
  case SQLITE_CORRUPT:
    return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' is damaged: %s", store->path,
                      sqlite3_errmsg(store->database));
  default: break;
  }
  bool from_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  int reason = from_system ? sqlite3_system_errno(store->database) : 0;
  if (from_system && !reason) /* statements keep it with the file */
    sqlite3_file_control(store->database, "main", SQLITE_FCNTL_LAST_ERRNO, &reason);
  return rpinn_fail(context, RPINN_ERROR_IO, "cannot %s '%s': %s%s%s", verb, store->path,
                    sqlite3_errmsg(store->database), reason ? ", " : "", reason ? strerror(reason) : "");
}

RpinnStatus rpinn_store_fail(RpinnContext *context, RpinnMemberStore *store, const char *verb) {
  return rpinn_store_fail_as(context, store, verb, sqlite3_extended_errcode(store->database));
}

RpinnStatus rpinn_store_fail_damaged(RpinnContext *context, RpinnMemberStore *store, const char *what,
                                     uint64_t index) {
  store->has_failed = true;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' is damaged: %s %" PRIu64 " has a wrong checksum",
                    store->path, what, index);
}

RpinnStatus rpinn_store_check_index(RpinnContext *context, uint64_t index) {
  return index < INT64_MAX
             ? RPINN_OK
             : rpinn_fail(context, RPINN_ERROR_INPUT, "member %" PRIu64 " is too large a number", index);
}

/* ---- statements ---- */

static const char *const query_texts[RPINN_NUM_QUERIES] = {
    [RPINN_QUERY_PUT] =
        "INSERT OR REPLACE INTO members (member, failed, stop, checksum, parameters, statistics, "
        "trace) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [RPINN_QUERY_DROP_MEMBERS] = "DELETE FROM members WHERE member >= ? AND member < ?",
    [RPINN_QUERY_DROP_STATES] = "DELETE FROM states WHERE member >= ? AND member < ?",
    [RPINN_QUERY_DROP_ALL_PIECES] = "DELETE FROM state_pieces WHERE member >= ? AND member < ?",
    [RPINN_QUERY_DROP_STATE] = "DELETE FROM states WHERE member = ?",
    [RPINN_QUERY_PUT_STATE] = "INSERT OR REPLACE INTO states (member, checksum, state) VALUES (?, ?, ?)",
    [RPINN_QUERY_GET_STATE] = "SELECT checksum, state FROM states WHERE member = ?",
    [RPINN_QUERY_DROP_PIECES] = "DELETE FROM state_pieces WHERE member = ?",
    [RPINN_QUERY_PUT_PIECE] = "INSERT INTO state_pieces (member, piece, bytes) VALUES (?, ?, ?)",
    [RPINN_QUERY_MEASURE_PIECES] =
        "SELECT coalesce(sum(length(bytes)), 0) FROM state_pieces WHERE member = ?",
    [RPINN_QUERY_GET_PIECES] = "SELECT bytes FROM state_pieces WHERE member = ? ORDER BY piece",
    [RPINN_QUERY_HAS] = "SELECT 1 FROM members WHERE member = ?",
    [RPINN_QUERY_COUNT] = "SELECT count(*), total(failed) FROM members WHERE member >= ? AND member < ?",
    [RPINN_QUERY_COUNT_SHARE] =
        "SELECT count(*) FROM members WHERE member >= ?1 AND member < ?2 AND (member - ?1) % ?3 = 0",
    [RPINN_QUERY_BEHIND_LAST] = "SELECT max(member) + 1 FROM members WHERE member >= ? AND member < ?",
    [RPINN_QUERY_VISIT] = "SELECT member, failed, stop, checksum, parameters, statistics, trace FROM members "
                          "WHERE member >= ? AND member < ? ORDER BY member",
    [RPINN_QUERY_LIST] =
        "SELECT member FROM members WHERE member >= ? AND member < ? AND NOT failed ORDER BY member",
    [RPINN_QUERY_SET_TEXT] = "INSERT OR REPLACE INTO texts (key, value) VALUES (?, ?)",
    [RPINN_QUERY_GET_TEXT] = "SELECT value FROM texts WHERE key = ?",
    [RPINN_QUERY_VISIT_TEXTS] = "SELECT key, value FROM texts ORDER BY key",
    [RPINN_QUERY_NEXT_STATE] = "SELECT member FROM states WHERE member >= ? ORDER BY member LIMIT 1",
    [RPINN_QUERY_GET_IDENTITY] = "SELECT text FROM identity"};

RpinnStatus rpinn_store_execute(RpinnContext *context, RpinnMemberStore *store, const char *text) {
  return sqlite3_exec(store->database, text, NULL, NULL, NULL) == SQLITE_OK
             ? RPINN_OK
             : rpinn_store_fail(context, store, "use");
}

RpinnStatus rpinn_store_prepare(RpinnContext *context, RpinnMemberStore *store, RpinnStoreQuery query,
                                sqlite3_stmt **statement) {
  if (!store->queries[query] &&
      sqlite3_prepare_v3(store->database, query_texts[query], -1, SQLITE_PREPARE_PERSISTENT,
                         &store->queries[query], NULL) != SQLITE_OK)
    return rpinn_store_fail(context, store, "use");
  *statement = store->queries[query];
  return RPINN_OK;
}

void rpinn_store_release(sqlite3_stmt *statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

RpinnStatus rpinn_store_query_number(RpinnContext *context, RpinnMemberStore *store, const char *text,
                                     int64_t *number) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(store->database, text, -1, &statement, NULL) != SQLITE_OK)
    return rpinn_store_fail(context, store, "read");
  RpinnStatus status = RPINN_OK;
  if (sqlite3_step(statement) == SQLITE_ROW)
    *number = sqlite3_column_int64(statement, 0);
  else
    status = rpinn_store_fail(context, store, "read");
  sqlite3_finalize(statement);
  return status;
}

/* SQLite ends the transaction itself after some failures; end it after all. */
RpinnStatus rpinn_store_write_with(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *statement,
                                   int bound) {
  RpinnStatus status = RPINN_OK;
  if (bound != SQLITE_OK)
    status = rpinn_store_fail_as(context, store, "write", bound);
  else if (sqlite3_step(statement) != SQLITE_DONE)
    status = rpinn_store_fail(context, store, "write");
  rpinn_store_release(statement);
  if (status != RPINN_OK) rpinn_store_roll_back(store);
  return status;
}

RpinnStatus rpinn_store_write_at(RpinnContext *context, RpinnMemberStore *store, RpinnStoreQuery query,
                                 uint64_t index) {
  sqlite3_stmt *statement;
  RPINN_TRY(rpinn_store_prepare(context, store, query, &statement));
  return rpinn_store_write_with(context, store, statement,
                                sqlite3_bind_int64(statement, 1, (sqlite3_int64)index));
}

int rpinn_store_bind_bytes(sqlite3_stmt *statement, int column, const void *bytes, size_t size) {
  return sqlite3_bind_blob64(statement, column, size ? bytes : "", size, SQLITE_STATIC);
}

RpinnStatus rpinn_store_look_up(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *statement,
                                int bound, bool *found) {
  int code = bound == SQLITE_OK ? sqlite3_step(statement) : bound;
  *found = code == SQLITE_ROW;
  if (*found || code == SQLITE_DONE) return RPINN_OK;
  RpinnStatus status = rpinn_store_fail_as(context, store, "read", code);
  rpinn_store_release(statement);
  return status;
}

/* ---- transactions ---- */

double rpinn_store_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool rpinn_store_in_transaction(const RpinnMemberStore *store) {
  return !sqlite3_get_autocommit(store->database);
}

void rpinn_store_roll_back(RpinnMemberStore *store) {
  if (rpinn_store_in_transaction(store)) sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

RpinnStatus rpinn_store_begin(RpinnContext *context, RpinnMemberStore *store) {
  return rpinn_store_in_transaction(store) ? RPINN_OK
                                           : rpinn_store_execute(context, store, "BEGIN EXCLUSIVE");
}

RpinnStatus rpinn_member_store_flush(RpinnContext *context, RpinnMemberStore *store) {
  if (!rpinn_store_in_transaction(store)) return RPINN_OK;
  if (sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
    RpinnStatus status = rpinn_store_fail(context, store, "write");
    rpinn_store_roll_back(store);
    return status;
  }
  store->last_commit = rpinn_store_seconds();
  return RPINN_OK;
}

RpinnStatus rpinn_store_flush_when_due(RpinnContext *context, RpinnMemberStore *store) {
  return rpinn_store_seconds() - store->last_commit >= 1 ? rpinn_member_store_flush(context, store)
                                                         : RPINN_OK;
}

/* ---- checksums ---- */

/* h <- (h xor word) * p, folded: eight bytes a time, the rest padded with zeros, the length last. */
uint64_t rpinn_store_checksum(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  for (size_t left = size; left > 0;) {
    uint64_t word = 0;
    size_t count = left < sizeof word ? left : sizeof word;
    memcpy(&word, at, count);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    at += count;
    left -= count;
  }
  return (hash ^ size) * UINT64_C(0x9e3779b97f4a7c15);
}
