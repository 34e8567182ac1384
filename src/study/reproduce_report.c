/* A reproduction as a page of Markdown that a terminal shows as well, as CSV and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_writer.h"
#include "reproduce_state.h"

static const char *const keys[] = {
#define RPINN_TABLE_METRIC_KEY(name, key, title, digit) key,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_KEY)
#undef RPINN_TABLE_METRIC_KEY
};
static const char *const titles[] = {
#define RPINN_TABLE_METRIC_TITLE(name, key, title, digit) title,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_TITLE)
#undef RPINN_TABLE_METRIC_TITLE
};
static const char *const verdict_names[] = {"not judged", "reported only", "agrees", "differs"};

static const char *method_title(const char *method) {
  static const char *const names[][2] = {
      {"rpinn", "rPINN"}, {"ensemble", "ensemble"}, {"nuts", "NUTS"}, {"svgd", "SVGD"}};
  for (size_t i = 0; i < 4; i++)
    if (!strcmp(names[i][0], method)) return names[i][1];
  return method;
}

/* How many figures of all rows have this verdict. */
static size_t count_verdicts(const RpinnReproduction *reproduction, RpinnVerdict verdict) {
  size_t count = 0;
  for (size_t i = 0; i < reproduction->num_rows; i++)
    for (size_t k = 0; !reproduction->rows[i].reason && k < RPINN_NUM_TABLE_METRICS; k++)
      count += reproduction->rows[i].verdicts[k] == verdict;
  return count;
}

/* ---- Markdown ---- */

enum { CELL = 20 };

static void append_figure(RpinnText *text, RpinnTableMetric metric, double value, double error) {
  char cell[64] = "-";
  const char *format = metric == RPINN_TABLE_COVERAGE    ? error >= 0 ? "%.1f%% (%.1f)" : "%.0f%%"
                       : metric == RPINN_TABLE_LPP_TABLE ? error >= 0 ? "%.0f (%.2g)" : "%.0f"
                       : error >= 0                      ? "%.2e (%.0e)"
                                                         : "%.2e";
  double factor = metric == RPINN_TABLE_COVERAGE ? 100 : 1;
  if (!isnan(value)) snprintf(cell, sizeof cell, format, value * factor, error * factor);
  rpinn_text_append(text, " %*s |", CELL, cell);
}

/* errors NULL: none are known. */
static void append_line(RpinnText *text, const char *quantity, const char *method, const char *whose,
                        const double *values, const double *errors, double seconds, const char *words) {
  char time[32] = "";
  rpinn_text_append(text, "| %-8s | %-8s | %-9s |", quantity, method, whose);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    append_figure(text, (RpinnTableMetric)k, values[k], errors ? errors[k] : (double)NAN);
  if (!isnan(seconds)) snprintf(time, sizeof time, "%.*f s", seconds < 10 ? 1 : 0, seconds);
  rpinn_text_append(text, " %8s | %s |\n", time, words);
}

/* "agrees", or the figures that differ. */
static void append_verdict(const RpinnReproducedRow *row, RpinnText *words) {
  size_t counts[RPINN_VERDICT_DIFFERS + 1] = {0};
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) counts[row->verdicts[k]]++;
  if (counts[RPINN_VERDICT_NONE]) {
    rpinn_text_append(words, row->rerun ? "not judged" : "no re-run");
    return;
  }
  rpinn_text_append(words, counts[RPINN_VERDICT_DIFFERS] ? "DIFFERS in" : "agrees");
  for (size_t k = 0, found = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    if (row->verdicts[k] == RPINN_VERDICT_DIFFERS)
      rpinn_text_append(words, "%s %s", found++ ? "," : "", titles[k]);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    if (row->verdicts[k] == RPINN_VERDICT_REPORTED)
      rpinn_text_append(words, " (%s reported only)", titles[k]);
}

static void append_row(const RpinnReproducedRow *row, RpinnText *text) {
  const char *method = method_title(row->method);
  RpinnText words = {0};
  if (row->reason) {
    rpinn_text_append(text, "| %-8s | %-8s | %-9s |", row->quantity, method, "ours");
    for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rpinn_text_append(text, " %*s |", CELL, "-");
    rpinn_text_append(text, " %8s | %s |\n", "", row->reason);
  } else {
    append_verdict(row, &words);
    append_line(text, row->quantity, method, "ours", row->ours, row->errors, row->seconds,
                words.bytes ? words.bytes : "");
  }
  append_line(text, "", "", "published", row->published->metrics, NULL, row->published->seconds, "");
  if (row->rerun) append_line(text, "", "", "re-run", row->rerun->metrics, NULL, (double)NAN, "");
  rpinn_text_free(&words);
}

static void append_header(const RpinnReproducedRow *row, double members, double iterations, RpinnText *text) {
  rpinn_text_append(text, "\n## %s, N_f = %s, sigma = %s", row->paper_case->problem,
                    row->paper_case->num_points, row->paper_case->sigma);
  if (members > 0) rpinn_text_append(text, ": %.0f members of %.0f iterations", members, iterations);
  rpinn_text_append(text, "\n\n| %-8s | %-8s | %-9s |", "quantity", "method", "whose");
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rpinn_text_append(text, " %*s |", CELL, titles[k]);
  rpinn_text_append(text, " %8s | %s |\n|---|---|---|", "time", "ours and the re-run");
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rpinn_text_append(text, "---:|");
  rpinn_text_append(text, "---:|---|\n");
}

static void append_notes(const RpinnReproduction *reproduction, RpinnText *text) {
  bool judged = reproduction->is_paper_scale && reproduction->has_data;
  rpinn_text_append(text, "\n");
  if (judged)
    rpinn_text_append(text, "%zu figures agree with the re-run, %zu differ, %zu are reported only.\n\n",
                      count_verdicts(reproduction, RPINN_VERDICT_AGREES),
                      count_verdicts(reproduction, RPINN_VERDICT_DIFFERS),
                      count_verdicts(reproduction, RPINN_VERDICT_REPORTED));
  rpinn_text_append(text,
                    "- In parentheses: the standard error of ours, by %d bootstrap resamples of the "
                    "members.\n",
                    RPINN_BOOTSTRAP_RESAMPLES);
  rpinn_text_append(text,
                    "- Agrees: within four standard errors of ours and the re-run's together plus two per "
                    "cent.\n"
                    "- LPP table counts log s twice, as the paper's tables do.\n"
                    "- Times are of all members: ours on this machine, the published ones on the paper's.\n"
                    "- NUTS and SVGD come with a later version.\n");
  if (!reproduction->is_paper_scale)
    rpinn_text_append(text, "- Scale quick: far fewer members and iterations than the paper's, so nothing is "
                            "judged. --scale paper is the real thing.\n");
  if (!reproduction->has_data)
    rpinn_text_append(text, "- Synthetic data: other noise than the published data sets have, so nothing is "
                            "judged. --data-dir names them.\n");
  if (!strcmp(reproduction->name, "table1"))
    rpinn_text_append(text, "- The published rows of N_f = 32 were made with another noise draw than the "
                            "published data sets.\n");
}

static void write_text(const RpinnReproduction *reproduction, RpinnText *text) {
  rpinn_text_append(text, "# rpinn reproduce %s, scale %s, %s\n", reproduction->name,
                    reproduction->is_paper_scale ? "paper" : "quick",
                    reproduction->has_data ? "published data sets" : "synthetic data");
  for (size_t i = 0; i < reproduction->num_rows; i++) {
    const RpinnReproducedRow *row = &reproduction->rows[i];
    if (!i || row->paper_case != row[-1].paper_case) {
      const RpinnReproducedRow *made = row;
      while (made < reproduction->rows + reproduction->num_rows && made->paper_case == row->paper_case &&
             made->reason)
        made++;
      bool found = made < reproduction->rows + reproduction->num_rows && made->paper_case == row->paper_case;
      append_header(row, found ? made->members : 0, found ? made->iterations : 0, text);
    }
    append_row(row, text);
  }
  append_notes(reproduction, text);
}

/* ---- CSV ---- */

static void append_cell(RpinnText *csv, double value) {
  char number[RPINN_NUMBER_TEXT] = "";
  if (!isnan(value)) rpinn_number_format(value, number);
  rpinn_text_append(csv, ",%s", number);
}

static void write_csv(const RpinnReproduction *reproduction, RpinnText *csv) {
  rpinn_text_append(csv,
                    "problem,Nf,sigma,method,quantity,metric,ours,standard_error,published,rerun,tolerance,"
                    "members,iterations,wall_seconds,verdict\n");
  for (size_t i = 0; i < reproduction->num_rows; i++) {
    const RpinnReproducedRow *row = &reproduction->rows[i];
    for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) {
      bool ours = !row->reason;
      rpinn_text_append(csv, "%s,%s,%s,%s,%s,%s", row->paper_case->problem, row->paper_case->num_points,
                        row->paper_case->sigma, row->method, row->quantity, keys[k]);
      append_cell(csv, ours ? row->ours[k] : (double)NAN);
      append_cell(csv, ours ? row->errors[k] : (double)NAN);
      append_cell(csv, row->published->metrics[k]);
      append_cell(csv, row->rerun ? row->rerun->metrics[k] : (double)NAN);
      append_cell(csv, ours ? row->tolerances[k] : (double)NAN);
      append_cell(csv, ours ? row->members : (double)NAN);
      append_cell(csv, ours ? row->iterations : (double)NAN);
      append_cell(csv, ours ? row->seconds : (double)NAN);
      rpinn_text_append(csv, ",%s\n", ours ? verdict_names[row->verdicts[k]] : row->reason);
    }
  }
}

/* ---- JSON ---- */

static void json_row(const RpinnReproducedRow *row, RpinnJson *json) {
  rpinn_json_open(json, NULL, '{');
  rpinn_json_text(json, "problem", row->paper_case->problem);
  rpinn_json_text(json, "Nf", row->paper_case->num_points);
  rpinn_json_text(json, "sigma", row->paper_case->sigma);
  rpinn_json_text(json, "method", row->method);
  rpinn_json_text(json, "quantity", row->quantity);
  if (row->reason) {
    rpinn_json_text(json, "reason", row->reason);
  } else {
    rpinn_json_text(json, "run", row->run);
    rpinn_json_number(json, "members", row->members);
    rpinn_json_number(json, "iterations", row->iterations);
    rpinn_json_number(json, "wall_seconds", row->seconds);
  }
  rpinn_json_number(json, "published_seconds", row->published->seconds);
  rpinn_json_open(json, "metrics", '{');
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) {
    rpinn_json_open(json, keys[k], '{');
    if (!row->reason) {
      rpinn_json_number(json, "ours", row->ours[k]);
      rpinn_json_number(json, "standard_error", row->errors[k]);
    }
    rpinn_json_number(json, "published", row->published->metrics[k]);
    rpinn_json_number(json, "rerun", row->rerun ? row->rerun->metrics[k] : (double)NAN);
    if (!row->reason) {
      rpinn_json_number(json, "tolerance", row->tolerances[k]);
      rpinn_json_text(json, "verdict", verdict_names[row->verdicts[k]]);
    }
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
  rpinn_json_close(json, '}');
}

static void write_json(const RpinnReproduction *reproduction, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "name", reproduction->name);
  rpinn_json_text(&json, "scale", reproduction->is_paper_scale ? "paper" : "quick");
  rpinn_json_text(&json, "data", reproduction->has_data ? "published" : "synthetic");
  rpinn_json_number(&json, "agree", (double)count_verdicts(reproduction, RPINN_VERDICT_AGREES));
  rpinn_json_number(&json, "differ", (double)count_verdicts(reproduction, RPINN_VERDICT_DIFFERS));
  rpinn_json_number(&json, "reported_only", (double)count_verdicts(reproduction, RPINN_VERDICT_REPORTED));
  rpinn_json_open(&json, "rows", '[');
  for (size_t i = 0; i < reproduction->num_rows; i++) json_row(&reproduction->rows[i], &json);
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

void rpinn_reproduction_report(RpinnReproduction *reproduction) {
  write_text(reproduction, &reproduction->text);
  write_csv(reproduction, &reproduction->csv);
  write_json(reproduction, &reproduction->json);
}
