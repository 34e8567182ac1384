/* The paper's figures: what they show as CSV files, and a sheet that gnuplot draws. */
#ifndef RPINN_STUDY_REPRODUCE_FIGURES_H
#define RPINN_STUDY_REPRODUCE_FIGURES_H

#include "plot_sheet.h"
#include "reproduce_state.h"

extern const RpinnReproduceKind rpinn_curve_figures, rpinn_darcy_maps, rpinn_reference_maps,
    rpinn_convergence_figure, rpinn_plane_figure;

/* What the paper's caption describes beside what the figure shows, as a table. */
void rpinn_figure_append_caption(const char *name, RpinnText *text);
/* The sheet as NAME.gp and, through gnuplot, NAME.svg, NAME.pdf and NAME.png; the page, with the runs that it shows; JSON.
 */
RpinnStatus rpinn_figure_finish(RpinnContext *context, RpinnReproduction *reproduction,
                                const RpinnSheet *sheet);

#endif
