# Sourced by the scripts of ranks: which launchers there are, and the program under one of them.
# shellcheck shell=bash disable=SC2034,SC2154
# Open MPI starts nothing for root, and no more processes than there are cores, unless it is told to.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# A launcher that is killed leaves its own files where it keeps them: in the folder that the script removes.
export TMPDIR=$work/launcher
mkdir "$TMPDIR"
plugins=$(dirname "$RPINN_PROGRAM")
launchers=()
for kind in openmpi mpich; do
  if [[ -e $plugins/librpinn-$kind.so ]] && command -v "mpirun.$kind" > /dev/null; then launchers+=("$kind"); fi
done
if ((${#launchers[@]} == 0)); then
  echo "skipped: no mpirun.openmpi or mpirun.mpich with a plugin of its kind beside the program"
  exit 77
fi
# ranks CODE LAUNCHER NUMBER ARGUMENTS…: no run may take more than a minute; keeps both outputs in $out and $err
ranks() {
  local expected=$1 kind=$2 number=$3 status=0
  shift 3
  timeout -k 5 60 "mpirun.$kind" -n "$number" "$RPINN_PROGRAM" "$@" > "$work/out" 2> "$work/err" < /dev/null || status=$?
  out=$(< "$work/out") err=$(< "$work/err")
  if ((status != expected)); then complain "$number ranks of $kind: rpinn $*: exit code $status, expected $expected: $err"; fi
}
# Without what differs from session to session.
untimed() { sed -E 's/"(wall_seconds|seconds_median|pilot_seconds|seconds|threads)": [^,}]*//g' "$1"; }
# same ONE OTHER: runs with the same files, and summaries but for times; nothing of the ranks is left
same() {
  local one=$1 other=$2 file
  for file in run.yaml posterior.nc predictions.csv summary.csv fields.vti; do
    if [[ -e $one/$file ]] && ! cmp "$one/$file" "$other/$file"; then complain "$other/$file is not that of $one"; fi
  done
  if ! diff <(untimed "$one/summary.json") <(untimed "$other/summary.json") > difference; then
    complain "the summaries of $one and $other differ: $(< difference)"
  fi
  if [[ -e $other/ranks ]]; then complain "$other/ranks is left behind: $(ls "$other/ranks")"; fi
}
# begin_ranks LAUNCHER NUMBER ARGUMENTS…: the same in the background, as $job
begin_ranks() {
  local kind=$1 number=$2
  shift 2
  timeout -k 5 60 "mpirun.$kind" -n "$number" "$RPINN_PROGRAM" "$@" > "$work/out" 2> "$work/err" < /dev/null &
  job=$!
}
# end_ranks: how it has ended, as $status
end_ranks() {
  status=0
  wait "$job" || status=$?
  job=
  out=$(< "$work/out") err=$(< "$work/err")
}
# process_of RANK FOLDER: its number; nothing where there is none
process_of() {
  local process
  for process in $(pgrep -f -- "--out $2" || true); do
    if [[ $(cat "/proc/$process/comm" 2> /dev/null) == rpinn ]] &&
      tr '\0' '\n' 2> /dev/null < "/proc/$process/environ" | grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1"; then
      echo "$process"
    fi
  done
}
# await_store FOLDER RANK: until the rank makes draws, or the job has ended
await_store() {
  while [[ ! -s $1/ranks/$(printf %04d "$2").db ]] && kill -0 "$job" 2> /dev/null; do sleep 0.02; done
}
