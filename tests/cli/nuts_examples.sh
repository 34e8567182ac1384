#!/usr/bin/env bash
# The examples of NUTS against published means: |difference| < 4 combined standard errors, with the reference's as
# sd/sqrt(10000) for its 10,000 nearly independent draws. Seven means: by chance one breaks this once in 2000 runs.
# That of variational inference, by the weights of its draws, against sums over a grid: means within 0.05 deviations.
# Usage: nuts_examples.sh EIGHT_SCHOOLS KIDIQ VARIATIONAL
set -euo pipefail

# compare OUTPUT NAME MEAN SD
compare() {
  awk -v name="$2" -v mean="$3" -v sd="$4" '
    $1 == name {
      found = 1; z = ($2 - mean) / sqrt($4 ^ 2 + sd ^ 2 / 10000); ratio = $3 / sd
      printf "%-8s mean %10.4f, expected %10.4f, z %5.2f; sd ratio %.3f\n", name, $2, mean, z, ratio
      if (z > 4 || z < -4 || ratio < 0.9 || ratio > 1.1) bad = 1
    }
    END { exit !found || bad }' <<< "$1"
}

output=$("$1")
compare "$output" mu 4.4105 3.3093
compare "$output" tau 3.6021 3.1985
compare "$output" theta1 6.1505 5.6159
compare "$output" theta8 4.8840 5.3177

output=$("$3")
echo "$output"
awk '$1 == "weighted" { found = 1; a = ($2 - 0.95022) / 0.86348; b = ($4 - 9.98311) / 4.28700; if (a > 0.05 || a < -0.05 || b > 0.05 || b < -0.05 || $6 < 5000) bad = 1 }
     $1 == "ELBO" { if ($2 > -3.11845 || $2 < -3.3) bad = 1 }
     END { exit !found || bad }' <<< "$output"

if "$2" > /dev/null 2>&1; then echo "kidiq without data should fail" >&2 && exit 1; fi
data=${RPINN_REFERENCE_DIR:-}/posteriordb/kidiq.json
if [[ ! -e $data ]]; then
  echo "kidiq: skipped, needs posteriordb/kidiq.json in RPINN_REFERENCE_DIR"
  exit 0
fi
output=$("$2" "$data")
compare "$output" beta1 25.9165 5.9686
compare "$output" beta2 0.608628 0.058982
compare "$output" sigma 18.2758 0.6240
