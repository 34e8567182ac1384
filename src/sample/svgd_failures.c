#include "svgd_failures.h"

bool rpinn_svgd_failures_create(RpinnArena *arena, size_t n, size_t num_threads,
                                RpinnSvgdFailures *failures) {
  *failures = (RpinnSvgdFailures){.n = n,
                                  .num_threads = num_threads,
                                  .statuses = RPINN_ARENA_NEW(arena, RpinnStatus, n),
                                  .words = RPINN_ARENA_NEW(arena, RpinnSvgdWords, num_threads)};
  return failures->statuses && failures->words;
}

void rpinn_svgd_failures_begin(RpinnSvgdFailures *failures) {
  for (size_t k = 0; k < failures->num_threads; k++) rpinn_context_clear_error(&failures->words[k].context);
  for (size_t i = 0; i < failures->n; i++) failures->statuses[i] = RPINN_OK;
}

RpinnContext *rpinn_svgd_failures_context(RpinnSvgdFailures *failures, size_t thread, size_t first) {
  RpinnSvgdWords *words = &failures->words[thread];
  if (rpinn_context_error(&words->context)->status != RPINN_OK) return NULL;
  words->first = first;
  return &words->context;
}

size_t rpinn_svgd_failures_first(const RpinnSvgdFailures *failures) {
  size_t i = 0;
  while (i < failures->n && failures->statuses[i] == RPINN_OK) i++;
  return i;
}

bool rpinn_svgd_failures_are_told(const RpinnSvgdFailures *failures) {
  bool are = false;
  for (size_t k = 0; k < failures->num_threads; k++)
    are |= rpinn_context_error(&failures->words[k].context)->status != RPINN_OK;
  for (size_t i = 0; i < failures->n; i++)
    are |= failures->statuses[i] != RPINN_OK && failures->statuses[i] != RPINN_ERROR_NUMERIC;
  return are;
}

bool rpinn_svgd_failures_quote(RpinnContext *context, const RpinnSvgdFailures *failures, size_t particle) {
  for (size_t k = 0; k < failures->num_threads; k++) {
    const RpinnError *error = rpinn_context_error(&failures->words[k].context);
    if (error->status == RPINN_OK || failures->words[k].first != particle) continue;
    context->error = *error;
    return true;
  }
  return false;
}
