/* The program as one of several that mpirun, mpiexec or srun has started: which commands they make together, and who speaks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"

static RpinnRanks *ranks;
static bool is_silent;
static char kept[1024];

RpinnRanks *launch_ranks(void) {
  return ranks;
}

bool launch_keeps(const char *message) {
  if (is_silent) snprintf(kept, sizeof kept, "%s", message);
  return is_silent;
}

bool launch_is_silent(void) {
  return is_silent;
}

/* Shards know of no others, whoever starts them; so do those who are told to go their own way. */
static bool is_on_its_own(int argc, char **argv) {
  const char *mpi = getenv("RPINN_MPI");
  if (mpi && !strcmp(mpi, "none")) return true;
  for (int k = 1; k < argc; k++)
    if (!strcmp(argv[k], "--shard") || !strncmp(argv[k], "--shard=", 8)) return true;
  return false;
}

/* Asked for words, not for work. */
static bool asks_for_words(int argc, char **argv) {
  for (int k = 1; k < argc; k++)
    if (!strcmp(argv[k], "--help") || !strcmp(argv[k], "-h") || !strcmp(argv[k], "--plan")) return true;
  return false;
}

static RpinnLaunch find_launch(int argc, char **argv) {
  return is_on_its_own(argc, argv) ? (RpinnLaunch){0, 1} : rpinn_launch();
}

bool launch_leaves_it(const Command *command, int argc, char **argv) {
  bool is_shared = command && command->ranks == RANKS_TOGETHER && !asks_for_words(argc, argv);
  return find_launch(argc, argv).rank > 0 && !is_shared;
}

static int refuse(const Command *command, size_t size) {
  return report_usage(
      "rpinn %s is work for one process, and %zu were started; expected it without mpirun or srun",
      command->name, size);
}

/* Those who do not speak wait: launchers end all processes when the first one fails, and rank 0 has something to say. */
static int report_open(const RpinnContext *context, RpinnStatus status, size_t rank) {
  const struct timespec moment = {.tv_sec = 1};
  if (rank == 0) return report_failure(context, status);
  nanosleep(&moment, NULL);
  return rpinn_status_exit_code(status);
}

int launch_begin(const Command *command, int argc, char **argv) {
  RpinnLaunch launch = find_launch(argc, argv);
  if (launch.size == 1 || asks_for_words(argc, argv) || command->ranks == RANKS_FIRST_ALONE) return -1;
  if (command->ranks != RANKS_TOGETHER) return launch.size > 1 ? refuse(command, launch.size) : -1;
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  RpinnStatus status = rpinn_ranks_open(context, &ranks);
  int code = status == RPINN_OK ? -1 : report_open(context, status, launch.rank);
  is_silent = rpinn_ranks_rank(ranks) > 0;
  rpinn_context_destroy(context);
  return code;
}

int launch_end(int code) {
  char failure[1024];
  if (!ranks) return code;
  bool is_first = !is_silent;
  fflush(stdout); /* an end of all ranks may take this one along */
  code = rpinn_ranks_close(ranks, code, kept, failure);
  ranks = NULL;
  if (is_first && failure[0]) fprintf(stderr, "rpinn: %s\n", failure);
  return code;
}
