/* States of unfinished members, in pieces: SQLite refuses rows above 1e9 bytes, which the state of many particles or of a
 * dense metric reaches. The first piece stands in `states` with the checksum of the whole, as stores had it before there
 * were pieces, and the others follow in `state_pieces`, within the same transaction. */
#include <stdlib.h>
#include <string.h>

#include "store_database.h"

/* ---- writing ---- */

/* The bytes of a state behind its first piece. */
static RpinnStatus put_pieces(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                              const unsigned char *bytes, size_t size) {
  sqlite3_stmt *put;
  RPINN_TRY(rpinn_store_write_at(context, store, RPINN_QUERY_DROP_PIECES, index));
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_PUT_PIECE, &put));
  for (sqlite3_int64 piece = 1; size > 0; piece++) {
    size_t count = size < store->piece_bytes ? size : store->piece_bytes;
    int code = sqlite3_bind_int64(put, 1, (sqlite3_int64)index);
    if (code == SQLITE_OK) code = sqlite3_bind_int64(put, 2, piece);
    if (code == SQLITE_OK) code = rpinn_store_bind_bytes(put, 3, bytes, count);
    RPINN_TRY(rpinn_store_write_with(context, store, put, code));
    bytes += count;
    size -= count;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_put_state(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                         const void *state, size_t size) {
  sqlite3_stmt *put;
  size_t first = size < store->piece_bytes ? size : store->piece_bytes;
  RPINN_TRY(rpinn_store_check_index(context, index));
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_PUT_STATE, &put));
  RPINN_TRY(rpinn_store_begin(context, store));
  int code = sqlite3_bind_int64(put, 1, (sqlite3_int64)index);
  if (code == SQLITE_OK)
    code = sqlite3_bind_int64(put, 2, (sqlite3_int64)rpinn_store_checksum(index, state, size));
  if (code == SQLITE_OK) code = rpinn_store_bind_bytes(put, 3, state, first);
  RPINN_TRY(rpinn_store_write_with(context, store, put, code));
  const unsigned char *rest = size > first ? (const unsigned char *)state + first : NULL;
  RPINN_TRY(put_pieces(context, store, index, rest, size - first));
  return rpinn_store_flush_when_due(context, store);
}

void rpinn_member_store_cut_states(RpinnMemberStore *store, size_t piece_bytes) {
  store->piece_bytes = piece_bytes;
}

/* ---- reading ---- */

/* Bytes of a state behind its first piece. */
static RpinnStatus measure_pieces(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                  size_t *size) {
  sqlite3_stmt *measure;
  bool found;
  *size = 0;
  if (!store->has_pieces) return RPINN_OK;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_MEASURE_PIECES, &measure));
  RPINN_TRY(rpinn_store_look_up(context, store, measure, sqlite3_bind_int64(measure, 1, (sqlite3_int64)index),
                                &found));
  if (found) *size = (size_t)sqlite3_column_int64(measure, 0);
  rpinn_store_release(measure);
  return RPINN_OK;
}

/* They, into bytes [size]. */
static RpinnStatus get_pieces(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                              unsigned char *bytes, size_t size) {
  sqlite3_stmt *get;
  bool found;
  if (!size) return RPINN_OK;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_GET_PIECES, &get));
  RpinnStatus status =
      rpinn_store_look_up(context, store, get, sqlite3_bind_int64(get, 1, (sqlite3_int64)index), &found);
  while (status == RPINN_OK && found) {
    const void *piece = sqlite3_column_blob(get, 0);
    size_t count = (size_t)sqlite3_column_bytes(get, 0);
    if (count && !piece) status = rpinn_fail_memory(context);
    if (status == RPINN_OK && count > size)
      status = rpinn_store_fail_damaged(context, store, "the state of member", index);
    if (status != RPINN_OK) break;
    if (count) memcpy(bytes, piece, count);
    bytes += count;
    size -= count;
    status = rpinn_store_look_up(context, store, get, SQLITE_OK, &found);
  }
  rpinn_store_release(get);
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
  if (rpinn_store_checksum(index, whole, *size) == (uint64_t)sqlite3_column_int64(row, 0)) return RPINN_OK;
  return rpinn_store_fail_damaged(context, store, "the state of member", index);
}

RpinnStatus rpinn_member_store_get_state(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                         void **state, size_t *size) {
  sqlite3_stmt *get;
  bool found;
  *state = NULL;
  *size = 0;
  RPINN_TRY(rpinn_store_check_index(context, index));
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_GET_STATE, &get));
  RPINN_TRY(
      rpinn_store_look_up(context, store, get, sqlite3_bind_int64(get, 1, (sqlite3_int64)index), &found));
  RpinnStatus status = found ? join_state(context, store, get, index, state, size) : RPINN_OK;
  rpinn_store_release(get);
  if (status == RPINN_OK) return RPINN_OK;
  free(*state);
  *state = NULL;
  *size = 0;
  return status;
}
