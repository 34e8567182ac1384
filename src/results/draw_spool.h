/* Draws come one by one, diagnostics want all draws of one number: rows on disk, read by columns. The file has no
 * name in the folder, so that nothing is left of it whatever happens. */
#ifndef RPINN_RESULTS_DRAW_SPOOL_H
#define RPINN_RESULTS_DRAW_SPOOL_H

#include "context.h"

typedef struct RpinnDrawSpool RpinnDrawSpool;

RpinnStatus rpinn_draw_spool_create(RpinnContext *context, const char *folder, size_t width,
                                    RpinnDrawSpool **spool);
void rpinn_draw_spool_destroy(RpinnDrawSpool *spool);
/* The next row in two pieces, width = num_first + the rest. */
RpinnStatus rpinn_draw_spool_add(RpinnContext *context, RpinnDrawSpool *spool, size_t num_first,
                                 const double *first, const double *rest);
/* columns [count][rows]: the columns first … first + count - 1 of all rows so far. */
RpinnStatus rpinn_draw_spool_columns(RpinnContext *context, RpinnDrawSpool *spool, size_t first, size_t count,
                                     double *columns);

#endif
