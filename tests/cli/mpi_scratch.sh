#!/usr/bin/env bash
# --scratch with ranks: each keeps its draws on a disk of its machine, and they come into the run directory; the machines here are names and folders of
# their own for processes of this one (unshare). What ranks of a killed job have left is rescued on every machine.
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
fields: {u: {network: [16, 16]}}
truth: {u: sin(3*x)}
terms: {u: {expect: u, at: {grid: 30}, data: truth, noise: 0.1}}
predict: {grid: 9, quantities: [u]}
END
mkdir scratch
common=(small.yaml --prior-scale 1 --threads 1)
members=("${common[@]}" --samples 60 --optimizer adam --iterations 5000)
run 0 run "${members[@]}" --out members --quiet

# ---- the same bytes, and nothing is left ----
turn=0
every() { # NAME NUMBERS ARGUMENTS…
  local name=$1 numbers=$2 number
  shift 2
  run 0 run "$@" --out "$name" --quiet
  for number in $numbers; do
    ranks 0 "${launchers[turn++ % ${#launchers[@]}]}" "$number" run "$@" --out "$name-$number" --quiet --scratch scratch
    same "$name" "$name-$number"
    if [[ -n $(ls scratch) ]]; then complain "$number ranks of $name have left: $(ls scratch)"; fi
  done
}
export RPINN_SCRATCH_SECONDS=0.05
every ensemble '2 4' "${common[@]}" --method ensemble --samples 30 --iterations 400
every chains '3 7' "${common[@]}" --method nuts --chains 5 --warmup 40 --samples 60 --max-depth 4
every laplace '2' "${common[@]}" --method laplace --samples 300
every corrected '4' "${common[@]}" --samples 16 --iterations 50 --correct nuts --correct-budget 60 --max-depth 4
every particles '2' "${common[@]}" --method svgd --samples 9 --iterations 20
has "$err" "method svgd saves its draws all at once, into the run directory: --scratch is not used"
ranks 2 "${launchers[0]}" 2 run "${members[@]}" --out bad --quiet --scratch nowhere
if (($(grep -c "draws cannot be kept in 'nowhere'" <<< "$err") != 1)); then complain "not one message: $err"; fi

# ---- machines: rank 1 has another disk in the place of the scratch folder ----
if ! unshare -um true 2> /dev/null; then
  echo "the part on several machines is left out: unshare is not allowed to make them"
  exit "$failed"
fi
mkdir disk0 disk1
cat > machine.sh << 'END'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
machine=$((rank % 2))
exec unshare -um sh -c "hostname machine$machine && mount --bind '$1/disk$machine' '$1/scratch' && sh '$1/mount$machine.sh' && shift && exec \"\$@\"" sh "$@"
END
: > mount0.sh
: > mount1.sh # what else a machine has for itself
# machines LAUNCHER NUMBER ARGUMENTS…: as begin_ranks
machines() {
  local kind=$1 number=$2
  shift 2
  timeout -k 5 60 "mpirun.$kind" -n "$number" sh machine.sh "$work" "$RPINN_PROGRAM" "$@" > out 2> err < /dev/null &
  job=$!
}
long=("${members[@]}" --samples 2000)
for kind in "${launchers[@]}"; do
  rm -rf killed
  RPINN_SCRATCH_SECONDS=1000 machines "$kind" 4 run "${long[@]}" --out "$work/killed" --scratch scratch
  for ((k = 0; k < 3000; k++)); do
    if (($(find disk0 disk1 -name 'rpinn-*-000[0-3].db' | wc -l) == 4)); then break; fi
    sleep 0.01
  done
  sleep 2.5 # draws are safe after a second, where the machine is not busy
  for process in $(pgrep -f -- "--out $work/killed" || true); do kill -9 "$process" 2> /dev/null || true; done
  end_ranks 2> /dev/null
  if (($(find disk0 disk1 -name '*.db' | wc -l) != 4)); then complain "of four ranks ($kind) there are left: $(ls disk0 disk1)"; fi
  machines "$kind" 2 run "${long[@]}" --time-limit 0.01 --out "$work/killed" --resume
  end_ranks
  if ((status != 0)); then complain "the rescue ($kind) has exit code $status: $err"; fi
  total=0
  for ((rank = 0; rank < 4; rank++)); do
    number=$(sed -n "s|.* \([0-9]*\) draws that the last session has left in $work/scratch/rpinn-[0-9a-f]*-000$rank.db are rescued|\1|p" <<< " $err")
    if ((${number:-0} < 1)); then complain "of rank $rank ($kind) ${number:-no} draws are rescued: $err"; fi
    total=$((total + ${number:-0}))
  done
  if [[ -n $(find disk0 disk1 -type f) ]]; then complain "there is left: $(ls disk0 disk1)"; fi
  number=$(sed -n 's/.*"samples": \([0-9]*\),.*/\1/p' killed/summary.json)
  if ((${number:-0} < total)); then complain "$total draws were rescued, and ${number:-none} are there"; fi
done

# ---- a folder that is missing on one machine: nothing is begun ----
kind=${launchers[0]}
mkdir disk0/own
machines "$kind" 2 run "${members[@]}" --out "$work/bad" --scratch scratch/own
end_ranks
if ((status != 2)); then complain "a folder that is missing on a machine: exit code $status, expected 2: $err"; fi
has "$err" "rank 1 on machine1: --scratch: draws cannot be kept in 'scratch/own'"
if [[ -e bad ]]; then complain "a run was begun all the same"; fi
rmdir disk0/own

# ---- SIGTERM, and rank 1 finds no room in the run directory: that is a failure, and what it has made is still to be had ----
run 0 run "${long[@]}" --samples 2 --out full --quiet
mkdir full/ranks
: > full/ranks/kept # or rank 0 would remove the folder
echo "mount -t tmpfs -o size=1m none '$work/full/ranks'" > mount1.sh
RPINN_SCRATCH_SECONDS=1000 machines "$kind" 2 run "${long[@]}" --out "$work/full" --resume --scratch scratch
for ((k = 0; k < 3000; k++)); do
  if [[ -n $(find disk1 -name 'rpinn-*-0001.db') ]]; then break; fi
  sleep 0.01
done
sleep 1.5
process=$(process_of 1 "$work/full")
head -c 2M /dev/zero > "/proc/$process/root$work/full/ranks/other" 2> /dev/null || true
kill -TERM "$process"
end_ranks
if ((status != 1)); then complain "rank 1 could not save, and the exit code is $status: $err"; fi
has "$err" "rank 1 on machine1: "
lacks "$err" "interrupted; the members"
: > mount1.sh
machines "$kind" 2 run "${long[@]}" --time-limit 0.01 --out "$work/full" --resume
end_ranks
if ((status != 0)); then complain "the rescue of what could not be saved has exit code $status: $err"; fi
has "$err" "-0001.db are rescued"
if [[ -n $(find disk0 disk1 -type f) ]]; then complain "there is left: $(ls disk0 disk1)"; fi

exit "$failed"
