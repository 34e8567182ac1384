/* Why this form. A rollback journal, not a write-ahead log: members are only ever added, and pages added at
 * the end need no journal, so every byte is written once; and after a clean close there is a single file.
 * locking_mode EXCLUSIVE keeps the lock between transactions, so that it guards the directory for as long as
 * the store is open, and the kernel drops it with the process.
 *
 * Doubles are kept as blobs: SQLite's own REAL turns NaN into NULL. Each row carries a checksum, because
 * SQLite notices damage to its own structure but not to the numbers.
 *
 * SQLite refuses rows above 1e9 bytes, which the state of many particles or of a dense metric reaches. A state is
 * therefore cut: its first piece stands in `states` with the checksum of the whole, as stores had it before there were
 * pieces, and the others follow in `state_pieces`, within the same transaction. */
#include "member_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

enum { APPLICATION_ID = 0x7250494e /* "rPIN" */, FORMAT_VERSION = 1, BUSY_MILLISECONDS = 250 };
enum { PIECE_BYTES = 64 << 20 };

typedef enum Query {
  QUERY_PUT,
  QUERY_DROP_STATE,
  QUERY_PUT_STATE,
  QUERY_GET_STATE,
  QUERY_DROP_PIECES,
  QUERY_PUT_PIECE,
  QUERY_MEASURE_PIECES,
  QUERY_GET_PIECES,
  QUERY_HAS,
  QUERY_COUNT,
  QUERY_VISIT,
  QUERY_SET_TEXT,
  QUERY_GET_TEXT,
  NUM_QUERIES
} Query;

static const char *const query_texts[NUM_QUERIES] = {
    [QUERY_PUT] = "INSERT OR REPLACE INTO members (member, failed, stop, checksum, parameters, statistics, "
                  "trace) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [QUERY_DROP_STATE] = "DELETE FROM states WHERE member = ?",
    [QUERY_PUT_STATE] = "INSERT OR REPLACE INTO states (member, checksum, state) VALUES (?, ?, ?)",
    [QUERY_GET_STATE] = "SELECT checksum, state FROM states WHERE member = ?",
    [QUERY_DROP_PIECES] = "DELETE FROM state_pieces WHERE member = ?",
    [QUERY_PUT_PIECE] = "INSERT INTO state_pieces (member, piece, bytes) VALUES (?, ?, ?)",
    [QUERY_MEASURE_PIECES] = "SELECT coalesce(sum(length(bytes)), 0) FROM state_pieces WHERE member = ?",
    [QUERY_GET_PIECES] = "SELECT bytes FROM state_pieces WHERE member = ? ORDER BY piece",
    [QUERY_HAS] = "SELECT 1 FROM members WHERE member = ?",
    [QUERY_COUNT] = "SELECT count(*), total(failed) FROM members WHERE member < ?",
    [QUERY_VISIT] = "SELECT member, failed, stop, checksum, parameters, statistics, trace FROM members "
                    "WHERE member < ? ORDER BY member",
    [QUERY_SET_TEXT] = "INSERT OR REPLACE INTO texts (key, value) VALUES (?, ?)",
    [QUERY_GET_TEXT] = "SELECT value FROM texts WHERE key = ?"};

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

struct RpinnMemberStore {
  sqlite3 *database;
  char *path;
  sqlite3_stmt *queries[NUM_QUERIES]; /* prepared when first used */
  double last_commit;                 /* seconds of the steady clock */
  double *numbers;                    /* [capacity] of the member that is being visited */
  size_t capacity;
  size_t piece_bytes; /* of the pieces that states are cut into */
  bool has_pieces;    /* the table is there */
};

/* ---- failures ---- */

static RpinnStatus fail_as(RpinnContext *context, const RpinnMemberStore *store, const char *verb, int code) {
  switch (code & 0xff) {
  case SQLITE_NOMEM: return rpinn_fail_memory(context);
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

static RpinnStatus fail(RpinnContext *context, const RpinnMemberStore *store, const char *verb) {
  return fail_as(context, store, verb, sqlite3_extended_errcode(store->database));
}

static RpinnStatus fail_damaged(RpinnContext *context, const RpinnMemberStore *store, const char *what,
                                uint64_t index) {
  return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' is damaged: %s %" PRIu64 " has a wrong checksum",
                    store->path, what, index);
}

static RpinnStatus execute(RpinnContext *context, RpinnMemberStore *store, const char *text) {
  return sqlite3_exec(store->database, text, NULL, NULL, NULL) == SQLITE_OK ? RPINN_OK
                                                                            : fail(context, store, "use");
}

static RpinnStatus prepare(RpinnContext *context, RpinnMemberStore *store, Query query,
                           sqlite3_stmt **statement) {
  if (!store->queries[query] &&
      sqlite3_prepare_v3(store->database, query_texts[query], -1, SQLITE_PREPARE_PERSISTENT,
                         &store->queries[query], NULL) != SQLITE_OK)
    return fail(context, store, "use");
  *statement = store->queries[query];
  return RPINN_OK;
}

/* Make a statement ready for its next use. */
static void release(sqlite3_stmt *statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

/* A number from a statement without parameters, such as a pragma. */
static RpinnStatus query_number(RpinnContext *context, RpinnMemberStore *store, const char *text,
                                int64_t *number) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(store->database, text, -1, &statement, NULL) != SQLITE_OK)
    return fail(context, store, "read");
  RpinnStatus status = RPINN_OK;
  if (sqlite3_step(statement) == SQLITE_ROW)
    *number = sqlite3_column_int64(statement, 0);
  else
    status = fail(context, store, "read");
  sqlite3_finalize(statement);
  return status;
}

/* ---- checksums ---- */

/* h <- (h xor word) * p, folded: eight bytes a time, the rest padded with zeros, the length last. */
static uint64_t checksum(uint64_t hash, const void *bytes, size_t size) {
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

static uint64_t member_checksum(const RpinnStoredMember *member) {
  uint64_t hash = checksum(member->index, member->stop, strlen(member->stop));
  hash = checksum(hash, &member->failed, sizeof member->failed);
  hash = checksum(hash, member->parameters, member->num_parameters * sizeof(double));
  hash = checksum(hash, member->statistics, member->num_statistics * sizeof(double));
  return checksum(hash, member->trace, 2 * member->num_trace * sizeof(double));
}

/* ---- transactions ---- */

static double steady_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool in_transaction(const RpinnMemberStore *store) {
  return !sqlite3_get_autocommit(store->database);
}

static void roll_back(RpinnMemberStore *store) {
  if (in_transaction(store)) sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

static RpinnStatus begin(RpinnContext *context, RpinnMemberStore *store) {
  return in_transaction(store) ? RPINN_OK : execute(context, store, "BEGIN EXCLUSIVE");
}

RpinnStatus rpinn_member_store_flush(RpinnContext *context, RpinnMemberStore *store) {
  if (!in_transaction(store)) return RPINN_OK;
  if (sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
    RpinnStatus status = fail(context, store, "write");
    roll_back(store);
    return status;
  }
  store->last_commit = steady_seconds();
  return RPINN_OK;
}

static RpinnStatus flush_when_due(RpinnContext *context, RpinnMemberStore *store) {
  return steady_seconds() - store->last_commit >= 1 ? rpinn_member_store_flush(context, store) : RPINN_OK;
}

/* Run a statement that writes. SQLite ends the transaction itself after some failures; end it after all. */
static RpinnStatus write_with(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *statement,
                              int bound) {
  RpinnStatus status = RPINN_OK;
  if (bound != SQLITE_OK)
    status = fail_as(context, store, "write", bound);
  else if (sqlite3_step(statement) != SQLITE_DONE)
    status = fail(context, store, "write");
  release(statement);
  if (status != RPINN_OK) roll_back(store);
  return status;
}

/* ---- opening ---- */

typedef struct Line {
  const char *start; /* NULL past the end */
  int length;
} Line;

static Line next_line(const char **text) {
  if (!**text) return (Line){0};
  const char *start = *text, *end = strchr(start, '\n');
  size_t length = end ? (size_t)(end - start) : strlen(start);
  *text = end ? end + 1 : start + length;
  return (Line){start, length > 200 ? 200 : (int)length};
}

static bool same_line(Line a, Line b) {
  if (!a.start || !b.start) return a.start == b.start;
  size_t length_a = strcspn(a.start, "\n"), length_b = strcspn(b.start, "\n");
  return length_a == length_b && !memcmp(a.start, b.start, length_a);
}

static size_t count_lines(const char *text) {
  size_t count = 0;
  while (next_line(&text).start) count++;
  return count;
}

/* Name the first line that differs, or the first three where lines still correspond. */
static RpinnStatus compare_identity(RpinnContext *context, const char *before, const char *now) {
  enum { MAX_NAMED = 3 };
  if (!strcmp(before, now)) return RPINN_OK;
  size_t most = count_lines(before) == count_lines(now) ? MAX_NAMED : 1, named = 0;
  char list[1400] = "";
  size_t length = 0;
  while (named < most && length < sizeof list && (*before || *now)) {
    Line was = next_line(&before), is = next_line(&now);
    if (same_line(was, is)) continue;
    static const char nothing[] = "nothing";
    if (!was.start) was = (Line){nothing, sizeof nothing - 1};
    if (!is.start) is = (Line){nothing, sizeof nothing - 1};
    int written = snprintf(list + length, sizeof list - length, "%swas %.*s, is now %.*s", named ? "; " : "",
                           was.length, was.start, is.length, is.start);
    length += written > 0 ? (size_t)written : sizeof list;
    named++;
  }
  return rpinn_fail(context, RPINN_ERROR_INPUT, "the run in this directory was made with other settings: %s",
                    named ? list : "the texts differ in their last newline");
}

static RpinnStatus make_schema(RpinnContext *context, RpinnMemberStore *store, const char *identity) {
  char header[96];
  snprintf(header, sizeof header, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
           FORMAT_VERSION);
  RPINN_TRY(execute(context, store, header));
  RPINN_TRY(execute(context, store, schema));
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(store->database, "INSERT INTO identity (text) VALUES (?)", -1, &statement, NULL) !=
      SQLITE_OK)
    return fail(context, store, "create");
  RpinnStatus status =
      write_with(context, store, statement, sqlite3_bind_text(statement, 1, identity, -1, SQLITE_STATIC));
  sqlite3_finalize(statement);
  return status;
}

RpinnStatus rpinn_member_store_check_identity(RpinnContext *context, RpinnMemberStore *store,
                                              const char *identity) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(store->database, "SELECT text FROM identity", -1, &statement, NULL) != SQLITE_OK)
    return fail(context, store, "read");
  RpinnStatus status;
  int code = sqlite3_step(statement);
  const unsigned char *before = code == SQLITE_ROW ? sqlite3_column_text(statement, 0) : NULL;
  if (before)
    status = compare_identity(context, (const char *)before, identity);
  else if (code == SQLITE_DONE)
    status = rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' is damaged: it has no identity", store->path);
  else
    status = fail(context, store, "read");
  sqlite3_finalize(statement);
  return status;
}

/* Within the transaction that holds the lock. An empty file is a store whose maker was killed at once. */
static RpinnStatus make_or_check(RpinnContext *context, RpinnMemberStore *store, const char *identity) {
  int64_t application = 0, version = 0, num_tables = 0;
  RPINN_TRY(query_number(context, store, "PRAGMA application_id", &application));
  RPINN_TRY(query_number(context, store, "PRAGMA user_version", &version));
  RPINN_TRY(query_number(context, store, "SELECT count(*) FROM sqlite_master", &num_tables));
  if (application == 0 && version == 0 && num_tables == 0 && identity)
    return make_schema(context, store, identity);
  if (application != APPLICATION_ID) return fail_as(context, store, "use", SQLITE_NOTADB);
  if (version != FORMAT_VERSION)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "'%s' has format %" PRId64 ", this version of rpinn reads and writes format %d",
                      store->path, version, FORMAT_VERSION);
  return identity ? rpinn_member_store_check_identity(context, store, identity) : RPINN_OK;
}

static RpinnStatus find_pieces(RpinnContext *context, RpinnMemberStore *store, bool can_make) {
  int64_t count = 0;
  if (can_make) RPINN_TRY(execute(context, store, schema_of_pieces));
  RPINN_TRY(
      query_number(context, store, "SELECT count(*) FROM sqlite_master WHERE name = 'state_pieces'", &count));
  store->has_pieces = count > 0;
  return RPINN_OK;
}

/* One transaction for all reading: the lock is shared with other readers and ends with the store. */
static RpinnStatus open_to_read(RpinnContext *context, RpinnMemberStore *store) {
  sqlite3_busy_timeout(store->database, BUSY_MILLISECONDS);
  RPINN_TRY(execute(context, store, "BEGIN"));
  RPINN_TRY(make_or_check(context, store, NULL));
  return find_pieces(context, store, false);
}

static RpinnStatus open_database(RpinnContext *context, RpinnMemberStore *store, const char *identity) {
  /* To read needs READWRITE as well: the journal of a killed writer has to be played back. */
  int flags = SQLITE_OPEN_READWRITE | (identity ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(store->path, &store->database, flags, NULL);
  if (!store->database) return rpinn_fail_memory(context);
  if (code != SQLITE_OK) return fail(context, store, "open");
  sqlite3_extended_result_codes(store->database, 1);
  if (!identity) return open_to_read(context, store);
  sqlite3_busy_timeout(store->database, BUSY_MILLISECONDS);
  /* The lock first: everything after it sees a file that nobody else changes. */
  RPINN_TRY(execute(context, store, "PRAGMA locking_mode = EXCLUSIVE"));
  RPINN_TRY(execute(context, store, "PRAGMA synchronous = EXTRA"));
  RPINN_TRY(execute(context, store, "BEGIN EXCLUSIVE"));
  RpinnStatus status = make_or_check(context, store, identity);
  if (status == RPINN_OK) status = find_pieces(context, store, true);
  if (status == RPINN_OK) return rpinn_member_store_flush(context, store);
  roll_back(store);
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
  store->last_commit = steady_seconds() - 1; /* the first member is safe at once */
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

void rpinn_member_store_close(RpinnMemberStore *store) {
  if (!store) return;
  if (store->database && in_transaction(store) &&
      sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
    roll_back(store);
  for (size_t i = 0; i < NUM_QUERIES; i++) sqlite3_finalize(store->queries[i]);
  sqlite3_close(store->database);
  free(store->path);
  free(store->numbers);
  free(store);
}

/* ---- writing ---- */

static RpinnStatus check_index(RpinnContext *context, uint64_t index) {
  return index < INT64_MAX
             ? RPINN_OK
             : rpinn_fail(context, RPINN_ERROR_INPUT, "member %" PRIu64 " is too large a number", index);
}

/* NULL counts as empty, not as SQL's NULL. */
static int bind_bytes(sqlite3_stmt *statement, int column, const void *bytes, size_t size) {
  return sqlite3_bind_blob64(statement, column, size ? bytes : "", size, SQLITE_STATIC);
}

static int bind_member(sqlite3_stmt *statement, const RpinnStoredMember *member) {
  int code = sqlite3_bind_int64(statement, 1, (sqlite3_int64)member->index);
  if (code == SQLITE_OK) code = sqlite3_bind_int(statement, 2, member->failed);
  if (code == SQLITE_OK) code = sqlite3_bind_text(statement, 3, member->stop, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_bind_int64(statement, 4, (sqlite3_int64)member_checksum(member));
  if (code == SQLITE_OK)
    code = bind_bytes(statement, 5, member->parameters, member->num_parameters * sizeof(double));
  if (code == SQLITE_OK)
    code = bind_bytes(statement, 6, member->statistics, member->num_statistics * sizeof(double));
  if (code == SQLITE_OK)
    code = bind_bytes(statement, 7, member->trace, 2 * member->num_trace * sizeof(double));
  return code;
}

/* Run a statement that writes and whose only parameter is the index. */
static RpinnStatus write_at(RpinnContext *context, RpinnMemberStore *store, Query query, uint64_t index) {
  sqlite3_stmt *statement;
  RPINN_TRY(prepare(context, store, query, &statement));
  return write_with(context, store, statement, sqlite3_bind_int64(statement, 1, (sqlite3_int64)index));
}

RpinnStatus rpinn_member_store_put(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnStoredMember *member) {
  sqlite3_stmt *put;
  RPINN_TRY(check_index(context, member->index));
  RPINN_TRY(prepare(context, store, QUERY_PUT, &put));
  RPINN_TRY(begin(context, store));
  RPINN_TRY(write_with(context, store, put, bind_member(put, member)));
  RPINN_TRY(write_at(context, store, QUERY_DROP_STATE, member->index));
  RPINN_TRY(write_at(context, store, QUERY_DROP_PIECES, member->index));
  return flush_when_due(context, store);
}

/* The bytes of a state behind its first piece. */
static RpinnStatus put_pieces(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                              const unsigned char *bytes, size_t size) {
  sqlite3_stmt *put;
  RPINN_TRY(write_at(context, store, QUERY_DROP_PIECES, index));
  RPINN_TRY(prepare(context, store, QUERY_PUT_PIECE, &put));
  for (sqlite3_int64 piece = 1; size > 0; piece++) {
    size_t count = size < store->piece_bytes ? size : store->piece_bytes;
    int code = sqlite3_bind_int64(put, 1, (sqlite3_int64)index);
    if (code == SQLITE_OK) code = sqlite3_bind_int64(put, 2, piece);
    if (code == SQLITE_OK) code = bind_bytes(put, 3, bytes, count);
    RPINN_TRY(write_with(context, store, put, code));
    bytes += count;
    size -= count;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_put_state(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                         const void *state, size_t size) {
  sqlite3_stmt *put;
  size_t first = size < store->piece_bytes ? size : store->piece_bytes;
  RPINN_TRY(check_index(context, index));
  RPINN_TRY(prepare(context, store, QUERY_PUT_STATE, &put));
  RPINN_TRY(begin(context, store));
  int code = sqlite3_bind_int64(put, 1, (sqlite3_int64)index);
  if (code == SQLITE_OK) code = sqlite3_bind_int64(put, 2, (sqlite3_int64)checksum(index, state, size));
  if (code == SQLITE_OK) code = bind_bytes(put, 3, state, first);
  RPINN_TRY(write_with(context, store, put, code));
  const unsigned char *rest = size > first ? (const unsigned char *)state + first : NULL;
  RPINN_TRY(put_pieces(context, store, index, rest, size - first));
  return flush_when_due(context, store);
}

void rpinn_member_store_cut_states(RpinnMemberStore *store, size_t piece_bytes) {
  store->piece_bytes = piece_bytes;
}

RpinnStatus rpinn_member_store_set_text(RpinnContext *context, RpinnMemberStore *store, const char *key,
                                        const char *value) {
  sqlite3_stmt *set;
  RPINN_TRY(prepare(context, store, QUERY_SET_TEXT, &set));
  RPINN_TRY(begin(context, store));
  int code = sqlite3_bind_text(set, 1, key, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_bind_text(set, 2, value, -1, SQLITE_STATIC);
  RPINN_TRY(write_with(context, store, set, code));
  return flush_when_due(context, store);
}

/* ---- reading ---- */

/* A statement with its first parameter bound, at its first row; *found is false when there is none. */
static RpinnStatus look_up(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *statement, int bound,
                           bool *found) {
  int code = bound == SQLITE_OK ? sqlite3_step(statement) : bound;
  *found = code == SQLITE_ROW;
  if (*found || code == SQLITE_DONE) return RPINN_OK;
  RpinnStatus status = fail_as(context, store, "read", code);
  release(statement);
  return status;
}

static sqlite3_int64 clamp(uint64_t below) {
  return below < INT64_MAX ? (sqlite3_int64)below : INT64_MAX;
}

/* A copy with one zero byte at its end, so that a copy of nothing is not NULL. */
static RpinnStatus copy_column(RpinnContext *context, sqlite3_stmt *statement, int column, void **copy,
                               size_t *size) {
  const void *bytes = sqlite3_column_blob(statement, column);
  *size = (size_t)sqlite3_column_bytes(statement, column);
  char *result = malloc(*size + 1);
  if (!result || (*size && !bytes)) {
    free(result);
    return rpinn_fail_memory(context);
  }
  if (*size) memcpy(result, bytes, *size);
  result[*size] = '\0';
  *copy = result;
  return RPINN_OK;
}

/* Bytes of a state behind its first piece. */
static RpinnStatus measure_pieces(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                  size_t *size) {
  sqlite3_stmt *measure;
  bool found;
  *size = 0;
  if (!store->has_pieces) return RPINN_OK;
  RPINN_TRY(prepare(context, store, QUERY_MEASURE_PIECES, &measure));
  RPINN_TRY(look_up(context, store, measure, sqlite3_bind_int64(measure, 1, (sqlite3_int64)index), &found));
  if (found) *size = (size_t)sqlite3_column_int64(measure, 0);
  release(measure);
  return RPINN_OK;
}

/* They, into bytes [size]. */
static RpinnStatus get_pieces(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                              unsigned char *bytes, size_t size) {
  sqlite3_stmt *get;
  bool found;
  if (!size) return RPINN_OK;
  RPINN_TRY(prepare(context, store, QUERY_GET_PIECES, &get));
  RpinnStatus status = look_up(context, store, get, sqlite3_bind_int64(get, 1, (sqlite3_int64)index), &found);
  while (status == RPINN_OK && found) {
    const void *piece = sqlite3_column_blob(get, 0);
    size_t count = (size_t)sqlite3_column_bytes(get, 0);
    if (count && !piece) status = rpinn_fail_memory(context);
    if (status == RPINN_OK && count > size)
      status = fail_damaged(context, store, "the state of member", index);
    if (status != RPINN_OK) break;
    if (count) memcpy(bytes, piece, count);
    bytes += count;
    size -= count;
    status = look_up(context, store, get, SQLITE_OK, &found);
  }
  release(get);
  return status;
}

/* The row of a state and its further pieces, in one. */
static RpinnStatus join_state(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *row,
                              uint64_t index, void **state, size_t *size) {
  size_t first = (size_t)sqlite3_column_bytes(row, 1), rest;
  const void *bytes = sqlite3_column_blob(row, 1);
  RPINN_TRY(measure_pieces(context, store, index, &rest));
  unsigned char *whole = malloc(first + rest + 1); /* one more: a state of nothing is not NULL */
  if (!whole || (first && !bytes)) {
    free(whole);
    return rpinn_fail_memory(context);
  }
  if (first) memcpy(whole, bytes, first);
  *state = whole;
  *size = first + rest;
  RPINN_TRY(get_pieces(context, store, index, whole + first, rest));
  if (checksum(index, whole, *size) == (uint64_t)sqlite3_column_int64(row, 0)) return RPINN_OK;
  return fail_damaged(context, store, "the state of member", index);
}

RpinnStatus rpinn_member_store_get_state(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                         void **state, size_t *size) {
  sqlite3_stmt *get;
  bool found;
  *state = NULL;
  *size = 0;
  RPINN_TRY(check_index(context, index));
  RPINN_TRY(prepare(context, store, QUERY_GET_STATE, &get));
  RPINN_TRY(look_up(context, store, get, sqlite3_bind_int64(get, 1, (sqlite3_int64)index), &found));
  RpinnStatus status = found ? join_state(context, store, get, index, state, size) : RPINN_OK;
  release(get);
  if (status == RPINN_OK) return RPINN_OK;
  free(*state);
  *state = NULL;
  *size = 0;
  return status;
}

RpinnStatus rpinn_member_store_get_text(RpinnContext *context, RpinnMemberStore *store, const char *key,
                                        char **value) {
  sqlite3_stmt *get;
  bool found;
  void *copy = NULL;
  size_t size;
  *value = NULL;
  RPINN_TRY(prepare(context, store, QUERY_GET_TEXT, &get));
  RPINN_TRY(look_up(context, store, get, sqlite3_bind_text(get, 1, key, -1, SQLITE_STATIC), &found));
  RpinnStatus status = found ? copy_column(context, get, 0, &copy, &size) : RPINN_OK;
  release(get);
  *value = copy;
  return status;
}

RpinnStatus rpinn_member_store_has(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                   bool *has) {
  sqlite3_stmt *query;
  RPINN_TRY(check_index(context, index));
  RPINN_TRY(prepare(context, store, QUERY_HAS, &query));
  RPINN_TRY(look_up(context, store, query, sqlite3_bind_int64(query, 1, (sqlite3_int64)index), has));
  release(query);
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_behind_last(RpinnContext *context, RpinnMemberStore *store, uint64_t *number) {
  int64_t last = 0;
  RPINN_TRY(query_number(context, store, "SELECT coalesce(max(member) + 1, 0) FROM members", &last));
  *number = (uint64_t)last;
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_count(RpinnContext *context, RpinnMemberStore *store, uint64_t below,
                                     uint64_t *finished, uint64_t *failed) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(prepare(context, store, QUERY_COUNT, &query));
  RPINN_TRY(look_up(context, store, query, sqlite3_bind_int64(query, 1, clamp(below)), &found));
  *finished = found ? (uint64_t)sqlite3_column_int64(query, 0) : 0;
  *failed = found ? (uint64_t)sqlite3_column_int64(query, 1) : 0;
  release(query);
  return RPINN_OK;
}

/* The numbers of a row, moved to where doubles may stand: SQLite's bytes have no alignment. */
static RpinnStatus read_row(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *row,
                            RpinnStoredMember *member) {
  enum { FIRST_COLUMN = 4, NUM_COLUMNS = 3 };
  const void *bytes[NUM_COLUMNS];
  size_t counts[NUM_COLUMNS], total = 0;
  for (int i = 0; i < NUM_COLUMNS; i++) {
    bytes[i] = sqlite3_column_blob(row, FIRST_COLUMN + i);
    counts[i] = (size_t)sqlite3_column_bytes(row, FIRST_COLUMN + i) / sizeof(double);
    if (counts[i] && !bytes[i]) return rpinn_fail_memory(context);
    total += counts[i];
  }
  if (total > store->capacity) {
    double *numbers = realloc(store->numbers, total * sizeof *numbers);
    if (!numbers) return rpinn_fail_memory(context);
    store->numbers = numbers;
    store->capacity = total;
  }
  const double *columns[NUM_COLUMNS];
  double *end = store->numbers;
  for (int i = 0; i < NUM_COLUMNS; i++) {
    columns[i] = counts[i] ? end : NULL;
    if (counts[i]) memcpy(end, bytes[i], counts[i] * sizeof *end);
    end += counts[i];
  }
  *member = (RpinnStoredMember){.index = (uint64_t)sqlite3_column_int64(row, 0),
                                .failed = sqlite3_column_int(row, 1),
                                .stop = (const char *)sqlite3_column_text(row, 2),
                                .num_parameters = counts[0],
                                .parameters = columns[0],
                                .num_statistics = counts[1],
                                .statistics = columns[1],
                                .num_trace = counts[2] / 2,
                                .trace = columns[2]};
  if (!member->stop) return rpinn_fail_memory(context);
  if (member_checksum(member) != (uint64_t)sqlite3_column_int64(row, 3))
    return fail_damaged(context, store, "member", member->index);
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_visit(RpinnContext *context, RpinnMemberStore *store, uint64_t below,
                                     RpinnStatus (*visit)(void *user, const RpinnStoredMember *member),
                                     void *user) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(prepare(context, store, QUERY_VISIT, &query));
  RpinnStatus status = look_up(context, store, query, sqlite3_bind_int64(query, 1, clamp(below)), &found);
  while (status == RPINN_OK && found) {
    RpinnStoredMember member;
    status = read_row(context, store, query, &member);
    if (status == RPINN_OK) status = visit(user, &member);
    if (status == RPINN_OK) status = look_up(context, store, query, SQLITE_OK, &found);
  }
  release(query);
  return status;
}
