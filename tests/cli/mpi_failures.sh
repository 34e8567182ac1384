#!/usr/bin/env bash
# Ranks that die, that are asked to end, or that should never have met: the job ends, says why, and what it had made is there. RPINN_KILLS: how
# many times a rank is killed (default 4).
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
job=
trap 'if [[ -n $job ]]; then kill -9 "$job" 2> /dev/null || true; fi; rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
# shellcheck source=tests/cli/launchers.sh
. "$RPINN_SOURCE_DIR/tests/cli/launchers.sh"
cat > small.yaml << 'END'
name: small
coordinates: {x: [0, 1]}
fields: {u: {network: [20, 20]}}
truth: {u: sin(3*x)}
terms: {u: {expect: u, at: {grid: 30}, data: truth, noise: 0.1}}
predict: {grid: 9, quantities: [u]}
END
# shellcheck disable=SC2034 # by their names: see made
{
  common=(small.yaml --prior-scale 1 --threads 1 --quiet)
  members=("${common[@]}" --samples 80 --optimizer adam --iterations 7500)
  chains=("${common[@]}" --method nuts --chains 5 --warmup 200 --samples 300 --max-depth 6)
  particles=("${common[@]}" --method svgd --samples 60 --iterations 600)
  corrected=("${common[@]}" --samples 20 --optimizer adam --iterations 100 --correct nuts --correct-budget 400 --max-depth 5)
  ensemble=("${common[@]}" --method ensemble --samples 60 --optimizer adam --iterations 15000)
  laplace=("${common[@]}" --method laplace --samples 4000)
}
methods=(members chains particles corrected ensemble laplace)
# made NAME: the run of a single process that others are compared with, and its arguments
made() {
  local -n of=$1
  arguments=("${of[@]}")
  if [[ ! -e $1 ]]; then run 0 run "${arguments[@]}" --out "$1"; fi
}

# ---- a rank is killed, and somebody else goes on, with another number of ranks or alone ----
RANDOM=${RPINN_SEED:-17}
in_time=0 in_scratch=0
mkdir scratch
for ((k = 0; k < ${RPINN_KILLS:-4}; k++)); do
  kind=${launchers[k / 3 % ${#launchers[@]}]} what=${methods[k % ${#methods[@]}]}
  made "$what"
  number=$((2 + RANDOM % 3)) victim=$((RANDOM % number)) place=()
  if ((k % 2)); then place=(--scratch "$work/scratch"); fi
  rm -rf killed
  RPINN_SCRATCH_SECONDS=0.$((RANDOM % 10))5 begin_ranks "$kind" "$number" run "${arguments[@]}" "${place[@]}" --out "$work/killed"
  await_store killed $((number - 1))
  sleep "0.$((RANDOM % 6))"
  process=$(process_of "$victim" "$work/killed")
  if [[ -n $process ]]; then kill -9 "$process" 2> /dev/null || true; fi
  end_ranks
  if ((status == 124)); then complain "rank $victim of $number ($kind) was killed, and the others hang: $err"; fi
  # What is finished is there; only a job that was at its end before may have succeeded.
  if ((status == 0)) && [[ ! -e killed/summary.json ]]; then complain "a job with a rank killed has exit code 0"; fi
  if [[ -n $(pgrep -f -- "--out $work/killed" || true) ]]; then sleep 3; fi
  if [[ -n $(pgrep -f -- "--out $work/killed" || true) ]]; then complain "processes are left: $(pgrep -af -- "--out $work/killed")"; fi
  if [[ -d killed/ranks ]]; then in_time=$((in_time + 1)); fi
  if [[ -n $(ls scratch) ]]; then
    in_scratch=$((in_scratch + 1))
    if ((RANDOM % 3 == 0)); then rm scratch/*; fi # the machine is lost
  fi
  if ((RANDOM % 2)); then place=(); fi
  if ((RANDOM % 3 == 0)); then
    run 0 run "${arguments[@]}" "${place[@]}" --out killed --resume
  else
    ranks 0 "${launchers[RANDOM % ${#launchers[@]}]}" $((2 + RANDOM % 4)) run "${arguments[@]}" "${place[@]}" --out killed --resume
  fi
  same "$what" killed
  if [[ -n $(ls scratch) ]]; then complain "in the scratch folder there are ($what, $kind): $(ls scratch)"; fi
done
echo "a rank was killed $k times, $in_time of them while draws were made; $in_scratch times draws were left in the scratch folder"
if ((in_time == 0)); then complain "no rank was killed in time"; fi
if ((k >= 100 && in_scratch == 0)); then complain "nothing was ever left to rescue"; fi

# ---- an end that one of them is asked for ----
made members
for kind in "${launchers[@]}"; do
  rm -rf asked
  begin_ranks "$kind" 3 run "${members[@]}" --out "$work/asked"
  await_store asked 2
  kill -TERM "$(process_of 2 "$work/asked")"
  end_ranks
  if ((status != 130)); then complain "SIGTERM to rank 2 ($kind): exit code $status, expected 130: $err"; fi
  has "$err" "interrupted; the members made so far are saved in $work/asked, and --resume goes on"
  if (($(grep -c "interrupted; the members" <<< "$err") != 1)); then complain "not one rank speaks: $err"; fi
  if [[ -e asked/ranks || -e asked/summary.json ]]; then complain "after SIGTERM there are: $(ls asked)"; fi
  ranks 0 "$kind" 2 run "${members[@]}" --out asked --resume
  same members asked
done

made particles
begin_ranks "${launchers[0]}" 3 run "${particles[@]}" --out "$work/moved"
await_store moved 2
kill -TERM "$(process_of 1 "$work/moved")"
end_ranks
if ((status != 130)); then complain "SIGTERM to rank 1 of particles: exit code $status, expected 130: $err"; fi
if [[ -e moved/ranks || -e moved/summary.json ]]; then complain "after SIGTERM there are: $(ls moved)"; fi
ranks 0 "${launchers[0]}" 4 run "${particles[@]}" --out moved --resume
same particles moved

# ---- chains that continue members: ranks that are asked to end, in whichever round ----
made corrected
for ((k = 1; k <= 2; k++)); do
  rm -rf stopped
  begin_ranks "${launchers[0]}" 3 run "${corrected[@]}" --out "$work/stopped"
  await_store stopped 2
  sleep "0.$((3 * k))"
  process=$(process_of $k "$work/stopped")
  if [[ -n $process ]]; then kill -TERM "$process" 2> /dev/null || true; fi
  end_ranks
  if ((status != 130 && status != 0)); then complain "SIGTERM to rank $k that continues members: exit code $status: $err"; fi
  if [[ -e stopped/ranks ]]; then complain "after SIGTERM there are: $(ls stopped)"; fi
  ranks 0 "${launchers[0]}" $((4 - k)) run "${corrected[@]}" --out stopped --resume
  same corrected stopped
done

# ---- a run that one process began, and the clock ----
ranks 0 "${launchers[0]}" 3 run "${members[@]}" --time-limit 0.2 --out timed
has "$(< timed/summary.json)" '"out_of_time": true'
run 0 run "${members[@]}" --time-limit 0.2 --out begun
ranks 0 "${launchers[0]}" 2 run "${members[@]}" --out begun --resume
same members begun
run 0 run "${members[@]}" --out timed --resume
same members timed

# ---- mistakes are told once, by rank 0 ----
mistakes() { # LAUNCHER
  local kind=$1
  work=$work/$kind # for its outputs
  mkdir "$work"
  ranks 2 "$kind" 3 run small.yaml --sampels 3
  if (($(grep -c "unknown option" <<< "$err") != 1)); then complain "not one message: $err"; fi
  ranks 2 "$kind" 2 run "${members[@]}" --out members
  has "$err" "this folder holds a run already"
  ranks 2 "$kind" 2 report members
  has "$err" "rpinn report is work for one process, and 2 were started"
  ranks 0 "$kind" 3 --version
  if (($(wc -l <<< "$out") != 1)); then complain "not one rank speaks: $out"; fi
  ranks 0 "$kind" 2 list
  if (($(grep -c "poisson-linear " <<< "$out") != 1)); then complain "not one rank speaks: $out"; fi
  return "$failed"
}
jobs=()
for kind in "${launchers[@]}"; do
  (mistakes "$kind") &
  jobs+=($!)
done
for process in "${jobs[@]}"; do wait "$process" || failed=1; done
# Launchers that MPI does not hear of.
SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 run 2 run "${members[@]}" --out slurm
has "$err" "srun without PMI has started 4 processes, and each of them sees itself alone"
if [[ -e slurm ]]; then complain "a run was begun all the same"; fi
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 RPINN_MPI=openmp run 2 run "${members[@]}" --out slurm
has "$err" "RPINN_MPI: this environment variable chooses how ranks reach each other; found 'openmp', expected openmpi, mpich or none (did you mean openmpi?)"
if [[ " ${launchers[*]} " == *" mpich "* ]]; then
  PMI_RANK=0 PMI_SIZE=2 run 2 run "${members[@]}" --out slurm
  has "$err" "each of them sees itself alone through the plugin mpich"
fi
# In a batch script, which is no step, and as shards, they are no ranks.
SLURM_PROCID=0 SLURM_NTASKS=4 run 0 run small.yaml --samples 2 --iterations 2 --quiet --out batch
SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 run 0 run small.yaml --samples 8 --iterations 2 --quiet --shard 2/4 --out shard

exit $failed
