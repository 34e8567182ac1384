#include "finished_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "member_correction.h"
#include "method.h"
#include "prior_record.h"
#include "rank_interval.h"
#include "run_verdict.h"
#include "shard_record.h"
#include "whole_file.h"

/* ---- reading ---- */

static RpinnStatus refuse(RpinnContext *context, const char *folder, const char *message) {
  return rpinn_fail_at(context, (RpinnPlace){.file = folder}, "%s", message);
}

static RpinnStatus find_summary(RpinnContext *context, const char *folder, char path[RPINN_PATH_SIZE]) {
  struct stat info;
  if (strlen(folder) > RPINN_PATH_SIZE - 64)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the run directory has more than %d characters",
                      RPINN_PATH_SIZE - 64);
  if (stat(folder, &info) != 0)
    return rpinn_fail_at(context, (RpinnPlace){.file = folder}, "there is no run here: %s", strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refuse(context, folder, "this is a file; expected a run directory");
  snprintf(path, RPINN_PATH_SIZE, "%s/checkpoint.db", folder);
  bool has_members = access(path, F_OK) == 0;
  snprintf(path, RPINN_PATH_SIZE, "%s/summary.json", folder);
  if (access(path, F_OK) == 0) return RPINN_OK;
  if (has_members) RPINN_TRY(rpinn_refuse_shard(context, folder));
  if (has_members)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = folder},
        "this run is not finished; rpinn run %.500s/run.yaml --out %.500s --resume goes on with it", folder,
        folder);
  return refuse(context, folder, "this folder holds no run; expected summary.json, which rpinn run writes");
}

/* Every score of every quantity is a number or null. */
static RpinnStatus check_scores(RpinnContext *context, const RpinnJsonValue *scores) {
  for (const RpinnJsonValue *score = scores->first; score; score = score->next) {
    if (score->kind != RPINN_JSON_OBJECT)
      return rpinn_fail_at(context, score->place, "'%.60s' holds no scores; expected an object", score->key);
    for (const RpinnJsonValue *item = score->first; item; item = item->next) {
      double number;
      if (!rpinn_json_as_number(item, &number))
        return rpinn_fail_at(context, item->place, "'%.60s' is no number", item->key);
    }
  }
  return RPINN_OK;
}

static RpinnStatus check_summary(RpinnContext *context, const RpinnJsonValue *summary) {
  static const struct {
    const char *key;
    RpinnJsonKind kind;
  } needed[] = {{"problem", RPINN_JSON_TEXT},   {"method", RPINN_JSON_TEXT},
                {"samples", RPINN_JSON_NUMBER}, {"wall_seconds", RPINN_JSON_NUMBER},
                {"members", RPINN_JSON_OBJECT}, {"quantities", RPINN_JSON_OBJECT}};
  const RpinnJsonValue *found = NULL;
  if (summary->kind != RPINN_JSON_OBJECT)
    return rpinn_fail_at(context, summary->place, "this is no summary of a run; expected an object");
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
    RPINN_TRY(rpinn_json_require(context, summary, needed[i].key, needed[i].kind, &found));
  RPINN_TRY(check_scores(context, found));
  const RpinnJsonValue *tests = rpinn_json_find(summary, "tests");
  if (!tests) return RPINN_OK;
  RPINN_TRY(rpinn_json_require(context, summary, "tests", RPINN_JSON_OBJECT, &tests));
  return check_scores(context, tests);
}

RpinnStatus rpinn_finished_run_open(RpinnContext *context, const char *folder, RpinnFinishedRun *run) {
  char path[RPINN_PATH_SIZE];
  *run = (RpinnFinishedRun){0};
  RPINN_TRY(find_summary(context, folder, path));
  run->arena = rpinn_arena_create();
  run->folder = run->arena ? rpinn_arena_copy_text(run->arena, folder, strlen(folder)) : NULL;
  if (!run->folder) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_file_read(context, path, RPINN_JSON_MAX_MEBIBYTES, &run->text));
  RPINN_TRY(rpinn_json_parse(context, run->arena, path, run->text.bytes ? run->text.bytes : "",
                             run->text.length, &run->summary));
  return check_summary(context, run->summary);
}

void rpinn_finished_run_close(RpinnFinishedRun *run) {
  rpinn_text_free(&run->text);
  rpinn_arena_destroy(run->arena);
  *run = (RpinnFinishedRun){0};
}

/* ---- tables ---- */

/* NULL: another version's, or none at all. */
static const RpinnMethod *method_of(const RpinnJsonValue *summary) {
  return rpinn_method_find(rpinn_summary_text(summary, "method"));
}

double rpinn_summary_number(const RpinnJsonValue *object, const char *key) {
  double number;
  return rpinn_json_as_number(rpinn_json_find(object, key), &number) ? number : (double)NAN;
}

bool rpinn_summary_flag(const RpinnJsonValue *object, const char *key) {
  const RpinnJsonValue *value = object ? rpinn_json_find(object, key) : NULL;
  return value && value->kind == RPINN_JSON_BOOLEAN && value->boolean;
}

const char *rpinn_summary_text(const RpinnJsonValue *object, const char *key) {
  const RpinnJsonValue *value = rpinn_json_find(object, key);
  return value && value->kind == RPINN_JSON_TEXT ? value->text : "-";
}

static const struct {
  const char *key, *title, *format;
  int width;
  double factor;
} columns[] = {{"rl2", "rl2", " %10.2e", 10, 1},
               {"linf", "linf", " %10.2e", 10, 1},
               {"mean_std", "mean std", " %10.2e", 10, 1},
               {"lpp", "LPP", " %10.1f", 10, 1},
               {"lpp_table", "LPP table", " %10.1f", 10, 1},
               {"coverage", "coverage", " %8.1f%%", 9, 100},
               {"interval_coverage", "95% int.", " %8.1f%%", 9, 100},
               {"crps", "CRPS", " %10.2e", 10, 1}};
enum { NUM_COLUMNS = sizeof columns / sizeof columns[0] };

void rpinn_summary_score_header(const char *first, int width, RpinnText *table) {
  rpinn_text_append(table, "  %-*s", width, first);
  for (size_t k = 0; k < NUM_COLUMNS; k++)
    rpinn_text_append(table, " %*s", columns[k].width, columns[k].title);
}

void rpinn_summary_score_row(const char *first, int width, const RpinnJsonValue *score, RpinnText *table) {
  rpinn_text_append(table, "  %-*s", width, first);
  for (size_t k = 0; k < NUM_COLUMNS; k++) {
    double value = rpinn_summary_number(score, columns[k].key);
    if (isnan(value))
      rpinn_text_append(table, " %*s", columns[k].width, "-");
    else
      rpinn_text_append(table, columns[k].format, value * columns[k].factor);
  }
}

static const RpinnJsonValue *first_item(const RpinnJsonValue *object, const char *key) {
  const RpinnJsonValue *found = rpinn_json_find(object, key);
  return found && found->kind == RPINN_JSON_OBJECT ? found->first : NULL;
}

/* Scores of what is predicted and of what was held out. */
static void table_scores(const RpinnJsonValue *summary, RpinnText *table) {
  if (!first_item(summary, "quantities") && !first_item(summary, "tests")) {
    rpinn_text_append(table, "  nothing is predicted: the problem file has no predict, such as\n"
                             "    predict: {grid: 101, quantities: [NAME]}\n"
                             "  rpinn predict RUN --points FILE.csv --quantities NAME makes up for it\n\n");
    return;
  }
  rpinn_summary_score_header("", 16, table);
  rpinn_text_append(table, "\n");
  for (int k = 0; k < 2; k++)
    for (const RpinnJsonValue *item = first_item(summary, k ? "tests" : "quantities"); item;
         item = item->next) {
      rpinn_summary_score_row(item->key, 16, item, table);
      rpinn_text_append(table, k ? "  (held out)\n" : "\n");
    }
}

/* One draw has neither a deviation nor an interval; a few have a deviation. */
static void table_unknowns(const RpinnJsonValue *summary, RpinnText *table) {
  for (const RpinnJsonValue *item = first_item(summary, "unknowns"); item; item = item->next) {
    double deviation = rpinn_summary_number(item, "std"), low = rpinn_summary_number(item, "q025");
    rpinn_text_append(table, "  %-16s %.5g", item->key, rpinn_summary_number(item, "mean"));
    if (isnan(deviation))
      rpinn_text_append(table, " (one draw: no deviation)\n");
    else if (isnan(low))
      rpinn_text_append(table, " +- %.2g\n", deviation);
    else
      rpinn_text_append(table, " +- %.2g, 95%% in [%.5g, %.5g]\n", deviation, low,
                        rpinn_summary_number(item, "q975"));
  }
}

/* Why there are no intervals. Summaries of earlier programs do not tell their draws. */
static void table_intervals(const RpinnJsonValue *summary, RpinnText *table) {
  double draws = rpinn_summary_number(summary, "interval_draws");
  if (draws > 1 && draws < RPINN_INTERVAL_MIN_DRAWS)
    rpinn_text_append(
        table,
        "  note: %.0f draws have no interval of 95%%, which begins at rank 0.025 (n + 1) of n: it "
        "takes %d\n",
        draws, RPINN_INTERVAL_MIN_DRAWS);
}

static void table_losses(const RpinnJsonValue *members, RpinnText *table) {
  double number;
  rpinn_text_append(table, "\n  median loss %.5g = ", rpinn_summary_number(members, "loss_median"));
  for (const RpinnJsonValue *item = first_item(members, "term_loss_medians"); item; item = item->next) {
    rpinn_json_as_number(item, &number);
    rpinn_text_append(table, "%s %.4g, ", item->key, number);
  }
  rpinn_text_append(table, "prior %.4g (medians of each); gradient norm %.3g\n",
                    rpinn_summary_number(members, "prior_loss_median"),
                    rpinn_summary_number(members, "gradient_norm_median"));
  rpinn_text_append(table, "  stops:");
  for (const RpinnJsonValue *item = first_item(members, "stops"); item; item = item->next) {
    rpinn_json_as_number(item, &number);
    rpinn_text_append(table, " %s %.0f", item->key, number);
  }
  rpinn_text_append(table, "\n");
}

/* Are the draws the posterior? */
static void table_weights(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *weights = rpinn_json_find(summary, "weights");
  const RpinnJsonValue *correction = rpinn_json_find(summary, "correction");
  if (correction && correction->kind == RPINN_JSON_OBJECT) {
    rpinn_correction_lines(correction, table);
    return;
  }
  if (!weights || weights->kind != RPINN_JSON_OBJECT) return;
  const RpinnMethod *method = method_of(summary);
  if (rpinn_summary_flag(weights, "apply")) {
    rpinn_text_append(table, "  %s: effective size %.1f of %.0f draws",
                      method && method->weigher ? method->weigher->name : "weights",
                      rpinn_summary_number(weights, "effective_size"),
                      rpinn_summary_number(summary, "samples"));
    if (rpinn_summary_flag(weights, "constant"))
      rpinn_text_append(table, "; all equal, so the draws are the posterior\n");
    else
      rpinn_text_append(table, ", Pareto k %.2f\n", rpinn_summary_number(weights, "pareto_k"));
  } else if (method && method->weigher) {
    rpinn_text_append(table, "  %s do not apply: %s", method->weigher->name,
                      rpinn_summary_text(weights, "reason"));
    double k = rpinn_summary_number(weights, "pareto_k");
    if (isfinite(k)) rpinn_text_append(table, " (%.2f, above %g)", k, method->weigher->largest_k);
    rpinn_text_append(table, "\n");
  }
  if (!strcmp(rpinn_summary_text(weights, "correction"), "mh"))
    rpinn_text_append(table, "  corrected by independence Metropolis: acceptance %.1f%%\n",
                      100 * rpinn_summary_number(weights, "acceptance"));
  else if (rpinn_summary_flag(weights, "correction_asked"))
    rpinn_text_append(table, "  warning: --correct mh was not done: %s\n",
                      rpinn_summary_text(weights, "reason"));
}

void rpinn_summary_member_lines(const RpinnJsonValue *summary, RpinnText *table) {
  table_losses(rpinn_json_find(summary, "members"), table);
  table_weights(summary, table);
}

/* ---- chains ---- */

/* The object "chains" of a run that has some, else NULL. */
static const RpinnJsonValue *find_chains(const RpinnJsonValue *summary) {
  const RpinnJsonValue *chains = rpinn_json_find(summary, "chains");
  bool has_some = chains && chains->kind == RPINN_JSON_OBJECT && rpinn_summary_number(chains, "count") > 0;
  return has_some ? chains : NULL;
}

static const RpinnJsonValue *first_chain(const RpinnJsonValue *chains) {
  const RpinnJsonValue *list = rpinn_json_find(chains, "per_chain");
  return list && list->kind == RPINN_JSON_ARRAY ? list->first : NULL;
}

/* The scores of each chain, as in Table 3 of the paper. */
static void table_chain_scores(const RpinnJsonValue *summary, const RpinnJsonValue *chains,
                               RpinnText *table) {
  for (const RpinnJsonValue *item = first_item(summary, "quantities"); item; item = item->next) {
    size_t number = 1;
    for (const RpinnJsonValue *chain = first_chain(chains); chain; chain = chain->next, number++) {
      const RpinnJsonValue *score = rpinn_json_find(rpinn_json_find(chain, "quantities"), item->key);
      char title[64];
      snprintf(title, sizeof title, "%.30s, chain %zu", item->key, number);
      if (!score) continue;
      rpinn_summary_score_row(title, 16, score, table);
      rpinn_text_append(table, "\n");
    }
  }
}

/* A number, or a dash where there is none: four draws per chain are the fewest that have an R-hat. */
static void append_number(double value, int width, int decimals, RpinnText *table) {
  if (isnan(value))
    rpinn_text_append(table, " %*s", width, "-");
  else
    rpinn_text_append(table, " %*.*f", width, decimals, value);
}

static void table_worst(const char *name, const RpinnJsonValue *worst, RpinnText *table) {
  rpinn_text_append(table, "  %-16s", name);
  append_number(rpinn_summary_number(worst, "max_rhat"), 8, 3, table);
  append_number(rpinn_summary_number(worst, "min_ess_bulk"), 10, 0, table);
  append_number(rpinn_summary_number(worst, "min_ess_tail"), 10, 0, table);
  rpinn_text_append(table, "   %.0f of %.0f above 1.01\n", rpinn_summary_number(worst, "unmixed"),
                    rpinn_summary_number(worst, "count"));
}

void rpinn_summary_chain_lines(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *chains = find_chains(summary);
  if (!chains) return;
  rpinn_text_append(table, "\n  %-16s %8s %10s %10s\n", "convergence", "R-hat", "bulk ESS", "tail ESS");
  for (const RpinnJsonValue *item = first_item(chains, "quantities"); item; item = item->next)
    table_worst(item->key, item, table);
  const RpinnJsonValue *parameters = rpinn_json_find(chains, "parameters");
  if (parameters) table_worst("parameters", parameters, table);
  double num_superchains = rpinn_summary_number(chains, "superchains");
  if (num_superchains > 0)
    rpinn_text_append(
        table, "\n  nested R-hat of %.0f superchains at most %.3f in what is predicted, %.3f in parameters\n",
        num_superchains, rpinn_summary_number(chains, "max_nested_rhat"),
        rpinn_summary_number(chains, "max_nested_rhat_parameters"));
  rpinn_text_append(table, "\n  %-16s %10s %10s %12s %12s %8s\n", "chain", "acceptance", "step", "leapfrogs",
                    "divergences", "E-BFMI");
  size_t number = 1;
  for (const RpinnJsonValue *chain = first_chain(chains); chain; chain = chain->next, number++) {
    rpinn_text_append(table, "  %-16zu %9.1f%% %10.3g %12.0f %12.0f", number,
                      100 * rpinn_summary_number(chain, "acceptance"),
                      rpinn_summary_number(chain, "step_size"), rpinn_summary_number(chain, "leapfrogs"),
                      rpinn_summary_number(chain, "divergences"));
    append_number(rpinn_summary_number(chain, "ebfmi"), 8, 2, table);
    rpinn_text_append(table, "\n");
  }
}

void rpinn_summary_member_title(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *members = rpinn_json_find(summary, "members");
  const RpinnMethod *method = method_of(summary);
  double good = rpinn_summary_number(summary, "samples");
  const RpinnJsonValue *matrix_free = rpinn_json_find(members, "matrix_free");
  rpinn_text_append(table, "%.0f %s%s by %s%s from %s starts", good, method ? method->unit : "member",
                    good == 1 ? "" : "s", rpinn_summary_text(members, "optimizer"),
                    matrix_free && matrix_free->boolean ? " with conjugate gradients" : "",
                    rpinn_summary_text(members, "start"));
}

static void table_count(const RpinnJsonValue *summary, RpinnText *table) {
  rpinn_text_append(table, "%.0f draws", rpinn_summary_number(summary, "samples"));
}

void rpinn_summary_chain_title(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *chains = find_chains(summary);
  if (!chains) {
    table_count(summary, table);
    return;
  }
  rpinn_text_append(table, "%.0f chains of %.0f draws after %.0f iterations of warmup, metric %s",
                    rpinn_summary_number(chains, "count"), rpinn_summary_number(chains, "draws"),
                    rpinn_summary_number(chains, "warmup"), rpinn_summary_text(chains, "metric"));
}

static void table_title(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnMethod *method = method_of(summary);
  rpinn_text_append(table, "%s, method %s: ", rpinn_summary_text(summary, "problem"),
                    rpinn_summary_text(summary, "method"));
  if (method)
    method->write_title(summary, table);
  else
    table_count(summary, table);
  rpinn_text_append(table, " in %.1f s\n\n", rpinn_summary_number(summary, "wall_seconds"));
}

static void table_verdict(const RpinnJsonValue *summary, RpinnText *table) {
  RpinnVerdict verdict;
  rpinn_summary_verdict(summary, NULL, &verdict);
  rpinn_text_append(table, "\n");
  rpinn_verdict_text(&verdict, table);
}

void rpinn_summary_table(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *chains = find_chains(summary);
  const RpinnMethod *method = method_of(summary);
  table_title(summary, table);
  table_scores(summary, table);
  if (chains) table_chain_scores(summary, chains, table);
  table_unknowns(summary, table);
  rpinn_prior_lines(rpinn_json_find(summary, "prior"), false, table);
  if (method) method->write_lines(summary, table);
  table_intervals(summary, table);
  table_verdict(summary, table);
}
