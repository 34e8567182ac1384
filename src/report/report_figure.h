/* Figures of a page, which are files for print as well. */
#ifndef RPINN_REPORT_REPORT_FIGURE_H
#define RPINN_REPORT_REPORT_FIGURE_H

#include "plot_sheet.h"

typedef struct RpinnNamedSheet {
  char name[128];
  RpinnSheet sheet;
} RpinnNamedSheet;

/* The sheets of a page, in its order. Begins as {0}. */
typedef struct RpinnFigureSet {
  size_t count;
  RpinnNamedSheet **items; /* [count] */
  bool failed;             /* no memory for one of them */
} RpinnFigureSet;

/* A sheet of so many columns of panels, for figures/NAME.*; NULL where figures is NULL. */
RpinnSheet *rpinn_figure_sheet(RpinnFigureSet *figures, const char *name, size_t columns);
void rpinn_figure_set_free(RpinnFigureSet *figures);

/* NAME.gp of every figure in the folder, and .svg, .pdf and .png where there is gnuplot. *num_drawn: how many have all of
 * them; *drawing: what became of the last one that has not. */
RpinnStatus rpinn_figure_set_save(RpinnContext *context, const RpinnFigureSet *figures, const char *folder,
                                  size_t *num_drawn, RpinnDrawing *drawing);

/* <figure> with its caption, which is escaped, and </figure>. */
void rpinn_figure_open(RpinnText *page, const char *caption);
void rpinn_figure_close(RpinnText *page);

/* Points of a line, so that it has at most about `limit`. */
static inline size_t rpinn_figure_stride(size_t count, size_t limit) {
  return count > limit ? (count - 1) / limit + 1 : 1;
}

#endif
