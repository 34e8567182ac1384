#include "particle_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "run_ranks.h"
#include "text.h"

/* Before the rows of a part. */
typedef struct PartHead {
  uint64_t is_end; /* there are none, and will be none */
} PartHead;

/* ---- parts ---- */

static RpinnStatus send_to_others(RpinnContext *context, RpinnRanks *ranks, const RpinnText *text) {
  if (text->failed) return rpinn_fail_memory(context);
  for (size_t r = 0; r < rpinn_ranks_size(ranks); r++)
    if (r != rpinn_ranks_rank(ranks))
      RPINN_TRY(rpinn_ranks_send(context, ranks, r, RPINN_TAG_SHARE, text->bytes, text->length));
  return RPINN_OK;
}

static RpinnStatus send_part(RpinnContext *context, RpinnRanks *ranks, size_t num_arrays,
                             const RpinnSvgdRows *arrays, const size_t *first) {
  const PartHead head = {0};
  size_t own = rpinn_ranks_rank(ranks);
  RpinnText text = {0};
  rpinn_text_append_bytes(&text, (const char *)&head, sizeof head);
  for (size_t k = 0; k < num_arrays; k++)
    rpinn_text_append_bytes(&text, (const char *)(arrays[k].numbers + first[own] * arrays[k].width),
                            (first[own + 1] - first[own]) * arrays[k].width * sizeof(double));
  RpinnStatus status = send_to_others(context, ranks, &text);
  rpinn_text_free(&text);
  return status;
}

/* However long it takes. A rank that ends before its part has come has failed, or been told to stop. */
static RpinnStatus receive(RpinnContext *context, RpinnRanks *ranks, size_t from, RpinnRankMessage *message) {
  for (bool has_left = false;;) {
    RPINN_TRY(rpinn_ranks_receive(context, ranks, (int)from, RPINN_TAG_SHARE, 1, message));
    if (message->bytes) return RPINN_OK;
    if (has_left) return rpinn_fail_interrupted(context);
    has_left = rpinn_ranks_has_left(ranks, from);
  }
}

static RpinnStatus take_part(RpinnContext *context, size_t num_arrays, const RpinnSvgdRows *arrays,
                             const size_t *first, const RpinnRankMessage *message) {
  size_t from = message->from, num_rows = first[from + 1] - first[from], expected = sizeof(PartHead);
  const char *bytes = message->bytes;
  PartHead head;
  for (size_t k = 0; k < num_arrays; k++) expected += num_rows * arrays[k].width * sizeof(double);
  if (message->size >= sizeof head) {
    memcpy(&head, bytes, sizeof head);
    if (head.is_end) return rpinn_fail_interrupted(context);
  }
  if (message->size != expected)
    return rpinn_fail(context, RPINN_ERROR_IO,
                      "rank %zu has sent %zu bytes of particles, and %zu were expected", from, message->size,
                      expected);
  bytes += sizeof head;
  for (size_t k = 0; k < num_arrays; k++) {
    size_t size = num_rows * arrays[k].width * sizeof(double);
    if (size) memcpy(arrays[k].numbers + first[from] * arrays[k].width, bytes, size);
    bytes += size;
  }
  return RPINN_OK;
}

static RpinnStatus exchange(RpinnContext *context, void *user, size_t num_arrays, const RpinnSvgdRows *arrays,
                            const size_t *first) {
  RpinnRanks *ranks = user;
  RPINN_TRY(send_part(context, ranks, num_arrays, arrays, first));
  for (size_t r = 0; r < rpinn_ranks_size(ranks); r++) {
    RpinnRankMessage message;
    if (r == rpinn_ranks_rank(ranks)) continue;
    RPINN_TRY(receive(context, ranks, r, &message));
    RpinnStatus status = take_part(context, num_arrays, arrays, first, &message);
    free(message.bytes);
    RPINN_TRY(status);
  }
  return RPINN_OK;
}

/* ---- the beginning and the end ---- */

/* The state of rank 0 on all of them. */
static RpinnStatus share_state(RpinnContext *context, RpinnRanks *ranks, RpinnSvgd *svgd) {
  size_t size = rpinn_svgd_state_size(svgd);
  void *state = malloc(size);
  if (!state) return rpinn_fail_memory(context);
  if (rpinn_ranks_rank(ranks) == 0) rpinn_svgd_save(svgd, state);
  RpinnStatus status = rpinn_ranks_broadcast(context, ranks, state, size);
  if (status == RPINN_OK && rpinn_ranks_rank(ranks) > 0)
    status = rpinn_svgd_restore(context, svgd, state, size);
  free(state);
  return status;
}

RpinnStatus rpinn_particle_ranks_begin(RpinnContext *context, RpinnParticleRanks *particles,
                                       const RpinnDriver *driver, RpinnSvgd *svgd) {
  RpinnRanks *ranks = driver->options->ranks;
  *particles = (RpinnParticleRanks){.ranks = ranks,
                                    .parts = {.part = rpinn_ranks_rank(ranks),
                                              .num_parts = rpinn_ranks_size(ranks),
                                              .user = ranks,
                                              .exchange = exchange}};
  if (rpinn_ranks_size(ranks) == 1) return RPINN_OK;
  if (!rpinn_run_follows(driver)) RPINN_TRY(rpinn_run_tell_learnt(context, driver));
  RPINN_TRY(share_state(context, ranks, svgd));
  return rpinn_svgd_move_in_parts(context, svgd, &particles->parts);
}

RpinnStatus rpinn_particle_ranks_stop(RpinnContext *context, const RpinnParticleRanks *particles) {
  const PartHead head = {.is_end = 1};
  RpinnText text = {0};
  rpinn_text_append_bytes(&text, (const char *)&head, sizeof head);
  RpinnStatus status = send_to_others(context, particles->ranks, &text);
  rpinn_text_free(&text);
  return status;
}
