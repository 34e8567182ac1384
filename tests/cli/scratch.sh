#!/usr/bin/env bash
# --scratch: draws that are kept on a disk of the machine come into the run directory, at every end and from time to time; what a killed session has
# left is rescued, what is damaged or of others is named and stays. The bytes are those of a run without it.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
job=
trap 'if [[ -n $job ]]; then kill -9 "$job" 2> /dev/null || true; fi; rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
cat > small.yaml << 'END'
name: small
coordinates: {x: [0, 1], y: [0, 1]}
fields: {u: {network: [16, 16]}}
truth: {u: x*y}
terms: {u: {expect: u, at: {grid: [5, 4]}, data: truth, noise: 0.1}}
predict: {grid: [5, 4], quantities: [u]}
END
mkdir scratch
members=(small.yaml --samples 40 --optimizer adam --iterations 5000 --prior-scale 1 --threads 1 --quiet)
chains=(small.yaml --method nuts --chains 2 --warmup 100 --samples 4000 --max-depth 7 --prior-scale 1 --threads 1 --quiet)
same() { # RUN RUN
  local file
  for file in run.yaml posterior.nc predictions.csv fields.vti; do
    if ! cmp "$1/$file" "$2/$file"; then complain "$2/$file is not that of $1"; fi
  done
}
is_clear() { # WHEN
  if [[ -n $(ls scratch) ]]; then complain "$1 there are in the scratch folder: $(ls scratch)"; fi
}
# begin_in NAME FOLDER ARGUMENTS…: in the background, until it keeps draws in the scratch folder of this name
begin_in() {
  local name=$1 folder=$2 before
  shift 2
  before=$(find "$folder" -name '*.db' | wc -l)
  "$RPINN_PROGRAM" "$@" --scratch "$name" > job-out 2> job-err &
  job=$!
  until (($(find "$folder" -name '*.db' | wc -l) > before)) || ! kill -0 "$job" 2> /dev/null; do sleep 0.01; done
}
begin() { begin_in scratch scratch "$@"; }
end() { # SIGNAL: as $status
  status=0
  kill "-$1" "$job" 2> /dev/null || true
  wait "$job" 2> /dev/null || status=$?
  job=
  said=$(< job-err)
}
made() { "$RPINN_PROGRAM" summary "$1" --json | sed -n 's/.*"draws": \([0-9]*\).*/\1/p'; } # members of a shard

run 0 run "${members[@]}" --out members
run 0 run "${chains[@]}" --out chains

# ---- whole runs: what is kept comes at the end, or at once ----
run 0 run "${members[@]}" --out kept --scratch scratch
same members kept
is_clear "after a run"
RPINN_SCRATCH_SECONDS=0.1 run 0 run "${chains[@]}" --out moved --scratch "$work/scratch"
same chains moved
lacks "$(< kept/run.yaml)" scratch

# ---- folders that are none ----
mistake "--scratch: draws cannot be kept in 'nowhere': No such file or directory; expected a folder that is there on every machine" run "${members[@]}" --out bad --scratch nowhere
mistake "--scratch: draws cannot be kept in 'small.yaml': it is no folder" run "${members[@]}" --out bad --scratch small.yaml
mistake "scratch is 'nine'; expected one of none|a folder; did you mean 'none'?" run "${members[@]}" --out bad --scratch nine
mistake "its name is too long for SQLite" run "${members[@]}" --out bad --scratch "$work/$(printf './%.0s' {1..230})scratch"
if [[ -e bad ]]; then complain "a run was begun all the same"; fi
run 0 run small.yaml --method map --iterations 20 --quiet --out map --scratch scratch
has "$err" "method map saves its draws all at once, into the run directory: --scratch is not used"

# ---- an end that is asked for, and the clock ----
RPINN_SCRATCH_SECONDS=1000 begin run "${members[@]}" --out asked
end TERM
if ((status != 130)); then complain "SIGTERM: exit code $status, expected 130: $said"; fi
is_clear "after SIGTERM"
run 0 run "${members[@]}" --out asked --resume
same members asked
RPINN_SCRATCH_SECONDS=1000 begin run "${chains[@]}" --out stopped
sleep 0.5
end TERM
is_clear "after SIGTERM to chains"
run 0 run "${chains[@]/--quiet/--scratch=none}" --out stopped --resume
if [[ ! $err =~ ([0-9]+)\ of\ 8200\ iterations ]] || ((BASH_REMATCH[1] == 0)); then complain "chains begin again: $err"; fi
same chains stopped
RPINN_SCRATCH_SECONDS=1000 run 0 run "${members[@]}" --shard 1/1 --time-limit 0.1 --out timed --scratch scratch
is_clear "after the time limit"
if (($(made timed) == 0)); then complain "the time limit has left nothing"; fi

# ---- killed: nothing of it is in the run directory, and all of it is rescued ----
# rescued WHAT: how many draws the message of the last run says of the file $left
rescued() {
  local number
  number=$(sed -n "s|.* \([0-9]*\) draws that the last session has left in $work/$left are rescued\$|\1|p" <<< " $err")
  if [[ -z $number ]]; then complain "nothing is said of what was rescued of $1: $err"; fi
  echo "${number:-0}"
}
# whole_of SHARD: as many members as there are now, and one more, are those of a run
whole_of() {
  local number=$(($(made "$1") + 1))
  run 0 run "${members[@]}" --samples $number --shard 1/1 --out "$1" --resume --scratch scratch
  run 0 merge "$1" --out "$1-merged" --quiet
  run 0 run "${members[@]}" --samples $number --out "$1-whole"
  same "$1-whole" "$1-merged"
  is_clear "after $1"
}
RPINN_SCRATCH_SECONDS=1000 begin run "${members[@]}" --samples 4000 --shard 1/1 --out killed
sleep 1.5 # a store is written once a second
end KILL
left=$(echo scratch/*.db)
if (($(made killed) != 0)); then complain "before its time $(made killed) members are in the run directory"; fi
run 0 run "${members[@]/--quiet/--scratch=none}" --samples 4000 --shard 1/1 --time-limit 0.001 --out killed --resume
number=$(rescued members)
if ((number < 2 || $(made killed) != number + 1)); then complain "$number members are rescued, and there are $(made killed): $err"; fi
is_clear "after the rescue"
whole_of killed

RPINN_SCRATCH_SECONDS=1000 begin run "${chains[@]}" --out chained
sleep 1.5 # a store is written once a second
end KILL
left=$(echo scratch/*.db)
mkdir elsewhere
run 0 run "${chains[@]/--quiet/--scratch=elsewhere}" --out chained --resume
if (($(rescued chains) < 2)); then complain "of the chains $(rescued chains) draws are rescued"; fi
same chains chained
if [[ -n $(ls elsewhere) ]]; then complain "there is left: $(ls elsewhere)"; fi

# ---- a disk that is lost with its machine: what came into the run directory before is there ----
RPINN_SCRATCH_SECONDS=0.3 begin run "${members[@]}" --samples 4000 --shard 1/1 --out lost
sleep 1.2
end KILL
rm scratch/*
if (($(made lost) < 2)); then complain "all is lost with the disk"; fi
whole_of lost

# ---- a folder that cannot be read, here a name that leads to itself: the user hears of it, and the run goes on without ----
mkdir gone
ln -sfn "$work/gone" link
RPINN_SCRATCH_SECONDS=1000 begin_in link gone run "${members[@]}" --samples 4000 --shard 1/1 --out unread
end KILL
ln -sfn link link
run 0 run "${members[@]}" --samples 4000 --shard 1/1 --time-limit 0.001 --out unread --resume
has "$err" "warning: $work/link, where the last session may have left draws, cannot be read: Too many levels of symbolic links; they are made again"
run 0 run "${members[@]}" --samples 4000 --shard 1/1 --time-limit 0.001 --out unread --resume
lacks "$err" "$work/link"

# ---- runs of one process know each other's files ----
run 0 calibrate small.yaml --datasets 6 --members 39 --optimizer adam --iterations 200 --prior-scale 1 --jobs 2 --quiet --out study --scratch scratch
lacks "$err" "which this run has no use for"
is_clear "after a study"

# ---- damaged, of others, and of a run at work ----
RPINN_SCRATCH_SECONDS=1000 begin run "${members[@]}" --out damaged
end KILL
rm -f scratch/*-journal # or what is written here would be taken back
left=$(echo scratch/*.db)
printf 'this is no store' | dd of="$left" conv=notrunc status=none
cp members/checkpoint.db scratch/rpinn-0123456789abcdef-0007.db
cksum scratch/*.db > before
RPINN_SCRATCH_SECONDS=1000 begin run "${members[@]}" --seed 5 --samples 4000 --out other
run 0 run "${members[@]}" --out damaged --resume --scratch scratch
end KILL
lacks "$err" "and others" # it is at work
has "$err" "warning: $work/$left, which the last session has left, stays where it is: '$work/$left' is not a checkpoint of rpinn"
has "$err" "warning: $work/scratch/rpinn-0123456789abcdef-0007.db, which this run has no use for, stays where it is"
same members damaged
for file in "$left" scratch/rpinn-0123456789abcdef-0007.db; do
  if ! grep -qxF "$(cksum "$file")" before; then complain "$file was touched"; fi
done
run 0 run "${members[@]}" --out damaged --resume --scratch scratch
has "$err" "and others beside it, which this run has no use for, stay where they are"

exit "$failed"
