/* Epsilons and sigmas on a page, as CSV and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csv_table.h"
#include "json_writer.h"
#include "prior_scale.h"

static const size_t figures[] = {RPINN_TABLE_RL2, RPINN_TABLE_MEAN_STD, RPINN_FIGURE_LPP,
                                 RPINN_TABLE_LPP_TABLE, RPINN_TABLE_COVERAGE};
enum { NUM_SHOWN = sizeof figures / sizeof figures[0] };

/* ---- ours beside the printed ones ---- */

/* The run of a case that was loaded for its sigmas, by the words of a table. */
static const RpinnStudySigmas *find_sigmas(const RpinnReproduction *reproduction, const char *problem,
                                           const char *num_points, const char *sigma) {
  const RpinnEpsilonStudy *study = reproduction->own;
  for (size_t r = study->first_loaded; r < reproduction->num_runs; r++) {
    const RpinnPaperCase *paper = reproduction->runs[r].paper_case;
    if (!strcmp(paper->problem, problem) && !strcmp(paper->num_points, num_points) &&
        !strcmp(paper->sigma, sigma))
      return &study->sigmas[r];
  }
  return NULL;
}

static double sigma_of_term(const RpinnStudySigmas *sigmas, const char *term) {
  for (size_t t = 0; sigmas && t < sigmas->num_terms; t++)
    if (!strcmp(sigmas->names[t], term)) return sigmas->terms[t];
  return sigmas && !strcmp(term, "prior") ? sigmas->prior : (double)NAN;
}

RpinnStatus rpinn_sigmas_compare(RpinnContext *context, RpinnReproduction *reproduction, RpinnText *text,
                                 RpinnText *csv) {
  enum { PROBLEM, POINTS, SIGMA, TERM, PRINTED, NUM_COLUMNS };
  static const char *const names[] = {"problem", "Nf", "sigma", "term", "printed"};
  static const char *const verdicts[] = {"differs", "one unit of the last digit off", "agrees"};
  RpinnEpsilonStudy *study = reproduction->own;
  const char *source = rpinn_published_text("sigmas");
  RpinnCsvTable *table;
  int columns[NUM_COLUMNS];
  RPINN_TRY(rpinn_csv_parse(context, reproduction->arena, "sigmas", source, strlen(source), &table));
  for (size_t k = 0; k < NUM_COLUMNS; k++) {
    columns[k] = rpinn_csv_column(table, names[k]);
    if (columns[k] < 0) return rpinn_fail_at(context, table->header, "no column '%s'", names[k]);
  }
  rpinn_text_append(text, "\n## The printed sigmas\n\n"
                          "| problem           | N_f | sigma | term            | printed |      ours |  |\n"
                          "|---|---|---|---|---:|---:|---|\n");
  rpinn_text_append(csv, "problem,Nf,sigma,term,printed,ours,verdict\n");
  for (size_t row = 0; row < table->num_rows; row++) {
    const char *cells[NUM_COLUMNS];
    for (size_t k = 0; k < NUM_COLUMNS; k++)
      cells[k] = table->text[row * table->num_columns + (size_t)columns[k]];
    double ours =
        sigma_of_term(find_sigmas(reproduction, cells[PROBLEM], cells[POINTS], cells[SIGMA]), cells[TERM]);
    RpinnPrintedVerdict verdict =
        isnan(ours) ? RPINN_PRINTED_DIFFERS : rpinn_printed_judge(ours, cells[PRINTED]);
    study->num_printed++;
    study->printed_verdicts[verdict]++;
    rpinn_text_append(text, "| %-17s | %-3s | %-5s | %-15s | %7s | %9.5g | %s |\n", cells[PROBLEM],
                      cells[POINTS], cells[SIGMA], cells[TERM], cells[PRINTED], ours, verdicts[verdict]);
    rpinn_text_append(csv, "%s,%s,%s,%s,%s", cells[PROBLEM], cells[POINTS], cells[SIGMA], cells[TERM],
                      cells[PRINTED]);
    rpinn_study_append_number(csv, ours);
    rpinn_text_append(csv, ",%s\n", verdicts[verdict]);
  }
  rpinn_text_append(text,
                    "\n%zu of %zu agree to the printed digits, %zu are one unit of the last digit off.\n",
                    study->printed_verdicts[RPINN_PRINTED_AGREES], study->num_printed,
                    study->printed_verdicts[RPINN_PRINTED_NEAR]);
  return RPINN_OK;
}

/* ---- the page ---- */

static void append_sigmas(const RpinnEpsilonStudy *study, const RpinnEpsilonGrid *grid, RpinnText *text) {
  const RpinnStudySigmas *sigmas = &study->sigmas[grid->first_run];
  rpinn_text_append(text, "\n| epsilon / sigma |    sigma_p |");
  for (size_t t = 0; t < sigmas->num_terms; t++) rpinn_text_append(text, " sigma of %s |", sigmas->names[t]);
  rpinn_text_append(text, "\n|---:|---:|");
  for (size_t t = 0; t < sigmas->num_terms; t++) rpinn_text_append(text, "---:|");
  rpinn_text_append(text, "\n");
  for (size_t k = 0; k < grid->count; k++) {
    rpinn_text_append(text, "| %15g | %10.4g |", grid->multiples[k], sigmas[k].prior);
    for (size_t t = 0; t < sigmas[k].num_terms; t++)
      rpinn_text_append(text, " %*.4g |", (int)strlen(sigmas[k].names[t]) + 9, sigmas[k].terms[t]);
    rpinn_text_append(text, "\n");
  }
}

static void append_choice(const RpinnEpsilonGrid *grid, RpinnText *text) {
  const RpinnPaperCase *paper = grid->paper_case;
  if (grid->best_sum == grid->count) {
    rpinn_text_append(text, "\nNo LPP is a number.\n");
    return;
  }
  RpinnEstimate first = grid->sums[0], best = grid->sums[grid->best_sum],
                gain = rpinn_estimate_change(first, best);
  rpinn_text_append(text, "\nLPP of %s and %s together is largest ", paper->quantities[0],
                    paper->quantities[1]);
  if (grid->best_sum == 0) {
    rpinn_text_append(text, "without epsilon.");
  } else {
    rpinn_text_append(text, "with epsilon = %g sigma: %.0f, which is %.0f ", grid->multiples[grid->best_sum],
                      best.value, gain.value);
    if (!isnan(gain.error)) rpinn_text_append(text, "(%.2g) ", gain.error);
    rpinn_text_append(text, "more than without epsilon%s.",
                      isnan(gain.error)                                 ? ", with an error that is not known"
                      : rpinn_claim_judge(gain, 1) == RPINN_CLAIM_HOLDS ? ""
                                                                        : ", within the errors");
  }
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    if (grid->best[q] < grid->count)
      rpinn_text_append(text, " Of %s: epsilon = %g sigma.", paper->quantities[q],
                        grid->multiples[grid->best[q]]);
  rpinn_text_append(text, "\n");
}

static void append_grid(const RpinnReproduction *reproduction, const RpinnEpsilonGrid *grid,
                        RpinnText *text) {
  const RpinnPaperCase *paper = grid->paper_case;
  rpinn_text_append(text, "\n## %s%s%s, sigma = %s\n\n", paper->problem,
                    paper->num_points[0] ? ", N_f = " : "", paper->num_points, paper->sigma);
  rpinn_study_append_settings(text, &reproduction->runs[grid->first_run], "epsilon = 0");
  if (grid->count > 1)
    rpinn_study_append_settings(text, &reproduction->runs[grid->first_run + 1], "epsilon > 0");
  append_sigmas(reproduction->own, grid, text);
  rpinn_text_append(text, "\n| quantity | epsilon / sigma |");
  for (size_t k = 0; k < NUM_SHOWN; k++)
    rpinn_text_append(text, " %18s |", rpinn_study_figure_titles[figures[k]]);
  rpinn_text_append(text, " LPP is largest |\n|---|---:|---:|---:|---:|---:|---:|---|\n");
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    for (size_t k = 0; k < grid->count; k++) {
      bool is_best = grid->best[q] == k, is_best_sum = grid->best_sum == k;
      rpinn_text_append(text, "| %-8s | %15g |", paper->quantities[q], grid->multiples[k]);
      for (size_t i = 0; i < NUM_SHOWN; i++)
        rpinn_study_append_cell(
            text, figures[i],
            rpinn_study_figure(reproduction, &reproduction->runs[grid->first_run + k], q, figures[i]));
      rpinn_text_append(text, " %s%s%s |\n", is_best ? "here" : "", is_best && is_best_sum ? ", " : "",
                        is_best_sum ? "sum" : "");
    }
  append_choice(grid, text);
}

void rpinn_epsilon_write_text(const RpinnReproduction *reproduction, RpinnText *text) {
  const RpinnEpsilonStudy *study = reproduction->own;
  rpinn_study_append_title(text, reproduction);
  rpinn_text_append(
      text, "The paper: at small noise sigma_p^2 = (sigma + epsilon)^2 lambda / N with epsilon > 0 improves "
            "the posterior;\nepsilon is to maximise LPP. The other sigmas follow from sigma_p, so that all "
            "grow by 1 + epsilon / sigma.\n");
  for (size_t g = 0; g < study->num_grids; g++) append_grid(reproduction, &study->grids[g], text);
  rpinn_text_append(
      text,
      "\n- In parentheses: the standard error, by %d bootstrap resamples of the members; that of a sum "
      "is at most the sum of both.\n"
      "- LPP is the equation's, by which epsilon is chosen; LPP table counts log s twice, as the "
      "paper's tables do.\n",
      RPINN_BOOTSTRAP_RESAMPLES);
  if (reproduction->scale == RPINN_SCALE_QUICK)
    rpinn_text_append(
        text, "- Scale quick: runs as short as these say nothing about epsilon, and Darcy flow is left "
              "out.\n");
}

/* ---- for programs ---- */

void rpinn_epsilon_write_csv(const RpinnReproduction *reproduction, RpinnText *csv) {
  const RpinnEpsilonStudy *study = reproduction->own;
  rpinn_text_append(
      csv, "problem,Nf,sigma,epsilon,sigma_p,quantity,figure,value,standard_error,largest_lpp,largest_sum\n");
  for (size_t g = 0; g < study->num_grids; g++) {
    const RpinnEpsilonGrid *grid = &study->grids[g];
    for (size_t i = 0; i < grid->count * RPINN_PAPER_QUANTITIES * NUM_SHOWN; i++) {
      size_t figure = figures[i % NUM_SHOWN], q = i / NUM_SHOWN % RPINN_PAPER_QUANTITIES,
             k = i / NUM_SHOWN / RPINN_PAPER_QUANTITIES;
      const RpinnReproducedRun *run = &reproduction->runs[grid->first_run + k];
      RpinnEstimate estimate = rpinn_study_figure(reproduction, run, q, figure);
      rpinn_text_append(csv, "%s,%s,%s", grid->paper_case->problem, grid->paper_case->num_points,
                        grid->paper_case->sigma);
      rpinn_study_append_number(csv, run->epsilon);
      rpinn_study_append_number(csv, study->sigmas[grid->first_run + k].prior);
      rpinn_text_append(csv, ",%s,%s", grid->paper_case->quantities[q], rpinn_study_figure_keys[figure]);
      rpinn_study_append_number(csv, estimate.value);
      rpinn_study_append_number(csv, estimate.error);
      rpinn_text_append(csv, ",%d,%d\n", grid->best[q] == k, grid->best_sum == k);
    }
  }
}

static void json_run(const RpinnReproduction *reproduction, const RpinnEpsilonGrid *grid, size_t k,
                     RpinnJson *json) {
  const RpinnReproducedRun *run = &reproduction->runs[grid->first_run + k];
  const RpinnStudySigmas *sigmas =
      &((const RpinnEpsilonStudy *)reproduction->own)->sigmas[grid->first_run + k];
  rpinn_json_open(json, NULL, '{');
  rpinn_json_text(json, "run", run->name);
  rpinn_json_text(json, "settings", run->settings);
  rpinn_json_text(json, "departures", run->departures);
  rpinn_json_number(json, "epsilon", run->epsilon);
  rpinn_json_open(json, "sigmas", '{');
  for (size_t t = 0; t < sigmas->num_terms; t++) rpinn_json_number(json, sigmas->names[t], sigmas->terms[t]);
  rpinn_json_number(json, "prior", sigmas->prior);
  rpinn_json_close(json, '}');
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
    rpinn_json_open(json, grid->paper_case->quantities[q], '{');
    for (size_t i = 0; i < NUM_SHOWN; i++) {
      RpinnEstimate estimate = rpinn_study_figure(reproduction, run, q, figures[i]);
      rpinn_json_open(json, rpinn_study_figure_keys[figures[i]], '{');
      rpinn_json_number(json, "value", estimate.value);
      rpinn_json_number(json, "standard_error", estimate.error);
      rpinn_json_close(json, '}');
    }
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}

static void json_choice(const RpinnReproduction *reproduction, const RpinnEpsilonGrid *grid, const char *key,
                        size_t place, RpinnJson *json) {
  rpinn_json_number(json, key,
                    place < grid->count ? reproduction->runs[grid->first_run + place].epsilon : (double)NAN);
}

void rpinn_epsilon_write_json(const RpinnReproduction *reproduction, RpinnText *text) {
  const RpinnEpsilonStudy *study = reproduction->own;
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "name", reproduction->entry->name);
  rpinn_json_text(&json, "scale", rpinn_paper_scales[reproduction->scale]);
  rpinn_json_text(&json, "data", reproduction->has_data ? "published" : "synthetic");
  rpinn_json_open(&json, "printed_sigmas", '{');
  rpinn_json_number(&json, "count", (double)study->num_printed);
  rpinn_json_number(&json, "agree", (double)study->printed_verdicts[RPINN_PRINTED_AGREES]);
  rpinn_json_number(&json, "one_unit_off", (double)study->printed_verdicts[RPINN_PRINTED_NEAR]);
  rpinn_json_number(&json, "differ", (double)study->printed_verdicts[RPINN_PRINTED_DIFFERS]);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "cases", '[');
  for (size_t g = 0; g < study->num_grids; g++) {
    const RpinnEpsilonGrid *grid = &study->grids[g];
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "problem", grid->paper_case->problem);
    rpinn_json_text(&json, "Nf", grid->paper_case->num_points);
    rpinn_json_text(&json, "sigma", grid->paper_case->sigma);
    rpinn_json_open(&json, "epsilon_of_largest_lpp", '{');
    json_choice(reproduction, grid, "sum", grid->best_sum, &json);
    for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
      json_choice(reproduction, grid, grid->paper_case->quantities[q], grid->best[q], &json);
    rpinn_json_close(&json, '}');
    rpinn_json_open(&json, "runs", '[');
    for (size_t k = 0; k < grid->count; k++) json_run(reproduction, grid, k, &json);
    rpinn_json_close(&json, ']');
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}
