/* The paper's remedy for too narrow posteriors at small noise:
 *
 *   sigma_p^2 = (sigma + epsilon)^2 lambda / N,   epsilon chosen to maximise LPP
 *
 * where the other sigmas follow from sigma_p as before, so that all of them grow by 1 + epsilon / sigma. A grid of
 * epsilons on the linear Poisson equation and, where there is time, on Darcy flow with sigma = 0.01. */
#include "prior_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number_text.h"
#include "reproduce_run.h"

/* In units of sigma. */
static const char *const multiples[] = {"0", "0.5", "1", "2", "4", "9"};
static const unsigned quick_multiples = 1 << 0 | 1 << 2 | 1 << 4;

/* What each scale leaves. */
static const struct {
  const char *members; /* of the runs with an epsilon; NULL: as in Table 1, whose runs serve as epsilon = 0 */
  const char *darcy_members; /* NULL: no Darcy flow */
} scales[RPINN_NUM_PAPER_SCALES] = {{NULL, NULL}, {"200", "12"}, {NULL, "100"}};

/* Darcy flow takes the optimiser of the shipped problem: minutes where the paper's Adam takes hours. */
static const char darcy_optimizer[] = "lm", darcy_iterations[] = "50";

/* ---- the runs ---- */

static RpinnStatus plan_grid(RpinnContext *context, RpinnReproduction *reproduction,
                             const RpinnPaperCase *paper, bool is_darcy) {
  RpinnEpsilonStudy *study = reproduction->own;
  RpinnEpsilonGrid *grid = &study->grids[study->num_grids++];
  *grid = (RpinnEpsilonGrid){.paper_case = paper, .first_run = reproduction->num_runs};
  for (size_t k = 0; k < sizeof multiples / sizeof multiples[0]; k++) {
    char suffix[64];
    bool is_table_run = k == 0 && !is_darcy;
    if (reproduction->scale == RPINN_SCALE_QUICK && !(quick_multiples >> k & 1)) continue;
    snprintf(suffix, sizeof suffix, "%s%s%s%s%s", is_darcy ? "_" : "", is_darcy ? darcy_optimizer : "",
             k ? "_epsilon" : "", k ? multiples[k] : "", k ? "sigma" : "");
    RpinnReproducedRun *run = rpinn_study_add_run(reproduction, paper, RPINN_PAPER_RPINN, "", suffix);
    if (!run) return rpinn_fail_memory(context);
    grid->multiples[grid->count++] = rpinn_number_read(multiples[k], NULL);
    run->epsilon = rpinn_number_read(multiples[k], NULL) * rpinn_number_read(paper->sigma, NULL);
    const char *members =
        is_darcy ? scales[reproduction->scale].darcy_members : scales[reproduction->scale].members;
    if (members && !is_table_run) rpinn_study_set(run, "samples", members);
    if (is_darcy) rpinn_study_set(run, "optimizer", darcy_optimizer);
    if (is_darcy) rpinn_study_set(run, "iterations", darcy_iterations);
    if (is_darcy) rpinn_study_set(run, "progress_tolerance", "1e-8");
    if (grid->count > 2) run->costs_like = run - 1; /* the second one is tried, the first may be Table 1's */
  }
  return RPINN_OK;
}

static bool is_darcy_case(const RpinnPaperCase *paper) {
  return !strcmp(paper->table, "table4") && !strcmp(paper->sigma, "0.01");
}

static RpinnStatus plan(RpinnContext *context, RpinnReproduction *reproduction) {
  size_t most = (rpinn_num_paper_cases() + 1) * RPINN_MAX_EPSILONS;
  RpinnEpsilonStudy *study = RPINN_ARENA_NEW(reproduction->arena, RpinnEpsilonStudy, 1);
  RPINN_TRY(rpinn_study_make_room(context, reproduction, most));
  if (study) study->sigmas = RPINN_ARENA_NEW(reproduction->arena, RpinnStudySigmas, most);
  if (!study || !study->sigmas) return rpinn_fail_memory(context);
  reproduction->own = study;
  for (size_t c = 0; c < rpinn_num_paper_cases(); c++) {
    const RpinnPaperCase *paper = rpinn_paper_case(c);
    bool is_darcy = is_darcy_case(paper);
    if (!strcmp(paper->table, "table1") || (is_darcy && scales[reproduction->scale].darcy_members))
      RPINN_TRY(plan_grid(context, reproduction, paper, is_darcy));
  }
  study->first_loaded = reproduction->num_runs;
  for (size_t c = 0; c < rpinn_num_paper_cases(); c++) {
    const RpinnPaperCase *paper = rpinn_paper_case(c);
    if (!rpinn_reproduction_published(reproduction, paper)) continue;
    RpinnReproducedRun *run = rpinn_reproduction_add_run(reproduction, paper, RPINN_PAPER_RPINN, "", "");
    if (!run) return rpinn_fail_memory(context);
    run->only_loaded = true;
  }
  return RPINN_OK;
}

/* ---- what is taken from a run ---- */

static RpinnStatus take(RpinnMadeRun *made) {
  RpinnEpsilonStudy *study = made->reproduction->own;
  RpinnStudySigmas *sigmas = &study->sigmas[made->run - made->reproduction->runs];
  sigmas->prior = rpinn_posterior_prior_sigma(made->posterior);
  for (size_t t = 0; t < made->posterior->model.num_terms && t < RPINN_MAX_STUDY_TERMS; t++) {
    const char *name = rpinn_posterior_term_name(made->posterior, t);
    sigmas->names[t] = rpinn_arena_copy_text(made->reproduction->arena, name, strlen(name));
    if (!sigmas->names[t]) return rpinn_fail_memory(made->context);
    sigmas->terms[sigmas->num_terms++] = rpinn_posterior_term_sigma(made->posterior, t);
  }
  return made->run->only_loaded ? RPINN_OK : rpinn_reproduction_fill_rows(made);
}

/* ---- the choice ---- */

/* Both quantities come from the same members: the error of the sum is at most the sum of the errors. */
void rpinn_epsilon_grid_choose(const RpinnReproduction *reproduction, RpinnEpsilonGrid *grid) {
  double values[RPINN_MAX_EPSILONS], sums[RPINN_MAX_EPSILONS] = {0};
  for (size_t k = 0; k < grid->count; k++) grid->sums[k] = (RpinnEstimate){0};
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
    for (size_t k = 0; k < grid->count; k++) {
      RpinnEstimate lpp =
          rpinn_study_figure(reproduction, &reproduction->runs[grid->first_run + k], q, RPINN_FIGURE_LPP);
      values[k] = lpp.value;
      grid->sums[k].value += lpp.value;
      grid->sums[k].error += lpp.error;
      sums[k] = grid->sums[k].value;
    }
    grid->best[q] = rpinn_largest_place(grid->count, values);
  }
  grid->best_sum = rpinn_largest_place(grid->count, sums);
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  RpinnEpsilonStudy *study = reproduction->own;
  RpinnText table = {0}, csv = {0};
  for (size_t g = 0; g < study->num_grids; g++) rpinn_epsilon_grid_choose(reproduction, &study->grids[g]);
  RpinnStatus status = rpinn_sigmas_compare(context, reproduction, &table, &csv);
  if (status == RPINN_OK) {
    rpinn_epsilon_write_text(reproduction, &reproduction->text);
    rpinn_text_append(&reproduction->text, "%s", table.bytes ? table.bytes : "");
    rpinn_epsilon_write_csv(reproduction, &reproduction->csv);
    rpinn_epsilon_write_json(reproduction, &reproduction->json);
    status = rpinn_reproduction_write_file(context, reproduction, "_sigmas.csv", &csv);
  }
  rpinn_text_free(&table);
  rpinn_text_free(&csv);
  RPINN_TRY(status);
  rpinn_text_append(&reproduction->outcome,
                    "%zu of %zu printed sigmas agree, %zu within one unit of the last digit",
                    study->printed_verdicts[RPINN_PRINTED_AGREES], study->num_printed,
                    study->printed_verdicts[RPINN_PRINTED_NEAR]);
  for (size_t g = 0; g < study->num_grids && reproduction->scale != RPINN_SCALE_QUICK; g++) {
    const RpinnEpsilonGrid *grid = &study->grids[g];
    if (grid->best_sum == grid->count) continue;
    rpinn_text_append(&reproduction->outcome, "%s%s%s%s sigma %s: epsilon %g sigma",
                      g ? ", " : "; largest LPP: ", grid->paper_case->problem,
                      grid->paper_case->num_points[0] ? " N_f " : "", grid->paper_case->num_points,
                      grid->paper_case->sigma, grid->multiples[grid->best_sum]);
  }
  return RPINN_OK;
}

const RpinnReproduceKind rpinn_prior_scale = {.plan = plan, .take = take, .finish = finish};
