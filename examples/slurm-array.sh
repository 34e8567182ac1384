#!/bin/sh
# A run as a job array of Slurm, a shard in each job, and a job that merges them: sh examples/slurm-array.sh PROBLEM SAMPLES SHARDS RUN
# Shards go to RUN-shards. Call it again with the same arguments to go on with shards that ran out of time: those that are done end at once.
#SBATCH --job-name=rpinn
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
set -eu
if [ "$#" -ne 4 ]; then
  echo "usage: $0 PROBLEM SAMPLES SHARDS RUN" >&2
  exit 2
fi
problem=$1 samples=$2 shards=$3 run=$4

# Within a job: one shard. exec, so that the signal before the end of the time reaches rpinn, which saves and ends with 130.
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  exec rpinn run "$problem" --samples "$samples" --threads "${SLURM_CPUS_PER_TASK:-1}" \
    --shard "$SLURM_ARRAY_TASK_ID/$shards" --out "$run-shards/$SLURM_ARRAY_TASK_ID" --resume --quiet
fi

# At the desk: what the shards would cost, then the jobs.
rpinn run "$problem" --samples "$samples" --shard "1/$shards" --plan
mkdir -p "$run-logs"
job=$(sbatch --parsable --array="1-$shards" --output="$run-logs/%a.log" "$0" "$problem" "$samples" "$shards" "$run")
sbatch --job-name=rpinn-merge --dependency="afterok:${job%%;*}" --output="$run-logs/merge.log" \
  --wrap "rpinn merge '$run-shards' --out '$run' --quiet"
