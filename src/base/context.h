/* The context behind rpinn/status.h, and the ways to fail. */
#ifndef RPINN_BASE_CONTEXT_H
#define RPINN_BASE_CONTEXT_H

#include "rpinn/status.h"

struct RpinnContext {
  RpinnError error;
  RpinnLogFunction log;
  void *log_user;
  bool (*interrupted)(void *user); /* may be NULL */
  void *interrupted_user;
};

/* Hand a failure on to the caller. */
#define RPINN_TRY(call)                                                                                      \
  do {                                                                                                       \
    RpinnStatus rpinn_try_status = (call);                                                                   \
    if (rpinn_try_status != RPINN_OK) return rpinn_try_status;                                               \
  } while (0)

/* A place in a text that the user wrote. file may be NULL; line and column are 1-based, 0 when unknown. */
typedef struct RpinnPlace {
  const char *file;
  size_t line, column;
} RpinnPlace;

/* Record a failure and return its status, so that `return rpinn_fail(…)` is one line. The first failure of a
 * call chain is the one that tells the cause: callers hand it on with RPINN_TRY and do not overwrite it. Where there is no
 * context, nobody hears of it but by the status. */
RpinnStatus rpinn_fail(RpinnContext *context, RpinnStatus status, const char *format, ...) RPINN_PRINTF(3, 4);
RpinnStatus rpinn_fail_at(RpinnContext *context, RpinnPlace place, const char *format, ...)
    RPINN_PRINTF(3, 4);
RpinnStatus rpinn_fail_memory(RpinnContext *context);
/* "cannot VERB 'FILE': reason" from errno. A file the user named is bad input; one we make is the machine's.
 */
RpinnStatus rpinn_fail_file(RpinnContext *context, RpinnStatus status, const char *verb, const char *file);

/* Does the caller want an end? */
bool rpinn_is_interrupted(const RpinnContext *context);
RpinnStatus rpinn_fail_interrupted(RpinnContext *context);

/* To the log that the caller has set, where there is one; context may be NULL. */
void rpinn_log(RpinnContext *context, RpinnLogLevel level, const char *format, ...) RPINN_PRINTF(3, 4);

#endif
