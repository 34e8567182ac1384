#!/usr/bin/env bash
# How many iterations does a member take, why does it stop, and what does one cost that converged?
#
#   bench/lm_convergence/run.sh PROGRAM...      the first is what the others are set beside; ends in a table, Markdown
#
# MEMBERS members (20) of rPINN by Levenberg-Marquardt as it is by default (at most 1000 iterations), one thread, priors of the scales
# SCALES ("1.5 3 10", fan_in), so that no time goes into their choice: 10 is far wider than any that data choose. Processor time is that of
# the run less that of the same with one iteration. Problems: those of bench/calibration, of bench/correct_nuts, the shipped Poisson
# problems with two noises, and those of tests/problems that have no files of data. A run may take LIMIT seconds (300).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT=%U

# GROUP NAME PROBLEM OPTIONS...
list() {
  local file name sigma
  for file in "$here"/../calibration/{chosen,shown,fields}/*.yaml; do echo "calibration $(basename "$file" .yaml) $file"; done
  for file in "$here"/../correct_nuts/unseen/*.yaml; do echo "unseen $(basename "$file" .yaml) $file"; done
  for sigma in 0.1 0.01; do
    echo "poisson linear-$sigma poisson-linear --set sigma=$sigma"
    echo "poisson nonlinear-$sigma poisson-nonlinear --set sigma=$sigma"
  done
  for name in advection burgers convection eikonal elasticity heat-2d linear-model monge-ampere obstacle reaction wave-3d; do
    echo "tests $name $here/../../tests/problems/$name.yaml"
  done
}

one() { # PROGRAM SCALE OUT PROBLEM OPTIONS...: processor seconds
  { time timeout "${LIMIT:-300}" "$1" run "${@:4}" --likelihood noise --scale-fields yes --prior-shape fan_in --prior-scale "$2" \
    --optimizer lm --start prior --samples "${MEMBERS:-20}" --threads 1 --seed 5 --out "$3" --quiet > "$work/log" 2>&1; } 2>&1 || tail -n 1 "$work/log" >&2
}

number=0
for program in "$@"; do
  for scale in ${SCALES:-1.5 3 10}; do
    list | while read -r group name arguments; do
      out=$work/$number/$scale/$group/$name
      mkdir -p "$out"
      # shellcheck disable=SC2086
      one "$program" "$scale" "$out/run" $arguments > "$out/seconds"
      # shellcheck disable=SC2086
      one "$program" "$scale" "$out/short" $arguments --iterations 1 > "$out/short_seconds"
    done
  done
  number=$((number + 1))
done
python3 "$here/table.py" "$work" "$number"
