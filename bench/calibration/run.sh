#!/usr/bin/env bash
# Do intervals hold with stated noise, Levenberg-Marquardt from prior draws and a prior scale that the data choose?
#
#   bench/calibration/run.sh PROGRAM FOLDER [PART...]      parts: chosen shown poisson
#
# chosen: the problems by which these settings were chosen; shown: others, to show them on (40 data sets each); poisson: the
# shipped Poisson problems (100 data sets), beside the settings of the paper. Finished scores in FOLDER are not made again.
# JOBS calibrations at a time (default: one for two cores), DATASETS another number of data sets. Ends in FOLDER/page.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1 folder=$2
shift 2
parts=("$@")
if [[ ${#parts[@]} == 0 ]]; then parts=(chosen shown poisson); fi
jobs=${JOBS:-$((($(nproc) + 1) / 2))}
mkdir -p "$folder"

# NAME DATASETS PROBLEM OPTIONS...
list() {
  local honest="--likelihood noise --optimizer lm --iterations 300 --progress-tolerance 1e-4 --start prior --scale-fields yes --prior-scale loo"
  local part file sigma points
  for part in "${parts[@]}"; do
    if [[ $part == poisson ]]; then
      for sigma in 0.1 0.01; do
        for points in 32 128; do
          echo "linear-$points-$sigma ${DATASETS:-100} poisson-linear --set Nf=$points --set sigma=$sigma $honest"
          echo "linear-$points-$sigma-paper ${DATASETS:-100} poisson-linear --set Nf=$points --set sigma=$sigma --preset paper"
        done
        echo "nonlinear-$sigma ${DATASETS:-100} poisson-nonlinear --set sigma=$sigma $honest"
        echo "nonlinear-$sigma-fan ${DATASETS:-100} poisson-nonlinear --set sigma=$sigma $honest --prior-shape fan_in"
        echo "nonlinear-$sigma-paper ${DATASETS:-100} poisson-nonlinear --set sigma=$sigma --preset paper"
      done
    else
      for file in "$here/$part"/*.yaml; do
        echo "$(basename "$file" .yaml) ${DATASETS:-40} $file $honest --seed ${SEED:-1}"
      done
    fi
  done
}

one() { # PROGRAM FOLDER NAME DATASETS PROBLEM OPTIONS...
  local program=$1 out=$2/$3 count=$4
  shift 4
  "$program" calibrate "$@" --datasets "$count" --out "$out" --threads 2 --quiet > "$out.log" 2>&1 || tail -n 1 "$out.log"
}
export -f one

list | xargs -P "$jobs" -L 1 bash -c 'one "$@"' one "$program" "$folder"
{
  echo "# Calibration with a chosen prior scale"
  echo
  echo "Printed by \`bench/calibration/run.sh\`; coverage in % of the points, ± a standard error over data sets."
  echo
  echo "| problem | data sets | quantity | 50 % | 80 % | 95 % | CRPS | width of 95 % | error |"
  echo "|---|---|---|---|---|---|---|---|---|"
  list | while read -r name _; do
    count=$(sed -n 's/^\([0-9]*\) of .* data sets.*/\1/p' "$folder/$name/calibration.md")
    sed -n "s/^| \([^|]* | .* ± .* ± \)/| $name | $count | \1/p" "$folder/$name/calibration.md"
  done
} > "$folder/page.md"
cat "$folder/page.md"
