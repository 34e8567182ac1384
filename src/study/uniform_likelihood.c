/* The paper's remark on the uniform likelihood (every s_t = sigma, prior scale 1): for the linear Poisson equation
 * "the errors increase and LPPs decrease with increasing N_f", against its own relations, where they improve.
 *
 * Both likelihoods on the same data, N_f = 32 and 128: rPINN's posterior, and the minimiser of the energy (MAP). One
 * data set is one draw of the noise, and rl2 of u follows from two boundary values, so the minimiser is also found for
 * fresh noise: change = mean over the noise draws of rl2(128) - rl2(32), with its standard error. A draw has the same
 * noise at the boundary for both numbers of points, as the published data sets have. The minimiser
 * comes from Levenberg-Marquardt, because 2000 iterations of Adam are far from it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "json_writer.h"
#include "reproduce_studies.h"

enum { PAPER, UNIFORM, NUM_LIKELIHOODS };
static const char *const likelihoods[NUM_LIKELIHOODS] = {"paper", "uniform"};

static const char few_points[] = "32", many_points[] = "128";

/* Runs of a case, one for each likelihood in every slot; fresh noise from FIRST_NOISE on. */
enum { POSTERIOR, MINIMISER, FIRST_NOISE };

enum { MOST_NOISES = 100 };

/* What each scale leaves. */
static const struct {
  size_t num_noises;
  const char *members; /* of the uniform likelihood; NULL: as in Table 1, whose runs the other one shares */
  const char *iterations;
} scales[RPINN_NUM_PAPER_SCALES] = {{3, NULL, "30"}, {20, "400", "300"}, {MOST_NOISES, NULL, "300"}};

static size_t block_size(const RpinnReproduction *reproduction) {
  return NUM_LIKELIHOODS * (FIRST_NOISE + scales[reproduction->scale].num_noises);
}

static const RpinnReproducedRun *find_run(const RpinnReproduction *reproduction, size_t block, size_t slot,
                                          size_t likelihood) {
  return &reproduction->runs[block * block_size(reproduction) + slot * NUM_LIKELIHOODS + likelihood];
}

/* ---- the runs ---- */

static RpinnStatus plan_posterior(RpinnContext *context, RpinnReproduction *reproduction,
                                  const RpinnPaperCase *paper, size_t likelihood) {
  const char *members = scales[reproduction->scale].members;
  RpinnReproducedRun *run = rpinn_study_add_run(reproduction, paper, RPINN_PAPER_RPINN, "",
                                                likelihood == UNIFORM ? "_uniform" : "");
  if (!run) return rpinn_fail_memory(context);
  if (likelihood == PAPER) return RPINN_OK; /* Table 1's own */
  rpinn_study_set(run, "likelihood", likelihoods[likelihood]);
  if (members) rpinn_study_set(run, "samples", members);
  return RPINN_OK;
}

/* noise: from 1; 0: the data of Table 1. */
static RpinnStatus plan_minimiser(RpinnContext *context, RpinnReproduction *reproduction,
                                  const RpinnPaperCase *paper, size_t likelihood, size_t noise) {
  char suffix[64], seed[32];
  snprintf(seed, sizeof seed, "%zu", noise);
  snprintf(suffix, sizeof suffix, "%s%s%s", likelihood == UNIFORM ? "_uniform" : "", noise ? "_noise" : "",
           noise ? seed : "");
  /* The many directories of fresh noise go to a folder of their own. */
  RpinnReproducedRun *run =
      rpinn_study_add_run(reproduction, paper, RPINN_PAPER_MAP, noise ? "uniform-likelihood/" : "", suffix);
  const char *kept = run ? rpinn_arena_copy_text(reproduction->arena, seed, strlen(seed)) : NULL;
  if (!kept) return rpinn_fail_memory(context);
  rpinn_study_set(run, "likelihood", likelihoods[likelihood]);
  rpinn_study_set(run, "optimizer", "lm");
  rpinn_study_set(run, "progress_tolerance", "1e-8");
  rpinn_study_set(run, "iterations", scales[reproduction->scale].iterations);
  run->is_synthetic = noise > 0;
  if (noise) {
    rpinn_study_set(run, "data_seed", kept);
    run->costs_like = run - noise * NUM_LIKELIHOODS; /* on the data of Table 1 */
  }
  return RPINN_OK;
}

static RpinnStatus plan(RpinnContext *context, RpinnReproduction *reproduction) {
  size_t num_noises = scales[reproduction->scale].num_noises;
  RPINN_TRY(rpinn_study_make_room(context, reproduction, rpinn_num_paper_cases() * block_size(reproduction)));
  for (size_t c = 0; c < rpinn_num_paper_cases(); c++) {
    const RpinnPaperCase *paper = rpinn_paper_case(c);
    if (!rpinn_reproduction_published(reproduction, paper)) continue;
    for (size_t likelihood = 0; likelihood < NUM_LIKELIHOODS; likelihood++)
      RPINN_TRY(plan_posterior(context, reproduction, paper, likelihood));
    for (size_t i = 0; i < NUM_LIKELIHOODS * (1 + num_noises); i++)
      RPINN_TRY(plan_minimiser(context, reproduction, paper, i % NUM_LIKELIHOODS, i / NUM_LIKELIHOODS));
  }
  return RPINN_OK;
}

/* ---- comparisons ---- */

/* One figure with few points and with many. */
typedef struct Comparison {
  const char *sigma, *quantity, *of; /* of: "MAP", … */
  size_t likelihood, figure;
  RpinnEstimate few, many, change;
  int claimed; /* by the paper: 1 rises, -1 falls, 0 nothing */
  RpinnClaimVerdict verdict;
} Comparison;

/* Two noises, two likelihoods, two quantities, and of each five figures of rPINN and two of MAP. */
enum { MOST_COMPARISONS = 2 * NUM_LIKELIHOODS * RPINN_PAPER_QUANTITIES * (5 + 2) };

typedef struct Comparisons {
  const RpinnReproduction *reproduction;
  char fresh[64]; /* "MAP, 20 noises" */
  size_t count;
  Comparison list[MOST_COMPARISONS];
} Comparisons;

/* Under the uniform likelihood errors rise and LPP falls; under the paper's it is the other way round. */
static int claimed_sign(size_t figure, size_t likelihood) {
  int sign = figure == RPINN_TABLE_RL2                                               ? 1
             : figure == RPINN_TABLE_LPP_TABLE || figure == (size_t)RPINN_FIGURE_LPP ? -1
                                                                                     : 0;
  return likelihood == UNIFORM ? sign : -sign;
}

static void add_comparison(Comparisons *comparisons, Comparison comparison) {
  bool is_judged = comparisons->reproduction->scale != RPINN_SCALE_QUICK;
  comparison.claimed = claimed_sign(comparison.figure, comparison.likelihood);
  comparison.verdict = comparison.claimed && is_judged
                           ? rpinn_claim_judge(comparison.change, comparison.claimed)
                           : RPINN_CLAIM_OPEN;
  assert(comparisons->count < MOST_COMPARISONS);
  comparisons->list[comparisons->count++] = comparison;
}

/* Over the noise draws, pair by pair. */
static void compare_fresh(Comparisons *comparisons, Comparison comparison, size_t blocks[2],
                          size_t quantity) {
  const RpinnReproduction *reproduction = comparisons->reproduction;
  size_t count = scales[reproduction->scale].num_noises;
  double few[MOST_NOISES], many[MOST_NOISES], change[MOST_NOISES];
  for (size_t k = 0; k < count; k++) {
    const RpinnReproducedRun *runs[] = {
        find_run(reproduction, blocks[0], FIRST_NOISE + k, comparison.likelihood),
        find_run(reproduction, blocks[1], FIRST_NOISE + k, comparison.likelihood)};
    few[k] = rpinn_study_figure(reproduction, runs[0], quantity, RPINN_TABLE_RL2).value;
    many[k] = rpinn_study_figure(reproduction, runs[1], quantity, RPINN_TABLE_RL2).value;
    change[k] = many[k] - few[k];
  }
  comparison.of = comparisons->fresh;
  comparison.few = rpinn_estimate_mean(count, few);
  comparison.many = rpinn_estimate_mean(count, many);
  comparison.change = rpinn_estimate_mean(count, change);
  add_comparison(comparisons, comparison);
}

/* One quantity of a pair of cases, which are blocks of runs. */
static void compare(Comparisons *comparisons, size_t blocks[2], size_t likelihood, size_t quantity) {
  static const size_t figures[] = {RPINN_TABLE_RL2, RPINN_FIGURE_LPP, RPINN_TABLE_LPP_TABLE,
                                   RPINN_TABLE_MEAN_STD, RPINN_TABLE_COVERAGE};
  const RpinnReproduction *reproduction = comparisons->reproduction;
  const RpinnPaperCase *paper = find_run(reproduction, blocks[0], 0, 0)->paper_case;
  Comparison comparison = {
      .sigma = paper->sigma, .quantity = paper->quantities[quantity], .likelihood = likelihood};
  compare_fresh(comparisons, comparison, blocks, quantity);
  for (size_t slot = POSTERIOR; slot <= MINIMISER; slot++)
    for (size_t k = 0; k < (slot == MINIMISER ? 1 : sizeof figures / sizeof figures[0]); k++) {
      comparison.of = slot == MINIMISER ? "MAP, one data set" : "rPINN";
      comparison.figure = figures[k];
      comparison.few = rpinn_study_figure(reproduction, find_run(reproduction, blocks[0], slot, likelihood),
                                          quantity, figures[k]);
      comparison.many = rpinn_study_figure(reproduction, find_run(reproduction, blocks[1], slot, likelihood),
                                           quantity, figures[k]);
      comparison.change = rpinn_estimate_change(comparison.few, comparison.many);
      add_comparison(comparisons, comparison);
    }
}

/* Every pair of cases that differ in the number of points alone. */
static void compare_all(Comparisons *comparisons) {
  const RpinnReproduction *reproduction = comparisons->reproduction;
  size_t num_blocks = reproduction->num_runs / block_size(reproduction);
  snprintf(comparisons->fresh, sizeof comparisons->fresh, "MAP, %zu noises",
           scales[reproduction->scale].num_noises);
  for (size_t pair = 0; pair < num_blocks * num_blocks; pair++) {
    size_t blocks[] = {pair / num_blocks, pair % num_blocks};
    const RpinnPaperCase *few = find_run(reproduction, blocks[0], 0, 0)->paper_case,
                         *many = find_run(reproduction, blocks[1], 0, 0)->paper_case;
    if (strcmp(few->num_points, few_points) != 0 || strcmp(many->num_points, many_points) != 0 ||
        strcmp(few->sigma, many->sigma) != 0)
      continue;
    for (size_t likelihood = NUM_LIKELIHOODS; likelihood--;)
      for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) compare(comparisons, blocks, likelihood, q);
  }
}

static size_t count_verdicts(const Comparisons *comparisons, size_t likelihood, RpinnClaimVerdict verdict) {
  size_t count = 0;
  for (size_t i = 0; i < comparisons->count; i++)
    count += comparisons->list[i].likelihood == likelihood && comparisons->list[i].verdict == verdict;
  return count;
}

/* ---- the page ---- */

static void append_comparison(const Comparison *comparison, RpinnText *text) {
  rpinn_text_append(text, "| %-10s | %-17s | %-8s | %-9s |", likelihoods[comparison->likelihood],
                    comparison->of, comparison->quantity, rpinn_study_figure_titles[comparison->figure]);
  rpinn_study_append_cell(text, comparison->figure, comparison->few);
  rpinn_study_append_cell(text, comparison->figure, comparison->many);
  rpinn_study_append_cell(text, comparison->figure, comparison->change);
  rpinn_text_append(text, " %-7s | %-12s |\n",
                    comparison->claimed > 0   ? "rises"
                    : comparison->claimed < 0 ? "falls"
                                              : "",
                    rpinn_claim_verdicts[comparison->verdict]);
}

/* What was found of one quantity, in words. */
static void append_words(const Comparisons *comparisons, size_t first, RpinnText *text) {
  const Comparison *like = &comparisons->list[first];
  rpinn_text_append(text, "- %s likelihood, sigma = %s, %s:", likelihoods[like->likelihood], like->sigma,
                    like->quantity);
  size_t num_words = 0;
  for (size_t i = first; i < comparisons->count; i++) {
    const Comparison *other = &comparisons->list[i];
    if (strcmp(other->sigma, like->sigma) != 0 || other->likelihood != like->likelihood ||
        strcmp(other->quantity, like->quantity) != 0)
      break;
    if (other->verdict == RPINN_CLAIM_OPEN) continue;
    rpinn_text_append(text, "%s %s of %s %s (%s)", num_words++ ? "," : "",
                      rpinn_study_figure_titles[other->figure],
                      other->of == comparisons->fresh ? "MAP" : other->of,
                      other->verdict == RPINN_CLAIM_UNDECIDED ? "does not change beyond the errors"
                      : other->change.value > 0               ? "rises"
                                                              : "falls",
                      rpinn_claim_verdicts[other->verdict]);
  }
  rpinn_text_append(text, ".\n");
}

static void append_summary(const Comparisons *comparisons, RpinnText *text) {
  if (comparisons->reproduction->scale == RPINN_SCALE_QUICK) {
    rpinn_text_append(text, "Scale quick: runs as short as these say nothing.\n");
    return;
  }
  for (size_t likelihood = NUM_LIKELIHOODS; likelihood--;)
    rpinn_text_append(
        text,
        "Under the %s likelihood what the paper says holds in %zu figures, is contradicted in %zu and "
        "undecided in %zu.\n",
        likelihoods[likelihood], count_verdicts(comparisons, likelihood, RPINN_CLAIM_HOLDS),
        count_verdicts(comparisons, likelihood, RPINN_CLAIM_CONTRADICTED),
        count_verdicts(comparisons, likelihood, RPINN_CLAIM_UNDECIDED));
  rpinn_text_append(text, "\n");
  for (size_t i = 0; i < comparisons->count; i++)
    if (comparisons->list[i].of == comparisons->fresh) append_words(comparisons, i, text);
}

static void write_text(const Comparisons *comparisons, RpinnText *text) {
  const RpinnReproduction *reproduction = comparisons->reproduction;
  const char *sigma = "";
  rpinn_study_append_title(text, reproduction);
  rpinn_text_append(
      text,
      "The paper: with all sigmas equal to the noise and the prior scale 1 (uniform), rl2 of u and f rises "
      "and\n"
      "LPP falls from N_f = 32 to N_f = 128; with its own relations (paper) it is the other way round.\n\n");
  for (size_t likelihood = NUM_LIKELIHOODS; likelihood--;)
    for (size_t slot = POSTERIOR; slot <= MINIMISER; slot++) {
      char title[64];
      snprintf(title, sizeof title, "%s, %s likelihood", slot == POSTERIOR ? "rPINN" : "MAP",
               likelihoods[likelihood]);
      rpinn_study_append_settings(text, find_run(reproduction, 0, slot, likelihood), title);
    }
  for (size_t i = 0; i < comparisons->count; i++) {
    if (strcmp(sigma, comparisons->list[i].sigma) != 0) {
      sigma = comparisons->list[i].sigma;
      rpinn_text_append(text,
                        "\n## poisson-linear, sigma = %s\n\n"
                        "| likelihood | of                | quantity | figure    |           N_f = 32 |"
                        "          N_f = 128 |             change | claimed | claim        |\n"
                        "|---|---|---|---|---:|---:|---:|---|---|\n",
                        sigma);
    }
    append_comparison(&comparisons->list[i], text);
  }
  rpinn_text_append(text, "\n");
  append_summary(comparisons, text);
  rpinn_text_append(
      text,
      "\n- In parentheses: the standard error. Of rPINN it is that of the members (%d bootstrap resamples), "
      "on one data\n"
      "  set. Of %s it is that of the mean over the noise draws, and of the change that of the mean "
      "difference.\n"
      "- A claim holds, or is contradicted, beyond two standard errors; one data set of MAP has none.\n"
      "- rl2 of u follows from the noise of two boundary values, which is the same for both N_f in every "
      "noise draw and in\n  the published data sets.\n",
      RPINN_BOOTSTRAP_RESAMPLES, comparisons->fresh);
}

/* ---- for programs ---- */

static void write_csv(const Comparisons *comparisons, RpinnText *csv) {
  rpinn_text_append(
      csv, "sigma,likelihood,of,quantity,figure,Nf32,Nf32_error,Nf128,Nf128_error,change,change_error,"
           "claimed_sign,verdict\n");
  for (size_t i = 0; i < comparisons->count; i++) {
    const Comparison *comparison = &comparisons->list[i];
    const RpinnEstimate *estimates[] = {&comparison->few, &comparison->many, &comparison->change};
    rpinn_text_append(csv, "%s,%s,\"%s\",%s,%s", comparison->sigma, likelihoods[comparison->likelihood],
                      comparison->of, comparison->quantity, rpinn_study_figure_keys[comparison->figure]);
    for (size_t k = 0; k < 3; k++) {
      rpinn_study_append_number(csv, estimates[k]->value);
      rpinn_study_append_number(csv, estimates[k]->error);
    }
    rpinn_text_append(csv, ",%d,%s\n", comparison->claimed, rpinn_claim_verdicts[comparison->verdict]);
  }
}

static void json_estimate(RpinnJson *json, const char *key, RpinnEstimate estimate) {
  rpinn_json_open(json, key, '{');
  rpinn_json_number(json, "value", estimate.value);
  rpinn_json_number(json, "standard_error", estimate.error);
  rpinn_json_close(json, '}');
}

static void write_json(const Comparisons *comparisons, RpinnText *text) {
  const RpinnReproduction *reproduction = comparisons->reproduction;
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "name", reproduction->entry->name);
  rpinn_json_text(&json, "scale", rpinn_paper_scales[reproduction->scale]);
  rpinn_json_text(&json, "data", reproduction->has_data ? "published" : "synthetic");
  rpinn_json_number(&json, "noise_draws", (double)scales[reproduction->scale].num_noises);
  for (size_t likelihood = 0; likelihood < NUM_LIKELIHOODS; likelihood++) {
    rpinn_json_open(&json, likelihoods[likelihood], '{');
    for (size_t v = RPINN_CLAIM_UNDECIDED; v < RPINN_NUM_CLAIM_VERDICTS; v++)
      rpinn_json_number(&json, rpinn_claim_verdicts[v],
                        (double)count_verdicts(comparisons, likelihood, (RpinnClaimVerdict)v));
    rpinn_json_close(&json, '}');
  }
  rpinn_json_open(&json, "settings", '[');
  for (size_t i = 0; i < 2 * NUM_LIKELIHOODS; i++) {
    const RpinnReproducedRun *run = find_run(reproduction, 0, i / NUM_LIKELIHOODS, i % NUM_LIKELIHOODS);
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "method", rpinn_paper_methods[run->method]);
    rpinn_json_text(&json, "likelihood", likelihoods[i % NUM_LIKELIHOODS]);
    rpinn_json_text(&json, "settings", run->settings);
    rpinn_json_text(&json, "departures", run->departures);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_open(&json, "comparisons", '[');
  for (size_t i = 0; i < comparisons->count; i++) {
    const Comparison *comparison = &comparisons->list[i];
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "sigma", comparison->sigma);
    rpinn_json_text(&json, "likelihood", likelihoods[comparison->likelihood]);
    rpinn_json_text(&json, "of", comparison->of);
    rpinn_json_text(&json, "quantity", comparison->quantity);
    rpinn_json_text(&json, "figure", rpinn_study_figure_keys[comparison->figure]);
    json_estimate(&json, "Nf32", comparison->few);
    json_estimate(&json, "Nf128", comparison->many);
    json_estimate(&json, "change", comparison->change);
    rpinn_json_number(&json, "claimed_sign", comparison->claimed);
    rpinn_json_text(&json, "verdict", rpinn_claim_verdicts[comparison->verdict]);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  Comparisons *comparisons = RPINN_ARENA_NEW(reproduction->arena, Comparisons, 1);
  if (!comparisons) return rpinn_fail_memory(context);
  comparisons->reproduction = reproduction;
  compare_all(comparisons);
  write_text(comparisons, &reproduction->text);
  write_csv(comparisons, &reproduction->csv);
  write_json(comparisons, &reproduction->json);
  if (reproduction->scale == RPINN_SCALE_QUICK)
    rpinn_text_append(&reproduction->outcome, "not judged");
  else
    rpinn_text_append(&reproduction->outcome,
                      "the claim holds in %zu figures, is contradicted in %zu, undecided in %zu",
                      count_verdicts(comparisons, UNIFORM, RPINN_CLAIM_HOLDS),
                      count_verdicts(comparisons, UNIFORM, RPINN_CLAIM_CONTRADICTED),
                      count_verdicts(comparisons, UNIFORM, RPINN_CLAIM_UNDECIDED));
  return RPINN_OK;
}

const RpinnReproduceKind rpinn_uniform_likelihood = {
    .plan = plan, .take = rpinn_reproduction_fill_rows, .finish = finish};
