/* The draws of a store in their order, with numbers that threads compute of each. A block of draws is read, all threads
 * compute, and the block is handed on, draw by draw, in the thread that called, while they compute the next one. Neither the
 * length of a block nor which thread computes a draw leaves a mark on what is handed on. Memory stays flat: two blocks are
 * at most 16 MiB of draws, or each one draw for every thread where that is more. */
#ifndef RPINN_RESULTS_DRAW_BLOCKS_H
#define RPINN_RESULTS_DRAW_BLOCKS_H

#include "draw_store.h"
#include "rpinn/run.h"

typedef struct RpinnDrawBlocks {
  const RpinnRun *run; /* its store, plan and threads, and whoever wants an end: RPINN_ERROR_INTERRUPTED */
  bool warmup;         /* draws of the warmup too, where they are stored */
  bool is_checked;     /* a pass of this session has found that no draw is damaged */
  size_t num_values;   /* computed of each draw */
  void *user;
  /* In the thread that called, in order, and up to two blocks ahead of take: *compute says whether values are wanted. A draw that
   * compute would read beyond its ends must be refused here. What stands in the draw is not checked for damage yet. */
  RpinnStatus (*look)(void *user, const RpinnVisitedDraw *draw, bool *compute);
  /* What thread number `thread` computes with; it has it for itself. */
  void *(*worker)(void *user, size_t thread);
  /* In a thread: values [num_values] of a draw. */
  RpinnStatus (*compute)(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw, double *values);
  /* In the thread that called, in order, while threads compute later draws. values: NULL where none were wanted. */
  RpinnStatus (*take)(void *user, const RpinnVisitedDraw *draw, const double *values);
} RpinnDrawBlocks;

RpinnStatus rpinn_draw_blocks_visit(RpinnContext *context, const RpinnDrawBlocks *blocks);

#endif
