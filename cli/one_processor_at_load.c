/* OpenBLAS starts threads of its own when it is loaded, before main. The program has threads of its own and no use
 * for them; under a memory limit they even keep it from starting (pthread_create fails, and OpenBLAS raises SIGINT)
 * or from ending (OpenBLAS waits for threads that are not there).
 *
 * OpenBLAS starts no more threads than there are processors that the process may use, whatever OPENBLAS_NUM_THREADS
 * says. So the process allows itself one while its libraries are loaded: functions in .preinit_array run before the
 * constructors of all shared libraries, the constructors of the program after them. (The environment cannot be
 * changed that early: the C library takes it over later.) Where this fails, the library's own decision
 * (src/base/blas_threads.c) comes after the threads have started, and lets them idle. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>

/* 64 sets, of 1024 processors each, are one set for the _S forms: the kernel refuses one that is too small. */
enum { NUM_SETS = 64, MOST_PROCESSORS = NUM_SETS * CPU_SETSIZE };
static cpu_set_t allowed[NUM_SETS], one[NUM_SETS];
static bool is_narrow;

static void narrow(void) {
  int here = sched_getcpu();
  if (here < 0 || here >= MOST_PROCESSORS || sched_getaffinity(0, sizeof allowed, allowed) != 0) return;
  CPU_SET_S((size_t)here, sizeof one, one);
  is_narrow = sched_setaffinity(0, sizeof one, one) == 0;
}

__attribute__((section(".preinit_array"), used)) static void (*const before_libraries)(void) = narrow;

__attribute__((constructor)) static void widen(void) {
  if (is_narrow) sched_setaffinity(0, sizeof allowed, allowed);
}
