/* SVGD in several processes that all have the same particles. Each takes a part of the tasks of a loop, one behind the other, and has what all
 * of them made when the loop is over; what is cheap all of them do alike. Tasks are those of a single process, so that bits do not depend on the
 * number of parts.
 *
 * An iteration exchanges the features where the kernel has them, the gradients, and the direction phi: n (F + 2 N + 1) numbers. Distances and the
 * kernel's weights, and the Jacobians of features, are made by every process for all particles. */
#ifndef RPINN_SAMPLE_SVGD_PARTS_H
#define RPINN_SAMPLE_SVGD_PARTS_H

#include "context.h"
#include "rpinn/svgd.h"

/* Rows of numbers [...][width]. */
typedef struct RpinnSvgdRows {
  double *numbers;
  size_t width;
} RpinnSvgdRows;

typedef struct RpinnSvgdParts {
  size_t part, num_parts; /* this one, of so many */
  void *user;
  /* Rows first[p] to first[p + 1] - 1 of each array have been made by part p; afterwards they are here. RPINN_ERROR_INTERRUPTED: the first part
   * wants an end. */
  RpinnStatus (*exchange)(RpinnContext *context, void *user, size_t num_arrays, const RpinnSvgdRows *arrays,
                          const size_t *first);
} RpinnSvgdParts;

/* From here on the particles are moved in parts, by processes that advance alike. parts is borrowed. */
RpinnStatus rpinn_svgd_move_in_parts(RpinnContext *context, RpinnSvgd *svgd, const RpinnSvgdParts *parts);

/* ---- for the files of SVGD ---- */

/* The loops of one process are those of the only part. */
extern const RpinnSvgdParts rpinn_svgd_whole;
/* The first of num_tasks that is a part's; part num_parts: num_tasks. */
size_t rpinn_svgd_first_task(const RpinnSvgdParts *parts, size_t num_tasks, size_t part);
/* The same for items, which tasks take `size` of each, to first [num_parts + 1]. */
void rpinn_svgd_deal_items(const RpinnSvgdParts *parts, size_t num_items, size_t size, size_t *first);

#endif
