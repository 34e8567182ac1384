#!/usr/bin/env bash
# Do many short chains from rPINN's members say what a few long ones say, and at what price?
#
#   bench/short_chains/run.sh PROGRAM FOLDER PROBLEM...
#
# For each problem: MEMBERS members (64) with the scale that the data choose; from these CHAINS chains (256) of DRAWS draws (50) after
# WARMUP iterations (300), under the same prior or one of SCALE and SHAPE (iid); and 4 chains of LONG draws (2000) after 1000. LIMIT seconds for each
# (150), on THREADS threads (0: one for each core). Ends in FOLDER/page.md by compare.py.
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
  go members --samples "${MEMBERS:-64}"
  prior=(--prior-scale "$(sed -n 's/.*"prior": {"scale": \([0-9.]*\).*/\1/p' "$out/members/summary.json")")
  if [[ ${SCALE:-} ]]; then prior=(--prior-scale "$SCALE" --prior-shape "${SHAPE:-iid}"); fi
  go short --method nuts --start "$out/members" "${prior[@]}" --chains "${CHAINS:-256}" --samples "${DRAWS:-50}" --warmup "${WARMUP:-300}"
  go long --method nuts "${prior[@]}" --chains 4 --samples "${LONG:-2000}" --warmup 1000
done
"$here/compare.py" "$folder" "${names[@]}" | tee "$folder/page.md"
