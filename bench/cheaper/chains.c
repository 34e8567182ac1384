#include <stdio.h>
#include <stdlib.h>

#include "context.h"
#include "rpinn/nuts.h"
#include "ways.h"

enum { SEED = 1 };

/* ---- the truth ---- */

typedef struct LongChains {
  JudgedDraws draws;
  double acceptance, divergences; /* sums over the draws */
  double gradients_kept;          /* without those of the warmup */
} LongChains;

static RpinnStatus run_chain(Subject *subject, RpinnNuts *nuts, size_t chain, const double *start,
                             LongChains *chains) {
  RpinnContext *context = subject->context;
  RpinnNutsDraw draw;
  RPINN_TRY(rpinn_nuts_start(context, nuts, SEED, chain, start));
  while (!rpinn_nuts_finished(nuts)) {
    RPINN_TRY(rpinn_nuts_advance(context, nuts, &draw));
    if (!draw.is_kept) continue;
    RPINN_TRY(judged_take(subject, &chains->draws, chain, draw.index, draw.parameters));
    chains->acceptance += draw.acceptance_rate;
    chains->divergences += draw.diverging;
    chains->gradients_kept += (double)draw.num_steps;
  }
  chains->draws.price += (double)rpinn_nuts_num_leapfrogs(nuts);
  return RPINN_OK;
}

RpinnStatus run_truth(Subject *subject, const char *folder, const double *numbers) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  size_t num_chains = (size_t)numbers[0];
  options.num_warmup = (size_t)numbers[1];
  options.num_draws = (size_t)numbers[2];
  options.target_acceptance = numbers[3];
  LongChains chains = {.draws = judged_draws(subject, num_chains, options.num_draws)};
  RpinnDraws *members = NULL;
  RpinnNuts *nuts = NULL;
  char note[128];
  RpinnStatus status = chains.draws.outputs ? RPINN_OK : rpinn_fail_memory(subject->context);
  if (status == RPINN_OK) status = subject_members(subject, num_chains, 1, &members);
  if (status == RPINN_OK) status = rpinn_nuts_create(subject->context, &subject->density, &options, &nuts);
  for (size_t c = 0; c < num_chains && status == RPINN_OK; c++)
    status = run_chain(subject, nuts, c, rpinn_draws_get(members, c).parameters, &chains);
  double count = (double)(num_chains * options.num_draws);
  snprintf(note, sizeof note, "acceptance %.2f, divergent %.1f %%, %.2g gradients behind the warmup",
           chains.acceptance / count, 100 * chains.divergences / count, chains.gradients_kept);
  chains.draws.way = "long chains of NUTS";
  chains.draws.note = note;
  if (status == RPINN_OK) status = judge_write_truth(subject, folder, &chains.draws);
  if (status == RPINN_OK) status = judge_print(subject, folder, &chains.draws);
  rpinn_nuts_destroy(nuts);
  rpinn_draws_destroy(members);
  free(chains.draws.outputs);
  return status;
}

/* ---- members ---- */

RpinnStatus run_members(Subject *subject, const char *folder, const double *numbers) {
  size_t count = (size_t)numbers[0];
  double start = subject_seconds();
  RpinnDraws *members = NULL;
  RPINN_TRY(subject_members(subject, count, 1, &members));
  double seconds = subject_seconds() - start;
  JudgedDraws draws = judged_draws(subject, 1, count);
  RpinnStatus status = draws.outputs ? RPINN_OK : rpinn_fail_memory(subject->context);
  for (size_t i = 0; i < count && status == RPINN_OK; i++)
    status = judged_take(subject, &draws, 0, i, rpinn_draws_get(members, i).parameters);
  draws.way = "rPINN's members";
  draws.note = "";
  draws.price = seconds / subject->gradient_seconds;
  if (status == RPINN_OK) status = judge_print(subject, folder, &draws);
  rpinn_draws_destroy(members);
  free(draws.outputs);
  return status;
}
