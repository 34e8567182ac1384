#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* A number of the environment. */
static bool read_number(const char *name, size_t *number) {
  const char *text = getenv(name);
  char *end;
  if (!text || !*text) return false;
  *number = (size_t)strtoull(text, &end, 10);
  return *end == '\0';
}

/* Slurm sets the number of tasks in a batch script as well, which runs once; the number of a step's tasks is there for those whom srun
 * has started. */
static bool is_step(size_t *rank, size_t *size) {
  return read_number("SLURM_PROCID", rank) && read_number("SLURM_STEP_NUM_TASKS", size);
}

RpinnLauncher rpinn_launcher_find(void) {
  RpinnLauncher found = {.launch = {0, 1}};
  size_t rank, size, step_rank, step_size;
  bool in_step = is_step(&step_rank, &step_size);
  if (read_number("OMPI_COMM_WORLD_RANK", &rank) && read_number("OMPI_COMM_WORLD_SIZE", &size))
    return (RpinnLauncher){"mpirun of Open MPI", RPINN_MPI_OPENMPI, true, {rank, size}};
  if (read_number("PMIX_RANK", &rank))
    return (RpinnLauncher){in_step ? "srun with PMIx" : "a launcher with PMIx",
                           RPINN_MPI_OPENMPI,
                           false,
                           {rank, in_step ? step_size : 0}};
  if (read_number("PMI_RANK", &rank) && read_number("PMI_SIZE", &size))
    return (RpinnLauncher){
        in_step ? "srun with PMI" : "mpiexec of MPICH", RPINN_MPI_MPICH, !in_step, {rank, size}};
  if (in_step) return (RpinnLauncher){"srun without PMI", RPINN_MPI_NONE, true, {step_rank, step_size}};
  return found;
}

RpinnLaunch rpinn_launch(void) {
  return rpinn_launcher_find().launch;
}

static const char *const names[] = {
    [RPINN_MPI_NONE] = "none", [RPINN_MPI_OPENMPI] = "openmpi", [RPINN_MPI_MPICH] = "mpich"};
enum { NUM_NAMES = sizeof names / sizeof names[0] };

const char *rpinn_mpi_name(RpinnMpi mpi) {
  return names[mpi];
}

RpinnStatus rpinn_launcher_choose(RpinnContext *context, const RpinnLauncher *launcher, RpinnMpi *mpi,
                                  bool *is_chosen) {
  const char *wanted = getenv("RPINN_MPI");
  *mpi = launcher->mpi;
  *is_chosen = wanted && *wanted;
  if (!*is_chosen) return RPINN_OK;
  for (size_t k = 0; k < NUM_NAMES; k++)
    if (!strcmp(names[k], wanted)) {
      *mpi = (RpinnMpi)k;
      return RPINN_OK;
    }
  const char *near = rpinn_nearest_name(wanted, names, NUM_NAMES);
  return rpinn_fail_at(context, (RpinnPlace){.file = "RPINN_MPI"},
                       "this environment variable chooses how ranks reach each other; found '%.40s', "
                       "expected openmpi, mpich or none%s%s%s",
                       wanted, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}
