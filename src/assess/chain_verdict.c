/* Every judge looks at the evidence for one kind of trouble and writes a finding or none. The limits stand in the
 * header; what to try is what helps most often, in the order in which it should be tried. */
#include "chain_verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "number_text.h"

/* R-hat from which on more draws alone will not do. */
#define CLEARLY_APART    1.1
/* Effective sizes per chain below this say next to nothing; so do chains with a larger share of divergences. */
#define WORTHLESS_SIZE   10.0
#define MANY_DIVERGENCES 0.05

static const struct {
  const char *name;
  bool is_problem;
} kinds[RPINN_NUM_CHAIN_FINDINGS] = {
#define RPINN_CHAIN_FINDING_ROW(name, text, is_problem) {text, is_problem},
    RPINN_CHAIN_FINDING_LIST(RPINN_CHAIN_FINDING_ROW)
#undef RPINN_CHAIN_FINDING_ROW
};

static RpinnChainFinding *add_finding(RpinnChainFindings *findings, RpinnChainFindingKind kind, size_t count,
                                      double worst, const char *worst_name) {
  RpinnChainFinding *finding = &findings->findings[findings->num_findings++];
  *finding =
      (RpinnChainFinding){.kind = kind,
                          .name = kinds[kind].name,
                          .is_problem = kinds[kind].is_problem,
                          .severity = kinds[kind].is_problem ? RPINN_SEVERITY_BAD : RPINN_SEVERITY_NOTE,
                          .count = count,
                          .worst = worst,
                          .worst_name = worst_name};
  findings->healthy = findings->healthy && !finding->is_problem;
  return finding;
}

static void say(char text[512], const char *format, ...) RPINN_PRINTF(2, 3);
static void say(char text[512], const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  rpinn_format_list(text, 512, format, arguments);
  va_end(arguments);
}

static double draws_in_all(const RpinnChainEvidence *evidence) {
  return (double)evidence->num_chains * (double)evidence->num_draws;
}

/* ---- scalars ---- */

static void judge_rhat(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  size_t count = 0;
  const RpinnScalarHealth *worst = NULL;
  for (size_t i = 0; i < evidence->num_scalars; i++) {
    const RpinnScalarHealth *scalar = &evidence->scalars[i];
    if (!(scalar->statistics.rhat > RPINN_RHAT_LIMIT)) continue;
    count++;
    if (!worst || scalar->statistics.rhat > worst->statistics.rhat) worst = scalar;
  }
  if (!worst) return;
  double rhat = worst->statistics.rhat;
  RpinnChainFinding *finding = add_finding(findings, RPINN_FINDING_RHAT, count, rhat, worst->name);
  if (rhat < CLEARLY_APART) finding->severity = RPINN_SEVERITY_CAUTION;
  say(finding->what, "R-hat is above %g for %zu of %zu scalars, up to %.3g for '%.80s': %s.",
      RPINN_RHAT_LIMIT, count, evidence->num_scalars, rhat, worst->name,
      evidence->num_chains > 1 ? "the chains disagree"
                               : "the halves of the chain differ, so that it has not settled");
  say(finding->advice,
      rhat < CLEARLY_APART
          ? "Run the chains longer; if it stays, lengthen the warmup."
          : "Do not use these draws. Lengthen the warmup and run more draws; if R-hat stays, the posterior "
            "has "
            "separate modes or unidentified directions: look at the chains one by one, start them nearer to "
            "each other, or change the parameters or the prior.");
}

/* Of superchains, whose chains began at one point. */
static void judge_nested_rhat(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  size_t count = 0;
  const RpinnScalarHealth *worst = NULL;
  for (size_t i = 0; i < evidence->num_scalars; i++) {
    const RpinnScalarHealth *scalar = &evidence->scalars[i];
    if (!(scalar->nested_rhat > RPINN_RHAT_LIMIT)) continue;
    count++;
    if (!worst || scalar->nested_rhat > worst->nested_rhat) worst = scalar;
  }
  if (!worst) return;
  double rhat = worst->nested_rhat;
  RpinnChainFinding *finding = add_finding(findings, RPINN_FINDING_NESTED_RHAT, count, rhat, worst->name);
  if (rhat < CLEARLY_APART) finding->severity = RPINN_SEVERITY_CAUTION;
  say(finding->what,
      "Nested R-hat of %zu superchains is above %g for %zu of %zu scalars, up to %.3g for '%.80s': chains "
      "have not forgotten where they began.",
      evidence->num_superchains, RPINN_RHAT_LIMIT, count, evidence->num_scalars, rhat, worst->name);
  say(finding->advice,
      "Lengthen the warmup. Where a start has few chains, more chains make nested R-hat smaller, too.");
}

static void judge_size(const RpinnChainEvidence *evidence, RpinnChainFindingKind kind,
                       RpinnChainFindings *findings) {
  bool bulk = kind == RPINN_FINDING_ESS_BULK;
  double limit = RPINN_ESS_PER_CHAIN * (double)evidence->num_chains, least = (double)INFINITY;
  size_t count = 0;
  const char *name = NULL;
  for (size_t i = 0; i < evidence->num_scalars; i++) {
    const RpinnConvergence *statistics = &evidence->scalars[i].statistics;
    double size = bulk ? statistics->ess_bulk : statistics->ess_tail;
    if (!(size < limit)) continue;
    count++;
    if (size < least) least = size, name = evidence->scalars[i].name;
  }
  if (!count) return;
  RpinnChainFinding *finding = add_finding(findings, kind, count, least, name);
  if (least >= WORTHLESS_SIZE * (double)evidence->num_chains) finding->severity = RPINN_SEVERITY_CAUTION;
  say(finding->what,
      "The effective size of the %s is below %.0f (%.0f per chain) for %zu of %zu scalars, down to %.1f "
      "for '%.80s': %s.",
      bulk ? "bulk" : "tails", limit, RPINN_ESS_PER_CHAIN, count, evidence->num_scalars, least, name,
      bulk ? "means and medians are uncertain, and so is R-hat" : "5 % and 95 % quantiles are uncertain");
  double factor = ceil(limit / least);
  if (findings->num_findings > 1 && findings->findings[0].kind == RPINN_FINDING_RHAT &&
      !(findings->findings[0].worst < CLEARLY_APART))
    say(finding->advice, "First make the chains agree: until then this number means little.");
  else if (factor <= 1000)
    say(finding->advice,
        "Draw about %.0f times as many; if that is too much, lengthen the warmup or change the "
        "parameters so that they depend less on each other.",
        factor);
  else
    say(finding->advice,
        "More draws alone would take too long (%.0f times as many): lengthen the warmup or change the "
        "parameters so that they depend less on each other.",
        factor);
}

static void judge_missing(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  size_t count = 0;
  const char *name = NULL;
  for (size_t i = 0; i < evidence->num_scalars; i++) {
    const RpinnScalarHealth *scalar = &evidence->scalars[i];
    const RpinnConvergence *statistics = &scalar->statistics;
    bool missing = evidence->num_superchains ? isnan(scalar->nested_rhat)
                                             : isnan(statistics->rhat) || isnan(statistics->ess_bulk) ||
                                                   isnan(statistics->ess_tail);
    if (scalar->constant || !missing) continue;
    if (!count++) name = scalar->name;
  }
  if (!count) return;
  RpinnChainFinding *finding = add_finding(findings, RPINN_FINDING_NO_STATISTICS, count, (double)NAN, name);
  say(finding->what,
      "%zu of %zu scalars cannot be judged, the first is '%.80s': draws are not finite or take only a few "
      "values, or there are too few of them (%zu per chain).",
      count, evidence->num_scalars, name, evidence->num_draws);
  say(finding->advice,
      "Look at these draws; chains need at least 6 draws, and some hundreds to say anything.");
}

double rpinn_scalar_badness(const RpinnScalarHealth *scalar, size_t num_chains) {
  const RpinnConvergence *statistics = &scalar->statistics;
  double limit = RPINN_ESS_PER_CHAIN * (double)num_chains;
  if (scalar->constant) return -1;
  if (isnan(scalar->nested_rhat)) return (double)INFINITY;
  if (scalar->nested_rhat > 0) return (scalar->nested_rhat - 1) / (RPINN_RHAT_LIMIT - 1);
  double parts[3] = {(statistics->rhat - 1) / (RPINN_RHAT_LIMIT - 1), limit / statistics->ess_bulk,
                     limit / statistics->ess_tail};
  double worst = 0;
  for (size_t i = 0; i < 3; i++) worst = isnan(parts[i]) ? (double)INFINITY : fmax(worst, parts[i]);
  return worst;
}

/* ---- chains ---- */

static void judge_energy(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  size_t count = 0, worst = 0;
  double least = (double)INFINITY;
  for (size_t c = 0; c < evidence->num_chains; c++) {
    double fraction = evidence->chains[c].energy_fraction;
    if (!(fraction < RPINN_ENERGY_FRACTION_LIMIT)) continue;
    count++;
    if (fraction < least) least = fraction, worst = c;
  }
  if (!count) return;
  RpinnChainFinding *finding =
      add_finding(findings, RPINN_FINDING_ENERGY, count, least, evidence->chains[worst].name);
  finding->severity = RPINN_SEVERITY_CAUTION;
  say(finding->what,
      "E-BFMI is below %g in %zu of %zu chains, lowest with %.2g in chain %zu: the energy changes too "
      "little from draw to draw to reach the tails.",
      RPINN_ENERGY_FRACTION_LIMIT, count, evidence->num_chains, least, worst + 1);
  say(finding->advice,
      "Lengthen the warmup; if it stays, the posterior has heavy tails or scales that vary from place "
      "to place: change the parameters (for example to non-centred ones) or the prior.");
}

/* "12", "0.5", "99.8": two digits, and three where two would round to a hundred. */
static const char *percent(double share, char text[32]) {
  if (share < 1e-4)
    snprintf(text, 32, "below 0.01");
  else
    rpinn_format(text, 32, share < 0.995 ? "%.2g" : "%.3g", 100 * share);
  return text;
}

static void judge_divergences(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  size_t count = 0, chains = 0;
  for (size_t c = 0; c < evidence->num_chains; c++) {
    count += evidence->chains[c].num_divergent;
    chains += evidence->chains[c].num_divergent > 0;
  }
  if (!evidence->has_divergences || !count) return;
  char text[32];
  double share = (double)count / draws_in_all(evidence);
  RpinnChainFinding *finding = add_finding(findings, RPINN_FINDING_DIVERGENCES, count, share, NULL);
  if (share <= MANY_DIVERGENCES) finding->severity = RPINN_SEVERITY_CAUTION;
  say(finding->what,
      "%zu of %.0f trajectories diverged (%s %%), in %zu of %zu chains: there are regions that the "
      "chains cannot enter, and the draws are biased against them.",
      count, draws_in_all(evidence), percent(share, text), chains, evidence->num_chains);
  say(finding->advice,
      "Raise the target acceptance rate (0.9, 0.95, 0.99), which makes steps smaller; if divergences "
      "stay, change the parameters or the prior.");
}

static void judge_depth(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  size_t count = 0;
  for (size_t c = 0; c < evidence->num_chains; c++) count += evidence->chains[c].num_at_limit;
  if (!evidence->max_depth || !count) return;
  char text[32];
  double share = (double)count / draws_in_all(evidence);
  RpinnChainFinding *finding = add_finding(findings, RPINN_FINDING_DEPTH, count, share, NULL);
  say(finding->what,
      "%zu of %.0f trajectories (%s %%) were cut off at the largest depth, %zu: the draws remain valid, "
      "but neighbours depend on each other more than they need to.",
      count, draws_in_all(evidence), percent(share, text), evidence->max_depth);
  say(finding->advice,
      "If the effective sizes are too small, allow a depth of %zu or lengthen the warmup, so that the "
      "step size and the metric fit better.",
      evidence->max_depth + 2);
}

/* Chains that never moved agree in everything. */
static bool nothing_moves(const RpinnChainEvidence *evidence) {
  for (size_t i = 0; i < evidence->num_scalars; i++)
    if (!evidence->scalars[i].constant) return false;
  return evidence->num_scalars > 0 && evidence->num_draws > 1;
}

static void report_standstill(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  RpinnChainFinding *finding =
      add_finding(findings, RPINN_FINDING_STUCK, evidence->num_chains, 0, evidence->chains[0].name);
  say(finding->what, "Nothing moves: every scalar has one and the same value in all %.0f draws.",
      draws_in_all(evidence));
  say(finding->advice, "Start elsewhere, or lengthen the warmup, so that steps are found that are accepted; "
                       "compute in double.");
}

static void judge_steps(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  double largest = 0;
  size_t smallest = 0, count = 0;
  for (size_t c = 0; c < evidence->num_chains; c++) largest = fmax(largest, evidence->chains[c].step_size);
  for (size_t c = 0; c < evidence->num_chains; c++) {
    double step = evidence->chains[c].step_size;
    if (!(step > 0 && step < RPINN_STEP_SHARE_LIMIT * largest)) continue;
    if (!count++ || step < evidence->chains[smallest].step_size) smallest = c;
  }
  if (!count) return;
  double step = evidence->chains[smallest].step_size;
  RpinnChainFinding *finding =
      add_finding(findings, RPINN_FINDING_STUCK, count, step, evidence->chains[smallest].name);
  say(finding->what,
      "%zu of %zu chains %s stuck: the step size of chain %zu is %.2g, the largest of all %.2g. Its draws "
      "are where the "
      "warmup left it.",
      count, evidence->num_chains, count == 1 ? "is" : "are", smallest + 1, step, largest);
  say(finding->advice,
      "Compute in double: where energies are large, rounding in float looks like an error of the step, and "
      "adaptation makes steps ever smaller. Or start nearer to the posterior, or lengthen the warmup.");
}

static void judge_number(const RpinnChainEvidence *evidence, RpinnChainFindings *findings) {
  if (evidence->num_chains != 1) return;
  RpinnChainFinding *finding = add_finding(findings, RPINN_FINDING_ONE_CHAIN, 1, 1, evidence->chains[0].name);
  finding->severity = RPINN_SEVERITY_CAUTION;
  say(finding->what, "There is one chain, which cannot disagree with any other: R-hat compares its halves "
                     "and cannot see modes that it "
                     "never found.");
  say(finding->advice, "Run at least four chains from different starting points.");
}

RpinnChainFindings rpinn_chain_findings(const RpinnChainEvidence *evidence) {
  RpinnChainFindings findings = {.healthy = true};
  if (evidence->num_superchains) {
    judge_nested_rhat(evidence, &findings);
  } else {
    judge_rhat(evidence, &findings);
    judge_size(evidence, RPINN_FINDING_ESS_BULK, &findings);
    judge_size(evidence, RPINN_FINDING_ESS_TAIL, &findings);
    judge_energy(evidence, &findings);
  }
  judge_missing(evidence, &findings);
  judge_divergences(evidence, &findings);
  if (nothing_moves(evidence))
    report_standstill(evidence, &findings);
  else
    judge_steps(evidence, &findings);
  judge_depth(evidence, &findings);
  judge_number(evidence, &findings);
  return findings;
}
