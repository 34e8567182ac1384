/* The methods of a calibration, as --methods names them: METHOD, or METHOD:SETTING=VALUE with further settings behind further
 * colons. */
#include <stdio.h>
#include <string.h>

#include "calibrate_state.h"
#include "method.h"
#include "study_words.h"

static const char option[] = "--methods";

/* ---- names ---- */

/* The name in the list of methods, which stays. Bad input: none with a spread. */
static RpinnStatus find_method(RpinnContext *context, const char *found, const char **known) {
  const char *names[2 * RPINN_MAX_CALIBRATED_METHODS];
  size_t count = 0, place = 0;
  const RpinnMethod *method = rpinn_method_find(found);
  if (method && method->has_one_draw)
    return rpinn_fail_at(context, (RpinnPlace){.file = option},
                         "method %s has one draw and no intervals; expected one with a spread", found);
  for (size_t k = 0; rpinn_method_name(k) && count < sizeof names / sizeof names[0]; k++)
    if (!rpinn_method_at(k)->has_one_draw) names[count++] = rpinn_method_name(k);
  RPINN_TRY(rpinn_study_read_choice(context, option, found, names, count, &place));
  *known = names[place];
  return RPINN_OK;
}

/* ---- settings ---- */

/* What all methods of a calibration share is no setting of one of them. */
static const char *find_owner(RpinnSetting setting) {
  switch (setting) {
  case RPINN_SETTING_METHOD: return "the word before the colon says";
  case RPINN_SETTING_SAMPLES: return "--members and --samples say";
  case RPINN_SETTING_THREADS: return "--threads says";
  case RPINN_SETTING_SEED:
  case RPINN_SETTING_DATA_SEED:
  case RPINN_SETTING_NOISE_SEED:
  case RPINN_SETTING_POINTS_SEED:
  case RPINN_SETTING_TRUTH_SEED: return "--seed and --redraw say, for all methods alike,";
  default: return NULL;
  }
}

/* One SETTING=VALUE, which is cut in two. */
static RpinnStatus add_setting(RpinnContext *context, RpinnCalibratedMethod *method, char *text) {
  const char *names[RPINN_NUM_SETTINGS];
  char *equals = strchr(text, '=');
  size_t place;
  if (!equals)
    return rpinn_fail_at(context, (RpinnPlace){.file = option},
                         "found '%s' behind %s; expected SETTING=VALUE, such as svgd:kernel=functions", text,
                         method->method);
  *equals = '\0';
  for (size_t k = 0; k < RPINN_NUM_SETTINGS; k++) names[k] = rpinn_setting_definition((RpinnSetting)k)->name;
  if (rpinn_setting_find(text) == RPINN_NUM_SETTINGS)
    return rpinn_study_read_choice(context, option, text, names, RPINN_NUM_SETTINGS, &place);
  const char *owner = find_owner(rpinn_setting_find(text));
  if (owner)
    return rpinn_fail_at(context, (RpinnPlace){.file = option}, "%s what %s is; expected a setting of %s",
                         owner, text, method->method);
  for (size_t k = 0; k < method->num_settings; k++)
    if (!strcmp(method->settings[k].name, text))
      return rpinn_fail_at(context, (RpinnPlace){.file = option}, "%s of %s is given twice; expected it once",
                           text, method->name);
  if (method->num_settings == RPINN_MAX_METHOD_SETTINGS)
    return rpinn_fail_at(context, (RpinnPlace){.file = option},
                         "%s has more than %d settings; expected fewer", method->name,
                         RPINN_MAX_METHOD_SETTINGS);
  method->settings[method->num_settings++] = (RpinnOverride){text, equals + 1, option, true};
  return RPINN_OK;
}

/* ---- the list ---- */

static RpinnStatus read_method(RpinnContext *context, RpinnCalibration *calibration, const char *text,
                               size_t length, RpinnCalibratedMethod *method) {
  char *pieces = RPINN_ARENA_NEW(calibration->arena, char, length + 1);
  char *name = RPINN_ARENA_NEW(calibration->arena, char, length + 1);
  char *file_name = RPINN_ARENA_NEW(calibration->arena, char, length + 1);
  if (!pieces || !name || !file_name) return rpinn_fail_memory(context);
  memcpy(pieces, text, length);
  memcpy(name, text, length);
  memcpy(file_name, text, length);
  for (char *c = file_name; *c; c++)
    if (*c == ':' || *c == '/') *c = '+';
  *method = (RpinnCalibratedMethod){.name = name, .file_name = file_name};
  char *next = strchr(pieces, ':');
  if (next) *next++ = '\0';
  RPINN_TRY(find_method(context, pieces, &method->method));
  while (next) {
    char *setting = next;
    next = strchr(setting, ':');
    if (next) *next++ = '\0';
    RPINN_TRY(add_setting(context, method, setting));
  }
  return RPINN_OK;
}

static RpinnStatus add_method(RpinnContext *context, RpinnCalibration *calibration, const char *text,
                              size_t length) {
  RpinnCalibratedMethod method;
  if (length > RPINN_MAX_METHOD_LABEL)
    return rpinn_fail_at(context, (RpinnPlace){.file = option},
                         "'%.40s…' has %zu characters; expected at most %d", text, length,
                         RPINN_MAX_METHOD_LABEL);
  RPINN_TRY(read_method(context, calibration, text, length, &method));
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (!strcmp(calibration->methods[m].name, method.name))
      return rpinn_fail_at(context, (RpinnPlace){.file = option}, "%s is given twice; expected it once",
                           method.name);
  if (calibration->num_methods == RPINN_MAX_CALIBRATED_METHODS)
    return rpinn_fail_at(context, (RpinnPlace){.file = option}, "more than %d methods; expected fewer",
                         RPINN_MAX_CALIBRATED_METHODS);
  calibration->methods[calibration->num_methods++] = method;
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_add_methods(RpinnContext *context, RpinnCalibration *calibration,
                                          const char *list) {
  while (list) {
    size_t length = strcspn(list, ",");
    RPINN_TRY(add_method(context, calibration, list, length));
    list = list[length] ? list + length + 1 : NULL;
  }
  return RPINN_OK;
}
