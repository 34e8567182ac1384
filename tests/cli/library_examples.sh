#!/usr/bin/env bash
# The examples of the library, by the numbers that they print, against closed forms and quadrature (worked out apart from rpinn).
# Usage: library_examples.sh FOLDER_OF_EXAMPLES
set -euo pipefail
examples=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compare OUTPUT NAME MEAN SD [SHARE]: the row of a parameter, within 4 standard errors, and its deviation within SHARE (0.1).
compare() {
  awk -v name="$2" -v mean="$3" -v sd="$4" -v share="${5:-0.1}" '
    $1 == name {
      found = 1; z = ($2 - mean) / $4; ratio = $3 / sd
      printf "%-10s mean %10.5f, expected %10.5f, z %5.2f; sd ratio %.3f\n", name, $2, mean, z, ratio
      if (z > 4 || z < -4 || ratio < 1 - share || ratio > 1 + share) bad = 1
    }
    END { exit !found || bad }' <<< "$1"
}
# near OUTPUT PATTERN FIELD EXPECTED TOLERANCE
near() {
  awk -v pattern="$2" -v field="$3" -v expected="$4" -v tolerance="$5" '
    $0 ~ pattern {
      found = 1; value = $field + 0
      printf "%-16s %12.6f, expected %12.6f\n", pattern, value, expected
      if (value - expected > tolerance || expected - value > tolerance) bad = 1
    }
    END { exit !found || bad }' <<< "$1"
}

# The posterior by quadrature. The draws are near it, not of it: 0.0002 of the rate is 4 % of its deviation.
output=$("$examples/randomized")
near "$output" '^rate' 2 0.100077 0.0005
near "$output" '^room' 2 20.0612 0.1
near "$output" '^rate' 3 0.005408 0.0005
near "$output" '^room' 3 1.05434 0.1
near "$output" '4000 draws' 4 4000 100

output=$("$examples/laplace")
near "$output" '^log evidence' 3 -8.614723 1e-6
near "$output" '^leave-one-out' 2 -2.778045 1e-6
near "$output" '^line at 4' 4 9.048688 1e-5
near "$output" '^line at 4' 6 0.612118 1e-6
compare "$output" intercept 0.969818 0.417897
compare "$output" slope 2.019718 0.223425

output=$("$examples/constraints")
compare "$output" oaks 0.209302 0.061329
compare "$output" pines 0.302326 0.069237
compare "$output" birches 0.488372 0.075357
compare "$output" rate 8.039216 1.255515

output=$("$examples/gradient_check")
grep -qxF '0 of 3 wrong: all agree' <<< "$output"
grep -qF "1 of 3 wrong: evaluate: the derivative by 'log_sd' is 2.381842501; differences say -0.618157499" <<< "$output"

# Each datum left out in earnest, by quadrature.
output=$("$examples/leave_one_out")
near "$output" '^normal' 3 -17.8412 0.3
near "$output" '^student' 3 -15.5300 0.1
near "$output" '^student' 13 -4.6511 0.1

output=$("$examples/parallel_chains" "$work/chains.nc" 2> "$work/progress")
grep -q '100 %' "$work/progress"
grep -q '^8 chains of 500 draws, 3 scalars' <<< "$output"
near "$output" '^  height' 4 1 0.1
near "$output" '^  weight' 4 2 0.2
near "$output" '^nested R-hat' 5 1 0.01
[[ -s $work/chains.nc && ! -e $work/chains.nc.part ]]

output=$("$examples/draw_file" "$work/gibbs.nc")
grep -qxF "$work/gibbs.nc: 4 chains of 1000 draws" <<< "$output"
[[ -s $work/gibbs.nc ]]
if "$examples/draw_file" "$work/no/folder.nc" 2> "$work/error"; then exit 1; fi
grep -q 'No such file' "$work/error"
echo "all examples of the library say what they should"
