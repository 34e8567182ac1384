#!/usr/bin/env bash
# Every method on one thread and on three ends in the same bytes, and threads that are interrupted go on. ThreadSanitizer
# runs this script too.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

cat > small.yaml << 'YAML'
name: small
coordinates: {x: [0, 1]}
fields: {u: {network: [4]}}
unknowns: {c: {start: 1, transform: log, prior: {mean: 0, std: 1}}}
quantities: {f: "c*d(u, x, x)"}
truth: {u: sin(3*x), f: -2*9*sin(3*x)}
terms:
  f: {expect: f, at: {grid: 6}, data: truth, noise: 0.5}
  u: {expect: u, at: {grid: 5}, data: truth, noise: 0.05}
predict: {grid: 7, quantities: [u, f]}
settings:
  likelihood: noise
  prior_scale: 1
  optimizer: adam
  start: glorot
  scale_fields: no
  samples: 12
  iterations: 40
  nuts: {samples: 20, warmup: 20, max_depth: 4}
  svgd: {samples: 9, iterations: 30}
YAML

same() { # FOLDER FOLDER
  for file in posterior.nc predictions.csv summary.csv; do
    if ! cmp -s "$1/$file" "$2/$file"; then complain "$1/$file and $2/$file differ"; fi
  done
}

for arguments in "map" "ensemble" "rpinn --correct mh" "rpinn --optimizer lm" "nuts" "nuts --metric dense" "svgd"; do
  read -ra method <<< "$arguments"
  for threads in 1 3; do run 0 run small.yaml --method "${method[@]}" --threads $threads --out "$threads" --quiet; done
  same 1 3
  rm -r 1 3
done

# Interrupted somewhere, again and again, and ended by another number of threads.
run 0 run small.yaml --method rpinn --samples 60 --threads 3 --out whole --quiet
resume=()
for seconds in 0.1 0.2 0.3 0.4; do
  timeout --signal INT $seconds "$RPINN_PROGRAM" run small.yaml --method rpinn --samples 60 --threads 3 --out broken --quiet \
    "${resume[@]}" > broken.log 2>&1 || true
  if [[ -e broken/checkpoint.db ]]; then resume=(--resume); fi
done
run 0 run small.yaml --method rpinn --samples 60 --threads 2 --out broken --quiet "${resume[@]}"
same whole broken
exit $failed
