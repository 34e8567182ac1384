/* How many threads there are by default: what affinity and control groups leave, read from folders like those of the kernel. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "temporary_folder.h"

#include <math.h>
#include <sched.h>
#include <sys/stat.h>

#include "check.h"
#include "processors.h"

typedef struct GroupFile {
  const char *path, *text;
} GroupFile;

static void write_file(const char *root, const GroupFile *file) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s", root, file->path);
  for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  FILE *stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(file->text, stream);
  fclose(stream);
}

static double share_with(const GroupFile *files) {
  assert_int_equal(mkdir("groups", 0700), 0);
  for (const GroupFile *file = files; file->path; file++) write_file("groups", file);
  double share = rpinn_processors_of_groups("groups");
  remove_tree("groups");
  return share;
}

static void control_groups_limit(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double share;
    GroupFile files[6];
  } cases[] = {
      {"no control groups", HUGE_VAL, {{"/proc/other", ""}}},
      {"no limit",
       HUGE_VAL,
       {{"/proc/self/cgroup", "0::/job\n"}, {"/sys/fs/cgroup/job/cpu.max", "max 100000\n"}}},
      {"two processors",
       2,
       {{"/proc/self/cgroup", "0::/job\n"}, {"/sys/fs/cgroup/job/cpu.max", "200000 100000\n"}}},
      {"one and a half",
       1.5,
       {{"/proc/self/cgroup", "0::/job\n"}, {"/sys/fs/cgroup/job/cpu.max", "75000 50000\n"}}},
      {"a narrower group above",
       3,
       {{"/proc/self/cgroup", "0::/slice/job\n"},
        {"/sys/fs/cgroup/slice/job/cpu.max", "800000 100000\n"},
        {"/sys/fs/cgroup/slice/cpu.max", "300000 100000\n"}}},
      {"the top, in a container that knows the name outside",
       4,
       {{"/proc/self/cgroup", "0::/outside/name\n"}, {"/sys/fs/cgroup/cpu.max", "400000 100000\n"}}},
      {"version 1",
       2.5,
       {{"/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/job\n0::/\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"}}},
      {"version 1 without limit",
       HUGE_VAL,
       {{"/proc/self/cgroup", "4:cpu:/\n3:cpuset:/\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}},
      {"both, version 2 below the others",
       6,
       {{"/proc/self/cgroup", "4:cpu:/\n0::/job\n"},
        {"/sys/fs/cgroup/unified/job/cpu.max", "600000 100000\n"}}},
      {"what is no number",
       HUGE_VAL,
       {{"/proc/self/cgroup", "nothing\n0::/\n"}, {"/sys/fs/cgroup/cpu.max", "?\n"}}},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    double share = share_with(cases[k].files);
    check_true(share == cases[k].share, "%s: %g", cases[k].name, share);
  }
}

static void affinity_limits(void **state) {
  (void)state;
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  assert_true(rpinn_processors_allowed() <= (size_t)CPU_COUNT(&all));
  CPU_ZERO(&one);
  for (int cpu = 0; !CPU_COUNT(&one); cpu++)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(rpinn_processors_allowed(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(control_groups_limit),
                                     cmocka_unit_test(affinity_limits)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
