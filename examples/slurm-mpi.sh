#!/bin/sh
# A run of many ranks in one job of Slurm:
#
#   SLURM_MPI_TYPE=pmix sbatch --ntasks=64 examples/slurm-mpi.sh PROBLEM SAMPLES RUN [OPTION…]     by Open MPI, with options of rpinn run
#   SLURM_MPI_TYPE=pmi2 sbatch --ntasks=64 examples/slurm-mpi.sh problem.yaml 10000 run            by MPICH
#   RPINN_LAUNCHER=mpirun sbatch --ntasks=64 examples/slurm-mpi.sh problem.yaml 10000 run          by mpirun instead of srun
#   sbatch --ntasks=8 --gpus-per-task=1 examples/slurm-mpi.sh problem.yaml 10000 run --backend cuda     a GPU for each rank
#
# `srun --mpi=list` says what your Slurm has.
# A run that runs out of time saves itself and goes back into the queue, until it is done; so does one whose node fails, with as many ranks as the
# job then has.
#SBATCH --job-name=rpinn
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
# shellcheck disable=SC2317 # the function that traps call
set -eu
if [ "$#" -lt 3 ]; then
  echo "usage: sbatch --ntasks=N $0 PROBLEM SAMPLES RUN [OPTION…]" >&2
  exit 2
fi
problem=$1 samples=$2 run=$3
shift 3

# Both start as many ranks as the job has tasks. srun has to be told of the processors of each, mpirun not.
launcher=${RPINN_LAUNCHER:-srun}
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"
"$launcher" rpinn run "$problem" --samples "$samples" --threads "$SRUN_CPUS_PER_TASK" --out "$run" --resume --quiet "$@" &
ranks=$!

# Slurm tells this shell by SIGUSR1 that the time is nearly up, and by SIGTERM that the job is cancelled. Ranks that get SIGTERM save and end with
# 130. mpirun hands it on to them; srun would kill them, so that Slurm itself has to send it, which it does by itself when a job is cancelled.
stop() {
  if [ "$launcher" = srun ]; then
    if [ "$is_late" = yes ]; then scancel --signal=TERM "$SLURM_JOB_ID"; fi
  else
    kill -TERM "$ranks" 2> /dev/null
  fi
}
status=0 is_late=no
trap 'is_late=yes; stop' USR1
trap stop TERM
wait "$ranks" || status=$?
if kill -0 "$ranks" 2> /dev/null; then wait "$ranks" || status=$?; fi # the first one ended with the signal
if [ "$is_late" = yes ] && [ "$status" -ne 0 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
