/* What a session that was killed may have left in a scratch folder, and what the store of the run says of it. */
#ifndef RPINN_TESTS_LEFT_DRAWS_H
#define RPINN_TESTS_LEFT_DRAWS_H

#include "run_bench.h"

#include "scratch_store.h"
#include "shard_record.h"
#include "store_copy.h"

typedef struct Leaving {
  RpinnContext *context;
  RpinnMemberStore *left;
} Leaving;

/* As member 12, with a reason to stop that no other has. */
static inline RpinnStatus leave(void *user, const RpinnStoredMember *member) {
  const Leaving *leaving = user;
  RpinnStoredMember other = *member;
  other.index = 12;
  other.stop = rpinn_stop_name(RPINN_STOP_NO_PROGRESS);
  return rpinn_member_store_put(leaving->context, leaving->left, &other);
}

/* What rank 3 of a session that was killed may have left in the folder of the tests. */
static inline void leave_member(const RunBench *bench, const char *name, char path[RPINN_PATH_SIZE]) {
  char session[RPINN_PATH_SIZE], *identity;
  const char *checkpoint = run_path(bench, name, "checkpoint.db");
  RpinnMemberStore *store;
  Leaving leaving = {.context = bench->context};
  snprintf(session, sizeof session, "0123abcd %s", bench->folder);
  rpinn_scratch_path(bench->folder, "0123abcd", 3, path);
  run_require(bench, rpinn_member_store_open_existing(bench->context, checkpoint, &store));
  run_require(bench, rpinn_member_store_get_identity(bench->context, store, &identity));
  rpinn_member_store_close(store);
  run_require(bench, rpinn_member_store_open(bench->context, checkpoint, identity, &store));
  run_require(bench, rpinn_member_store_set_text(bench->context, store, RPINN_SESSION_KEY, session));
  run_require(bench, rpinn_member_store_open(bench->context, path, identity, &leaving.left));
  run_require(bench,
              rpinn_member_store_visit(bench->context, store, (RpinnStoreRange){0, 1}, leave, &leaving));
  rpinn_member_store_close(store);
  rpinn_member_store_close(leaving.left);
  free(identity);
}

/* The mark of the session that, as the store of a run says, may have left something. */
static inline void check_session(const RunBench *bench, const char *name, const char *expected) {
  RpinnMemberStore *store;
  char *session;
  const char *checkpoint = run_path(bench, name, "checkpoint.db");
  run_require(bench, rpinn_member_store_open_existing(bench->context, checkpoint, &store));
  run_require(bench, rpinn_member_store_get_text(bench->context, store, RPINN_SESSION_KEY, &session));
  rpinn_member_store_close(store);
  assert_non_null(session);
  session[strcspn(session, " ")] = '\0'; /* the folder */
  assert_string_equal(session, expected);
  free(session);
}

#endif
