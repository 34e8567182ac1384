#!/usr/bin/env bash
# What the iteration budget does to rPINN: bench/early_stopping/run.sh [RPINN [FOLDER]]
#
# The same 100 randomised problems (linear Poisson equation, N_f = 32, sigma = 0.1, the paper's likelihood), minimised
# further and further. Writes bench/results/early_stopping.md. About five minutes of two cores, most of it for the 20000
# iterations. RPINN_REFERENCE_DIR names the published data; without it the data are synthetic, and the page says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
rpinn=${1:-build/rpinn}
folder=${2:-results/early-stopping}
members=100
data=() whose='synthetic data'
if [[ -n ${RPINN_REFERENCE_DIR:-} ]]; then
  data=(--data "$RPINN_REFERENCE_DIR/datasets/poisson_linear_Nf32_sigma0.1.csv") whose='the published data'
fi
mkdir -p "$folder"

run() { # NAME ARGUMENTS...
  local name=$1
  shift
  if [[ ! -e $folder/$name/summary.json ]]; then
    "$rpinn" run poisson-linear --preset paper --method rpinn --samples "$members" "${data[@]}" --quiet \
      --out "$folder/$name" "$@" > /dev/null
  fi
}

row() { # NAME "what it is"
  python3 - "$folder/$1/summary.json" "$2" << 'PYTHON'
import json, sys
summary = json.load(open(sys.argv[1]))
members, u, f = summary["members"], summary["quantities"]["u"], summary["quantities"]["f"]
print(f'| {sys.argv[2]} | {members["loss_median"]:.3g} | {u["rl2"]:.3g} | {u["mean_std"]:.3g} | {f["rl2"]:.3g} | '
      f'{f["mean_std"]:.3g} | {100 * f["coverage"]:.0f} % | {summary["wall_seconds"] / summary["samples"]:.3g} s |')
PYTHON
}

run adam-500 --iterations 500
run adam-2000
run adam-5000 --iterations 5000
run adam-20000 --iterations 20000
run lm --optimizer lm --iterations 100 --progress-tolerance 1e-8 --precision double
run lm-prior --optimizer lm --iterations 100 --progress-tolerance 1e-8 --precision double --start prior
{
  printf '# The iteration budget of rPINN is a regulariser\n\n'
  printf 'Printed by `bench/early_stopping/run.sh`: the same %s randomised problems of `poisson-linear` (N_f = 32, sigma = 0.1), %s.\n\n' "$members" "$whose"
  printf '| minimiser | median loss | rl2 of u | mean std of u | rl2 of f | mean std of f | coverage of f | time per member |\n'
  printf '|---|---:|---:|---:|---:|---:|---:|---:|\n'
  row adam-500 'Adam, 500 iterations'
  row adam-2000 'Adam, 2000 iterations (the paper)'
  row adam-5000 'Adam, 5000 iterations'
  row adam-20000 'Adam, 20000 iterations'
  row lm 'Levenberg–Marquardt, 100 steps from the Glorot start'
  row lm-prior 'Levenberg–Marquardt, 100 steps from a draw of the prior'
} > bench/results/early_stopping.md
cat bench/results/early_stopping.md
