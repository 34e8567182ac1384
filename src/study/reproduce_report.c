/* A reproduction as a page of Markdown that a terminal shows as well. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number_text.h"
#include "reproduce_state.h"

static const char *const titles[] = {
#define RPINN_TABLE_METRIC_TITLE(name, key, title, digit) title,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_TITLE)
#undef RPINN_TABLE_METRIC_TITLE
};

size_t rpinn_reproduction_count(const RpinnReproduction *reproduction, RpinnAgreement verdict) {
  size_t count = 0;
  for (size_t i = 0; i < reproduction->num_rows; i++)
    for (size_t k = 0; !reproduction->rows[i].run->reason && k < RPINN_NUM_TABLE_METRICS; k++)
      count += reproduction->rows[i].verdicts[k] == verdict;
  return count;
}

/* ---- rows ---- */

enum { CELL = 20, WHOSE = 15 };

static void append_figure(RpinnText *text, RpinnTableMetric metric, double value, double error) {
  char cell[64] = "-";
  const char *format = metric == RPINN_TABLE_COVERAGE    ? error >= 0 ? "%.1f%% (%.1f)" : "%.0f%%"
                       : metric == RPINN_TABLE_LPP_TABLE ? error >= 0 ? "%.0f (%.2g)" : "%.0f"
                       : error >= 0                      ? "%.2e (%.0e)"
                                                         : "%.2e";
  double factor = metric == RPINN_TABLE_COVERAGE ? 100 : 1;
  if (!isnan(value)) rpinn_format(cell, sizeof cell, format, value * factor, error * factor);
  rpinn_text_append(text, " %*s |", CELL, cell);
}

/* A line of the table. values NULL: nothing to show; errors NULL: none are known. */
typedef struct Line {
  const char *quantity, *method, *whose, *words;
  const double *values, *errors;
  double seconds;
} Line;

static void append_line(RpinnText *text, Line line) {
  char time[32] = "";
  rpinn_text_append(text, "| %-8s | %-8s | %-*s |", line.quantity ? line.quantity : "",
                    line.method ? line.method : "", WHOSE, line.whose);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    append_figure(text, (RpinnTableMetric)k, line.values ? line.values[k] : (double)NAN,
                  line.errors ? line.errors[k] : (double)NAN);
  if (!isnan(line.seconds))
    rpinn_format(time, sizeof time, "%.*f s", line.seconds < 10 ? 1 : 0, line.seconds);
  rpinn_text_append(text, " %8s | %s |\n", time, line.words ? line.words : "");
}

/* "agrees", or the figures that differ. */
static void append_verdict(const RpinnReproducedRow *row, RpinnText *words) {
  size_t num_differing = 0;
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    num_differing += row->verdicts[k] == RPINN_AGREEMENT_DIFFERS;
  if (row->unjudged) {
    rpinn_text_append(words, "%s", row->unjudged);
    return;
  }
  rpinn_text_append(words, num_differing ? "DIFFERS in" : "agrees");
  for (size_t k = 0, found = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    if (row->verdicts[k] == RPINN_AGREEMENT_DIFFERS)
      rpinn_text_append(words, "%s %s", found++ ? "," : "", titles[k]);
  for (size_t k = 0, found = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    if (row->verdicts[k] == RPINN_AGREEMENT_REPORTED)
      rpinn_text_append(words, "%s%s", found++ ? ", " : "; reported only: ", titles[k]);
}

static void append_row(const RpinnReproducedRow *row, RpinnText *text) {
  const RpinnReproducedRun *run = row->run;
  const double no_time = (double)NAN;
  RpinnText words = {0};
  Line ours = {.quantity = run->paper_case->quantities[row->quantity],
               .method = rpinn_paper_method(run->method)->about.title,
               .whose = "ours",
               .seconds = no_time,
               .words = run->reason};
  if (!run->reason) {
    append_verdict(row, &words);
    if (!isnan(row->effective_size)) rpinn_text_append(&words, "; n_eff %.3g", row->effective_size);
    ours.values = row->ours;
    ours.errors = row->errors;
    ours.seconds = run->seconds;
    ours.words = words.bytes;
  }
  append_line(text, ours);
  if (!run->reason && row->has_peak) {
    char iteration[64];
    rpinn_format(iteration, sizeof iteration, "iteration %.0f, a transient", row->peak_iteration);
    append_line(
        text, (Line){.whose = "at LPP's peak", .values = row->peak, .seconds = no_time, .words = iteration});
  }
  append_line(
      text,
      (Line){.whose = "published", .values = row->published->metrics, .seconds = row->published->seconds});
  if (row->rerun)
    append_line(text, (Line){.whose = "re-run", .values = row->rerun->metrics, .seconds = no_time});
  if (row->divided)
    append_line(text,
                (Line){.whose = "re-run, divided", .values = row->divided->metrics, .seconds = no_time});
  rpinn_text_free(&words);
}

/* ---- sections ---- */

static void append_heading(const RpinnPaperCase *paper, RpinnText *text) {
  rpinn_text_append(text, "\n## %s", paper->problem);
  if (paper->num_points[0]) rpinn_text_append(text, ", N_f = %s", paper->num_points);
  rpinn_text_append(text, ", sigma = %s\n\n", paper->sigma);
}

/* What was run, and in what it is not what the paper ran. */
static void append_runs(const RpinnReproduction *reproduction, const RpinnPaperCase *paper, RpinnText *text) {
  for (size_t r = 0; r < reproduction->num_runs; r++) {
    const RpinnReproducedRun *run = &reproduction->runs[r];
    if (run->paper_case != paper || run->reason) continue;
    rpinn_text_append(text, "- %s: %s. ", rpinn_paper_method(run->method)->about.title, run->settings);
    if (run->departures[0])
      rpinn_text_append(text, "Departs from the paper: %s.\n", run->departures);
    else
      rpinn_text_append(text, "As in the paper.\n");
  }
  rpinn_text_append(text, "\n");
}

static void append_columns(RpinnText *text) {
  rpinn_text_append(text, "| %-8s | %-8s | %-*s |", "quantity", "method", WHOSE, "whose");
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rpinn_text_append(text, " %*s |", CELL, titles[k]);
  rpinn_text_append(text, " %8s | %s |\n|---|---|---|", "time", "ours and the re-run");
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rpinn_text_append(text, "---:|");
  rpinn_text_append(text, "---:|---|\n");
}

/* ---- notes ---- */

/* How the paper's figures of a method came about. */
static const char *const method_notes[RPINN_NUM_PAPER_METHODS] = {
    [RPINN_PAPER_NUTS] =
        "the figures are those of all chains together, the time includes the warmup, and "
        "standard errors are\n  those of as many draws as the smallest bulk effective size. The "
        "re-run's row is one chain of 4.",
    [RPINN_PAPER_SVGD] =
        "ours are the figures at the end. The published spread is that of a transient: on the way "
        "from the N(0,1)\n  start the spread falls through it, LPP has its peak about there, and with "
        "more iterations it does not come\n  back. svgd_trace.csv in the run has the whole way."};

static bool has_run_of(const RpinnReproduction *reproduction, RpinnPaperMethod method) {
  for (size_t r = 0; r < reproduction->num_runs; r++)
    if (reproduction->runs[r].method == method && !reproduction->runs[r].reason) return true;
  return false;
}

static void append_table_notes(const RpinnReproduction *reproduction, RpinnText *text) {
  bool is_darcy = !strcmp(reproduction->entry->name, "table4");
  rpinn_text_append(text,
                    "- In parentheses: the standard error of ours, by %d bootstrap resamples of the "
                    "members.\n"
                    "- Agrees: within four standard errors of ours and the re-run's together plus %s per "
                    "cent.\n",
                    RPINN_BOOTSTRAP_RESAMPLES, is_darcy ? "five" : "two");
  if (is_darcy) rpinn_text_append(text, "- Of few members only mean std and coverage are judged.\n");
  for (size_t m = 0; m < RPINN_NUM_PAPER_METHODS; m++)
    if (method_notes[m] && has_run_of(reproduction, (RpinnPaperMethod)m))
      rpinn_text_append(text, "- %s: %s\n", rpinn_paper_method((RpinnPaperMethod)m)->about.title,
                        method_notes[m]);
  if (!strcmp(reproduction->entry->name, "table1"))
    rpinn_text_append(text, "- The published rows of N_f = 32 were made with another noise draw than the "
                            "published data sets.\n");
}

static void append_notes(const RpinnReproduction *reproduction, RpinnText *text) {
  bool judged = reproduction->scale != RPINN_SCALE_QUICK && reproduction->has_data && reproduction->num_rows;
  rpinn_text_append(text, "\n");
  if (judged)
    rpinn_text_append(text, "%zu figures agree with the re-run, %zu differ, %zu are reported only.\n\n",
                      rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_AGREES),
                      rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_DIFFERS),
                      rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_REPORTED));
  if (reproduction->num_rows) append_table_notes(reproduction, text);
  rpinn_text_append(text,
                    "- LPP table counts log s twice, as the paper's tables do.\n"
                    "- Times are of whole runs: ours on this machine, the published ones on the paper's.\n");
  if (reproduction->scale == RPINN_SCALE_QUICK)
    rpinn_text_append(text,
                      "- Scale quick: far fewer members and iterations than the paper's, so nothing is "
                      "judged. --scale medium takes an\n  hour or two, --scale paper is the real thing.\n");
  if (!reproduction->has_data)
    rpinn_text_append(text, "- Synthetic data: other noise than the published data sets have, so nothing is "
                            "judged. --data-dir names them.\n");
}

void rpinn_reproduction_write_text(const RpinnReproduction *reproduction, RpinnText *text) {
  const RpinnPaperCase *paper = NULL;
  rpinn_text_append(text, "# rpinn reproduce %s, scale %s, %s\n", reproduction->entry->name,
                    rpinn_paper_scales[reproduction->scale],
                    reproduction->has_data ? "published data sets" : "synthetic data");
  for (size_t i = 0; i < reproduction->num_rows; i++) {
    const RpinnReproducedRow *row = &reproduction->rows[i];
    if (row->run->paper_case != paper) {
      paper = row->run->paper_case;
      append_heading(paper, text);
      append_runs(reproduction, paper, text);
      append_columns(text);
    }
    append_row(row, text);
  }
  for (size_t i = 0; i < reproduction->num_chain_tables; i++) {
    const RpinnReproducedChains *chains = &reproduction->chain_tables[i];
    append_heading(chains->run->paper_case, text);
    append_runs(reproduction, chains->run->paper_case, text);
    rpinn_chains_write_text(reproduction, chains, text);
  }
  append_notes(reproduction, text);
}
