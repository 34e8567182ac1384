#include "study_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "json_reader.h"
#include "part_file.h"
#include "whole_file.h"

static RpinnStatus check_name(RpinnContext *context, const RpinnStudyFiles *files, const char *folder,
                              const char *name) {
  char path[RPINN_PATH_SIZE];
  struct stat info;
  snprintf(path, sizeof path, "%.3900s/%s", folder, name);
  if (lstat(path, &info) != 0) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                       "there is no %s here, but %s; move it away, or choose another folder with --out",
                       files->study, name);
}

RpinnStatus rpinn_study_check_folder(RpinnContext *context, const RpinnStudyFiles *files,
                                     const char *folder) {
  for (size_t k = 0; k < RPINN_MAX_STUDY_FILES && files->names[k]; k++)
    RPINN_TRY(check_name(context, files, folder, files->names[k]));
  RPINN_TRY(check_name(context, files, folder, "run.yaml"));
  return check_name(context, files, folder, "checkpoint.db");
}

RpinnStatus rpinn_study_claim(RpinnContext *context, const RpinnStudyFiles *files, const char *path,
                              const RpinnText *identity) {
  RpinnText found = {0};
  if (identity->failed) return rpinn_fail_memory(context);
  if (access(path, F_OK) != 0) return rpinn_part_file_write(context, path, identity);
  RpinnStatus status = rpinn_file_read(context, path, RPINN_JSON_MAX_MEBIBYTES, &found);
  if (status == RPINN_OK && strcmp(found.bytes ? found.bytes : "", identity->bytes) != 0)
    status = rpinn_fail_at(context, (RpinnPlace){.file = path}, "%s", files->differs);
  rpinn_text_free(&found);
  return status;
}

void rpinn_study_list_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  for (size_t k = 0; k < RPINN_NUM_SETTINGS; k++) {
    const RpinnSettingDefinition *definition = rpinn_setting_definition((RpinnSetting)k);
    if (k != RPINN_SETTING_THREADS && definition->role != RPINN_SETTING_LOCAL)
      rpinn_text_append(text, "%s: %s\n", definition->name, settings->values[k].text);
  }
}
