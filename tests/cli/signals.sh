#!/usr/bin/env bash
# Whoever wants a run to end gets what was done saved: Ctrl-C, SIGTERM and SIGHUP at any stage, a reader of the output who
# leaves, closed streams. What is resumed ends in the bytes of a run that was never disturbed.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
run=
trap '[[ -z $run ]] || kill -9 "$run" 2> /dev/null || true; rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# start ARGUMENTS…: a run in the background; its process is $run.
start() {
  "$RPINN_PROGRAM" run "$@" > /dev/null 2> "$work/err" &
  run=$!
}
# Until a line of DIR/run.log has the words. Bounded: a run that never says them is a mistake.
wait_for() { # DIR WORDS
  local tries
  for ((tries = 0; tries < 1200; tries++)); do
    if grep -qs -- "$2" "$1/run.log"; then return 0; fi
    if ! kill -0 "$run" 2> /dev/null; then break; fi
    sleep 0.05
  done
  complain "$1: never '$2'"
}
# expect_end CODE WORDS: the run in the background ends with this code and says so.
expect_end() {
  local status=0 tries
  for ((tries = 0; tries < 1200; tries++)); do
    if ! kill -0 "$run" 2> /dev/null; then break; fi
    sleep 0.05
  done
  if kill -9 "$run" 2> /dev/null; then complain "it goes on for a minute: killed"; fi
  wait "$run" 2> /dev/null || status=$?
  run=
  if ((status != $1)); then complain "exit code $status, expected $1: $(< "$work/err")"; fi
  has "$(< "$work/err")" "$2"
}
# Until the process has a handler for SIGTERM. Before it becomes the program it is a copy of this shell, with the handlers of
# that.
wait_until_caught() { # PROCESS
  local tries mask shell
  shell=$(readlink /proc/$$/exe)
  for ((tries = 0; tries < 6000; tries++)); do
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null || true)
    if [[ -z $mask ]]; then break; fi
    if [[ $((0x$mask & 0x4000)) != 0 && $(readlink "/proc/$1/exe") != "$shell" ]]; then return 0; fi
    sleep 0.01
  done
  complain "no handler of SIGTERM"
}
same_results() { # DIR DIR
  local file
  for file in posterior.nc predictions.csv summary.csv; do
    cmp "$1/$file" "$2/$file" || complain "$file differs"
  done
}

settings=(poisson-linear --preset paper --set Nf=8 --samples 3 --threads 2)

# ---- while the start is sought ----
map=("${settings[@]}" --start map --iterations 20000)
run 0 run "${map[@]}" --out map_whole
for signal in INT TERM HUP; do
  start "${map[@]}" --out "map_$signal"
  wait_for "map_$signal" 'MAP estimate'
  kill -s "$signal" "$run" || true
  expect_end 130 '--resume goes on'
  if grep -q 'members are done' "map_$signal/run.log"; then complain "SIG$signal did not stop the search"; fi
done
run 0 run "${map[@]}" --out map_HUP --resume
same_results map_whole map_HUP

# ---- while members are made ----
members=(poisson-linear --preset paper --set Nf=8 --samples 6 --threads 2 --iterations 15000)
run 0 run "${members[@]}" --out members_whole
start "${members[@]}" --out members
wait_for members 'new problem'
kill -s HUP "$run" || true
expect_end 130 '--resume goes on'
run 0 run "${members[@]}" --out members --resume
same_results members_whole members

# ---- while a pipe is waited for that nobody writes to ----
mkfifo silent
start "${settings[@]}" --data silent --out silence
wait_until_caught "$run"
sleep 0.5
kill -s TERM "$run" || true
expect_end 130 'interrupted'

# ---- the same one to the process and to its group, as timeout sends it, is one ----
for _ in 1 2 3 4 5; do
  rm -rf twice
  start "${settings[@]}" --iterations 1000000 --out twice
  wait_for twice 'new problem'
  sleep 0.3
  kill -s INT "$run" || true
  kill -s INT "$run" 2> /dev/null || true
  expect_end 130 '--resume goes on'
done

# ---- a second one does not wait for anything ----
# An iteration takes seconds here. A first signal that comes before one is under way ends the run by itself, and is tried again later.
ended=0
for delay in 0.5 1 2 4; do
  rm -rf impatient
  start poisson-linear --preset paper --set Nf=100000 --backend plain --samples 1 --iterations 10000 --out impatient
  wait_for impatient 'new problem'
  sleep "$delay"
  kill -s TERM "$run" 2> /dev/null || true
  sleep 0.2
  kill -s TERM "$run" 2> /dev/null || true
  ended=0
  wait "$run" 2> /dev/null || ended=$?
  run=
  if ((ended == 143)); then break; fi
done
if ((ended != 143)); then complain "two signals: exit code $ended, expected 143"; fi

# ---- while results are made: many points, slowly ----
sed 's/grid: 201/grid: 1001/' "$RPINN_SOURCE_DIR/problems/poisson-linear.yaml" > many.yaml
results=(many.yaml --preset paper --set Nf=8 --samples 60 --iterations 1 --threads 2 --backend plain)
run 0 run "${results[@]}" --out results_whole
start "${results[@]}" --out results
wait_for results 'results are being made'
kill -s INT "$run" || true
expect_end 130 '--resume goes on'
if [[ -e results/summary.json ]]; then complain "Ctrl-C while results are made: it went on"; fi
if compgen -G 'results/*.part*' > /dev/null; then complain "left behind: $(compgen -G 'results/*.part*')"; fi
run 0 run "${results[@]}" --out results --resume
same_results results_whole results

# ---- what looks at finished runs ends at once, and leaves nothing ----
seq -f '%.5f' -0.99 0.00002 0.99 | sed '1i x' > points.csv
for command in "predict results --points points.csv --out predicted.csv" "diagnose results --shape" "report results --out page"; do
  # shellcheck disable=SC2086
  "$RPINN_PROGRAM" $command > /dev/null 2> "$work/err" &
  run=$!
  wait_until_caught "$run"
  kill -s TERM "$run" || true
  expect_end 130 'interrupted'
done
if [[ -n $(find . -name '*.part*' -o -name predicted.csv) ]]; then complain "left behind: $(find . -name '*.part*')"; fi

# ---- nohup stays nohup ----
(
  trap '' HUP
  exec "$RPINN_PROGRAM" run "${members[@]}" --out nohup > /dev/null 2> "$work/err"
) &
run=$!
wait_for nohup 'new problem'
kill -s HUP "$run" || true
expect_end 0 ''
same_results members_whole nohup

# ---- nobody reads ----
quick=(poisson-linear --preset paper --set Nf=8 --samples 6 --iterations 100)
run 0 run "${quick[@]}" --out quick_whole
mkfifo pipe
exec 3<> pipe
exec 4> pipe
exec 3<&- # fd 4 now writes to a pipe without a reader
for stream in out err both; do
  status=0
  case $stream in
    out) "$RPINN_PROGRAM" run "${quick[@]}" --out "closed_$stream" >&4 2> err || status=$? ;;
    err) "$RPINN_PROGRAM" run "${quick[@]}" --out "closed_$stream" > out 2>&4 || status=$? ;;
    both) "$RPINN_PROGRAM" run "${quick[@]}" --out "closed_$stream" >&4 2>&1 || status=$? ;;
  esac
  if ((status != 0)); then complain "a pipe without a reader on $stream: exit code $status"; fi
  same_results quick_whole "closed_$stream"
done
exec 4>&-

# ---- closed streams: no file of the run gets their number ----
status=0
"$RPINN_PROGRAM" run "${quick[@]}" --out no_streams > out 2>&- || status=$?
if ((status != 0)); then complain "without stderr: exit code $status"; fi
if grep -qv '^ *[0-9.]*  [a-z0-9]' no_streams/run.log || grep -q 'loss' no_streams/run.log; then
  complain "messages in run.log: $(< no_streams/run.log)"
fi
same_results quick_whole no_streams
exit "$failed"
