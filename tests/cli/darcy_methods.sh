#!/usr/bin/env bash
# rpinn run darcy with every method and optimiser, for very few iterations; its default, and Adam as the paper has it.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# NAME METHOD WORDS ARGUMENTS…: the run ends well, has errors of both fields, and its summary has these words
try() {
  local name=$1 method=$2 words=$3
  shift 3
  run 0 run darcy --preset paper --method "$method" --out "$name" --quiet "$@"
  has "$(< "$name/summary.json")" "\"method\": \"$method\""
  has "$(< "$name/summary.json")" "$words"
  for field in y h; do
    grep -q "\"$field\": {\"rl2\": [0-9]" "$name/summary.json" || complain "$name: no error of $field"
  done
  for file in posterior.nc fields.vti predictions.csv report.html; do
    if [[ ! -s $name/$file ]]; then complain "$name: no $file"; fi
  done
}
try rpinn rpinn '"optimizer": "lm"' --optimizer lm --samples 2 --iterations 2
try ensemble ensemble '"optimizer": "lm"' --optimizer lm --samples 2 --iterations 2
try map map '"optimizer": "lm"' --optimizer lm --iterations 2
try lbfgs rpinn '"optimizer": "lbfgs"' --samples 1 --iterations 3 --optimizer lbfgs
try adam rpinn '"optimizer": "adam"' --samples 1 --iterations 3 --optimizer adam
try nuts nuts '"per_chain": [{' --chains 2 --warmup 4 --samples 3 --max-depth 2
try svgd svgd '"samples": 3' --samples 3 --iterations 2

# What one gets without asking, and what the paper did
run 0 run darcy --plan
has "$out" "39 members of 22442 parameters, at most 1000 iterations of lm each"
run 0 run darcy --preset paper --plan
has "$out" "500 members of 22442 parameters, at most 50000 iterations of adam each"
run 0 run darcy --preset paper --samples 1 --iterations 1 --out paper --quiet
for line in "learning_rate: 0.0001" "decay_rate: 0.9" "decay_steps: 5000" "optimizer: adam" "likelihood: paper"; do
  has "$(< paper/run.yaml)" "$line"
done
run 0 run darcy --preset paper --method nuts --plan
has "$out" "4 chains of 100000 warmup iterations and 500 draws"
exit $failed
