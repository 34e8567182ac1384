#include "store_copy.h"

#include <stdlib.h>
#include <string.h>

#include "store_database.h"

RpinnStatus rpinn_member_store_get_identity(RpinnContext *context, RpinnMemberStore *store, char **identity) {
  sqlite3_stmt *get;
  bool found;
  *identity = NULL;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_GET_IDENTITY, &get));
  RPINN_TRY(rpinn_store_look_up(context, store, get, SQLITE_OK, &found));
  const char *text = found ? (const char *)sqlite3_column_text(get, 0) : NULL;
  size_t size = text ? strlen(text) + 1 : 0;
  if (text) *identity = malloc(size);
  if (*identity) memcpy(*identity, text, size);
  rpinn_store_release(get);
  if (!found)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s' is damaged: it has no identity", store->path);
  return *identity ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_member_store_visit_texts(RpinnContext *context, RpinnMemberStore *store,
                                           RpinnStatus (*visit)(void *user, const char *key,
                                                                const char *value),
                                           void *user) {
  sqlite3_stmt *query;
  bool found;
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_VISIT_TEXTS, &query));
  RpinnStatus status = rpinn_store_look_up(context, store, query, SQLITE_OK, &found);
  while (status == RPINN_OK && found) {
    const char *key = (const char *)sqlite3_column_text(query, 0),
               *value = (const char *)sqlite3_column_text(query, 1);
    status = key && value ? visit(user, key, value) : rpinn_fail_memory(context);
    if (status == RPINN_OK) status = rpinn_store_look_up(context, store, query, SQLITE_OK, &found);
  }
  rpinn_store_release(query);
  return status;
}

RpinnStatus rpinn_member_store_next_state(RpinnContext *context, RpinnMemberStore *store, uint64_t from,
                                          uint64_t *index, bool *found) {
  sqlite3_stmt *query;
  RPINN_TRY(rpinn_store_check_index(context, from));
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_NEXT_STATE, &query));
  RPINN_TRY(
      rpinn_store_look_up(context, store, query, sqlite3_bind_int64(query, 1, (sqlite3_int64)from), found));
  *index = *found ? (uint64_t)sqlite3_column_int64(query, 0) : 0;
  rpinn_store_release(query);
  return RPINN_OK;
}

RpinnStatus rpinn_member_store_keep_small(RpinnContext *context, RpinnMemberStore *store) {
  return rpinn_store_execute(context, store, "PRAGMA cache_size = -128");
}

/* The journal that made the store is still there, and goes with the end of a transaction whose lock is not kept. */
RpinnStatus rpinn_member_store_write_unsafely(RpinnContext *context, RpinnMemberStore *store) {
  RPINN_TRY(rpinn_member_store_flush(context, store));
  return rpinn_store_execute(context, store,
                             "PRAGMA synchronous = OFF; PRAGMA locking_mode = NORMAL;"
                             "BEGIN IMMEDIATE; INSERT INTO texts (key, value) VALUES ('', '');"
                             "DELETE FROM texts WHERE key = ''; COMMIT;"
                             "PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE");
}
