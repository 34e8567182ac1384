#!/usr/bin/env bash
# rpinn calibrate from the outside: tables that agree with each other, going on, chosen scales, and what it refuses.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# Linear in its parameters, with the noise as stated and a prior that holds the truth: the intervals must hold.
cat > line.yaml << 'END'
name: line
coordinates: {x: [0, 1]}
fields: {u: {network: [6], trainable: output}}
unknowns: {c: {start: 0, prior: {mean: 0, std: 1}}}
truth: {u: 0.5 + x, c: 0.3}
terms:
  u: {expect: u, at: {latin_hypercube: 12}, data: truth, noise: 0.1}
  c: {expect: c + 0*u, at: {grid: 3}, data: truth, noise: 0.2}
predict: {grid: 11, quantities: [u]}
settings: {likelihood: noise, optimizer: lm, start: prior, prior_scale: 1, scale_fields: no}
END
run 0 calibrate line.yaml --datasets 8 --members 39 --out line
has "$err" "8 of 8 runs"
has "$out" "# Calibration of line"
has "$out" "8 of 8 data sets"
for name in u c; do has "$out" "| $name |"; done
if [[ $(ls line/scores | wc -l) != 8 || -n $(ls line/runs) ]]; then complain "scores and runs: $(ls line/*)"; fi
if [[ $(wc -l < line/calibration.csv) != 17 ]]; then complain "rows: $(< line/calibration.csv)"; fi
if python3 -c pass 2> /dev/null; then
  python3 - << 'END' || complain "calibration.json, .csv and .md do not agree"
import csv, json, math
page = json.load(open("line/calibration.json"))
rows = [row for row in csv.DictReader(open("line/calibration.csv")) if row["name"] == "u"]
u = page["methods"]["rpinn"]["quantities"]["u"]
for level in ("50", "80", "95"):
    values = [float(row["coverage" + level]) for row in rows]
    mean = sum(values) / 8
    error = math.sqrt(sum((v - mean) ** 2 for v in values) / 7 / 8)
    p = int(level) / 100
    assert abs(u["coverage"][level]["mean"] - mean) < 1e-6, (level, u, mean)
    assert abs(u["coverage"][level]["error"] - max(error, math.sqrt(p * (1 - p) / 8))) < 1e-6, (level, u, error)
assert abs(u["crps"]["mean"] - sum(float(row["crps"]) for row in rows) / 8) < 1e-6
assert abs(sum(u["pit"]) - 1) < 1e-9 and len(u["pit"]) == 20
assert u["coverage"]["95"]["mean"] > 0.6, u
assert len({row["crps"] for row in rows}) == 8, "every data set has noise of its own"
cell = "%.1f ± %.1f" % (100 * u["coverage"]["95"]["mean"], 100 * u["coverage"]["95"]["error"])
assert cell in open("line/calibration.md").read(), cell
END
fi
# What is scored is not made again, and more data sets leave the first ones alone.
cp line/scores/rpinn-0003.json kept.json
run 0 calibrate line.yaml --datasets 9 --members 39 --out line --quiet
if [[ -n $err || $(ls line/scores | wc -l) != 9 ]] || ! cmp -s kept.json line/scores/rpinn-0003.json; then complain "going on: $err"; fi
# Fresh points change the data too; the noise alone leaves the points where they are.
run 0 calibrate line.yaml --datasets 2 --members 39 --redraw points --out points --quiet --keep-runs
run 0 calibrate line.yaml --datasets 2 --members 39 --out noise --quiet --keep-runs
for k in points noise; do grep -E '_seed' $k/runs/rpinn-0002/run.yaml > $k.seeds; done
has "$(< points.seeds)" "points_seed: 2"
has "$(< noise.seeds)" "points_seed: auto"
has "$(< noise.seeds)" "noise_seed: 2"
# A scale that is chosen anew for each data set stands in the scores and in run.yaml.
run 0 calibrate line.yaml --datasets 2 --members 39 --prior-scale loo --out chosen --quiet --keep-runs
scale=$(sed -n 's/^  prior_scale: //p' chosen/runs/rpinn-0001/run.yaml)
has "$(< chosen/scores/rpinn-0001.json)" "\"prior_scale\": $scale,"
has "$(grep '^prior:' chosen/runs/rpinn-0001/run.yaml)" "chosen_by: loo"
# Resuming, and running run.yaml again, do not choose again.
run 0 run chosen/runs/rpinn-0001/run.yaml --out again --quiet
cmp chosen/runs/rpinn-0001/posterior.nc again/posterior.nc || complain "run.yaml of a chosen scale gives other draws"
cmp chosen/runs/rpinn-0001/run.yaml again/run.yaml || complain "run.yaml of a chosen scale gives another run.yaml"

for rule in loo evidence; do
  chosen=(run line.yaml --prior-scale $rule --quiet)
  run 0 "${chosen[@]}" --samples 5 --out "$rule-whole"
  run 0 "${chosen[@]}" --samples 3 --out $rule
  run 0 "${chosen[@]}" --samples 4 --out $rule --resume
  run 0 run $rule/run.yaml --samples 5 --quiet --out $rule --resume
  cmp $rule/posterior.nc "$rule-whole/posterior.nc" || complain "a run with a scale by $rule that went on has other draws"
done
mistake "was prior: {epsilon: 0, chosen_by: loo}, is now prior: {epsilon: 0, chosen_by: evidence}" \
  run line.yaml --prior-scale evidence --quiet --samples 5 --out loo --resume
# An unknown that is predicted too has one row, and the same command goes on; one data set has no spread of scores.
sed 's/quantities: \[u\]/quantities: [u, c]/' line.yaml > both.yaml
run 0 calibrate both.yaml --datasets 1 --members 39 --out both --quiet
if [[ $(grep -c '^| c |' both/calibration.md) != 1 ]]; then complain "rows of c: $(< both/calibration.md)"; fi
if grep -q nan both/calibration.md; then complain "nan: $(< both/calibration.md)"; fi
run 0 calibrate both.yaml --datasets 2 --members 39 --out both --quiet --threads 1
# Settings that a run may change make other scores: they are not mixed.
mistake "both/calibrated-rpinn.yaml: the scores in this folder are of another problem, other settings" \
  calibrate both.yaml --datasets 2 --members 39 --out both --correct mh
mistake "other settings" calibrate both.yaml --datasets 2 --members 39 --out both --time-limit 9
nuts=(calibrate line.yaml --methods nuts --members 39 --warmup 20 --chains 2 --max-depth 4 --out chains --quiet)
run 0 "${nuts[@]}" --datasets 1 --samples 30
mistake "chains/calibrated-nuts.yaml: the scores" "${nuts[@]}" --datasets 2 --samples 40
# Nobody's files are replaced, and no run is written into.
for name in calibration.md calibration.csv calibration.json scores runs run.yaml checkpoint.db; do
  rm -rf own && mkdir own && echo mine > "own/$name"
  mistake "own: there is no calibration here, but $name; move it away" calibrate line.yaml --members 39 --datasets 1 --out own
  if [[ $(< "own/$name") != mine || $(ls own) != "$name" ]]; then complain "$name: $(ls own)"; fi
done

mistake "another --out" calibrate line.yaml --datasets 2 --members 79 --out line
mistake "at least 39" calibrate line.yaml --members 20 --out few
mistake "--members: found '39.5'; expected a whole number of at least 39" calibrate line.yaml --members 39.5 --out few
mistake "the run for data set 1 has 10 draws; expected at least 39" calibrate line.yaml --methods nuts --warmup 20 --chains 2 --out short --quiet --datasets 1 --samples 5
mistake "did you mean 'points'" calibrate line.yaml --redraw pointz --out typo
mistake "method map has one draw" calibrate line.yaml --methods map --out map
mistake "found 'nutz'" calibrate line.yaml --methods rpinn,nutz --out typo
mistake "is given twice" calibrate line.yaml --methods rpinn,rpinn --out typo
mistake "--seed: found 900719925474; expected at most 900719925473" calibrate line.yaml --seed 900719925474 --out seed
mistake "whole number from 1 to 9999" calibrate line.yaml --datasets 0
sed "s/network: \[6\]/network: [$(printf '4096,%.0s' {1..62})4096]/" line.yaml > large.yaml
mistake "GB of memory, and the machine has" calibrate large.yaml --threads 64 --out large
sed '/^truth/d; s/data: truth/data: 0/' line.yaml > untold.yaml
mistake "has a truth" calibrate untold.yaml --out untold
exit $failed
