#!/usr/bin/env bash
# What darcy's results become with each optimiser and budget: bench/darcy_optimizers/run.sh [MEMBERS]
#
# Few members of rPINN per case (4), the same starts and noise in all of them, on the paper's data where
# RPINN_REFERENCE_DIR names them, else on the truth that the problem makes. Some twenty minutes of one core. Writes
# bench/results/darcy_optimizers.md. RPINN_BENCH_CASES="lm:float:50 adam:float:5000" chooses cases, RPINN_PROGRAM the program.
set -euo pipefail
cd "$(dirname "$0")/../.."
members=${1:-4}
results=bench/results/darcy_optimizers.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

program=${RPINN_PROGRAM:-build-bench/rpinn}
if [[ -z ${RPINN_PROGRAM:-} ]]; then scripts/build.sh build-bench -DRPINN_BENCH_PROGRAMS=ON; fi
data=() source="the truth that the problem makes"
if [[ -n ${RPINN_REFERENCE_DIR:-} ]]; then
  data=(--data "$RPINN_REFERENCE_DIR/datasets/darcy_sigma0.1.csv"
    --truth "{csv: $RPINN_REFERENCE_DIR/darcy_reference_256x128.csv, y: log(k), h: h - 141.494}")
  source="the paper's data"
fi
cases=${RPINN_BENCH_CASES:-lm:float:25 lm:float:50 lm:float:100 lm:float:200 lm:double:50 lbfgs:float:500
  lbfgs:float:2000 adam:float:2000 adam:float:5000 adam:float:10000}

{
  echo "Written by bench/darcy_optimizers/run.sh; bench/README.md says what follows from it."
  echo
  echo "\`darcy\`, sigma = 0.1, $source, $members members of rPINN each."
  echo
  echo "| optimiser | precision | iterations | median loss | y: rl2 | mean std | coverage | h: rl2 | mean std | coverage |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
} > "$work/table"
for case in $cases; do
  IFS=: read -r optimizer precision iterations <<< "$case"
  "$program" run darcy --preset paper "${data[@]}" --optimizer "$optimizer" --precision "$precision" --iterations "$iterations" \
    --progress-tolerance 1e-8 --samples "$members" --threads 1 --quiet --out "$work/$case"
  python3 - "$work/$case/summary.json" "$optimizer | $precision | $iterations" << 'END' | tee -a "$work/table"
import json, sys
summary = json.load(open(sys.argv[1]))
members = summary["members"]
cells = [sys.argv[2], f"{members['loss_median']:.0f}"]
for name in ("y", "h"):
    of = summary["quantities"][name]
    cells += [f"{of['rl2']:.2e}", f"{of['mean_std']:.2e}", f"{100 * of['coverage']:.0f} %"]
print("| " + " | ".join(cells) + " |")
END
done
cp "$work/table" "$results"
