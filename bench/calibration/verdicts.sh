#!/usr/bin/env bash
# Does the verdict of a run know what its bands are worth? Verdicts of rpinn calibrate beside the coverage that it measures.
#
#   bench/calibration/verdicts.sh PROGRAM FOLDER [PART...]      parts: chosen shown poisson
#
# Every problem with its defaults, and with settings that spoil bands: `hasty`, members that stop long before they converge;
# `narrow`, a prior that is too narrow; `laplace` and `paper` are other ways. Finished scores in FOLDER are not made again. DATASETS another number of data
# sets (10), JOBS calibrations at a time (1). Ends in FOLDER/verdicts.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1 folder=$2
shift 2
parts=("$@")
if [[ ${#parts[@]} == 0 ]]; then parts=(chosen shown poisson); fi
mkdir -p "$folder"

honest="--likelihood noise --optimizer lm --iterations 300 --progress-tolerance 1e-4 --start prior --scale-fields yes"
# NAME SETTINGS PROBLEM OPTIONS...
list() {
  local part file name sigma points
  for part in "${parts[@]}"; do
    if [[ $part == poisson ]]; then
      for sigma in 0.1 0.01; do
        for points in 32 128; do
          echo "linear-$points-$sigma default poisson-linear --set Nf=$points --set sigma=$sigma"
          echo "linear-$points-$sigma paper poisson-linear --set Nf=$points --set sigma=$sigma --preset paper"
        done
        echo "nonlinear-$sigma default poisson-nonlinear --set sigma=$sigma"
        echo "nonlinear-$sigma narrow poisson-nonlinear --set sigma=$sigma $honest --prior-shape iid --prior-scale 0.2"
      done
      continue
    fi
    for file in "$here/$part"/*.yaml; do
      name=$(basename "$file" .yaml)
      echo "$name default $file"
      echo "$name hasty $file --likelihood noise --optimizer adam --iterations 1000 --start glorot --scale-fields no --prior-shape iid --prior-scale 0.5"
      echo "$name narrow $file $honest --prior-shape iid --prior-scale 0.2"
      echo "$name laplace $file --methods laplace"
    done
  done
}

one() { # PROGRAM FOLDER NAME SETTINGS PROBLEM OPTIONS...
  local program=$1 out=$2/$3-$4
  shift 4
  "$program" calibrate "$@" --datasets "${DATASETS:-10}" --samples 39 --seed "${SEED:-1}" --out "$out" --threads 1 --quiet > "$out.log" 2>&1 ||
    tail -n 1 "$out.log"
}
export -f one

list | xargs -P "${JOBS:-1}" -L 1 bash -c 'one "$@"' one "$program" "$folder"
{
  echo "| settings | problem | coverage of 95 %, mean over quantities | good | fair | bad |"
  echo "|---|---|---|---|---|---|"
  for settings in default laplace paper narrow hasty; do
    list | while read -r name kind _; do
      file=$folder/$name-$kind/calibration.md
      if [[ $kind != "$settings" || ! -e $file ]]; then continue; fi
      counts=$(sed -n 's/.*verdicts: \([0-9]*\) good, \([0-9]*\) fair, \([0-9]*\) bad.*/\1 | \2 | \3/p' "$file")
      coverage=$(awk -F'|' '/ ± .* ± / { split($5, cell, " "); sum += cell[1]; count++ } END { if (count) printf "%.0f", sum / count }' "$file")
      echo "| $settings | $name | $coverage | $counts |"
    done
  done
} > "$folder/verdicts.md"
cat "$folder/verdicts.md"
