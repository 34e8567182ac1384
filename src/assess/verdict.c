/* Every judge looks at one kind of evidence and adds a finding or none. The bounds stand in the header. */
#include "verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "number_text.h"

static const char *const ids[] = {
#define RPINN_VERDICT_FINDING_ROW(enumerator, id) [RPINN_FOUND_##enumerator] = id,
    RPINN_VERDICT_FINDING_LIST(RPINN_VERDICT_FINDING_ROW)
#undef RPINN_VERDICT_FINDING_ROW
};

/* ---- findings ---- */

static RpinnFinding *add(RpinnVerdict *verdict, const char *id, RpinnSeverity severity) {
  RpinnFinding *finding = &verdict->findings[verdict->num_findings++];
  finding->severity = severity;
  snprintf(finding->id, sizeof finding->id, "%s", id);
  return finding;
}

static void say(RpinnVerdict *verdict, const char *id, RpinnSeverity severity, const char *format,
                va_list arguments) {
  RpinnFinding *finding = add(verdict, id, severity);
  rpinn_format_list(finding->sentence, sizeof finding->sentence, format, arguments);
}

static void find(RpinnVerdict *verdict, RpinnVerdictFinding kind, RpinnSeverity severity, const char *format,
                 ...) RPINN_PRINTF(4, 5);
static void find(RpinnVerdict *verdict, RpinnVerdictFinding kind, RpinnSeverity severity, const char *format,
                 ...) {
  va_list arguments;
  va_start(arguments, format);
  say(verdict, ids[kind], severity, format, arguments);
  va_end(arguments);
}

/* A finding that chains have, too, under the id that it has there. */
static void add_chain_finding(RpinnVerdict *verdict, const char *id, RpinnSeverity severity,
                              const char *format, ...) RPINN_PRINTF(4, 5);
static void add_chain_finding(RpinnVerdict *verdict, const char *id, RpinnSeverity severity,
                              const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(verdict, id, severity, format, arguments);
  va_end(arguments);
}

/* The normal deviate of a chi-square of so many degrees whose mean is 1 (Wilson and Hilferty): how many standard deviations
 * ratio is away from what chance gives. */
static double deviate(double ratio, double freedom) {
  double variance = 2 / (9 * freedom);
  return (cbrt(ratio) - (1 - variance)) / sqrt(variance);
}

/* ---- draws ---- */

static const char *plural(double count) {
  return count == 1 ? "" : "s";
}

static void judge_failures(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  double failed = evidence->num_failed, all = failed + evidence->num_draws, share = failed / all;
  if (!(failed > 0)) return;
  find(verdict, RPINN_FOUND_FAILED,
       share > RPINN_FAILED_BAD       ? RPINN_SEVERITY_BAD
       : share > RPINN_FAILED_CAUTION ? RPINN_SEVERITY_CAUTION
                                      : RPINN_SEVERITY_NOTE,
       "%.0f of %.0f %ss failed: their loss was not finite in any attempt, and they are left out. Try "
       "--optimizer lm or "
       "a smaller --learning-rate.",
       failed, all, evidence->unit);
}

/* Does the band of every quantity stay when members are taken on? */
static bool bands_are_confirmed(const RpinnVerdictEvidence *evidence) {
  for (size_t q = 0; q < evidence->num_quantities; q++) {
    const RpinnQuantityEvidence *quantity = &evidence->quantities[q];
    if (!(quantity->shift <= RPINN_SHIFT_CAUTION && quantity->width >= RPINN_WIDTH_LOW &&
          quantity->width <= RPINN_WIDTH_HIGH))
      return false;
  }
  return evidence->num_quantities > 0;
}

static void judge_convergence(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  double share = evidence->num_unconverged / evidence->num_minimised;
  bool is_much = share > RPINN_UNCONVERGED_CAUTION, is_confirmed = bands_are_confirmed(evidence);
  char still[96] = "";
  if (!(evidence->num_unconverged > 0)) return;
  if (evidence->median_gain > RPINN_GAIN_LIMIT)
    rpinn_format(still, sizeof still, ", at the median by %.2g nats over the last tenth of their iterations",
                 evidence->median_gain);
  find(verdict, RPINN_FOUND_UNCONVERGED,
       is_much && !is_confirmed ? RPINN_SEVERITY_CAUTION : RPINN_SEVERITY_NOTE,
       "%.0f of %.0f %s%s did not converge: the loss still fell%s. %s", evidence->num_unconverged,
       evidence->num_minimised, evidence->unit, plural(evidence->num_minimised), still,
       is_much && is_confirmed
           ? "Their bands stay as they are when some are minimised further by Levenberg-Marquardt."
           : "Raise --iterations, or use --optimizer lm.");
}

static void judge_number(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  if (evidence->is_point)
    find(verdict, RPINN_FOUND_ONE_DRAW, RPINN_SEVERITY_NOTE,
         "One point says nothing about uncertainty: there are no bands. --method laplace or rpinn makes "
         "them.");
  else if (evidence->num_draws <= 1)
    find(verdict, RPINN_FOUND_ONE_DRAW, RPINN_SEVERITY_CAUTION,
         "One %s says nothing about uncertainty: there are no bands. Ask for more --samples.",
         evidence->unit);
  else if (evidence->num_draws < RPINN_FEW_DRAWS)
    find(verdict, RPINN_FOUND_FEW_DRAWS, RPINN_SEVERITY_CAUTION,
         "%.0f %ss are too few for an interval of 95 %%, which takes 39. Ask for 79 --samples or more.",
         evidence->num_draws, evidence->unit);
}

static void judge_spread(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  if (evidence->spread) find(verdict, RPINN_FOUND_SPREAD, RPINN_SEVERITY_CAUTION, "%s", evidence->spread);
  if (evidence->num_undone > 0)
    find(verdict, RPINN_FOUND_UNDONE, RPINN_SEVERITY_NOTE, "%s %.0f draw%s undone; --resume makes them.",
         evidence->is_partial ? "The shards that were merged left" : "The time limit left",
         evidence->num_undone, plural(evidence->num_undone));
}

static void judge_linearisation(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  if (!evidence->is_linearised) return;
  if (!(evidence->above_minimum <= RPINN_ABOVE_MINIMUM))
    find(verdict, RPINN_FOUND_NO_MINIMUM, RPINN_SEVERITY_BAD,
         "The point of linearisation is no minimum of the loss: that of the linearised model is lower by "
         "%.3g. The bands "
         "belong to another point than the most probable one. Use --method rpinn, or another --seed.",
         evidence->above_minimum);
  find(verdict, RPINN_FOUND_LINEARISED, RPINN_SEVERITY_NOTE,
       "The draws are those of a linearised model: exact where the model is linear in its parameters. "
       "Compare with "
       "--method rpinn or nuts.");
}

static void judge_weights(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  if (!evidence->uses_weights || !(evidence->pareto_k > RPINN_PARETO_K_LIMIT)) return;
  find(verdict, RPINN_FOUND_WEIGHTS, RPINN_SEVERITY_BAD,
       "Pareto k of the weights is %.2f, above %g: the correction rests on a few draws. Leave out --correct "
       "mh, or use "
       "--method nuts.",
       evidence->pareto_k, RPINN_PARETO_K_LIMIT);
}

static void judge_chains(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  if (!evidence->chains) return;
  RpinnChainFindings findings = rpinn_chain_findings(evidence->chains);
  for (size_t i = 0; i < findings.num_findings; i++) {
    const RpinnChainFinding *found = &findings.findings[i];
    RpinnFinding *finding = add(verdict, found->name, found->severity);
    rpinn_format(finding->sentence, sizeof finding->sentence, "%s %s", found->what, found->advice);
  }
}

static void judge_correction(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnCorrectionEvidence *correction = evidence->correction;
  if (!correction) return;
  if (!correction->forgets)
    find(
        verdict, RPINN_FOUND_NOT_FORGOTTEN,
        correction->nested_rhat <= RPINN_REMEMBERED_BAD ? RPINN_SEVERITY_CAUTION : RPINN_SEVERITY_BAD,
        "Members were continued by NUTS for %.0f iterations, %.3g gradients each, and are not seen to forget "
        "where they began: nested R-hat of '%.80s' is %.3g; %g after %.0f iterations or more is asked for. "
        "The "
        "draws lie between rPINN's and the posterior's, or in modes that no chain leaves. Raise "
        "--correct-budget, which is %g; under a wide prior make members with a narrower one, "
        "--correct-scale.",
        correction->length, correction->gradients, correction->worst, correction->nested_rhat,
        correction->limit, correction->shortest, correction->budget);
  if (correction->divergent_share > 0)
    add_chain_finding(verdict, "divergences",
                      correction->divergent_share > RPINN_DIVERGENT_BAD ? RPINN_SEVERITY_BAD
                                                                        : RPINN_SEVERITY_CAUTION,
                      "%.2g %% of the iterations that continued members diverged, in %.0f of %.0f chains: "
                      "the posterior bends there more than the step size allows. Use a higher "
                      "--target-acceptance, such as 0.95.",
                      100 * correction->divergent_share, correction->num_divergent, correction->num_draws);
  if (correction->acceptance < RPINN_LOW_ACCEPTANCE)
    find(verdict, RPINN_FOUND_ACCEPTANCE, RPINN_SEVERITY_CAUTION,
         "Chains that continue members accept %.0f %% in the mean: the step size of the pilot is too large "
         "for them. Use a higher --target-acceptance, such as 0.95.",
         100 * correction->acceptance);
  find(verdict, RPINN_FOUND_MODES, RPINN_SEVERITY_NOTE,
       "Members are corrected within their modes; how many are in which mode stays what rPINN made it.");
}

/* ---- rows ---- */

static void judge_collapse(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  double nothing = evidence->misfit_of_nothing;
  if (!(nothing > RPINN_COLLAPSE_MISFIT && evidence->misfit > RPINN_COLLAPSE_SHARE * nothing)) return;
  find(verdict, RPINN_FOUND_COLLAPSE, RPINN_SEVERITY_BAD,
       "The model explains the data as noise about nothing: their mean square is %.3g where stated noise "
       "gives 1 and "
       "networks of zero give %.3g. Check the noise of the terms, or use --prior-scale loo.",
       evidence->misfit, nothing);
}

/* Noise that was learnt as large as the spread of its data: no misfit can show that the model explains nothing of them. */
static void judge_learnt_noise(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  for (size_t t = 0; t < evidence->num_terms; t++) {
    const RpinnTermEvidence *term = &evidence->terms[t];
    if (!(term->spread > 0 && term->sigma > RPINN_ALL_NOISE_SHARE * term->spread)) continue;
    find(
        verdict, RPINN_FOUND_ALL_NOISE, RPINN_SEVERITY_CAUTION,
        "The noise of '%.60s' is learnt as %.3g, as much as the spread of its data, %.3g: the model explains "
        "nothing of them. State the noise, give it a prior, or look at the other terms.",
        term->name, term->sigma, term->spread);
  }
}

static RpinnSeverity misfit_of(const RpinnTermEvidence *term) {
  double chance = deviate(term->loss, term->loss_freedom);
  if (term->loss > RPINN_MISFIT_BAD && chance > RPINN_DEVIATE_BAD) return RPINN_SEVERITY_BAD;
  if (term->loss > RPINN_MISFIT_CAUTION && chance > RPINN_DEVIATE_CAUTION) return RPINN_SEVERITY_CAUTION;
  return RPINN_SEVERITY_NOTE;
}

/* Of the terms that fit badly the worst is named. */
static void judge_misfit(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnTermEvidence *worst = NULL;
  for (size_t t = 0; t < evidence->num_terms; t++) {
    const RpinnTermEvidence *term = &evidence->terms[t];
    RpinnSeverity severity = misfit_of(term);
    if (severity == RPINN_SEVERITY_NOTE) continue;
    if (!worst || severity > misfit_of(worst) || (severity == misfit_of(worst) && term->loss > worst->loss))
      worst = term;
  }
  if (!worst) return;
  find(verdict, RPINN_FOUND_MISFIT, misfit_of(worst),
       "The %.0f rows of '%.60s' lie %.2g times as far from the draws as their deviation of %.3g allows. "
       "Check its data, "
       "units and equation, state a larger noise, or use --prior-scale loo.",
       worst->num_rows, worst->name, sqrt(worst->loss), worst->sigma);
}

static bool is_wide(const RpinnTermEvidence *term) {
  return term->z_square > RPINN_LEFT_OUT_SPREAD &&
         deviate(term->z_square, term->z_freedom) > RPINN_DEVIATE_CAUTION;
}

static bool is_off(const RpinnTermEvidence *term) {
  return fabs(term->z_mean) > RPINN_LEFT_OUT_MEAN &&
         fabs(term->z_mean) > RPINN_DEVIATE_CAUTION * term->z_error;
}

/* Rows that were measured, each as the others foretell it. */
static void judge_left_out(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnTermEvidence *off = NULL, *wide = NULL;
  for (size_t t = 0; t < evidence->num_terms; t++) {
    const RpinnTermEvidence *term = &evidence->terms[t];
    if (!term->is_measured) continue;
    if (is_off(term) && (!off || fabs(term->z_mean) > fabs(off->z_mean))) off = term;
    if (is_wide(term) && (!wide || term->z_square > wide->z_square)) wide = term;
  }
  if (off)
    find(verdict, RPINN_FOUND_LEFT_OUT_MEAN, RPINN_SEVERITY_CAUTION,
         "Rows of '%.60s' lie %.2f deviations %s what the others foretell, on average over %.0f rows: the "
         "model or the data "
         "are off to one side. Check the equation and its units.",
         off->name, fabs(off->z_mean), off->z_mean > 0 ? "above" : "below", off->num_rows);
  if (wide)
    find(verdict, RPINN_FOUND_LEFT_OUT_SPREAD, RPINN_SEVERITY_CAUTION,
         "Rows of '%.60s' are foretold by the others with errors %.2g times as large as stated: bands that "
         "rest on them are "
         "too narrow. State a larger noise, look for outliers, or use --prior-scale loo.",
         wide->name, sqrt(wide->z_square));
}

static void judge_overstatement(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnTermEvidence *worst = NULL;
  for (size_t t = 0; t < evidence->num_terms; t++) {
    const RpinnTermEvidence *term = &evidence->terms[t];
    if (!term->is_measured || !(term->z_square < RPINN_OVERSTATED)) continue;
    if (!(deviate(term->z_square, term->z_freedom) < -RPINN_DEVIATE_CAUTION)) continue;
    if (!worst || term->z_square < worst->z_square) worst = term;
  }
  if (!worst) return;
  find(verdict, RPINN_FOUND_NOISE_TOO_LARGE, RPINN_SEVERITY_CAUTION,
       "The %.0f rows of '%.60s' are foretold by the others with %.2g of the errors that their deviation of "
       "%.3g says: it is "
       "overstated, and the bands are wider than the data ask for. State the noise that they have.",
       worst->num_rows, worst->name, sqrt(worst->z_square), worst->sigma);
}

/* By which factor the likelihood trusts the data of a term more, or less, than their noise says. */
static double change_of(const RpinnTermEvidence *term) {
  return fmax(term->sigma / term->noise, term->noise / term->sigma);
}

static void judge_likelihood(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnTermEvidence *worst = NULL;
  for (size_t t = 0; t < evidence->num_terms; t++) {
    const RpinnTermEvidence *term = &evidence->terms[t];
    if (term->is_measured && change_of(term) > RPINN_NOISE_NOTE &&
        (!worst || change_of(term) > change_of(worst)))
      worst = term;
  }
  if (!worst) return;
  find(verdict, RPINN_FOUND_LIKELIHOOD,
       change_of(worst) > RPINN_NOISE_CAUTION ? RPINN_SEVERITY_CAUTION : RPINN_SEVERITY_NOTE,
       "Likelihood %.20s gives the data of '%.60s' a deviation of %.3g, their stated noise is %.3g: the "
       "bands are not those "
       "of the stated noise. Use --likelihood noise.",
       evidence->likelihood, worst->name, worst->sigma, worst->noise);
}

static void judge_gaps(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  if (evidence->is_old)
    find(verdict, RPINN_FOUND_NOT_JUDGED, RPINN_SEVERITY_CAUTION,
         "An earlier version made this run and kept no evidence on how its data are fitted: rpinn run with "
         "the same "
         "run.yaml into another folder judges that too.");
  else if (evidence->rows_unknown)
    find(verdict, RPINN_FOUND_NOT_JUDGED, RPINN_SEVERITY_NOTE,
         "How well the data are foretold by each other was not judged: %s.", evidence->rows_unknown);
}

/* ---- predictions ---- */

static void judge_prior(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnQuantityEvidence *worst = NULL;
  for (size_t q = 0; q < evidence->num_quantities; q++) {
    const RpinnQuantityEvidence *quantity = &evidence->quantities[q];
    if (quantity->leaning > RPINN_LEANING_CAUTION && (!worst || quantity->leaning > worst->leaning))
      worst = quantity;
  }
  if (!worst) return;
  find(verdict, RPINN_FOUND_PRIOR_CONFLICT,
       worst->leaning > RPINN_LEANING_BAD ? RPINN_SEVERITY_BAD : RPINN_SEVERITY_CAUTION,
       "The prior is too narrow for the data: the loss is %.3g where %.3g is expected, and a prior twice as "
       "wide moves "
       "'%.60s' by %.2g of its standard deviations. Use --prior-scale loo.",
       evidence->energy, evidence->energy_expected, worst->name, worst->leaning);
}

/* Minimisers alone: chains have their own evidence. */
static void judge_shift(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnQuantityEvidence *worst = NULL;
  if (!(evidence->num_minimised > 1)) return;
  for (size_t q = 0; q < evidence->num_quantities; q++) {
    const RpinnQuantityEvidence *quantity = &evidence->quantities[q];
    if (quantity->shift > RPINN_SHIFT_CAUTION && (!worst || quantity->shift > worst->shift)) worst = quantity;
  }
  if (!worst) return;
  find(verdict, RPINN_FOUND_OFF_POSTERIOR,
       worst->shift > RPINN_SHIFT_BAD ? RPINN_SEVERITY_BAD : RPINN_SEVERITY_CAUTION,
       "The mean of '%.60s' moves by %.2g of its standard deviations when %ss are minimised further by "
       "Levenberg-Marquardt: "
       "they are not where the posterior is. Use --optimizer lm, or more --iterations.",
       worst->name, worst->shift, evidence->unit);
}

static void judge_bands(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnQuantityEvidence *worst = NULL;
  for (size_t q = 0; q < evidence->num_quantities; q++) {
    const RpinnQuantityEvidence *quantity = &evidence->quantities[q];
    if (!(quantity->widest > RPINN_BANDS_BY_SPREAD * quantity->spread &&
          quantity->widest > RPINN_BANDS_BY_POINTS * quantity->at_points))
      continue;
    if (!worst || quantity->widest / quantity->spread > worst->widest / worst->spread) worst = quantity;
  }
  if (!worst) return;
  find(verdict, RPINN_FOUND_BANDS, RPINN_SEVERITY_CAUTION,
       "Between its measured points '%.60s' has a standard deviation of up to %.3g, next to them of %.3g, "
       "and the data "
       "themselves spread by %.3g: the prior says next to nothing there. Use a smaller --prior-scale, or "
       "measure there.",
       worst->name, worst->widest, worst->at_points, worst->spread);
}

static void judge_held_out(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  const RpinnHeldOutEvidence *worst = NULL;
  for (size_t k = 0; k < evidence->num_held_out; k++) {
    const RpinnHeldOutEvidence *term = &evidence->held_out[k];
    double chance = (0.95 - term->coverage) / sqrt(0.95 * 0.05 / term->num_points);
    if (!(term->num_points >= RPINN_HELD_OUT_POINTS && term->coverage < RPINN_HELD_OUT_COVERAGE &&
          chance > RPINN_HELD_OUT_DEVIATE))
      continue;
    if (!worst || term->coverage < worst->coverage) worst = term;
  }
  if (!worst) return;
  find(verdict, RPINN_FOUND_HELD_OUT, RPINN_SEVERITY_CAUTION,
       "Only %.3g %% of the %.0f held-out data of '%.60s' lie within 1.96 of their standard deviations, "
       "noise included, "
       "where 95 %% should: its uncertainty is understated.",
       100 * worst->coverage, worst->num_points, worst->name);
}

/* ---- the whole ---- */

/* The gravest first; the others stay in their order. */
static void sort(RpinnVerdict *verdict) {
  for (size_t i = 1; i < verdict->num_findings; i++)
    for (size_t k = i; k && verdict->findings[k].severity > verdict->findings[k - 1].severity; k--) {
      RpinnFinding other = verdict->findings[k];
      verdict->findings[k] = verdict->findings[k - 1];
      verdict->findings[k - 1] = other;
    }
}

void rpinn_verdict_judge(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  memset(verdict, 0, sizeof *verdict);
  judge_collapse(evidence, verdict);
  judge_learnt_noise(evidence, verdict);
  judge_failures(evidence, verdict);
  judge_convergence(evidence, verdict);
  judge_linearisation(evidence, verdict);
  judge_chains(evidence, verdict);
  judge_correction(evidence, verdict);
  judge_misfit(evidence, verdict);
  judge_prior(evidence, verdict);
  judge_left_out(evidence, verdict);
  judge_overstatement(evidence, verdict);
  judge_shift(evidence, verdict);
  judge_likelihood(evidence, verdict);
  judge_spread(evidence, verdict);
  judge_bands(evidence, verdict);
  judge_held_out(evidence, verdict);
  judge_weights(evidence, verdict);
  judge_number(evidence, verdict);
  judge_gaps(evidence, verdict);
  sort(verdict);
  if (verdict->num_findings) verdict->word = (RpinnVerdictWord)verdict->findings[0].severity;
}
