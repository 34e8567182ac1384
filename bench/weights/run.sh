#!/usr/bin/env bash
# Which weights do the rules choose in the paper's problems, and what are they worth beside the paper's own?
#
#   bench/weights/run.sh PROGRAM FOLDER [CASE...]
#
# For each case: a map of both weights, five values of each about the paper's, by evidence, loo, folds, mse (of u, as the paper did),
# gradients and kernel; and a curve of epsilon at the paper's weights by lpp. Choices are scored on DATASETS (10) data sets of fresh noise by
# runs of MEMBERS (39) members. THREADS (0: all). What is known in FOLDER is not made again. Ends in FOLDER/page.md by collect.py.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1 folder=$2
shift 2
cases=("$@")
if ((!${#cases[@]})); then cases=(linear-32-0.1 linear-32-0.01 linear-128-0.1 linear-128-0.01 nonlinear-32-0.1); fi
mkdir -p "$folder"
for name in "${cases[@]}"; do
  IFS=- read -r kind count noise <<< "$name"
  common=(weights "poisson-$kind" --preset paper --set "Nf=$count" --set "sigma=$noise" --members "${MEMBERS:-39}"
    --datasets "${DATASETS:-10}" --threads "${THREADS:-0}" --quiet)
  "$program" "${common[@]}" --rule evidence,loo,folds,mse,gradients,kernel --quantities u --out "$folder/$name" > "$folder/$name.log"
  "$program" "${common[@]}" --rule lpp --search epsilon --out "$folder/$name-epsilon" > "$folder/$name-epsilon.log"
done
if command -v python3 > /dev/null; then "$here/collect.py" "$folder" "${cases[@]}" | tee "$folder/page.md"; fi
