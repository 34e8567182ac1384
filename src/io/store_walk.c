#include "store_walk.h"

#include "store_database.h"

static sqlite3_stmt *rows_of(const RpinnStoreWalk *walk) {
  return walk->store->queries[RPINN_QUERY_VISIT];
}

static RpinnStatus look(RpinnContext *context, RpinnStoreWalk *walk, int bound) {
  RPINN_TRY(rpinn_store_look_up(context, walk->store, rows_of(walk), bound, &walk->has_member));
  walk->index = walk->has_member ? (uint64_t)sqlite3_column_int64(rows_of(walk), 0) : 0;
  return RPINN_OK;
}

RpinnStatus rpinn_store_walk_begin(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                   RpinnStoreWalk *walk) {
  sqlite3_stmt *rows;
  *walk = (RpinnStoreWalk){0};
  RPINN_TRY(rpinn_store_prepare(context, store, RPINN_QUERY_VISIT, &rows));
  walk->store = store;
  return look(context, walk, rpinn_store_bind_range(rows, range));
}

RpinnStatus rpinn_store_walk_next(RpinnContext *context, RpinnStoreWalk *walk) {
  return look(context, walk, SQLITE_OK);
}

/* Its checksum, which holds, goes along: most of the work would be to make it again. */
RpinnStatus rpinn_store_walk_copy(RpinnContext *context, const RpinnStoreWalk *walk, RpinnMemberStore *to) {
  RpinnStoredMember member;
  RPINN_TRY(rpinn_store_read_member(context, walk->store, rows_of(walk), &member));
  RPINN_TRY(rpinn_store_put_summed(context, to, &member, (uint64_t)sqlite3_column_int64(rows_of(walk), 3)));
  return rpinn_store_flush_when_due(context, to);
}

void rpinn_store_walk_end(RpinnStoreWalk *walk) {
  if (walk->store) rpinn_store_release(rows_of(walk));
  *walk = (RpinnStoreWalk){0};
}
