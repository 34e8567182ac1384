#include "open_files.h"

#include <sys/resource.h>

RpinnStatus rpinn_check_open_files(RpinnContext *context, size_t count, const char *what) {
  enum { OTHERS = 40 };
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      count + OTHERS <= limit.rlim_cur)
    return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "there are %zu %s, and this process may have %llu files open; expected ulimit -n %zu "
                    "before",
                    count, what, (unsigned long long)limit.rlim_cur, count + OTHERS);
}
