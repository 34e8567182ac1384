/* The values of all settings. */
#ifndef RPINN_PROBLEM_SETTINGS_VALUES_H
#define RPINN_PROBLEM_SETTINGS_VALUES_H

#include <stdint.h>

#include "context.h"
#include "rpinn/settings.h"

enum { RPINN_SETTING_TEXT_SIZE = 512, RPINN_MAX_CHOICES = 16 };

typedef struct RpinnSettingsValues {
  struct {
    double number; /* INTEGER, REAL; CHOICE, TEXT: place among the choices; NaN for auto */
    bool is_auto;
    char text[RPINN_SETTING_TEXT_SIZE]; /* canonical spelling */
  } values[RPINN_NUM_SETTINGS];
} RpinnSettingsValues;

/* Is text one of the choices of the setting? */
bool rpinn_setting_has_choice(RpinnSetting setting, const char *text);
/* CHOICE and TEXT: the enumerator of rpinn/choices.h, which is the place among the choices; -1 for auto. The last choice
 * of a TEXT stands for all other texts. */
int rpinn_settings_choice(const RpinnSettingsValues *settings, RpinnSetting setting);
/* A seed: where the setting is auto, the more general one that it stands for (data_seed, then seed). */
uint64_t rpinn_settings_seed(const RpinnSettingsValues *settings, RpinnSetting setting);
void rpinn_settings_reset(RpinnSettingsValues *settings);
/* Put what the method decides in the place of `auto`: optimizer, start, samples, and by the optimiser iterations and
 * progress_tolerance. */
void rpinn_settings_resolve(RpinnSettingsValues *settings);
/* Parse and check one value; place is where it was written. */
RpinnStatus rpinn_settings_set(RpinnContext *context, RpinnSettingsValues *settings, RpinnSetting setting,
                               const char *text, RpinnPlace place);
/* "NAME is 'TEXT'; expected …", with the nearest choice. */
RpinnStatus rpinn_setting_fail_value(RpinnContext *context, RpinnSetting setting, const char *text,
                                     RpinnPlace place);

#endif
