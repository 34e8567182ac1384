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

static void find(RpinnVerdict *verdict, RpinnVerdictFinding kind, RpinnSeverity severity, const char *format,
                 ...) RPINN_PRINTF(4, 5);
static void find(RpinnVerdict *verdict, RpinnVerdictFinding kind, RpinnSeverity severity, const char *format,
                 ...) {
  RpinnFinding *finding = add(verdict, ids[kind], severity);
  va_list arguments;
  va_start(arguments, format);
  rpinn_format_list(finding->sentence, sizeof finding->sentence, format, arguments);
  va_end(arguments);
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

static void judge_convergence(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  double share = evidence->num_unconverged / evidence->num_minimised;
  char still[96] = "";
  if (!(evidence->num_unconverged > 0)) return;
  if (evidence->median_gain > RPINN_GAIN_LIMIT)
    rpinn_format(still, sizeof still, ", at the median by %.2g nats over the last tenth of their iterations",
                 evidence->median_gain);
  find(
      verdict, RPINN_FOUND_UNCONVERGED,
      share > RPINN_UNCONVERGED_BAD       ? RPINN_SEVERITY_BAD
      : share > RPINN_UNCONVERGED_CAUTION ? RPINN_SEVERITY_CAUTION
                                          : RPINN_SEVERITY_NOTE,
      "%.0f of %.0f %s%s did not converge: the loss still fell%s. Raise --iterations, or use --optimizer lm.",
      evidence->num_unconverged, evidence->num_minimised, evidence->unit, plural(evidence->num_minimised),
      still);
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
         "%.0f %ss are few: 95 %% intervals are no more than the range of the %ss, and that holds less. Ask "
         "for 79 "
         "--samples or more.",
         evidence->num_draws, evidence->unit, evidence->unit);
}

static void judge_spread(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict) {
  if (evidence->spread) find(verdict, RPINN_FOUND_SPREAD, RPINN_SEVERITY_CAUTION, "%s", evidence->spread);
  if (evidence->num_undone > 0)
    find(verdict, RPINN_FOUND_UNDONE, RPINN_SEVERITY_NOTE,
         "The time limit left %.0f draw%s undone; --resume makes them.", evidence->num_undone,
         plural(evidence->num_undone));
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

/* ---- what was not looked at ---- */

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

/* ---- order ---- */

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
  judge_failures(evidence, verdict);
  judge_convergence(evidence, verdict);
  judge_linearisation(evidence, verdict);
  judge_chains(evidence, verdict);
  judge_spread(evidence, verdict);
  judge_weights(evidence, verdict);
  judge_number(evidence, verdict);
  judge_gaps(evidence, verdict);
  sort(verdict);
  if (verdict->num_findings) verdict->word = (RpinnVerdictWord)verdict->findings[0].severity;
}
