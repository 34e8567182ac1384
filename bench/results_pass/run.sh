#!/usr/bin/env bash
# What the pass that makes results takes: bench/results_pass/run.sh [RPINN [THREADS [MEMBERS]]]
#
# Its share of a run of poisson-linear with MEMBERS members (2000), by the clock and in processor time. The latter is that of the
# finished run resumed, which makes nothing but results, and so a little too large: it holds the start of the program and the
# report. Three times, and the least counts.
#
# How much faster it is on several threads: members of darcy that are hardly minimised; the times stand in run.log and hold all
# that a run writes at its end. Both numbers of threads in turn, three times, and the least of each counts. The bytes must be
# the same. About two minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
rpinn=$(realpath "${1:-build/rpinn}")
threads=${2:-$(nproc)}
members=${3:-2000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

seconds() { # FOLDER; of the last session
  awk '/results are being made/ { begun = $1 } /results are made/ { took = $1 - begun } END { print took }' "$1/run.log"
}
processor_seconds() { # COMMAND...
  local TIMEFORMAT='%U %S'
  { time "$@" > /dev/null; } 2>&1 | awk 'END { print $1 + $2 }' # behind what the program says
}
least() { sort -g "$1" | head -1; }

options=(--samples "$members" --threads "$threads" --quiet --out linear)
whole=$(processor_seconds "$rpinn" run poisson-linear "${options[@]}")
took=$(awk '/results are made/ { print $1 }' linear/run.log)
seconds linear > linear_seconds
cp linear/posterior.nc linear.nc
for _ in 1 2 3; do
  processor_seconds "$rpinn" run poisson-linear --resume "${options[@]}" >> linear_processor
  seconds linear >> linear_seconds
  cmp linear/posterior.nc linear.nc
done
awk -v members="$members" -v threads="$threads" -v whole="$whole" -v took="$took" -v clock="$(least linear_seconds)" \
  -v processor="$(least linear_processor)" 'BEGIN {
  printf "results of %d members of poisson-linear on %d threads: %.2f s of %.1f s, %.1f %%; processor time %.2f s of %.1f s, %.1f %%\n",
    members, threads, clock, took, 100 * clock / took, processor, whole, 100 * processor / whole }'

for _ in 1 2 3; do
  for count in 1 "$threads"; do
    rm -rf "run_$count"
    "$rpinn" run darcy --preset paper --method ensemble --samples 150 --iterations 1 --threads "$count" --quiet --out "run_$count"
    seconds "run_$count" >> "seconds_$count"
  done
  cmp run_1/posterior.nc "run_$threads/posterior.nc"
done
one=$(least seconds_1) many=$(least "seconds_$threads")
awk -v one="$one" -v many="$many" -v threads="$threads" 'BEGIN {
  printf "results of 150 draws of darcy: %.2f s on 1 thread, %.2f s on %d, %.2f times as fast\n", one, many, threads, one / many }'
