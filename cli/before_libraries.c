/* What must be settled before OpenBLAS is loaded, which is before main: functions in .preinit_array run before the
 * constructors of all shared libraries, constructors of the program after them.
 *
 * Threads. OpenBLAS starts some of its own. The program has no use for them; under a memory limit they even keep it
 * from starting (pthread_create fails, and OpenBLAS raises SIGINT) or from ending (OpenBLAS waits for threads that are
 * not there). OpenBLAS starts no more than there are processors that the process may use, whatever
 * OPENBLAS_NUM_THREADS says, so the process allows itself one while its libraries are loaded. (The environment cannot
 * be changed that early: the C library takes it over later.) Where this fails, the library's own decision
 * (src/base/blas_threads.c) comes after the threads have started, and lets them idle.
 *
 * Memory. Newer versions take the memory of the first product at once, and ask for it for ever where there is none. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"

/* 64 sets, of 1024 processors each, are one set for the _S forms: the kernel refuses one that is too small. */
enum { NUM_SETS = 64, MOST_PROCESSORS = NUM_SETS * CPU_SETSIZE };
static cpu_set_t allowed[NUM_SETS], one[NUM_SETS];
static bool is_narrow;

static void allow_one_processor(void) {
  int here = sched_getcpu();
  if (here < 0 || here >= MOST_PROCESSORS || sched_getaffinity(0, sizeof allowed, allowed) != 0) return;
  CPU_SET_S((size_t)here, sizeof one, one);
  is_narrow = sched_setaffinity(0, sizeof one, one) == 0;
}

/* As rpinn_blas_reserve does, and a little for the other libraries. stdio is not yet there. */
static void demand_memory(void) {
  static const char message[] = "rpinn: out of memory: OpenBLAS works in 128 MiB per thread\n";
  const size_t size = (size_t)136 << 20;
  void *probe = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe != MAP_FAILED && munmap(probe, size) == 0) return;
  ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  (void)written;
  _exit(EXIT_MACHINE);
}

static void settle(void) {
  demand_memory();
  allow_one_processor();
}

__attribute__((section(".preinit_array"), used)) static void (*const before_libraries)(void) = settle;

__attribute__((constructor)) static void allow_all_processors(void) {
  if (is_narrow) sched_setaffinity(0, sizeof allowed, allowed);
}
