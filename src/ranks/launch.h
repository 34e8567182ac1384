/* Who has started this process, and which MPI the launcher speaks with, as the environment tells it. */
#ifndef RPINN_RANKS_LAUNCH_H
#define RPINN_RANKS_LAUNCH_H

#include "context.h"
#include "rpinn/ranks.h"

typedef enum RpinnMpi { RPINN_MPI_NONE, RPINN_MPI_OPENMPI, RPINN_MPI_MPICH } RpinnMpi;

/* A launcher by what it leaves in the environment. */
typedef struct RpinnLauncher {
  const char *name; /* "mpirun of Open MPI"; NULL: none */
  RpinnMpi mpi;     /* that it speaks with; NONE: with none */
  bool is_certain;  /* with no other */
  RpinnLaunch launch;
} RpinnLauncher;

RpinnLauncher rpinn_launcher_find(void);
/* "openmpi" or "mpich". */
const char *rpinn_mpi_name(RpinnMpi mpi);
/* RPINN_MPI, or what the launcher speaks with. Bad input: another word. *is_chosen: by the variable. */
RpinnStatus rpinn_launcher_choose(RpinnContext *context, const RpinnLauncher *launcher, RpinnMpi *mpi,
                                  bool *is_chosen);

#endif
