/* Status codes, and the context that carries the details of a failure.
 *
 * Every fallible function returns an RpinnStatus. On failure the context that was passed in holds one message
 * with, where it applies, the file, line and column that caused it. The library never prints, exits or
 * aborts. Not converging, diverging or running out of time are outcomes in the results, not errors. */
#ifndef RPINN_STATUS_H
#define RPINN_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include "rpinn/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, exit code of the command line, what it means) */
#define RPINN_STATUS_LIST(X)                                                                                 \
  X(OK, 0, "done")                                                                                           \
  X(ERROR_INPUT, 2, "bad input: a problem file, a table, an option or an argument")                          \
  X(ERROR_UNSUPPORTED, 2, "asked for something that this build or this machine does not offer")              \
  X(ERROR_MEMORY, 1, "out of memory")                                                                        \
  X(ERROR_IO, 1, "a file could not be read or written")                                                      \
  X(ERROR_NUMERIC, 1, "a result is not finite where it must be")                                             \
  X(ERROR_INTERRUPTED, 130, "interrupted by the caller")                                                     \
  X(ERROR_DEVICE, 1, "a GPU is missing, or failed")

typedef enum RpinnStatus {
#define RPINN_STATUS_ENUM(name, exit_code, meaning) RPINN_##name,
  RPINN_STATUS_LIST(RPINN_STATUS_ENUM)
#undef RPINN_STATUS_ENUM
} RpinnStatus;

/* "OK", "ERROR_INPUT", …; never NULL. */
RPINN_API const char *rpinn_status_name(RpinnStatus status);
/* The meaning in words; never NULL. */
RPINN_API const char *rpinn_status_meaning(RpinnStatus status);
/* The exit code that the command line gives for it. */
RPINN_API int rpinn_status_exit_code(RpinnStatus status);

typedef struct RpinnError {
  RpinnStatus status;
  char file[512];     /* "" when no file is involved; "--set" and the like for command-line values */
  size_t line;        /* 1-based; 0 when unknown */
  size_t column;      /* 1-based, in bytes; 0 when unknown */
  char message[1536]; /* one sentence: what was found, what was expected, a suggestion */
} RpinnError;

typedef enum RpinnLogLevel { RPINN_LOG_DETAIL, RPINN_LOG_INFO, RPINN_LOG_WARNING } RpinnLogLevel;

/* Receives one line without a newline. May be called from the thread that called into the library only. */
typedef void (*RpinnLogFunction)(void *user, RpinnLogLevel level, const char *line);

/* One context serves one thread at a time. */
typedef struct RpinnContext RpinnContext;

/* NULL when out of memory. The first one sets OpenBLAS, for the whole process, to one thread. */
RPINN_API RpinnContext *rpinn_context_create(void);
RPINN_API void rpinn_context_destroy(RpinnContext *context);
/* The last failure; its status is RPINN_OK when nothing failed. Valid until the next call on the context. */
RPINN_API const RpinnError *rpinn_context_error(const RpinnContext *context);
RPINN_API void rpinn_context_clear_error(RpinnContext *context);
/* For a target of your own that fails: leave the reason, as printf writes it, for whoever asks for the error. Returns the status.
 * Numbers have a point in every locale. */
RPINN_API RpinnStatus rpinn_context_fail(RpinnContext *context, RpinnStatus status, const char *format, ...);
/* Where messages go; NULL (the default) drops them. */
RPINN_API void rpinn_context_set_log(RpinnContext *context, RpinnLogFunction log, void *user);
/* Asked often during what takes long, in the thread that called; true ends it with RPINN_ERROR_INTERRUPTED. NULL (the
 * default): nobody wants an end. A run has a question of its own, which saves: see RpinnRunOptions. */
RPINN_API void rpinn_context_set_interrupted(RpinnContext *context, bool (*interrupted)(void *user),
                                             void *user);

/* "file:line:column: message" with the parts that are known. Writes at most size bytes with the final NUL. */
RPINN_API void rpinn_error_format(const RpinnError *error, char *text, size_t size);

/* Put spaces in place of what a terminal would act upon: all control characters but newlines and tabs. For texts that
 * quote files, before they are printed; messages and log lines are printable already. Returns text. */
RPINN_API char *rpinn_make_printable(char *text);

/* The name nearest to `typo` among `count` names (edits of one letter and swaps of two neighbours count one),
 * or else the only one that it abbreviates; NULL when none is near. */
RPINN_API const char *rpinn_nearest_name(const char *typo, const char *const *names, size_t count);

#ifdef __cplusplus
}
#endif
#endif
