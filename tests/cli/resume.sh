#!/usr/bin/env bash
# Going on with a run: what may be another the second time, and what may not.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# Constants, quantities and truths may have the names of settings; they decide the draws all the same.
problem() { # CORRECT SAMPLES THREADS UNIT
  printf '%s\n' "name: named" "coordinates: {x: [0, 1]}" "units: {x: $4}" "constants: {correct: $1}" \
    "fields: {v: {network: [3]}}" "quantities:" "  samples: v * $2" "  threads: v" "truth:" "  threads: x * $3" "  v: x" \
    "terms:" "  v: {expect: v, at: {grid: 4}, data: truth, noise: 0.1}" "  r: {expect: correct * v, at: {grid: 3}, data: 0, weight: 1}" \
    "prior: {reference_term: v}" "predict: {grid: 5, quantities: [samples]}" > named.yaml
}
small=(--likelihood paper --optimizer adam --start glorot --scale-fields no --iterations 5 --out named --quiet)
problem 1 2 3 m
run 0 run named.yaml --samples 2 "${small[@]}"
cp named/posterior.nc before.nc
refused() { # WORDS
  mistake "the run in this directory was made with other settings: $1" run named.yaml --samples 4 "${small[@]}" --resume
  if ! cmp -s named/posterior.nc before.nc; then complain "a refused --resume changed posterior.nc"; fi
}
problem 50 2 3 m && refused "was   correct: 1, is now   correct: 50"
problem 1 7 3 m && refused "was   samples: v * 2, is now   samples: v * 7"
problem 1 2 9 m && refused "was   threads: x * 3, is now   threads: x * 9"
problem 1 2 3 m
mistake "was   iterations: 5, is now   iterations: 6" run named.yaml --samples 4 "${small[@]}" --iterations 6 --resume

# Settings that say how much, how long, on how many threads and what becomes of the draws afterwards, and units.
problem 1 2 3 mm
run 0 run named.yaml --samples 4 --threads 2 --time-limit 1000 --correct mh "${small[@]}" --resume
run 0 summary named
has "$out" "4 members"

# A truth that was drawn, beside data from a file: run.yaml names its table, and still belongs to the run.
sed -e 's/at: {cells: 6}, data: truth/data: logs.csv/' -e 's/at: {same_as: logs}/at: {cells: 5}/' \
  "$RPINN_SOURCE_DIR/tests/problems/drawn-truth.yaml" > drawn.yaml
printf 'x,z,value\n0.5,-0.5,-1\n1.2,-0.4,-0.5\n' > logs.csv
run 0 run drawn.yaml --samples 2 --iterations 3 --out drawn --quiet
run 0 report drawn
run 0 run drawn/run.yaml --samples 3 --out drawn --quiet --resume
run 0 run drawn.yaml --samples 4 --iterations 3 --out drawn --quiet --resume

# What a run states about itself is written once, and replaced whole where it changes: a full disk leaves it as it is. A
# limit on the size of files stands in for the disk.
run 0 run "$RPINN_SOURCE_DIR/tests/problems/measured.yaml" --samples 3 --iterations 5 --out stated --quiet
state=$(stat -c '%n %i %Y' stated/run.yaml stated/data.csv)
run 0 run stated/run.yaml --out stated --quiet --resume
if [[ $(stat -c '%n %i %Y' stated/run.yaml stated/data.csv) != "$state" ]]; then complain "run.yaml was written again"; fi
cp stated/run.yaml before.yaml
on_full_disk() { (ulimit -f 0 && "$RPINN_PROGRAM" "$@" --quiet 2>&1) | cat; }
status=0
message=$(on_full_disk run stated/run.yaml --samples 5 --out stated --resume) || status=$?
if ((status != 1)); then complain "a full disk: exit code $status"; fi
has "$message" "stated/run.yaml: cannot write this file: File too large"
if ! cmp stated/run.yaml before.yaml; then complain "a full disk changed run.yaml"; fi
if [[ -e stated/run.yaml.part ]]; then complain "a full disk left a part of run.yaml"; fi
run 0 summary stated
run 0 run stated/run.yaml --samples 5 --out stated --quiet --resume
has "$(< stated/run.yaml)" "samples: 5"
exit $failed
