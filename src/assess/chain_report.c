/* The verdict on chains as a page and as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain_verdict.h"
#include "json_writer.h"
#include "number_text.h"
#include "verdict.h"

/* ---- for people ---- */

enum { WIDEST_NAME = 40 };

typedef struct Rank {
  double badness;
  size_t scalar;
} Rank;

/* The worst first; equally bad ones in their own order. */
static int compare_ranks(const void *left, const void *right) {
  const Rank *a = left, *b = right;
  if (a->badness != b->badness) return a->badness > b->badness ? -1 : 1;
  return (a->scalar > b->scalar) - (a->scalar < b->scalar);
}

static void append_number(RpinnText *text, int width, const char *format, double value) {
  char number[32];
  if (isnan(value))
    snprintf(number, sizeof number, "-");
  else
    rpinn_format(number, sizeof number, format, value);
  rpinn_text_append(text, " %*s", width, number);
}

static void append_scalar(RpinnText *text, int width, const RpinnScalarHealth *scalar) {
  const RpinnConvergence *s = &scalar->statistics;
  const double values[] = {s->mean, s->mcse_mean, s->sd, s->q5, s->median, s->q95};
  rpinn_text_append(text, "  %-*.*s", width, WIDEST_NAME, scalar->name);
  for (size_t i = 0; i < 6; i++) append_number(text, 10, i == 1 ? "%.2g" : "%.4g", values[i]);
  append_number(text, 9, "%.0f", s->ess_bulk);
  append_number(text, 9, "%.0f", s->ess_tail);
  append_number(text, 8, fabs(s->rhat) < 100 ? "%.4f" : "%.3g", s->rhat);
  if (scalar->nested_rhat != 0)
    append_number(text, 8, fabs(scalar->nested_rhat) < 100 ? "%.4f" : "%.3g", scalar->nested_rhat);
  rpinn_text_append(text, "\n");
}

static bool append_scalars(RpinnText *text, const RpinnChainEvidence *evidence, bool all) {
  size_t count = evidence->num_scalars, shown = count;
  Rank *ranks = malloc((count + 1) * sizeof *ranks);
  if (!ranks) return false;
  for (size_t i = 0; i < count; i++)
    ranks[i] = (Rank){rpinn_scalar_badness(&evidence->scalars[i], evidence->num_chains), i};
  if (!all && count > RPINN_CHAIN_TABLE_ROWS) {
    qsort(ranks, count, sizeof *ranks, compare_ranks);
    shown = RPINN_CHAIN_TABLE_ROWS;
  }
  int width = 6;
  for (size_t i = 0; i < shown; i++) {
    size_t length = strlen(evidence->scalars[ranks[i].scalar].name);
    if (length > (size_t)width) width = length < WIDEST_NAME ? (int)length : WIDEST_NAME;
  }
  if (shown < count) rpinn_text_append(text, "the worst %zu of %zu scalars; --all shows all\n", shown, count);
  rpinn_text_append(text, "  %-*s %10s %10s %10s %10s %10s %10s %9s %9s %8s%s\n", width, "", "mean", "mcse",
                    "sd", "5 %", "median", "95 %", "ess bulk", "ess tail", "R-hat",
                    evidence->num_superchains ? "   nested" : "");
  for (size_t i = 0; i < shown; i++) append_scalar(text, width, &evidence->scalars[ranks[i].scalar]);
  free(ranks);
  return true;
}

static void append_chains(RpinnText *text, const RpinnChainEvidence *evidence) {
  rpinn_text_append(text, "\n  %-5s %10s %8s %11s %12s\n", "chain", "acceptance", "E-BFMI", "divergences",
                    "at max depth");
  for (size_t c = 0; c < evidence->num_chains; c++) {
    const RpinnChainHealth *chain = &evidence->chains[c];
    rpinn_text_append(text, "  %-5zu", c + 1);
    append_number(text, 10, "%.3f", chain->acceptance);
    append_number(text, 8, "%.3f", chain->energy_fraction);
    append_number(text, 11, "%.0f", evidence->has_divergences ? (double)chain->num_divergent : (double)NAN);
    append_number(text, 12, "%.0f", evidence->max_depth ? (double)chain->num_at_limit : (double)NAN);
    rpinn_text_append(text, "%s%s\n", chain->name ? "  " : "", chain->name ? chain->name : "");
  }
}

bool rpinn_chain_report_tables(const RpinnChainEvidence *evidence, bool all, RpinnText *text) {
  rpinn_text_append(text, "%zu chain%s of %zu draw%s, %zu scalar%s\n", evidence->num_chains,
                    evidence->num_chains == 1 ? "" : "s", evidence->num_draws,
                    evidence->num_draws == 1 ? "" : "s", evidence->num_scalars,
                    evidence->num_scalars == 1 ? "" : "s");
  if (!append_scalars(text, evidence, all)) return false;
  append_chains(text, evidence);
  return !text->failed;
}

void rpinn_chain_report_findings(const RpinnChainFindings *findings, RpinnText *text) {
  size_t num_problems = 0;
  for (size_t i = 0; i < findings->num_findings; i++) {
    const RpinnChainFinding *finding = &findings->findings[i];
    rpinn_text_append(text, "\n%s: %s\n  try: %s\n", finding->is_problem ? "problem" : "remark",
                      finding->what, finding->advice);
    num_problems += finding->is_problem;
  }
  if (findings->healthy)
    rpinn_text_append(text, "\nok: the chains agree and their draws can be used\n");
  else
    rpinn_text_append(text, "\nnot ok: %zu problem%s; do not rely on these draws yet\n", num_problems,
                      num_problems == 1 ? "" : "s");
}

/* ---- for programs ---- */

static void json_of_scalar(RpinnJson *json, const RpinnScalarHealth *scalar) {
  const RpinnConvergence *s = &scalar->statistics;
  const struct {
    const char *key;
    double value;
  } numbers[] = {{"mean", s->mean},
                 {"mcse_mean", s->mcse_mean},
                 {"sd", s->sd},
                 {"mcse_sd", s->mcse_sd},
                 {"q5", s->q5},
                 {"mcse_q5", s->mcse_q5},
                 {"median", s->median},
                 {"mcse_median", s->mcse_median},
                 {"q95", s->q95},
                 {"mcse_q95", s->mcse_q95},
                 {"ess_bulk", s->ess_bulk},
                 {"ess_tail", s->ess_tail},
                 {"rhat", s->rhat},
                 {"rhat_paper", s->rhat_paper}};
  rpinn_json_open(json, NULL, '{');
  rpinn_json_text(json, "name", scalar->name);
  rpinn_json_boolean(json, "constant", scalar->constant);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    rpinn_json_number(json, numbers[i].key, numbers[i].value);
  if (scalar->nested_rhat != 0) rpinn_json_number(json, "rhat_nested", scalar->nested_rhat);
  rpinn_json_close(json, '}');
}

static void json_of_chain(RpinnJson *json, const RpinnChainEvidence *evidence,
                          const RpinnChainHealth *chain) {
  rpinn_json_open(json, NULL, '{');
  if (chain->name) rpinn_json_text(json, "file", chain->name);
  rpinn_json_number(json, "acceptance", chain->acceptance);
  rpinn_json_number(json, "energy_fraction", chain->energy_fraction);
  if (evidence->has_divergences) rpinn_json_number(json, "divergences", (double)chain->num_divergent);
  if (evidence->max_depth) rpinn_json_number(json, "at_max_depth", (double)chain->num_at_limit);
  rpinn_json_close(json, '}');
}

static void json_of_finding(RpinnJson *json, const RpinnChainFinding *finding) {
  rpinn_json_open(json, NULL, '{');
  rpinn_json_text(json, "finding", finding->name);
  rpinn_json_boolean(json, "problem", finding->is_problem);
  rpinn_json_number(json, "count", (double)finding->count);
  rpinn_json_number(json, "worst", finding->worst);
  if (finding->worst_name) rpinn_json_text(json, "worst_name", finding->worst_name);
  rpinn_json_text(json, "what", finding->what);
  rpinn_json_text(json, "advice", finding->advice);
  rpinn_json_close(json, '}');
}

void rpinn_chain_report_json(const RpinnChainEvidence *evidence, const RpinnChainFindings *findings,
                             const RpinnVerdict *verdict, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_boolean(&json, "healthy", verdict ? verdict->word != RPINN_VERDICT_BAD : findings->healthy);
  if (verdict) rpinn_verdict_json(verdict, &json);
  rpinn_json_number(&json, "draws", (double)evidence->num_draws);
  rpinn_json_open(&json, "chains", '[');
  for (size_t c = 0; c < evidence->num_chains; c++) json_of_chain(&json, evidence, &evidence->chains[c]);
  rpinn_json_close(&json, ']');
  rpinn_json_open(&json, "findings", '[');
  for (size_t i = 0; i < findings->num_findings; i++) json_of_finding(&json, &findings->findings[i]);
  rpinn_json_close(&json, ']');
  rpinn_json_open(&json, "scalars", '[');
  for (size_t i = 0; i < evidence->num_scalars; i++) json_of_scalar(&json, &evidence->scalars[i]);
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}
