#!/usr/bin/env bash
# What does --correct nuts cost, and what does it mend?
#
#   bench/correct_nuts/run.sh PROGRAM FOLDER PROBLEM...
#
# For each problem, with the scale that the data choose for its members, or a prior of SCALE and SHAPE (fan_in): SAMPLES members (128), the same
# continued by NUTS within BUDGET gradients of each (100000), from members of the scale START where it is given, and 4 chains of DRAWS draws (1000) after as many iterations of warmup. LIMIT seconds
# for each (150), on THREADS threads (0: one for each core). Ends in FOLDER/page.md by compare.py.
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
    "$program" run "$problem" --out "$out/$1" --resume --quiet --time-limit "${LIMIT:-150}" --threads "${THREADS:-0}" "${@:2}" > "$out/$1.log" 2>&1 || tail -n 1 "$out/$1.log"
  }
  shape=${SHAPE:-fan_in}
  go members --samples "${SAMPLES:-128}" ${SCALE:+--prior-scale "$SCALE" --prior-shape "$shape"}
  scale=${SCALE:-$(sed -n 's/.*"prior": {"scale": \([0-9.]*\).*/\1/p' "$out/members/summary.json")}
  go corrected --samples "${SAMPLES:-128}" --prior-scale "$scale" --prior-shape "$shape" --correct nuts --correct-budget "${BUDGET:-100000}" \
    ${START:+--correct-scale "$START"}
  go long --method nuts --prior-scale "$scale" --prior-shape "$shape" --chains 4 --samples "${DRAWS:-1000}" --warmup "${DRAWS:-1000}"
done
"$here/compare.py" "$folder" "${names[@]}" | tee "$folder/page.md"
