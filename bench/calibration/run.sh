#!/usr/bin/env bash
# Do intervals hold with the defaults: stated noise, Levenberg-Marquardt, a prior scale that the data choose?
#
#   bench/calibration/run.sh PROGRAM FOLDER [PART...]      parts: chosen shown fixed poisson darcy
#
# chosen: the problems by which the defaults were chosen; shown: others, to show them on (40 data sets each); fixed: the same
# with each scale of a grid in turn (10 data sets); poisson: the shipped Poisson problems (100 data sets), beside the settings of
# the paper; darcy: ten data sets. Finished scores in FOLDER are not made again. JOBS calibrations at a time (default: one for
# each core) with THREADS each (1), DATASETS another number of data sets, LIMIT seconds after which a calibration ends with what
# it has, METHODS another method. Ends in FOLDER/page.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1 folder=$2
shift 2
parts=("$@")
if [[ ${#parts[@]} == 0 ]]; then parts=(chosen shown fixed poisson darcy); fi
jobs=${JOBS:-$(nproc)}
mkdir -p "$folder"

# NAME DATASETS PROBLEM OPTIONS...
list() {
  local part file sigma points shape scale
  for part in "${parts[@]}"; do
    case $part in
      poisson)
        for sigma in 0.1 0.01; do
          for points in 128 32; do
            echo "linear-$points-$sigma ${DATASETS:-100} poisson-linear --set Nf=$points --set sigma=$sigma"
            echo "linear-$points-$sigma-paper ${DATASETS:-100} poisson-linear --preset paper --set Nf=$points --set sigma=$sigma"
          done
          echo "nonlinear-$sigma ${DATASETS:-100} poisson-nonlinear --set sigma=$sigma"
          echo "nonlinear-$sigma-paper ${DATASETS:-100} poisson-nonlinear --preset paper --set sigma=$sigma"
        done
        ;;
      darcy) echo "darcy ${DATASETS:-10} darcy --redraw noise" ;;
      fixed)
        for file in "$here"/shown/*.yaml; do
          for scale in "iid 0.3" "iid 0.5" "iid 0.8" "fan_in 1" "fan_in 1.5" "fan_in 2" "fan_in 3"; do
            shape=${scale% *} scale=${scale#* }
            echo "$(basename "$file" .yaml)-$shape-$scale ${DATASETS:-10} $file --prior-shape $shape --prior-scale $scale --seed ${SEED:-1}"
          done
        done
        ;;
      *)
        for file in "$here/$part"/*.yaml; do
          echo "$(basename "$file" .yaml) ${DATASETS:-40} $file --seed ${SEED:-1}"
        done
        ;;
    esac
  done
}

one() { # PROGRAM FOLDER NAME DATASETS PROBLEM OPTIONS...
  local program=$1 out=$2/$3 count=$4
  shift 4
  timeout --signal=INT "${LIMIT:-0}" "$program" calibrate "$@" --methods "${METHODS:-rpinn}" --members 79 --datasets "$count" --out "$out" --threads "${THREADS:-1}" --quiet \
    > "$out.log" 2>&1 || tail -n 1 "$out.log"
}
export -f one

list | xargs -P "$jobs" -L 1 bash -c 'one "$@"' one "$program" "$folder"
{
  echo "# Calibration with the defaults"
  echo
  echo "Printed by \`bench/calibration/run.sh\`; coverage in % of the points, ± a standard error over data sets."
  echo
  echo "| problem | data sets | quantity | 50 % | 80 % | 95 % | CRPS | width of 95 % | error |"
  echo "|---|---|---|---|---|---|---|---|---|"
  list | while read -r name _; do
    if [[ ! -e $folder/$name/calibration.md ]]; then continue; fi
    count=$(sed -n 's/^\([0-9]*\) of .* data sets.*/\1/p' "$folder/$name/calibration.md")
    sed -n "s/^| \([^|]* | .* ± .* ± \)/| $name | $count | \1/p" "$folder/$name/calibration.md"
  done
  echo
  echo "| problem | data sets | seconds each | prior scale: mean (least to most) | good | fair | bad |"
  echo "|---|---|---|---|---|---|---|"
  list | while read -r name _; do
    if [[ ! -e $folder/$name/calibration.md ]]; then continue; fi
    sed -n "s/^\([0-9]*\) of .* data sets, \([0-9.]*\) s each; prior scale \([^;]*\); verdicts: \([0-9]*\) good, \([0-9]*\) fair, \([0-9]*\) bad.*/| $name | \1 | \2 | \3 | \4 | \5 | \6 |/p" \
      "$folder/$name/calibration.md"
  done
} > "$folder/page.md"
cat "$folder/page.md"
