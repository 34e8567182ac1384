/* A reproduction as CSV and as JSON, for programs. */
#include <math.h>
#include <stdio.h>

#include "json_writer.h"
#include "reproduce_state.h"

static const char *const keys[] = {
#define RPINN_TABLE_METRIC_KEY(name, key, title, digit) key,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_KEY)
#undef RPINN_TABLE_METRIC_KEY
};
static const char *const verdict_names[] = {"not judged", "reported only", "agrees", "differs"};

/* ---- CSV ---- */

static void append_cell(RpinnText *csv, double value) {
  char number[RPINN_NUMBER_TEXT] = "";
  if (!isnan(value)) rpinn_number_format(value, number);
  rpinn_text_append(csv, ",%s", number);
}

static void append_key(RpinnText *csv, const RpinnReproducedRun *run, size_t quantity, const char *suffix,
                       const char *metric) {
  rpinn_text_append(csv, "%s,%s,%s,%s%s,%s,%s", run->paper_case->problem, run->paper_case->num_points,
                    run->paper_case->sigma, rpinn_paper_methods[run->method], suffix,
                    run->paper_case->quantities[quantity], metric);
}

static void append_run(RpinnText *csv, const RpinnReproducedRun *run) {
  double nothing = (double)NAN;
  append_cell(csv, run->reason ? nothing : run->members);
  append_cell(csv, run->reason ? nothing : run->iterations);
  append_cell(csv, run->reason ? nothing : run->seconds);
}

static void csv_row(const RpinnReproducedRow *row, RpinnText *csv) {
  bool ours = !row->run->reason;
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) {
    append_key(csv, row->run, row->quantity, "", keys[k]);
    append_cell(csv, ours ? row->ours[k] : (double)NAN);
    append_cell(csv, ours ? row->errors[k] : (double)NAN);
    append_cell(csv, row->published->metrics[k]);
    append_cell(csv, row->rerun ? row->rerun->metrics[k] : (double)NAN);
    append_cell(csv, ours ? row->tolerances[k] : (double)NAN);
    append_run(csv, row->run);
    rpinn_text_append(csv, ",%s\n", ours ? verdict_names[row->verdicts[k]] : row->run->reason);
  }
  for (size_t k = 0; ours && row->has_peak && k < RPINN_NUM_TABLE_METRICS; k++) {
    append_key(csv, row->run, row->quantity, "_at_lpp_peak", keys[k]);
    append_cell(csv, row->peak[k]);
    rpinn_text_append(csv, ",");
    append_cell(csv, row->published->metrics[k]);
    rpinn_text_append(csv, ",,");
    append_cell(csv, row->run->members);
    append_cell(csv, row->peak_iteration);
    rpinn_text_append(csv, ",,transient\n");
  }
}

/* Chains by their rank, as on the page. */
static void csv_chains(const RpinnReproducedChains *chains, RpinnText *csv) {
  static const char *const figures[RPINN_NUM_CHAIN_FIGURES] = {"rl2", "lpp_table"};
  size_t num_ranks = chains->num_ours > chains->num_published ? chains->num_ours : chains->num_published;
  for (size_t i = 0; i < num_ranks * RPINN_PAPER_QUANTITIES * RPINN_NUM_CHAIN_FIGURES; i++) {
    size_t k = i % RPINN_NUM_CHAIN_FIGURES, q = i / RPINN_NUM_CHAIN_FIGURES % RPINN_PAPER_QUANTITIES,
           rank = i / RPINN_NUM_CHAIN_FIGURES / RPINN_PAPER_QUANTITIES;
    char suffix[32];
    snprintf(suffix, sizeof suffix, "_chain_%zu", rank + 1);
    append_key(csv, chains->run, q, suffix, figures[k]);
    append_cell(csv, rank < chains->num_ours ? chains->ours[rank].figures[q][k] : (double)NAN);
    rpinn_text_append(csv, ",");
    append_cell(csv, rank < chains->num_published ? chains->published[rank].figures[q][k] : (double)NAN);
    rpinn_text_append(csv, ",,");
    append_run(csv, chains->run);
    rpinn_text_append(csv, ",%s\n",
                      chains->run->reason ? chains->run->reason : verdict_names[RPINN_AGREEMENT_NONE]);
  }
}

void rpinn_reproduction_write_csv(const RpinnReproduction *reproduction, RpinnText *csv) {
  rpinn_text_append(csv,
                    "problem,Nf,sigma,method,quantity,metric,ours,standard_error,published,rerun,tolerance,"
                    "members,iterations,wall_seconds,verdict\n");
  for (size_t i = 0; i < reproduction->num_rows; i++) csv_row(&reproduction->rows[i], csv);
  for (size_t i = 0; i < reproduction->num_chain_tables; i++) csv_chains(&reproduction->chain_tables[i], csv);
}

/* ---- JSON ---- */

static void json_run(const RpinnReproducedRun *run, RpinnJson *json) {
  rpinn_json_text(json, "problem", run->paper_case->problem);
  rpinn_json_text(json, "Nf", run->paper_case->num_points);
  rpinn_json_text(json, "sigma", run->paper_case->sigma);
  rpinn_json_text(json, "method", rpinn_paper_methods[run->method]);
  if (run->reason) {
    rpinn_json_text(json, "reason", run->reason);
    return;
  }
  rpinn_json_text(json, "run", run->name);
  rpinn_json_text(json, "settings", run->settings);
  rpinn_json_text(json, "departures", run->departures);
  rpinn_json_number(json, "members", run->members);
  rpinn_json_number(json, "chains", run->chains);
  rpinn_json_number(json, "warmup", run->warmup);
  rpinn_json_number(json, "iterations", run->iterations);
  rpinn_json_number(json, "wall_seconds", run->seconds);
}

static void json_peak(const RpinnReproducedRow *row, RpinnJson *json) {
  rpinn_json_open(json, "lpp_peak", '{');
  rpinn_json_number(json, "iteration", row->peak_iteration);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rpinn_json_number(json, keys[k], row->peak[k]);
  rpinn_json_close(json, '}');
}

static void json_row(const RpinnReproducedRow *row, RpinnJson *json) {
  bool ours = !row->run->reason;
  rpinn_json_open(json, NULL, '{');
  json_run(row->run, json);
  rpinn_json_text(json, "quantity", row->run->paper_case->quantities[row->quantity]);
  if (ours && row->unjudged) rpinn_json_text(json, "unjudged", row->unjudged);
  if (ours) rpinn_json_number(json, "effective_size", row->effective_size);
  rpinn_json_number(json, "published_seconds", row->published->seconds);
  rpinn_json_open(json, "metrics", '{');
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) {
    rpinn_json_open(json, keys[k], '{');
    if (ours) {
      rpinn_json_number(json, "ours", row->ours[k]);
      rpinn_json_number(json, "standard_error", row->errors[k]);
    }
    rpinn_json_number(json, "published", row->published->metrics[k]);
    rpinn_json_number(json, "rerun", row->rerun ? row->rerun->metrics[k] : (double)NAN);
    if (ours) {
      rpinn_json_number(json, "tolerance", row->tolerances[k]);
      rpinn_json_text(json, "verdict", verdict_names[row->verdicts[k]]);
    }
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
  if (ours && row->has_peak) json_peak(row, json);
  rpinn_json_close(json, '}');
}

static void json_chain_list(const RpinnReproducedChains *chains, bool is_ours, RpinnJson *json) {
  const RpinnReproducedChain *list = is_ours ? chains->ours : chains->published;
  rpinn_json_open(json, is_ours ? "ours" : "published", '[');
  for (size_t i = 0; i < (is_ours ? chains->num_ours : chains->num_published); i++) {
    rpinn_json_open(json, NULL, '{');
    rpinn_json_number(json, "chain", (double)list[i].number);
    for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
      rpinn_json_open(json, chains->run->paper_case->quantities[q], '{');
      rpinn_json_number(json, "rl2", list[i].figures[q][RPINN_CHAIN_RL2]);
      rpinn_json_number(json, "lpp_table", list[i].figures[q][RPINN_CHAIN_LPP_TABLE]);
      rpinn_json_close(json, '}');
    }
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
}

static void json_rhat(const char *key, const RpinnLargestRhat *rhat, RpinnJson *json) {
  rpinn_json_open(json, key, '{');
  rpinn_json_number(json, "usual", rhat->usual);
  rpinn_json_number(json, "paper_form", rhat->paper);
  rpinn_json_close(json, '}');
}

static void json_chains(const RpinnReproducedChains *chains, RpinnJson *json) {
  rpinn_json_open(json, NULL, '{');
  json_run(chains->run, json);
  json_chain_list(chains, true, json);
  json_chain_list(chains, false, json);
  if (!chains->run->reason) {
    rpinn_json_open(json, "max_rhat", '{');
    json_rhat("parameters", &chains->parameters, json);
    for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
      json_rhat(chains->run->paper_case->quantities[q], &chains->quantities[q], json);
    rpinn_json_close(json, '}');
    if (chains->run->paper_case->rhat > 0)
      rpinn_json_number(json, "published_rhat_exceeds", chains->run->paper_case->rhat);
  }
  rpinn_json_close(json, '}');
}

void rpinn_reproduction_write_json(const RpinnReproduction *reproduction, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "name", reproduction->entry->name);
  rpinn_json_text(&json, "scale", rpinn_paper_scales[reproduction->scale]);
  rpinn_json_text(&json, "data", reproduction->has_data ? "published" : "synthetic");
  rpinn_json_number(&json, "agree", (double)rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_AGREES));
  rpinn_json_number(&json, "differ", (double)rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_DIFFERS));
  rpinn_json_number(&json, "reported_only",
                    (double)rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_REPORTED));
  rpinn_json_open(&json, "rows", '[');
  for (size_t i = 0; i < reproduction->num_rows; i++) json_row(&reproduction->rows[i], &json);
  rpinn_json_close(&json, ']');
  rpinn_json_open(&json, "chain_tables", '[');
  for (size_t i = 0; i < reproduction->num_chain_tables; i++)
    json_chains(&reproduction->chain_tables[i], &json);
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

/* One line: counts of verdicts, or how far the chains range. */
static void append_outcome(const RpinnReproduction *reproduction, RpinnText *words) {
  bool is_judged = reproduction->scale != RPINN_SCALE_QUICK && reproduction->has_data;
  if (reproduction->num_rows && is_judged)
    rpinn_text_append(words, "%zu agree, %zu differ, %zu reported only",
                      rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_AGREES),
                      rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_DIFFERS),
                      rpinn_reproduction_count(reproduction, RPINN_AGREEMENT_REPORTED));
  else if (reproduction->num_rows)
    rpinn_text_append(words, "not judged");
  for (size_t i = 0; i < reproduction->num_chain_tables; i++) {
    const RpinnReproducedChains *chains = &reproduction->chain_tables[i];
    const RpinnPaperCase *paper = chains->run->paper_case;
    rpinn_text_append(words, "%ssigma %s: rl2 ranges over %.1e in %s and %.1e in %s, R-hat up to %.3g",
                      words->length ? "; " : "", paper->sigma,
                      rpinn_chains_range(chains->num_ours, chains->ours, 0), paper->quantities[0],
                      rpinn_chains_range(chains->num_ours, chains->ours, 1), paper->quantities[1],
                      chains->parameters.usual);
  }
}

RpinnStatus rpinn_reproduction_write_tables(RpinnContext *context, RpinnReproduction *reproduction) {
  (void)context;
  append_outcome(reproduction, &reproduction->outcome);
  rpinn_reproduction_write_text(reproduction, &reproduction->text);
  rpinn_reproduction_write_csv(reproduction, &reproduction->csv);
  rpinn_reproduction_write_json(reproduction, &reproduction->json);
  return RPINN_OK;
}
