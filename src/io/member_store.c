/* Doubles are kept as blobs: SQLite's own REAL turns NaN into NULL. Each row carries a checksum, because
 * SQLite notices damage to its own structure but not to the numbers. */
#include "member_store.h"

#include <stdlib.h>
#include <string.h>

#include "store_database.h"

static uint64_t member_checksum(const RpinnStoredMember *member, uint64_t index) {
  uint64_t hash = rpinn_store_checksum(index, member->stop, strlen(member->stop));
  hash = rpinn_store_checksum(hash, &member->failed, sizeof member->failed);
  hash = rpinn_store_checksum(hash, member->parameters, member->num_parameters * sizeof(double));
  hash = rpinn_store_checksum(hash, member->statistics, member->num_statistics * sizeof(double));
  return rpinn_store_checksum(hash, member->trace, 2 * member->num_trace * sizeof(double));
}

/* ---- writing ---- */

static int bind_member(sqlite3_stmt *statement, const RpinnStoredMember *member, uint64_t checksum) {
  int code = sqlite3_bind_int64(statement, 1, (sqlite3_int64)member->index);
  if (code == SQLITE_OK) code = sqlite3_bind_int(statement, 2, member->failed);
  if (code == SQLITE_OK) code = sqlite3_bind_text(statement, 3, member->stop, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_bind_int64(statement, 4, (sqlite3_int64)checksum);
  if (code == SQLITE_OK)
    code = rpinn_store_bind_bytes(statement, 5, member->parameters, member->num_parameters * sizeof(double));
  if (code == SQLITE_OK)
    code = rpinn_store_bind_bytes(statement, 6, member->statistics, member->num_statistics * sizeof(double));
  if (code == SQLITE_OK)
    code = rpinn_store_bind_bytes(statement, 7, member->trace, 2 * member->num_trace * sizeof(double));
  return code;
}

RpinnStatus rpinn_store_put_summed(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnStoredMember *member, uint64_t checksum) {
  sqlite3_stmt *put;
  RPINN_TRY(rpinn_store_check_index(context, member->index));
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_PUT, &put));
  RPINN_TRY(rpinn_store_begin(context, store));
  return rpinn_store_write_with(context, store, put, bind_member(put, member, checksum));
}

RpinnStatus rpinn_store_put_member(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnStoredMember *member) {
  return rpinn_store_put_summed(context, store, member, member_checksum(member, member->index));
}

RpinnStatus rpinn_member_store_put(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnStoredMember *member) {
  RPINN_TRY(rpinn_store_put_member(context, store, member));
  RPINN_TRY(rpinn_store_write_at(context, store, RPINN_QUERY_DROP_STATE, member->index));
  RPINN_TRY(rpinn_store_write_at(context, store, RPINN_QUERY_DROP_PIECES, member->index));
  return rpinn_store_flush_when_due(context, store);
}

static sqlite3_int64 clamp(uint64_t below) {
  return below < INT64_MAX ? (sqlite3_int64)below : INT64_MAX;
}

int rpinn_store_bind_range(sqlite3_stmt *query, RpinnStoreRange range) {
  int answer = sqlite3_bind_int64(query, 1, clamp(range.from));
  return answer == SQLITE_OK ? sqlite3_bind_int64(query, 2, clamp(range.below)) : answer;
}

RpinnStatus rpinn_member_store_drop(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range) {
  static const RpinnStoreQuery queries[] = {RPINN_QUERY_DROP_MEMBERS, RPINN_QUERY_DROP_STATES,
                                            RPINN_QUERY_DROP_ALL_PIECES};
  RPINN_TRY(rpinn_store_begin(context, store));
  for (size_t k = 0; k < sizeof queries / sizeof queries[0]; k++) {
    sqlite3_stmt *drop;
    RPINN_TRY(rpinn_store_prepare(context, store, queries[k], &drop));
    RPINN_TRY(rpinn_store_write_with(context, store, drop, rpinn_store_bind_range(drop, range)));
  }
  return rpinn_store_flush_when_due(context, store);
}

RpinnStatus rpinn_member_store_set_text(RpinnContext *context, RpinnMemberStore *store, const char *key,
                                        const char *value) {
  sqlite3_stmt *set;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_SET_TEXT, &set));
  RPINN_TRY(rpinn_store_begin(context, store));
  int code = sqlite3_bind_text(set, 1, key, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_bind_text(set, 2, value, -1, SQLITE_STATIC);
  RPINN_TRY(rpinn_store_write_with(context, store, set, code));
  return rpinn_store_flush_when_due(context, store);
}

/* ---- reading ---- */

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

RpinnStatus rpinn_member_store_get_text(RpinnContext *context, RpinnMemberStore *store, const char *key,
                                        char **value) {
  sqlite3_stmt *get;
  bool found;
  void *copy = NULL;
  size_t size;
  *value = NULL;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_GET_TEXT, &get));
  RPINN_TRY(
      rpinn_store_look_up(context, store, get, sqlite3_bind_text(get, 1, key, -1, SQLITE_STATIC), &found));
  RpinnStatus status = found ? copy_column(context, get, 0, &copy, &size) : RPINN_OK;
  rpinn_store_release(get);
  *value = copy;
  return status;
}

RpinnStatus rpinn_member_store_has(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                   bool *has) {
  sqlite3_stmt *query;
  RPINN_TRY(rpinn_store_check_index(context, index));
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_HAS, &query));
  RPINN_TRY(
      rpinn_store_look_up(context, store, query, sqlite3_bind_int64(query, 1, (sqlite3_int64)index), has));
  rpinn_store_release(query);
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_behind_last(RpinnContext *context, RpinnMemberStore *store,
                                           RpinnStoreRange range, uint64_t *number) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_BEHIND_LAST, &query));
  RPINN_TRY(rpinn_store_look_up(context, store, query, rpinn_store_bind_range(query, range), &found));
  *number = found ? (uint64_t)sqlite3_column_int64(query, 0) : 0;
  rpinn_store_release(query);
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_count_share(RpinnContext *context, RpinnMemberStore *store,
                                           RpinnStoreRange range, uint64_t step, uint64_t *count) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_COUNT_SHARE, &query));
  int bound = rpinn_store_bind_range(query, range);
  if (bound == SQLITE_OK) bound = sqlite3_bind_int64(query, 3, (sqlite3_int64)step);
  RPINN_TRY(rpinn_store_look_up(context, store, query, bound, &found));
  *count = found ? (uint64_t)sqlite3_column_int64(query, 0) : 0;
  rpinn_store_release(query);
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_count(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                     uint64_t *finished, uint64_t *failed) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_COUNT, &query));
  RPINN_TRY(rpinn_store_look_up(context, store, query, rpinn_store_bind_range(query, range), &found));
  *finished = found ? (uint64_t)sqlite3_column_int64(query, 0) : 0;
  *failed = found ? (uint64_t)sqlite3_column_int64(query, 1) : 0;
  rpinn_store_release(query);
  return RPINN_OK;
}

/* The numbers of a row, moved to where doubles may stand: SQLite's bytes have no alignment. */
static RpinnStatus read_unchecked(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *row,
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
                                .trace = columns[2],
                                .checksum = (uint64_t)sqlite3_column_int64(row, 3)};
  return member->stop ? RPINN_OK : rpinn_fail_memory(context);
}

bool rpinn_stored_member_is_whole(const RpinnStoredMember *member, uint64_t index) {
  return member_checksum(member, index) == member->checksum;
}

RpinnStatus rpinn_member_store_fail_damaged(RpinnContext *context, RpinnMemberStore *store, uint64_t index) {
  return rpinn_store_fail_damaged(context, store, "member", index);
}

RpinnStatus rpinn_store_read_member(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *row,
                                    RpinnStoredMember *member) {
  RPINN_TRY(read_unchecked(context, store, row, member));
  if (rpinn_stored_member_is_whole(member, member->index)) return RPINN_OK;
  return rpinn_member_store_fail_damaged(context, store, member->index);
}

typedef RpinnStatus (*ReadMember)(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *row,
                                  RpinnStoredMember *member);

static RpinnStatus visit_range(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                               ReadMember read, RpinnStatus (*visit)(void *, const RpinnStoredMember *),
                               void *user) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_VISIT, &query));
  RpinnStatus status =
      rpinn_store_look_up(context, store, query, rpinn_store_bind_range(query, range), &found);
  while (status == RPINN_OK && found) {
    RpinnStoredMember member;
    status = read(context, store, query, &member);
    if (status == RPINN_OK) status = visit(user, &member);
    if (status == RPINN_OK) status = rpinn_store_look_up(context, store, query, SQLITE_OK, &found);
  }
  rpinn_store_release(query);
  return status;
}

RpinnStatus rpinn_member_store_visit(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                     RpinnStatus (*visit)(void *user, const RpinnStoredMember *member),
                                     void *user) {
  return visit_range(context, store, range, rpinn_store_read_member, visit, user);
}

RpinnStatus
rpinn_member_store_visit_unchecked(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                   RpinnStatus (*visit)(void *user, const RpinnStoredMember *member),
                                   void *user) {
  return visit_range(context, store, range, read_unchecked, visit, user);
}

RpinnStatus rpinn_member_store_list(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                    RpinnStatus (*visit)(void *user, uint64_t index), void *user) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_LIST, &query));
  RpinnStatus status =
      rpinn_store_look_up(context, store, query, rpinn_store_bind_range(query, range), &found);
  while (status == RPINN_OK && found) {
    status = visit(user, (uint64_t)sqlite3_column_int64(query, 0));
    if (status == RPINN_OK) status = rpinn_store_look_up(context, store, query, SQLITE_OK, &found);
  }
  rpinn_store_release(query);
  return status;
}
