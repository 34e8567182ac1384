#!/usr/bin/env bash
# Loss against time for Adam, L-BFGS and Levenberg-Marquardt: bench/optimizers/run.sh [options of bench_optimizers]
#
# Takes ten minutes of one core. Writes bench/results/optimizers.csv, .md and, where there is gnuplot (Debian package
# gnuplot-nox), .svg and, to look at, .png. darcy needs RPINN_REFERENCE_DIR or --data.
# RPINN_BENCH_CSV=FILE leaves the measurement out and makes table and figure of FILE.
set -euo pipefail
cd "$(dirname "$0")/../.."
results=bench/results
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ -n ${RPINN_BENCH_CSV:-} ]]; then
  cp "$RPINN_BENCH_CSV" "$work/losses.csv"
else
  scripts/build.sh build-bench -DRPINN_BENCH_PROGRAMS=ON
  build-bench/bench_optimizers "$@" > "$work/losses.csv"
fi
cp "$work/losses.csv" "$results/optimizers.csv"
python3 bench/optimizers/summarize.py "$results/optimizers.csv" "$results/optimizers.md" "$work"
if ! command -v gnuplot > /dev/null; then
  echo "no gnuplot: table without figure"
elif [[ -f $work/darcy-lm-float.dat ]]; then
  for format in svg png; do
    gnuplot -e "curves='$work'; output='$results/optimizers.$format'" bench/optimizers/losses.gnuplot
  done
else
  echo "no darcy: table without figure"
fi
cat "$results/optimizers.md"
