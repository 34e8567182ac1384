/* SQLite as the member store uses it: statements that are prepared once, grouped transactions, failures with a reason. */
#ifndef RPINN_IO_STORE_DATABASE_H
#define RPINN_IO_STORE_DATABASE_H

#include <sqlite3.h>

#include "member_store.h"

typedef enum RpinnStoreQuery {
  RPINN_QUERY_PUT,
  RPINN_QUERY_DROP_MEMBERS,
  RPINN_QUERY_DROP_STATES,
  RPINN_QUERY_DROP_ALL_PIECES,
  RPINN_QUERY_DROP_STATE,
  RPINN_QUERY_PUT_STATE,
  RPINN_QUERY_GET_STATE,
  RPINN_QUERY_DROP_PIECES,
  RPINN_QUERY_PUT_PIECE,
  RPINN_QUERY_MEASURE_PIECES,
  RPINN_QUERY_GET_PIECES,
  RPINN_QUERY_HAS,
  RPINN_QUERY_COUNT,
  RPINN_QUERY_COUNT_SHARE,
  RPINN_QUERY_BEHIND_LAST,
  RPINN_QUERY_VISIT,
  RPINN_QUERY_LIST,
  RPINN_QUERY_SET_TEXT,
  RPINN_QUERY_GET_TEXT,
  RPINN_QUERY_VISIT_TEXTS,
  RPINN_QUERY_NEXT_STATE,
  RPINN_QUERY_GET_IDENTITY,
  RPINN_NUM_QUERIES
} RpinnStoreQuery;

struct RpinnMemberStore {
  sqlite3 *database;
  char *path;
  sqlite3_stmt *queries[RPINN_NUM_QUERIES]; /* prepared when first used */
  double last_commit;                       /* seconds of the steady clock */
  double *numbers;                          /* [capacity] of the member that is being visited */
  size_t capacity;
  size_t piece_bytes; /* of the pieces that states are cut into */
  bool has_pieces;    /* the table is there */
  bool is_locked;     /* the file system can lock files */
  bool has_failed;    /* the file, or what is in it, was the reason of a failure */
};

/* "cannot VERB 'PATH': …" for a code of SQLite, or for its last failure. */
RpinnStatus rpinn_store_fail_as(RpinnContext *context, RpinnMemberStore *store, const char *verb, int code);
RpinnStatus rpinn_store_fail(RpinnContext *context, RpinnMemberStore *store, const char *verb);
/* WHAT INDEX has a wrong checksum. */
RpinnStatus rpinn_store_fail_damaged(RpinnContext *context, RpinnMemberStore *store, const char *what,
                                     uint64_t index);
/* Bad input where a member's number is too large for SQLite. */
RpinnStatus rpinn_store_check_index(RpinnContext *context, uint64_t index);

/* Run statements without parameters. */
RpinnStatus rpinn_store_execute(RpinnContext *context, RpinnMemberStore *store, const char *text);
/* A number from a statement without parameters, such as a pragma. */
RpinnStatus rpinn_store_query_number(RpinnContext *context, RpinnMemberStore *store, const char *text,
                                     int64_t *number);

/* A statement of the table, to bind parameters to. */
RpinnStatus rpinn_store_prepare(RpinnContext *context, RpinnMemberStore *store, RpinnStoreQuery query,
                                sqlite3_stmt **statement);
/* NULL counts as empty, not as SQL's NULL. */
int rpinn_store_bind_bytes(sqlite3_stmt *statement, int column, const void *bytes, size_t size);
/* The first two parameters of a query over a range; SQLite's answer. */
int rpinn_store_bind_range(sqlite3_stmt *query, RpinnStoreRange range);
/* Run one that writes; bound: the code of binding its parameters. A failure ends the transaction. */
RpinnStatus rpinn_store_write_with(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *statement,
                                   int bound);
/* The same where its only parameter is the index. */
RpinnStatus rpinn_store_write_at(RpinnContext *context, RpinnMemberStore *store, RpinnStoreQuery query,
                                 uint64_t index);
/* Bring one that reads to its next row; *found is false when there is none. Release it after the last. */
RpinnStatus rpinn_store_look_up(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *statement,
                                int bound, bool *found);
/* The member of a row of RPINN_QUERY_VISIT; its pointers are valid until
 * the next one, or the statement is released. */
RpinnStatus rpinn_store_read_member(RpinnContext *context, RpinnMemberStore *store, sqlite3_stmt *row,
                                    RpinnStoredMember *member);
/* The row of a member, within the transaction. */
RpinnStatus rpinn_store_put_member(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnStoredMember *member);
/* The same with the checksum of the member that another store had. */
RpinnStatus rpinn_store_put_summed(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnStoredMember *member, uint64_t checksum);
/* Make a statement ready for its next use. */
void rpinn_store_release(sqlite3_stmt *statement);

/* A transaction begins with the first write and ends with a flush. */
bool rpinn_store_in_transaction(const RpinnMemberStore *store);
RpinnStatus rpinn_store_begin(RpinnContext *context, RpinnMemberStore *store);
/* Commit, where the last commit is a second ago or more. */
RpinnStatus rpinn_store_flush_when_due(RpinnContext *context, RpinnMemberStore *store);
void rpinn_store_roll_back(RpinnMemberStore *store);
double rpinn_store_seconds(void); /* of the steady clock */

/* Of bytes, and of what has been summed up before them. */
uint64_t rpinn_store_checksum(uint64_t hash, const void *bytes, size_t size);

#endif
