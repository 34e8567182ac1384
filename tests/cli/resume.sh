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
small=(--iterations 5 --out named --quiet)
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
exit $failed
