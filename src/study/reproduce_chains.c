/* Chains on the page, each by itself.
 *
 * Chains have no order, so both sides stand in rising order of rl2 of the first quantity, and nothing is judged. In
 * Table 3 they tell the same about f and different things about u: that statement rests on the range of rl2 over the
 * chains, largest minus smallest, as the paper's does. For Darcy flow the paper states what the largest R-hat exceeds. */
#include <math.h>
#include <stdio.h>

#include "number_text.h"
#include "reproduce_state.h"

/* The ranges of u and f differ by this factor where the chains are said to disagree in u alone; the published ones
 * differ by 152 and 504. */
static const double clear_ratio = 10;

static void append_cell(RpinnText *text, int width, const char *format, double value) {
  char cell[64] = "-";
  if (!isnan(value)) rpinn_format(cell, sizeof cell, format, value);
  rpinn_text_append(text, " %*s |", width, cell);
}

static void append_chain(RpinnText *text, size_t count, const RpinnReproducedChain *chains, size_t rank) {
  const double nothing = (double)NAN;
  append_cell(text, 5, "%.0f", rank < count ? (double)chains[rank].number : nothing);
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
    append_cell(text, 9, "%.2e", rank < count ? chains[rank].figures[q][RPINN_CHAIN_RL2] : nothing);
    append_cell(text, 10, "%.0f", rank < count ? chains[rank].figures[q][RPINN_CHAIN_LPP_TABLE] : nothing);
  }
}

static void append_ranges(RpinnText *text, const RpinnReproducedChains *chains, bool is_ours) {
  const char *const *names = chains->run->paper_case->quantities;
  size_t count = is_ours ? chains->num_ours : chains->num_published;
  const RpinnReproducedChain *list = is_ours ? chains->ours : chains->published;
  double first = rpinn_chains_range(count, list, 0), second = rpinn_chains_range(count, list, 1);
  rpinn_text_append(text, "- %s: rl2 ranges over %.2e in %s and over %.2e in %s",
                    is_ours ? "ours" : "published", first, names[0], second, names[1]);
  rpinn_text_append(text, chains->run->paper_case->rhat > 0 ? ".\n" : ", %.3g times less.\n", first / second);
}

static void append_rhat(const RpinnReproducedChains *chains, RpinnText *text) {
  const char *const *names = chains->run->paper_case->quantities;
  const RpinnLargestRhat *quantities = chains->quantities, *parameters = &chains->parameters;
  rpinn_text_append(text, "- Largest R-hat of ours: %.3g over the parameters, %.3g in %s, %.3g in %s.\n",
                    parameters->usual, quantities[0].usual, names[0], quantities[1].usual, names[1]);
  rpinn_text_append(
      text,
      "- … in the paper's form (unsplit, without the square root): %.3g over the parameters, %.3g in "
      "%s, %.3g in %s.\n",
      parameters->paper, quantities[0].paper, names[0], quantities[1].paper, names[1]);
  if (chains->run->paper_case->rhat > 0)
    rpinn_text_append(text, "- published: the largest R-hat exceeds %g.\n", chains->run->paper_case->rhat);
}

/* Does it exceed what the paper says that it exceeds? */
static void append_comparison(const RpinnReproducedChains *chains, RpinnText *text) {
  double most =
      fmax(chains->parameters.paper, fmax(chains->quantities[0].paper, chains->quantities[1].paper));
  if (chains->parameters.usual <= 1.01)
    rpinn_text_append(text, "- Ours have converged, unlike the published ones.\n");
  else
    rpinn_text_append(
        text, "- Ours do not converge either: the largest R-hat in the paper's form is %.3g, which %s %g.\n",
        most, most > chains->run->paper_case->rhat ? "exceeds" : "does not exceed",
        chains->run->paper_case->rhat);
}

static void append_statement(const RpinnReproduction *reproduction, const RpinnReproducedChains *chains,
                             RpinnText *text) {
  double ratio = rpinn_chains_range(chains->num_ours, chains->ours, 0) /
                 rpinn_chains_range(chains->num_ours, chains->ours, 1);
  append_rhat(chains, text);
  if (reproduction->scale == RPINN_SCALE_QUICK)
    rpinn_text_append(text, "- Chains as short as these say nothing.\n");
  else if (chains->run->paper_case->rhat > 0)
    append_comparison(chains, text);
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
  const char *const *names = run->paper_case->quantities;
  rpinn_text_append(
      text, "Chains in rising order of rl2 of %s, ours on the left, the published ones on the right.\n\n",
      names[0]);
  rpinn_text_append(text, "|");
  for (size_t side = 0; side < 2; side++)
    rpinn_text_append(text, " %5s |     rl2 %s |      LPP %s |     rl2 %s |      LPP %s |",
                      side ? "paper" : "ours", names[0], names[0], names[1], names[1]);
  rpinn_text_append(text, "\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (size_t rank = 0; rank < num_ranks; rank++) {
    rpinn_text_append(text, "|");
    append_chain(text, chains->num_ours, chains->ours, rank);
    append_chain(text, chains->num_published, chains->published, rank);
    rpinn_text_append(text, "\n");
  }
  rpinn_text_append(text, "\n");
  append_ranges(text, chains, false);
  if (chains->worst[0] && chains->worst[1])
    rpinn_text_append(
        text, "- re-run, the worst of 4 chains: rl2 %.2e in u (LPP %.0f), %.2e in f (LPP %.0f).\n",
        chains->worst[0]->metrics[RPINN_TABLE_RL2], chains->worst[0]->metrics[RPINN_TABLE_LPP_TABLE],
        chains->worst[1]->metrics[RPINN_TABLE_RL2], chains->worst[1]->metrics[RPINN_TABLE_LPP_TABLE]);
  if (run->reason) return;
  append_ranges(text, chains, true);
  append_statement(reproduction, chains, text);
  rpinn_text_append(text, "- %.0f s for all chains, warmup included.\n", run->seconds);
}
