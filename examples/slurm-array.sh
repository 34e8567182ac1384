#!/bin/sh
# A run as a job array of Slurm, a shard in each job, and a job that merges them:
#
#   sh examples/slurm-array.sh PROBLEM SAMPLES SHARDS RUN [OPTION…]         options of rpinn run: --correct nuts, --seed 3, …
#   SBATCH_GPUS=1 sh examples/slurm-array.sh problem.yaml 10000 64 run --backend cuda      a GPU for each job
#
# Shards go to RUN-shards, what the jobs say to RUN-logs. A shard that runs out of time saves itself and goes back into the queue, until it is
# done; so does one whose node fails. Call it again with the same arguments after jobs were cancelled: shards that are done end at once.
#SBATCH --job-name=rpinn
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
if [ "$#" -lt 4 ]; then
  echo "usage: $0 PROBLEM SAMPLES SHARDS RUN [OPTION…]" >&2
  exit 2
fi
script=$0 problem=$1 samples=$2 shards=$3 run=$4
shift 4

# Within a job: one shard. Slurm tells this shell by SIGUSR1 that the time is nearly up, and by SIGTERM that the job is cancelled; rpinn hears of both,
# saves and ends with 130. Only the first is a reason to go back into the queue.
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  rpinn run "$problem" --samples "$samples" --threads "${SLURM_CPUS_PER_TASK:-1}" \
    --shard "$SLURM_ARRAY_TASK_ID/$shards" --out "$run-shards/$SLURM_ARRAY_TASK_ID" --resume --quiet "$@" &
  shard=$!
  status=0 is_late=no
  trap 'is_late=yes; kill -TERM "$shard" 2> /dev/null' USR1
  trap 'kill -TERM "$shard" 2> /dev/null' TERM
  wait "$shard" || status=$?
  if kill -0 "$shard" 2> /dev/null; then wait "$shard" || status=$?; fi # the first one ended with the signal
  if [ "$status" -eq 130 ] && [ "$is_late" = yes ]; then scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"; fi
  exit "$status"
fi

# At the desk: what the shards would cost, then the jobs.
rpinn run "$problem" --samples "$samples" --shard "1/$shards" --plan "$@"
mkdir -p "$run-logs"
job=$(sbatch --parsable --array="1-$shards" --output="$run-logs/%a.log" "$script" "$problem" "$samples" "$shards" "$run" "$@")
sbatch --job-name=rpinn-merge --cpus-per-task=1 --dependency="afterok:${job%%;*}" --kill-on-invalid-dep=yes --output="$run-logs/merge.log" \
  --wrap "rpinn merge '$run-shards' --out '$run' --quiet"
