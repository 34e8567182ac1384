#!/usr/bin/env bash
# What does a converged member cost, and is it worth the same?
#
#   bench/converged_member/run.sh PROGRAM [MEMBERS]
#
# The problems of bench/calibration/chosen and the shipped Poisson problems, one thread, a prior of scale 1.5 (fan_in) so that no
# time goes into its choice. before: Levenberg-Marquardt until the loss falls by less than 1e-4 of itself in 20 iterations; after:
# with momentum and acceleration, and until it falls by less than 0.1 nats or promises to. Prints processor seconds per member, the ratio, members that
# converged, and the CRPS of every quantity.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1 members=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT=%U

one() { # NAME PROBLEM OPTIONS...: seconds, members that converged, CRPS
  local out=$work/run seconds
  rm -rf "$out"
  seconds=$({ time "$program" run "${@:2}" --likelihood noise --scale-fields yes --prior-shape fan_in --prior-scale 1.5 \
    --optimizer lm --iterations 1000 --start prior --samples "$members" --threads 1 --seed 5 --out "$out" --quiet > "$work/log" 2>&1; } 2>&1)
  awk -v seconds="$seconds" -v members="$members" '
    { text = text $0 }
    END { match(text, /"members": *[{] *"converged": *[0-9]+/); found = substr(text, RSTART, RLENGTH); sub(/.*: */, "", found)
          scores = ""
          while (match(text, /"crps": *[-+.e0-9]+/)) { value = substr(text, RSTART, RLENGTH); sub(/.*: */, "", value)
            scores = scores sprintf(" %.3g", value); text = substr(text, RSTART + RLENGTH) }
          printf "%.5f %s%s\n", seconds / members, found, scores }' "$out/summary.json"
}

printf '%-18s %10s %10s %7s  %9s  %s\n' problem before after ratio converged 'CRPS before | after'
{
  for file in "$here"/../calibration/chosen/*.yaml; do echo "$(basename "$file" .yaml) $file"; done
  for sigma in 0.1 0.01; do
    echo "linear-$sigma poisson-linear --set sigma=$sigma"
    echo "nonlinear-$sigma poisson-nonlinear --set sigma=$sigma"
  done
} | while read -r name arguments; do
  # shellcheck disable=SC2086
  read -r old old_converged old_scores <<< "$(one "$name" $arguments --progress-tolerance 1e-4)"
  # shellcheck disable=SC2086
  read -r new new_converged new_scores <<< "$(one "$name" $arguments)"
  awk -v n="$name" -v a="$old" -v b="$new" -v c="$old_converged/$new_converged" -v s="$old_scores | $new_scores" \
    'BEGIN { printf "%-18s %10.4f %10.4f %7.2f  %9s  %s\n", n, a, b, b / a, c, s }'
done | tee "$work/rows"
awk '{ sum += log($4); n++ } END { printf "geometric mean of the ratios: %.2f\n", exp(sum / n) }' "$work/rows"
