/* What a calibration is asked for. */
#include <math.h>
#include <string.h>

#include "calibrate_state.h"
#include "measured_folds.h"
#include "method.h"
#include "study_words.h"

enum { DEFAULT_DATA_SETS = 40, DEFAULT_FOLDS = 5 };

const char *const rpinn_calibration_sources[3] = {"truth", "prior", "data"};

/* ---- words ---- */

static RpinnStatus read_redraw(RpinnContext *context, RpinnCalibration *calibration) {
  static const char *const choices[] = {"noise", "points", "truth"};
  const RpinnCalibrateOptions *options = calibration->options;
  size_t place = 0;
  if (options->redraw)
    RPINN_TRY(rpinn_study_read_choice(context, "--redraw", options->redraw, choices, 3, &place));
  calibration->redraw = choices[place];
  return RPINN_OK;
}

/* ---- counts ---- */

static RpinnStatus check_count(RpinnContext *context, const char *option, size_t count, size_t least) {
  if (count >= least && count <= RPINN_MAX_DATA_SETS) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = option}, "found %zu; expected %zu to %d", count, least,
                       RPINN_MAX_DATA_SETS);
}

/* ---- members ---- */

/* --samples, where it is given, else NULL. */
static const char *find_samples(const RpinnCalibration *calibration) {
  const RpinnProblemOptions *loading = calibration->options->loading;
  const char *found = NULL;
  for (size_t k = 0; loading && k < loading->num_overrides; k++)
    if (!strcmp(loading->overrides[k].name, "samples") && loading->overrides[k].setting_only)
      found = loading->overrides[k].value;
  return found;
}

/* --samples are draws of each chain, and members of the methods that have none, unless --members says how many these are. */
static RpinnStatus read_members(RpinnContext *context, RpinnCalibration *calibration) {
  const char *members = calibration->options->members, *samples = find_samples(calibration);
  const char *option = members || !samples ? "--members" : "--samples";
  bool has_chains = false, has_members = false;
  double count;
  for (size_t m = 0; m < calibration->num_methods; m++)
    *(rpinn_method_find(calibration->methods[m].method)->has_chains ? &has_chains : &has_members) = true;
  if (members && samples && !has_chains)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = "--samples"},
        "no method here has chains, and --members says how many members there are; expected one "
        "of the two");
  calibration->members = members ? members : samples ? samples : "79";
  if (!has_members && !members) return RPINN_OK; /* draws of chains are counted when they are there */
  if (rpinn_number_parse(calibration->members, &count) && count >= RPINN_INTERVAL_MIN_DRAWS && count <= 1e9 &&
      count == floor(count))
    return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = option},
                       "found '%.60s'; expected a whole number of at least %d, for intervals of 95 %% reach "
                       "from rank 1 to rank %d there",
                       calibration->members, RPINN_INTERVAL_MIN_DRAWS, RPINN_INTERVAL_MIN_DRAWS);
}

/* Settings of methods that the problem does not take are found before the folder becomes ours. */
static RpinnStatus check_settings(RpinnContext *context, const RpinnCalibration *calibration) {
  for (size_t m = 0; m < calibration->num_methods; m++) {
    RpinnProblem *problem;
    if (!calibration->methods[m].num_settings) continue;
    RPINN_TRY(rpinn_calibration_load(context, calibration, &calibration->methods[m], &problem));
    rpinn_problem_destroy(problem);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_read_methods(RpinnContext *context, RpinnCalibration *calibration) {
  if (!calibration->num_methods)
    RPINN_TRY(rpinn_calibration_add_methods(
        context, calibration, calibration->base->problem->settings.values[RPINN_SETTING_METHOD].text));
  RPINN_TRY(read_members(context, calibration));
  return check_settings(context, calibration);
}

/* ---- before anything is loaded ---- */

RpinnStatus rpinn_calibration_read_options(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnCalibrateOptions *options = calibration->options;
  size_t place = 0;
  if (options->num_data_sets) RPINN_TRY(check_count(context, "--datasets", options->num_data_sets, 1));
  if (options->num_folds) RPINN_TRY(check_count(context, "--folds", options->num_folds, 2));
  if (strlen(options->folder) > RPINN_PATH_SIZE / 2)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the folder has more than %d characters",
                      RPINN_PATH_SIZE / 2);
  RPINN_TRY(read_redraw(context, calibration));
  if (options->from)
    RPINN_TRY(
        rpinn_study_read_choice(context, "--from", options->from, rpinn_calibration_sources, 3, &place));
  calibration->source = (RpinnCalibrationSource)place;
  return rpinn_calibration_add_methods(context, calibration, options->methods);
}

/* ---- where the data come from ---- */

static bool has_truth(const RpinnPosterior *posterior) {
  double ignored;
  for (size_t q = 0; q < posterior->problem->num_predicted; q++)
    if (posterior->data->predicted_truth[q]) return true;
  for (size_t k = 0; k < posterior->problem->num_unknowns + posterior->num_noises; k++)
    if (rpinn_draw_outputs_scalar_truth(posterior, k, &ignored)) return true;
  return false;
}

static bool has_measured_term(const RpinnPosterior *posterior) {
  for (size_t t = 0; t < posterior->problem->num_terms; t++)
    if (rpinn_term_is_measured(posterior, t)) return true;
  return false;
}

static RpinnStatus refuse(RpinnContext *context, const char *option, const char *from, const char *why) {
  return rpinn_fail_at(context, (RpinnPlace){.file = option}, "this is not for --from %s%s%s", from,
                       *why ? ": " : "", why);
}

/* Options that mean nothing here are not passed over. */
static RpinnStatus check_options(RpinnContext *context, const RpinnCalibration *calibration) {
  const RpinnCalibrateOptions *options = calibration->options;
  const char *from = rpinn_calibration_sources[calibration->source];
  bool from_data = calibration->source == RPINN_FROM_DATA;
  if (options->redraw && calibration->source != RPINN_FROM_TRUTH)
    return refuse(context, "--redraw", from, "there is no truth whose data could be drawn again");
  if (options->num_data_sets && from_data)
    return refuse(context, "--datasets", from, "there is one set of data; --folds says how often it is cut");
  if (options->num_folds && !from_data) return refuse(context, "--folds", from, "expected --from data");
  if (options->blocks && !from_data) return refuse(context, "--blocks", from, "expected --from data");
  if (options->keep_runs && calibration->source == RPINN_FROM_PRIOR)
    return refuse(context, "--keep-runs", from, "their truths are in no file");
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_choose_source(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnCalibrateOptions *options = calibration->options;
  const RpinnPosterior *posterior = calibration->base->posteriors[0];
  bool truth = has_truth(posterior), measured = has_measured_term(posterior);
  if (!options->from && (options->num_folds || options->blocks || (!truth && measured)))
    calibration->source = RPINN_FROM_DATA;
  if (calibration->source == RPINN_FROM_TRUTH && !truth)
    return rpinn_fail_at(
        context, posterior->problem->place,
        "nothing that is predicted has a truth to be compared with; expected truth: with an entry for a "
        "quantity of predict:, or for an unknown, or measured data for --from data");
  if (calibration->source == RPINN_FROM_DATA && !measured)
    return rpinn_fail_at(
        context, posterior->problem->place,
        "no term has measured data to be left out; expected a term with data: of a file or of "
        "the truth");
  RPINN_TRY(check_options(context, calibration));
  if (calibration->source == RPINN_FROM_DATA)
    calibration->num_data_sets = options->num_folds ? options->num_folds : DEFAULT_FOLDS;
  else
    calibration->num_data_sets = options->num_data_sets ? options->num_data_sets : DEFAULT_DATA_SETS;
  return RPINN_OK;
}
