#!/usr/bin/env bash
# What does --correct nuts cost, and what does it mend?
#
#   bench/correct_nuts/run.sh PROGRAM FOLDER PROBLEM...
#
# For each problem, with the scale that the data choose for its members: SAMPLES members (128), the same continued by NUTS, and 4 chains of
# DRAWS draws (1000) after as many iterations of warmup. LIMIT seconds for each (150). Ends in FOLDER/page.md by compare.py.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1 folder=$2
shift 2
mkdir -p "$folder"
names=()
for problem in "$@"; do
  name=$(basename "$problem" .yaml)
  names+=("$name")
  out=$folder/$name
  mkdir -p "$out"
  go() { # NAME OPTIONS...
    if [[ -e $out/$1/summary.json ]]; then return; fi
    "$program" run "$problem" --out "$out/$1" --resume --quiet --time-limit "${LIMIT:-150}" "${@:2}" > "$out/$1.log" 2>&1 || tail -n 1 "$out/$1.log"
  }
  go members --samples "${SAMPLES:-128}"
  scale=$(sed -n 's/.*"prior": {"scale": \([0-9.]*\).*/\1/p' "$out/members/summary.json")
  go corrected --samples "${SAMPLES:-128}" --prior-scale "$scale" --prior-shape fan_in --correct nuts
  go long --method nuts --prior-scale "$scale" --prior-shape fan_in --chains 4 --samples "${DRAWS:-1000}" --warmup "${DRAWS:-1000}"
done
"$here/compare.py" "$folder" "${names[@]}" | tee "$folder/page.md"
