#!/usr/bin/env bash
# How much faster the pass that makes results is on several threads: bench/results_pass/run.sh [RPINN [THREADS]]
#
# Members of darcy that are hardly minimised; the times stand in run.log and hold all that a run writes at its end. Both
# numbers of threads in turn, three times, and the least of each counts. The bytes must be the same. About a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
rpinn=$(realpath "${1:-build/rpinn}")
threads=${2:-$(nproc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

seconds() { # FOLDER
  awk '/results are being made/ { begun = $1 } /results are made/ { print $1 - begun }' "$1/run.log"
}
for _ in 1 2 3; do
  for count in 1 "$threads"; do
    rm -rf "run_$count"
    "$rpinn" run darcy --preset paper --method ensemble --samples 150 --iterations 1 --threads "$count" --quiet --out "run_$count"
    seconds "run_$count" >> "seconds_$count"
  done
  cmp run_1/posterior.nc "run_$threads/posterior.nc"
done
one=$(sort -g seconds_1 | head -1) many=$(sort -g "seconds_$threads" | head -1)
awk -v one="$one" -v many="$many" -v threads="$threads" 'BEGIN {
  printf "results of 150 draws of darcy: %.2f s on 1 thread, %.2f s on %d, %.2f times as fast\n", one, many, threads, one / many }'
