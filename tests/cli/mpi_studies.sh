#!/usr/bin/env bash
# Studies by ranks: calibrations, searches for weights, reproductions. Every run is made by one rank, and the tables are those of a single process.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
job=
trap 'if [[ -n $job ]]; then kill -9 "$job" 2> /dev/null || true; fi; rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
# shellcheck source=tests/cli/launchers.sh
. "$RPINN_SOURCE_DIR/tests/cli/launchers.sh"
cat > small.yaml << 'END'
name: small
coordinates: {x: [0, 1]}
fields: {u: {network: [4]}}
truth: {u: sin(3*x)}
terms: {u: {expect: u, at: {grid: 8}, data: truth, noise: 0.1}}
predict: {grid: 5, quantities: [u]}
END
# alike ONE OTHER: tables of two calibrations, without the times in column 13
alike() {
  if ! diff <(cut -d, -f13 --complement "$1/calibration.csv") <(cut -d, -f13 --complement "$2/calibration.csv") > difference; then
    complain "$2 is not $1: $(< difference)"
  fi
}
last=${launchers[-1]}

# ---- calibrations: rank 0 speaks, and runs come in their order, whoever made them ----
calibrate=(calibrate small.yaml --datasets 4 --members 39 --methods rpinn,laplace --prior-scale 1)
run 0 "${calibrate[@]}" --out whole --quiet
ranks 0 "${launchers[0]}" 3 "${calibrate[@]}" --out together
has "$out" "together/report.html"
if [[ $(grep -o '^[0-9]* of 8 runs' <<< "$err" | cut -d' ' -f1 | tr '\n' ' ') != "1 2 3 4 5 6 7 8 " ]]; then complain "runs are told in another order: $err"; fi
alike whole together
if [[ $(ls together/scores) != "$(ls whole/scores)" ]]; then complain "scores are $(ls together/scores)"; fi
if [[ -n $(ls -A together/runs) ]]; then complain "runs are left behind: $(ls together/runs)"; fi
ranks 0 "$last" 2 "${calibrate[@]}" --out together # nothing is made again
if [[ $(grep -c 'of 8 runs, ' <<< "$err") != 0 ]]; then complain "runs that are known are made again: $err"; fi
run 0 calibrate small.yaml --from data --folds 3 --members 39 --prior-scale 1 --out folds --quiet
ranks 0 "$last" 4 calibrate small.yaml --from data --folds 3 --members 39 --prior-scale 1 --out folds-together --quiet
alike folds folds-together

# ---- weights: what rank 0 chooses is scored by all ----
weights=(weights small.yaml --members 39 --prior-scale 1 --search prior=0.5,1,2 --datasets 2)
run 0 "${weights[@]}" --out weights --quiet
ranks 0 "$last" 3 "${weights[@]}" --out weights-together --quiet
for file in weights.csv weights.json chosen.yaml; do
  if ! cmp "weights/$file" "weights-together/$file"; then complain "$file of ranks differs"; fi
done

# ---- reproductions ----
paper=(reproduce table1 --members 2 --methods rpinn,ensemble)
run 0 "${paper[@]}" --out paper --quiet
ranks 0 "${launchers[0]}" 3 "${paper[@]}" --out paper-together --quiet
if ! diff <(sed -E 's/[0-9.]+ s\b//g' paper/table1.md) <(sed -E 's/[0-9.]+ s\b//g' paper-together/table1.md) > difference; then
  complain "the table of ranks differs: $(< difference)"
fi

# ---- an end that another rank than the first is asked for; the same command goes on, with another number of ranks ----
long=(calibrate small.yaml --datasets 4 --members 39 --optimizer adam --iterations 30000 --prior-scale 1 --threads 1 --quiet)
begin_ranks "${launchers[0]}" 3 "${long[@]}" --out "$work/stopped"
while (($(ls stopped/runs 2> /dev/null | wc -l) < 3)) && kill -0 "$job" 2> /dev/null; do sleep 0.02; done
process=$(process_of 2 "$work/stopped")
if [[ -n $process ]]; then kill -TERM "$process"; fi
end_ranks
if ((status != 130)); then complain "SIGTERM to rank 2 of a calibration: exit code $status, expected 130: $err"; fi
if (($(grep -c "interrupted; the scores so far are in $work/stopped" <<< "$err") != 1)); then complain "not one rank speaks: $err"; fi
if [[ -e stopped/calibration.csv && $(wc -l < stopped/calibration.csv) -ge 6 ]]; then complain "a calibration that is stopped has all scores"; fi
ranks 0 "$last" 2 "${long[@]}" --out stopped
run 0 "${long[@]}" --out steady
alike steady stopped

# ---- mistakes ----
ranks 2 "$last" 2 "${calibrate[@]}" --jobs 2 --out none
has "$err" "--jobs 2 is for one process; of 2 ranks each makes one run at a time"
ranks 2 "$last" 3 calibrate small.yaml --datasets 3 --members 39 --prior-scale 2 --out whole
if (($(grep -c "rpinn: whole/" <<< "$err") != 1)); then complain "not one message: $err"; fi

exit "$failed"
