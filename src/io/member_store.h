/* The crash-safe store of finished members (checkpoint.db): one SQLite file with a rollback journal, synced
 * at every commit. Commits are grouped, at most one a second. After `kill -9` or a power cut the next opener
 * finds the last commit, whole; a member is in it or is not.
 *
 * One thread at a time. Numbers are kept bit for bit, for this machine type. */
#ifndef RPINN_IO_MEMBER_STORE_H
#define RPINN_IO_MEMBER_STORE_H

#include <stdint.h>

#include "context.h"

/* Characters of a store's path from the root on: SQLite's 512, less what it appends for the journal. */
enum { RPINN_STORE_MAX_PATH = 504 };

typedef struct RpinnStoredMember {
  uint64_t index; /* below INT64_MAX */
  int32_t failed; /* 1: recorded as failed, left out of statistics */
  size_t num_parameters;
  const double *parameters; /* [num_parameters] the best point; 0 and NULL when failed */
  size_t num_statistics;
  const double *statistics; /* [num_statistics] in the caller's order */
  size_t num_trace;
  const double *trace; /* [2 * num_trace] pairs (iteration, loss) */
  const char *stop;    /* name of the stop reason */
  uint64_t
      checksum; /* of what was read, as it stands in the store; nobody's business where members are put */
} RpinnStoredMember;

typedef struct RpinnMemberStore RpinnMemberStore;

/* Members with from <= index < below. */
typedef struct RpinnStoreRange {
  uint64_t from, below;
} RpinnStoreRange;

/* Open, or create when absent. identity: a text that must equal the one the store was made with; the message
 * of a difference names the first lines that differ, "was X, is now Y". Exclusive until closed, also against
 * other processes. RPINN_ERROR_INPUT: another identity, another run at work, a file that is not a store, is
 * damaged or of another version. RPINN_ERROR_IO, with SQLite's reason: unreadable, no room. */
RpinnStatus rpinn_member_store_open(RpinnContext *context, const char *path, const char *identity,
                                    RpinnMemberStore **store);
/* Open one that exists, to read it, whatever it was made with; an empty one is refused as bad input, and so
 * is one that another process is writing. The file may be write-protected. */
RpinnStatus rpinn_member_store_open_existing(RpinnContext *context, const char *path,
                                             RpinnMemberStore **store);
/* Was the store made with this identity? Bad input, as above, where not. */
RpinnStatus rpinn_member_store_check_identity(RpinnContext *context, RpinnMemberStore *store,
                                              const char *identity);
/* Can the file system lock it? Where not, nothing keeps another process from writing to it, too. */
bool rpinn_member_store_is_locked(const RpinnMemberStore *store);
/* Was the file, or what is in it, the reason of a failure since it was opened? For those who use two stores in one call. */
bool rpinn_member_store_has_failed(const RpinnMemberStore *store);
/* Commits what is pending, as far as possible: call flush before to hear of failures. */
void rpinn_member_store_close(RpinnMemberStore *store);

/* Writing. put, put_state and set_text commit when the last commit is a second ago or more, so what a caller
 * wrote before it fell silent may be pending: flush, which costs nothing when nothing is. A failed write
 * takes everything pending with it; what was committed stays, and the store can be used further. */

/* Add a member, or replace it. Its saved state goes. */
RpinnStatus rpinn_member_store_put(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnStoredMember *member);
/* Add the state of an unfinished member, or replace it. It may have any size: it is kept in pieces. */
RpinnStatus rpinn_member_store_put_state(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                         const void *state, size_t size);
/* Other pieces than the usual ones, at least a byte each, for states that are put from now on. For tests. */
void rpinn_member_store_cut_states(RpinnMemberStore *store, size_t piece_bytes);
/* A small table of texts by key, e.g. the wall seconds so far. */
RpinnStatus rpinn_member_store_set_text(RpinnContext *context, RpinnMemberStore *store, const char *key,
                                        const char *value);
/* Members and states of a range go. */
RpinnStatus rpinn_member_store_drop(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range);
/* Commit now. */
RpinnStatus rpinn_member_store_flush(RpinnContext *context, RpinnMemberStore *store);

/* Reading, of what is pending too. */

/* *state is NULL when there is none; the caller frees it. */
RpinnStatus rpinn_member_store_get_state(RpinnContext *context, RpinnMemberStore *store, uint64_t index,
                                         void **state, size_t *size);
/* *value is NULL when there is none; the caller frees it. */
RpinnStatus rpinn_member_store_get_text(RpinnContext *context, RpinnMemberStore *store, const char *key,
                                        char **value);
RpinnStatus rpinn_member_store_has(RpinnContext *context, RpinnMemberStore *store, uint64_t index, bool *has);
/* The index behind the last member of a range, 0 when there is none. */
RpinnStatus rpinn_member_store_behind_last(RpinnContext *context, RpinnMemberStore *store,
                                           RpinnStoreRange range, uint64_t *number);
/* Members of a range: all that are there, and those of them that failed. */
RpinnStatus rpinn_member_store_count(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                     uint64_t *finished, uint64_t *failed);
/* Members of every step-th index of a range, from its first one on. */
RpinnStatus rpinn_member_store_count_share(RpinnContext *context, RpinnMemberStore *store,
                                           RpinnStoreRange range, uint64_t step, uint64_t *count);
/* Call visit for the members of a range, in the order of their index. Its pointers are valid during
 * the call; a failure of visit stops and is returned. visit must not write to the store. Memory is that of
 * one member. */
RpinnStatus rpinn_member_store_visit(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                     RpinnStatus (*visit)(void *user, const RpinnStoredMember *member),
                                     void *user);
/* The same for callers who check sums themselves, in other threads and before they use any number: is a member, or a copy of
 * one, what was put under an index? A failure says that it is not. */
RpinnStatus
rpinn_member_store_visit_unchecked(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                   RpinnStatus (*visit)(void *user, const RpinnStoredMember *member),
                                   void *user);
bool rpinn_stored_member_is_whole(const RpinnStoredMember *member, uint64_t index);
RpinnStatus rpinn_member_store_fail_damaged(RpinnContext *context, RpinnMemberStore *store, uint64_t index);
/* The same for the indices of those that did not fail, without their numbers being read. visit may visit the members. */
RpinnStatus rpinn_member_store_list(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                    RpinnStatus (*visit)(void *user, uint64_t index), void *user);

#endif
