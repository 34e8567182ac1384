/* Table 3 on the page: chains that tell the same about f and different things about u.
 *
 * Chains have no order, so both sides stand in rising order of rl2 of u, and nothing is judged. The statement rests
 * on the range of rl2 over the chains, largest minus smallest, as the paper's does. */
#include <math.h>
#include <stdio.h>

#include "reproduce_state.h"

/* The ranges of u and f differ by this factor where the chains are said to disagree in u alone; the published ones
 * differ by 152 and 504. */
static const double clear_ratio = 10;

static void append_chain(RpinnText *text, size_t count, const RpinnReproducedChain *chains, size_t rank) {
  if (rank >= count) {
    rpinn_text_append(text, " %5s | %9s | %10s | %9s | %10s |", "-", "-", "-", "-", "-");
    return;
  }
  const RpinnReproducedChain *chain = &chains[rank];
  rpinn_text_append(text, " %5zu |", chain->number);
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    rpinn_text_append(text, " %9.2e | %10.0f |", chain->figures[q][RPINN_CHAIN_RL2],
                      chain->figures[q][RPINN_CHAIN_LPP_TABLE]);
}

static void append_ranges(RpinnText *text, const char *whose, size_t count,
                          const RpinnReproducedChain *chains) {
  double u = rpinn_chains_range(count, chains, 0), f = rpinn_chains_range(count, chains, 1);
  rpinn_text_append(text, "- %s: rl2 ranges over %.2e in u and over %.2e in f, %.3g times less.\n", whose, u,
                    f, u / f);
}

static void append_statement(const RpinnReproduction *reproduction, const RpinnReproducedChains *chains,
                             RpinnText *text) {
  double ratio = rpinn_chains_range(chains->num_ours, chains->ours, 0) /
                 rpinn_chains_range(chains->num_ours, chains->ours, 1);
  rpinn_text_append(text, "- Largest R-hat of ours: %.3g in u, %.3g in f.\n", chains->max_rhat[0],
                    chains->max_rhat[1]);
  if (reproduction->scale == RPINN_SCALE_QUICK)
    rpinn_text_append(text, "- Chains as short as these say nothing.\n");
  else if (ratio >= clear_ratio)
    rpinn_text_append(text, "- The chains agree in f and disagree in u, as the published ones do.\n");
  else
    rpinn_text_append(text,
                      "- The chains do not disagree in u much more than in f, unlike the published ones.\n");
}

void rpinn_chains_write_text(const RpinnReproduction *reproduction, const RpinnReproducedChains *chains,
                             RpinnText *text) {
  size_t num_ranks = chains->num_ours > chains->num_published ? chains->num_ours : chains->num_published;
  const RpinnReproducedRun *run = chains->run;
  rpinn_text_append(
      text, "Chains in rising order of rl2 of u, ours on the left, the published ones on the right.\n\n");
  rpinn_text_append(text, "|");
  for (size_t side = 0; side < 2; side++)
    rpinn_text_append(text, " %5s | %9s | %10s | %9s | %10s |", side ? "paper" : "ours", "rl2 u", "LPP u",
                      "rl2 f", "LPP f");
  rpinn_text_append(text, "\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (size_t rank = 0; rank < num_ranks; rank++) {
    rpinn_text_append(text, "|");
    append_chain(text, chains->num_ours, chains->ours, rank);
    append_chain(text, chains->num_published, chains->published, rank);
    rpinn_text_append(text, "\n");
  }
  rpinn_text_append(text, "\n");
  append_ranges(text, "published", chains->num_published, chains->published);
  if (chains->worst[0] && chains->worst[1])
    rpinn_text_append(
        text, "- re-run, the worst of 4 chains: rl2 %.2e in u (LPP %.0f), %.2e in f (LPP %.0f).\n",
        chains->worst[0]->metrics[RPINN_TABLE_RL2], chains->worst[0]->metrics[RPINN_TABLE_LPP_TABLE],
        chains->worst[1]->metrics[RPINN_TABLE_RL2], chains->worst[1]->metrics[RPINN_TABLE_LPP_TABLE]);
  if (run->reason) return;
  append_ranges(text, "ours", chains->num_ours, chains->ours);
  append_statement(reproduction, chains, text);
  rpinn_text_append(text, "- %.0f s for all chains, warmup included.\n", run->seconds);
}
