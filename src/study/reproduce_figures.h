/* The paper's maps, from the runs of Table 4. */
#ifndef RPINN_STUDY_REPRODUCE_FIGURES_H
#define RPINN_STUDY_REPRODUCE_FIGURES_H

#include "posterior.h"
#include "reproduce_state.h"

/* Does it show draws? */
bool rpinn_figure_needs_run(const RpinnReproduction *reproduction);
/* The CSV files of one run, in the folder of the reproduction. folder: the run directory, if it needs one. */
RpinnStatus rpinn_figure_write_data(RpinnContext *context, const RpinnReproduction *reproduction,
                                    const RpinnReproducedRun *run, const char *folder,
                                    const RpinnPosterior *posterior);
/* The script, and the page, which is all that the text of the reproduction holds. */
RpinnStatus rpinn_figure_finish(RpinnContext *context, RpinnReproduction *reproduction);

#endif
