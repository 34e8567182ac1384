#include "folders.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "part_file.h"

RpinnStatus rpinn_make_folders(RpinnContext *context, const char *path) {
  char part[RPINN_PATH_SIZE];
  size_t length = strlen(path);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    char end = part[i];
    part[i] = '\0';
    struct stat info;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) {
      rpinn_fail_at(context, (RpinnPlace){.file = part}, "cannot make this directory: %s", strerror(errno));
      return context->error.status = RPINN_ERROR_IO;
    }
    if (stat(part, &info) == 0 && !S_ISDIR(info.st_mode))
      return rpinn_fail_at(context, (RpinnPlace){.file = part}, "this is no directory; expected one");
    part[i] = end;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_folder_write(RpinnContext *context, const char *folder, const char *name,
                               const RpinnText *text) {
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/%.40s", folder, name);
  return rpinn_part_file_write(context, path, text);
}
