#!/usr/bin/env bash
# All methods on the same data sets of many problems: the table of docs/methods.md.
#
#   bench/methods/run.sh PROGRAM FOLDER [PAGE]      PAGE: docs/methods.md, between whose two marker lines the table is written
#   bench/methods/run.sh --list                     the methods
#
# Every method of METHODS (words for rpinn calibrate --methods, separated by blanks) calibrates every problem of PROBLEMS
# (bench/calibration/shown) with DATASETS data sets (20), or N where its word ends in @N, and MEMBERS members (79), each in a folder of
# its own under FOLDER; scores that are there are not made again. JOBS calibrations at a time (one for each core) with THREADS each (1), in the order of METHODS; one
# that takes longer than LIMIT seconds (0: none) ends with the data sets that it has. SEED (1) is that of the data sets. A calibration
# that fails is named with its message, and the others go on. Without PAGE the table is only printed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
problems=${PROBLEMS:-$here/../calibration/shown/*.yaml}
# SVGD moves slowly: ten times the usual step, falling, so that its particles come to rest in 3000 iterations.
slow=iterations=3000:learning_rate=0.01:decay_rate=0.5:decay_steps=1000
methods=${METHODS:-rpinn nuts rpinn:correct=nuts svgd:kernel=functions:$slow svgd:$slow vi ensemble rpinn:correct=mh laplace}
if [[ $1 == --list ]]; then
  tr ' ' '\n' <<< "$methods"
  exit
fi
program=$1 folder=$2 page=${3:-}
mkdir -p "$folder"

# PROBLEM METHOD
list() {
  local method file
  for method in $methods; do
    for file in $problems; do echo "$file $method"; done
  done
}

one() { # PROGRAM FOLDER PROBLEM METHOD[@N]
  local out method=${4%@*} sets=${DATASETS:-20}
  if [[ $4 == *@* ]]; then sets=${4##*@}; fi
  out=$2/$(basename "$3" .yaml)/${method//:/+}
  mkdir -p "$(dirname "$out")"
  timeout --signal=INT --kill-after=60 "${LIMIT:-0}" "$1" calibrate "$3" --methods "$method" --members "${MEMBERS:-79}" --datasets "$sets" \
    --seed "${SEED:-1}" --out "$out" --threads "${THREADS:-1}" --quiet > "$out.log" 2>&1 || echo "$(basename "$3" .yaml), $method: $(tail -n 1 "$out.log")"
}
export -f one

list | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'one "$@"' one "$program" "$folder"
HIDDEN_SETTINGS=$slow python3 "$here/table.py" "$folder" ${page:+"$page"}
