/* What all figures end with: the sheet, and a page that says what was drawn of which runs. */
#include "reproduce_figures.h"

static void append_runs(const RpinnReproduction *reproduction, RpinnText *text) {
  for (size_t r = 0; !reproduction->entry->kind->needs_no_run && r < reproduction->num_runs; r++) {
    const RpinnReproducedRun *run = &reproduction->runs[r];
    if (run->reason) continue;
    rpinn_text_append(text, "- %s%s%s, sigma = %s: %s, %s.%s%s.\n", run->paper_case->problem,
                      run->paper_case->num_points[0] ? ", N_f = " : "", run->paper_case->num_points,
                      run->paper_case->sigma, rpinn_paper_method(run->method)->about.title, run->settings,
                      run->departures[0] ? " Departs from the paper: " : " As in the paper", run->departures);
  }
}

RpinnStatus rpinn_figure_finish(RpinnContext *context, RpinnReproduction *reproduction,
                                const RpinnSheet *sheet) {
  const RpinnReproduceOptions *options = reproduction->options;
  const char *name = reproduction->entry->name;
  RpinnText *text = &reproduction->text;
  RpinnDrawing drawing;
  RPINN_TRY(rpinn_sheet_save(context, sheet, options->folder, name, &drawing));
  if (drawing != RPINN_DRAWN && options->not_drawn)
    options->not_drawn(options->user, options->folder, name, drawing != RPINN_NO_GNUPLOT);
  rpinn_text_append(text, "# rpinn reproduce %s, scale %s, %s\n\n", name,
                    rpinn_paper_scales[reproduction->scale],
                    reproduction->has_data ? "published data sets" : "synthetic data");
  if (drawing == RPINN_DRAWN) rpinn_text_append(text, "![%s](%s.png)\n\n", name, name);
  rpinn_figure_append_caption(name, text);
  append_runs(reproduction, text);
  rpinn_text_append(text, "- `gnuplot %s.gp` draws %s.svg, %s.pdf and %s.png.\n", name, name, name, name);
  rpinn_text_append(
      &reproduction->json, "{\"name\": \"%s\", \"scale\": \"%s\", \"data\": \"%s\", \"drawn\": %s}\n", name,
      rpinn_paper_scales[reproduction->scale], reproduction->has_data ? "published" : "synthetic",
      drawing == RPINN_DRAWN ? "true" : "false");
  return RPINN_OK;
}
