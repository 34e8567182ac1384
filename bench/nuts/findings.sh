#!/usr/bin/env bash
# What the paper found with NUTS, at shortened length: bench/nuts/findings.sh [RPINN [FOLDER]]
#
# Three runs with the paper's sampler (--preset paper: unit metric, step adapted over 75 % of the warmup, chain 1 from zero, the others
# from N(0,1)) on the published data, with shorter warmup and fewer draws; then `rpinn diagnose` on each. Writes
# bench/results/nuts.md. About ten minutes of two cores. Needs RPINN_REFERENCE_DIR; runs that are finished in FOLDER are not repeated.
set -euo pipefail
cd "$(dirname "$0")/../.."
rpinn=${1:-build/rpinn}
folder=${2:-results/nuts}
data=${RPINN_REFERENCE_DIR:?names the folder with datasets}/datasets
mkdir -p "$folder"

make_run() { # NAME PROBLEM DATA ARGUMENTS...
  local name=$1 problem=$2 file=$3
  shift 3
  if [[ ! -e $folder/$name/summary.json ]]; then
    local resume=()
    if [[ -e $folder/$name/checkpoint.db ]]; then resume=(--resume); fi
    "$rpinn" run "$problem" --preset paper --method nuts --data "$data/$file" --quiet --out "$folder/$name" "${resume[@]}" "$@"
  fi
}
make_run linear-32 poisson-linear poisson_linear_Nf32_sigma0.1.csv --chains 4 --warmup 1500 --samples 1000
make_run linear-128 poisson-linear poisson_linear_Nf128_sigma0.01.csv --set Nf=128 --set sigma=0.01 --chains 4 --warmup 1500 --samples 500
make_run nonlinear poisson-nonlinear poisson_nonlinear_Nf32_sigma0.1.csv --chains 6 --warmup 1500 --samples 500

section() { # NAME TITLE
  local code=0
  "$rpinn" diagnose "$folder/$1" > "$folder/$1.txt" || code=$?
  printf '\n## %s\n\n```text\n' "$2"
  "$rpinn" summary "$folder/$1"
  printf '```\n\n`rpinn diagnose`: exit code %s\n\n```text\n' "$code"
  grep -A1 -E '^(problem|remark|ok|not ok)' "$folder/$1.txt" | grep -v '^--$' || true
  printf '```\n'
}
{
  printf '# NUTS on the problems of the paper, at shortened length\n\n'
  printf 'Printed by `bench/nuts/findings.sh`: the paper'"'"'s sampler and the published data, but 1500 iterations of warmup in place of 50000\n'
  printf 'and 100000, and 1000 or 500 draws per chain in place of 5000.\n'
  section linear-32 'Linear, N_f = 32, sigma = 0.1: the chains agree in function space (u mean std near 0.098, f near 0.05)'
  section linear-128 'Linear, N_f = 128, sigma = 0.01: parameters do not mix, functions agree'
  section nonlinear 'Non-linear, sigma = 0.1: the chains agree in f and disagree in u'
} > bench/results/nuts.md
cat bench/results/nuts.md
