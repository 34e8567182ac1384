/* Which runs a table needs, and the rows that they fill. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reproduce_state.h"

const RpinnPublishedTable *rpinn_reproduction_published(const RpinnReproduction *reproduction,
                                                        const RpinnPaperCase *paper) {
  size_t k = 0;
  while (k < RPINN_MAX_ENTRY_TABLES && reproduction->published[k].name &&
         strcmp(reproduction->published[k].name, paper->table) != 0)
    k++;
  return k < RPINN_MAX_ENTRY_TABLES && reproduction->published[k].name ? &reproduction->published[k] : NULL;
}

static const RpinnPublishedRow *find_row(const RpinnReproduction *reproduction, const RpinnPaperCase *paper,
                                         const char *method, size_t quantity, bool is_rerun) {
  return rpinn_published_find(rpinn_reproduction_published(reproduction, paper), paper->num_points,
                              paper->sigma, method, paper->quantities[quantity], is_rerun);
}

RpinnReproducedRun *rpinn_reproduction_add_run(RpinnReproduction *reproduction, const RpinnPaperCase *paper,
                                               RpinnPaperMethod method, const char *folder,
                                               const char *suffix) {
  RpinnText name = {0};
  rpinn_text_append(&name, "%s%s", folder, paper->problem);
  if (paper->num_points[0]) rpinn_text_append(&name, "_Nf%s", paper->num_points);
  rpinn_text_append(&name, "_sigma%s_%s%s", paper->sigma, rpinn_paper_methods[method], suffix);
  RpinnReproducedRun *run = &reproduction->runs[reproduction->num_runs++];
  *run = (RpinnReproducedRun){
      .paper_case = paper,
      .method = method,
      .name = name.failed ? NULL : rpinn_arena_copy_text(reproduction->arena, name.bytes, name.length)};
  rpinn_text_free(&name);
  return run->name ? run : NULL;
}

static RpinnStatus plan_run(RpinnContext *context, RpinnReproduction *reproduction,
                            const RpinnPaperCase *paper, RpinnPaperMethod method) {
  RpinnReproducedRun *run = rpinn_reproduction_add_run(reproduction, paper, method, "", "");
  if (!run) return rpinn_fail_memory(context);
  if (!reproduction->methods[method]) run->reason = "not asked for";
  return RPINN_OK;
}

/* Quantity by quantity, and in each the methods that the table has. */
static void plan_rows(RpinnReproduction *reproduction, size_t first_run) {
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    for (size_t r = first_run; r < reproduction->num_runs; r++) {
      const RpinnReproducedRun *run = &reproduction->runs[r];
      const char *method = rpinn_paper_methods[run->method];
      char divided[64]; /* the re-run as the paper's formula has it, where its code differs */
      snprintf(divided, sizeof divided, "%s_divided", method);
      reproduction->rows[reproduction->num_rows++] =
          (RpinnReproducedRow){.run = run,
                               .quantity = q,
                               .published = find_row(reproduction, run->paper_case, method, q, false),
                               .rerun = find_row(reproduction, run->paper_case, method, q, true),
                               .divided = find_row(reproduction, run->paper_case, divided, q, true)};
    }
}

/* ---- tables of chains ---- */

void rpinn_chains_sort(size_t count, RpinnReproducedChain *chains) {
  for (size_t i = 1; i < count; i++) {
    RpinnReproducedChain chain = chains[i];
    size_t k = i;
    for (; k && chains[k - 1].figures[0][RPINN_CHAIN_RL2] > chain.figures[0][RPINN_CHAIN_RL2]; k--)
      chains[k] = chains[k - 1];
    chains[k] = chain;
  }
}

double rpinn_chains_range(size_t count, const RpinnReproducedChain *chains, size_t quantity) {
  double low = (double)NAN, high = (double)NAN;
  for (size_t i = 0; i < count; i++) {
    low = fmin(low, chains[i].figures[quantity][RPINN_CHAIN_RL2]);
    high = fmax(high, chains[i].figures[quantity][RPINN_CHAIN_RL2]);
  }
  return high - low;
}

/* The published chains of a case, sorted. */
static RpinnStatus plan_chains(RpinnContext *context, RpinnReproduction *reproduction,
                               const RpinnReproducedRun *run, RpinnReproducedChains *chains) {
  *chains = (RpinnReproducedChains){.run = run};
  chains->published = RPINN_ARENA_NEW(reproduction->arena, RpinnReproducedChain,
                                      rpinn_reproduction_published(reproduction, run->paper_case)->num_rows);
  if (!chains->published) return rpinn_fail_memory(context);
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    chains->worst[q] = find_row(reproduction, run->paper_case, "worst_chain", q, true);
  for (bool found = true; found;) {
    RpinnReproducedChain *chain = &chains->published[chains->num_published];
    char name[32];
    chain->number = chains->num_published + 1;
    snprintf(name, sizeof name, "chain%zu", chain->number);
    for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
      const RpinnPublishedRow *row = find_row(reproduction, run->paper_case, name, q, false);
      found = found && row;
      if (!row) continue;
      chain->figures[q][RPINN_CHAIN_RL2] = row->metrics[RPINN_TABLE_RL2];
      chain->figures[q][RPINN_CHAIN_LPP_TABLE] = row->metrics[RPINN_TABLE_LPP_TABLE];
    }
    chains->num_published += found;
  }
  rpinn_chains_sort(chains->num_published, chains->published);
  return RPINN_OK;
}

/* ---- the whole ---- */

RpinnStatus rpinn_reproduction_plan(RpinnContext *context, RpinnReproduction *reproduction) {
  RpinnArena *arena = reproduction->arena;
  reproduction->runs = RPINN_ARENA_NEW(arena, RpinnReproducedRun, RPINN_MAX_PAPER_RUNS);
  reproduction->rows =
      RPINN_ARENA_NEW(arena, RpinnReproducedRow, RPINN_MAX_PAPER_RUNS * RPINN_PAPER_QUANTITIES);
  reproduction->chain_tables = RPINN_ARENA_NEW(arena, RpinnReproducedChains, RPINN_MAX_PAPER_RUNS);
  if (!reproduction->runs || !reproduction->rows || !reproduction->chain_tables)
    return rpinn_fail_memory(context);
  for (size_t c = 0; c < rpinn_num_paper_cases(); c++) {
    const RpinnPaperCase *paper = rpinn_paper_case(c);
    size_t first_run = reproduction->num_runs;
    if (!rpinn_reproduction_published(reproduction, paper)) continue;
    bool has_chains = find_row(reproduction, paper, "chain1", 0, false) != NULL;
    for (size_t m = 0; m < RPINN_NUM_PAPER_METHODS; m++)
      if (has_chains ? rpinn_paper_method((RpinnPaperMethod)m)->has_chains
                     : find_row(reproduction, paper, rpinn_paper_methods[m], 0, false) != NULL)
        RPINN_TRY(plan_run(context, reproduction, paper, (RpinnPaperMethod)m));
    if (!has_chains)
      plan_rows(reproduction, first_run);
    else
      RPINN_TRY(plan_chains(context, reproduction, &reproduction->runs[first_run],
                            &reproduction->chain_tables[reproduction->num_chain_tables++]));
  }
  return RPINN_OK;
}
