/* The folder of a study of many runs: whose it is, and what stands in it already. */
#ifndef RPINN_STUDY_STUDY_FOLDER_H
#define RPINN_STUDY_STUDY_FOLDER_H

#include "context.h"
#include "settings_values.h"
#include "text.h"

enum { RPINN_MAX_STUDY_FILES = 8 };

typedef struct RpinnStudyFiles {
  const char *study;                        /* "calibration" */
  const char *differs;                      /* what is said where the folder is of another one */
  const char *names[RPINN_MAX_STUDY_FILES]; /* what it makes there; NULL behind the last */
} RpinnStudyFiles;

/* A folder that is not the study's must hold nothing that would be replaced, and no run. */
RpinnStatus rpinn_study_check_folder(RpinnContext *context, const RpinnStudyFiles *files, const char *folder);
/* The file at path says what the study is of: it is written once, and says the same for ever. */
RpinnStatus rpinn_study_claim(RpinnContext *context, const RpinnStudyFiles *files, const char *path,
                              const RpinnText *identity);
/* All settings but threads, a line each: what a single run may change when it goes on makes other results of a study. */
void rpinn_study_list_settings(const RpinnSettingsValues *settings, RpinnText *text);

#endif
