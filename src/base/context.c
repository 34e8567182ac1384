/* Status names, error details and the log callback. */
#include "context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas_threads.h"
#include "number_text.h"

static const struct {
  const char *name;
  int exit_code;
  const char *meaning;
} status_table[] = {
#define RPINN_STATUS_ROW(name, exit_code, meaning) {#name, exit_code, meaning},
    RPINN_STATUS_LIST(RPINN_STATUS_ROW)
#undef RPINN_STATUS_ROW
};

static size_t status_index(RpinnStatus status) {
  size_t count = sizeof status_table / sizeof status_table[0];
  return (size_t)status < count ? (size_t)status : (size_t)RPINN_ERROR_UNSUPPORTED;
}

const char *rpinn_status_name(RpinnStatus status) {
  return status_table[status_index(status)].name;
}
const char *rpinn_status_meaning(RpinnStatus status) {
  return status_table[status_index(status)].meaning;
}
int rpinn_status_exit_code(RpinnStatus status) {
  return status_table[status_index(status)].exit_code;
}

RpinnContext *rpinn_context_create(void) {
  rpinn_blas_use_one_thread();
  return calloc(1, sizeof(RpinnContext));
}
void rpinn_context_destroy(RpinnContext *context) {
  free(context);
}
const RpinnError *rpinn_context_error(const RpinnContext *context) {
  return &context->error;
}
void rpinn_context_clear_error(RpinnContext *context) {
  memset(&context->error, 0, sizeof context->error);
}

void rpinn_context_set_log(RpinnContext *context, RpinnLogFunction log, void *user) {
  context->log = log;
  context->log_user = user;
}

void rpinn_context_set_interrupted(RpinnContext *context, bool (*interrupted)(void *user), void *user) {
  context->interrupted = interrupted;
  context->interrupted_user = user;
}

bool rpinn_is_interrupted(const RpinnContext *context) {
  return context->interrupted && context->interrupted(context->interrupted_user);
}

/* Messages may quote what the user wrote: control characters and stray line ends must not reach a terminal. */
static void make_printable(char *text) {
  rpinn_make_printable(text);
  for (; *text; text++)
    if (*text == '\n' || *text == '\t') *text = ' ';
}

static RpinnStatus record(RpinnContext *context, RpinnStatus status, RpinnPlace place, const char *format,
                          va_list arguments) {
  if (!context) return status;
  RpinnError *error = &context->error;
  error->status = status;
  snprintf(error->file, sizeof error->file, "%s", place.file ? place.file : "");
  error->line = place.line;
  error->column = place.column;
  rpinn_format_list(error->message, sizeof error->message, format, arguments);
  make_printable(error->file);
  make_printable(error->message);
  return status;
}

RpinnStatus rpinn_fail(RpinnContext *context, RpinnStatus status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  record(context, status, (RpinnPlace){0}, format, arguments);
  va_end(arguments);
  return status;
}

RpinnStatus rpinn_context_fail(RpinnContext *context, RpinnStatus status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  record(context, status, (RpinnPlace){0}, format, arguments);
  va_end(arguments);
  return status;
}

RpinnStatus rpinn_fail_at(RpinnContext *context, RpinnPlace place, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  record(context, RPINN_ERROR_INPUT, place, format, arguments);
  va_end(arguments);
  return RPINN_ERROR_INPUT;
}

RpinnStatus rpinn_fail_memory(RpinnContext *context) {
  return rpinn_fail(context, RPINN_ERROR_MEMORY, "out of memory");
}

RpinnStatus rpinn_fail_interrupted(RpinnContext *context) {
  return rpinn_fail(context, RPINN_ERROR_INTERRUPTED, "interrupted");
}

RpinnStatus rpinn_fail_file(RpinnContext *context, RpinnStatus status, const char *verb, const char *file) {
  int reason = errno;
  rpinn_fail(context, status, "cannot %s this file: %s", verb, strerror(reason));
  if (!context) return status;
  snprintf(context->error.file, sizeof context->error.file, "%s", file);
  make_printable(context->error.file);
  return status;
}

void rpinn_log(RpinnContext *context, RpinnLogLevel level, const char *format, ...) {
  if (!context || !context->log) return;
  char line[2048];
  va_list arguments;
  va_start(arguments, format);
  rpinn_format_list(line, sizeof line, format, arguments);
  va_end(arguments);
  make_printable(line);
  context->log(context->log_user, level, line);
}

void rpinn_error_format(const RpinnError *error, char *text, size_t size) {
  if (!error->file[0])
    snprintf(text, size, "%s", error->message);
  else if (!error->line)
    snprintf(text, size, "%s: %s", error->file, error->message);
  else if (!error->column)
    snprintf(text, size, "%s:%zu: %s", error->file, error->line, error->message);
  else
    snprintf(text, size, "%s:%zu:%zu: %s", error->file, error->line, error->column, error->message);
}
