#define _GNU_SOURCE /* sched_getaffinity */
#include "processors.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PATH = 4096 };

/* ---- affinity ---- */

/* The kernel refuses a set that is smaller than its own. */
enum { NUM_SETS = 64 };

static size_t allowed_by_affinity(void) {
  cpu_set_t sets[NUM_SETS];
  if (sched_getaffinity(0, sizeof sets, sets) == 0) return (size_t)CPU_COUNT_S(sizeof sets, sets);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (size_t)online : 1;
}

/* ---- control groups ---- */

/* "200000 100000": quota and period in microseconds; "max 100000" or -1 as quota: no limit. */
static double share_of_time(long long quota, long long period) {
  return quota > 0 && period > 0 ? (double)quota / (double)period : HUGE_VAL;
}

static bool read_line(const char *path, char *line, int size) {
  FILE *file = fopen(path, "r");
  if (!file) return false;
  bool is_there = fgets(line, size, file) != NULL;
  fclose(file);
  return is_there;
}

static long long number_in(const char *folder, const char *name) {
  char path[MAX_PATH + 64], line[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return read_line(path, line, sizeof line) ? strtoll(line, NULL, 10) : -1;
}

static double share_of_group(const char *folder, bool is_unified) {
  char path[MAX_PATH + 64], line[64];
  if (!is_unified)
    return share_of_time(number_in(folder, "cpu.cfs_quota_us"), number_in(folder, "cpu.cfs_period_us"));
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (!read_line(path, line, sizeof line)) return HUGE_VAL;
  char *rest; /* "max" is read as 0 */
  long long quota = strtoll(line, &rest, 10);
  return share_of_time(quota, strtoll(rest, NULL, 10));
}

/* The smallest share from a group up to the top of its tree. Within a container the files lie at the top, whatever the group is
 * called outside: what is not there limits nothing. */
static double share_of_tree(const char *top, const char *group, bool is_unified) {
  char folder[MAX_PATH];
  size_t top_length = strlen(top);
  int length = snprintf(folder, sizeof folder, "%s%s", top, group);
  double share = HUGE_VAL;
  if (length < 0 || (size_t)length >= sizeof folder) return share;
  for (;;) {
    share = fmin(share, share_of_group(folder, is_unified));
    char *end = strrchr(folder + top_length, '/');
    if (!end) return share;
    *end = '\0';
  }
}

/* "cpu" among "cpu,cpuacct" */
static bool has_processors(const char *controllers) {
  size_t length;
  for (const char *name = controllers; *name; name += length + (name[length] == ',')) {
    length = strcspn(name, ",");
    if (length == 3 && memcmp(name, "cpu", 3) == 0) return true;
  }
  return false;
}

/* A line is "number:controllers:/group", without controllers for version 2. */
double rpinn_processors_of_groups(const char *root) {
  char path[MAX_PATH], line[MAX_PATH];
  double share = HUGE_VAL;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    controllers++;
    bool is_unified = !*controllers;
    if (!is_unified && !has_processors(controllers)) continue;
    /* Version 2 is mounted below the others where both are there. */
    static const char *const folders[] = {"", "/unified"};
    if (is_unified)
      for (size_t k = 0; k < sizeof folders / sizeof folders[0]; k++) {
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s", root, folders[k]);
        share = fmin(share, share_of_tree(path, group, true));
      }
    else {
      snprintf(path, sizeof path, "%s/sys/fs/cgroup/%.*s", root, MAX_PATH / 2, controllers);
      share = fmin(share, share_of_tree(path, group, false));
    }
  }
  if (file) fclose(file);
  return share;
}

size_t rpinn_processors_allowed(void) {
  size_t allowed = allowed_by_affinity();
  double share = ceil(rpinn_processors_of_groups(""));
  if (share < (double)allowed) allowed = (size_t)share;
  return allowed ? allowed : 1;
}
