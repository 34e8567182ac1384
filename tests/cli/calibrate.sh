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
# Two at once: the same scores.
run 0 calibrate line.yaml --datasets 8 --members 39 --out beside --quiet --jobs 2
for file in line/scores/rpinn-000[1-8].json; do
  if ! cmp -s <(sed 's/"seconds": [^,]*,//' "$file") <(sed 's/"seconds": [^,]*,//' "beside/scores/${file##*/}"); then complain "--jobs 2: $file"; fi
done
mistake "--jobs is given '0'; expected a whole number from 1 to 9999" calibrate line.yaml --jobs 0
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
for name in calibration.md calibration.csv calibration.json report.html scores runs run.yaml checkpoint.db; do
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
mistake "--methods: found 'nutz'; expected rpinn, ensemble, nuts, svgd, laplace or vi; did you mean 'nuts'?" calibrate line.yaml --methods rpinn,nutz --out typo
mistake "is given twice" calibrate line.yaml --methods rpinn,rpinn --out typo
mistake "did you mean 'kernel'?" calibrate line.yaml --methods svgd:kernal=functions --out typo
mistake "--methods: kernel is 'function'; expected one of parameters|functions; did you mean 'functions'?" calibrate line.yaml --methods svgd:kernel=function --out typo
mistake "--methods: found 'kernel' behind svgd; expected SETTING=VALUE" calibrate line.yaml --methods svgd:kernel --out typo
mistake "--methods: --seed and --redraw say, for all methods alike, what noise_seed is; expected a setting of rpinn" calibrate line.yaml --methods rpinn:noise_seed=3 --out typo
mistake "--methods: --members and --samples say what samples is" calibrate line.yaml --methods rpinn:samples=40 --out typo
mistake "prior_scale of rpinn:prior_scale=1:prior_scale=2 is given twice" calibrate line.yaml --methods rpinn:prior_scale=1:prior_scale=2 --out typo
mistake "rpinn:prior_scale=1 is given twice" calibrate line.yaml --methods rpinn:prior_scale=1,rpinn:prior_scale=1 --out typo

# A method with settings of its own: on the same data, under the name that was asked for.
run 0 calibrate line.yaml --datasets 2 --members 39 --methods rpinn,rpinn:prior_scale=0.05:optimizer=lbfgs --out variants --quiet
has "$out" "## rpinn:prior_scale=0.05:optimizer=lbfgs"
grep -qF "prior_scale: 0.05" "variants/calibrated-rpinn+prior_scale=0.05+optimizer=lbfgs.yaml" || complain "settings of a variant: $(ls variants)"
awk -F, '$1 == "rpinn" { plain[$2 $3] = $12 ":" $10 } $1 == "rpinn:prior_scale=0.05:optimizer=lbfgs" { count++; split(plain[$2 $3], own, ":");
  if ($12 != 0.05 || own[1] != 1 || ($3 == "u" && $10 == own[2])) exit 1 } END { exit count != 4 }' variants/calibration.csv || complain "variants: $(< variants/calibration.csv)"
awk -F, 'NR == FNR { if ($1 == "rpinn" && $2 < 3) first[$2 $3] = $10; next } $1 == "rpinn" && first[$2 $3] != $10 { exit 1 }' line/calibration.csv variants/calibration.csv ||
  complain "a variant beside it changes a method"
mistake "--seed: found 900719925474; expected at most 900719925473" calibrate line.yaml --seed 900719925474 --out seed
mistake "whole number from 1 to 9999" calibrate line.yaml --datasets 0
sed "s/network: \[6\]/network: [$(printf '4096,%.0s' {1..62})4096]/" line.yaml > large.yaml
mistake "GB of memory, and the machine has" calibrate large.yaml --threads 64 --out large
sed '/^truth/d; s/data: truth/data: 0/' line.yaml > untold.yaml
mistake "has a truth" calibrate untold.yaml --out untold
mistake "no term has measured data" calibrate untold.yaml --from data --out untold

# --samples are members too, or say that they are not.
run 0 calibrate line.yaml --datasets 1 --samples 41 --out samples --quiet --keep-runs
has "$(< samples/runs/rpinn-0001/summary.json)" '"samples": 41,'
mistake "--samples: found '20'; expected a whole number of at least 39" calibrate line.yaml --samples 20 --out few
mistake "--samples: no method here has chains, and --members says" calibrate line.yaml --samples 50 --members 40 --out few

# Words and options that do not go together.
mistake "--from: found 'priors'; expected truth, prior or data; did you mean 'prior'?" calibrate line.yaml --from priors --out typo
mistake "--from: parameters are drawn from a prior of a fixed scale, and here the data would choose it (loo); expected a number, such as --prior-scale 0.5" \
  calibrate line.yaml --from prior --prior-scale loo --out typo
mistake "a prior without bounds" calibrate line.yaml --from prior --prior-scale inf --out typo
mistake "--redraw: this is not for --from prior" calibrate line.yaml --from prior --redraw points --out typo
mistake "--keep-runs: this is not for --from prior" calibrate line.yaml --from prior --keep-runs --out typo
mistake "--datasets: this is not for --from data" calibrate line.yaml --folds 3 --datasets 3 --out typo
mistake "--folds: this is not for --from truth" calibrate line.yaml --from truth --folds 3 --out typo
mistake "--blocks: this is not for --from prior" calibrate line.yaml --from prior --blocks --out typo
mistake "--folds is given '1'; expected a whole number from 2 to 9999" calibrate line.yaml --folds 1
mistake "there are 15 measured rows that can be left out" calibrate line.yaml --folds 16 --out typo
mistake "did you mean '--folds'?" calibrate line.yaml --fold 3
if [[ -e typo ]]; then complain "a refused calibration wrote $(ls typo)"; fi

# Truths from the prior: the ranks of an exact posterior may be uniform, those of an ensemble, whose members here are one and the
# same, are at the ends.
simulated=(calibrate line.yaml --from prior --prior-scale 0.5 --members 39 --datasets 15 --methods rpinn,laplace,ensemble --out prior)
run 0 "${simulated[@]}"
has "$err" "45 of 45 runs"
has "$out" "| log likelihood |"
has "$(< prior/report.html)" "its ranks are not uniform"
if python3 -c pass 2> /dev/null; then
  python3 - << 'END' || complain "calibration.json of --from prior"
import json, xml.dom.minidom
page = json.load(open("prior/calibration.json"))
assert page["from"] == "prior" and list(page["methods"]) == ["rpinn", "laplace", "ensemble"], page
for name, method in page["methods"].items():
    assert list(method["quantities"]) == ["u", "c", "log likelihood"], method
    assert method["prior_scales"] == [0.5] * 15 and sum(method["verdicts"].values()) == 15, method
    for subject, scores in method["quantities"].items():
        assert [len(point) for point in scores["ranks"]] == [15] * (5 if subject == "u" else 1), scores["ranks"]
        good = scores["p_value"] > 0.01
        assert good == (name != "ensemble"), (name, subject, scores["p_value"])
ends = [rank for point in page["methods"]["ensemble"]["quantities"]["u"]["ranks"] for rank in point if rank < 1 / 40 or rank > 39 / 40]
assert len(ends) == 75, ends
assert page["methods"]["ensemble"]["verdicts"]["good"] == 0, page["methods"]["ensemble"]["verdicts"]
# rPINN and the linearised posterior have the same draws of a linear model, and so the same ranks.
for subject in "u", "c":
    assert page["methods"]["rpinn"]["quantities"][subject]["pit"] == page["methods"]["laplace"]["quantities"][subject]["pit"]
document = xml.dom.minidom.parse("prior/report.html")
captions = [c.firstChild.data for c in document.getElementsByTagName("figcaption")]
for caption in "u", "u, rpinn", "log likelihood, ensemble", "CRPS of u", "width of 95 % intervals of c":
    assert caption in captions, (caption, captions)
for svg in document.getElementsByTagName("svg"):
    assert "nan" not in svg.toxml() and "inf" not in svg.toxml()
END
fi
# The same again makes nothing.
run 0 "${simulated[@]}" --quiet
if [[ -n $err ]]; then complain "made again: $err"; fi

# Noise that is not known is drawn from its prior too, and ranked.
sed 's/noise: 0.1}/noise: {unknown: true, start: 0.2, prior: {mean: -1.6, std: 0.5}}}/' line.yaml > unknown.yaml
run 0 calibrate unknown.yaml --from prior --members 39 --datasets 15 --methods laplace --out unknown --quiet
if python3 -c pass 2> /dev/null; then
  python3 - << 'END' || complain "ranks of an unknown noise: $(< unknown/calibration.md)"
import json
scores = json.load(open("unknown/calibration.json"))["methods"]["laplace"]["quantities"]
assert list(scores) == ["u", "c", "noise_u", "log likelihood"], scores
assert all(s["p_value"] > 0.01 for s in scores.values()) and scores["noise_u"]["coverage"]["80"]["mean"] > 0.4, scores
END
fi

# Measured data whose noise is stated five times too small: rows left out are foretold far too surely.
awk 'BEGIN { srand(3); for (i = 0; i < 40; i++) {
  g = sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()); printf "%.6f,%.6f\n", i / 39, 1 + 2 * i / 39 + 0.1 * g } }' \
  | { echo x,value && cat; } > measured.csv
cat > measured.yaml << 'END'
name: measured
coordinates: {x: [0, 1]}
constants: {s: 0.1}
fields: {u: {network: [6], trainable: output}}
terms:
  u: {expect: u, data: measured.csv, noise: s}
  end: {expect: "d(u, x)", at: {points: [[0.5]]}, data: 2, noise: 1}
predict: {grid: 5, quantities: [u]}
settings: {likelihood: noise, optimizer: lm, start: prior, prior_scale: loo, scale_fields: yes}
END
folds=(calibrate measured.yaml --members 79 --methods rpinn,laplace)
run 0 "${folds[@]}" --out folds --keep-runs
has "$err" "10 of 10 runs"
has "$out" "## Each row left out on its own"
has "$out" "5 of 5 folds"
run 0 "${folds[@]}" --set s=0.02 --out sure --quiet
if python3 -c pass 2> /dev/null; then
  python3 - << 'END' || complain "folds"
import csv, json
page, sure = json.load(open("folds/calibration.json")), json.load(open("sure/calibration.json"))
assert page["from"] == "data" and list(page["left_out"]) == ["u"] and page["left_out"]["u"]["rows"] == 40, page
assert 0.7 < page["left_out"]["u"]["z"]["deviation"] < 1.4 and page["left_out"]["u"]["z"]["inside"] > 0.85, page["left_out"]
assert sure["left_out"]["u"]["z"]["deviation"] > 3 and sure["left_out"]["u"]["z"]["inside"] < 0.7, sure["left_out"]
for name in "rpinn", "laplace":
    u, v = (p["methods"][name]["quantities"]["u"] for p in (page, sure))
    assert u["points"] == 40 and u["coverage"]["95"]["mean"] > 0.85 and 0.7 < u["z"]["deviation"] < 1.4, u
    assert abs(sum(u["pit"]) - 1) < 1e-9
    assert v["coverage"]["95"]["mean"] < 0.7 and v["z"]["deviation"] > 3, v
left = []
for k in range(1, 6):  # every row is left out once, and fitted in the other folds
    rows = list(csv.DictReader(open("folds/runs/rpinn-000%d/data.csv" % k)))
    out = {float(r["x"]) for r in rows if r["term"] == "u_left_out1"}
    kept = {float(r["x"]) for r in rows if r["term"] == "u"}
    assert len(out) == 8 and len(kept) == 32 and not out & kept, (k, out)
    left += sorted(out)
assert len(set(left)) == 40, left
assert max(left[:8]) - min(left[:8]) > 0.5, "at random, not a region"
END
fi
# In blocks a fold is a region; the scale is chosen again for each.
run 0 calibrate measured.yaml --members 39 --folds 4 --blocks --out blocks --quiet --keep-runs
for k in 1 2 3 4; do
  awk -F, -v k=$k '$1 == "u_left_out1" { if (!n++ || $2 < low) low = $2; if ($2 > high) high = $2 } END { printf "%d %d %d\n", n, low * 39 + 0.5, high * 39 + 0.5 }' \
    blocks/runs/rpinn-000$k/data.csv
  has "$(grep '^prior:' blocks/runs/rpinn-000$k/run.yaml)" "chosen_by: loo"
done > regions
if [[ $(< regions) != $'10 0 9\n10 10 19\n10 20 29\n10 30 39' ]]; then complain "regions: $(< regions)"; fi
mistake "other data sets" calibrate measured.yaml --members 39 --folds 4 --out blocks

# A signal between and within runs: the same command goes on, and comes to the same.
long=(calibrate measured.yaml --members 39 --methods nuts --warmup 300 --samples 300 --chains 2 --max-depth 6 --folds 3 --threads 1)
"$RPINN_PROGRAM" "${long[@]}" --out stopped > /dev/null 2> stopped.err &
process=$!
for _ in {1..300}; do
  if [[ -e stopped/runs/nuts-0001/checkpoint.db ]]; then break; fi
  sleep 0.05
done
kill -INT $process 2> /dev/null || true
wait $process && code=0 || code=$?
if ((code != 130 && code != 0)); then complain "stopped with $code: $(< stopped.err)"; fi
run 0 "${long[@]}" --out stopped --quiet
run 0 "${long[@]}" --out whole --quiet
if ! cmp -s <(sed 's/"seconds": [0-9.e-]*,//' stopped/scores/nuts-0001.json) <(sed 's/"seconds": [0-9.e-]*,//' whole/scores/nuts-0001.json); then
  complain "a fold that was stopped has other scores"
fi
# Draws of chains are alike: as many are ranked as they are worth, and all members.
run 0 calibrate line.yaml --datasets 1 --methods nuts --warmup 100 --samples 300 --chains 2 --max-depth 1 --out alike --quiet --keep-runs
draws=$(awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "draws") at = k } NR == 2 { print $at }' alike/calibration.csv)
if ((draws < 39 || draws > 300)); then complain "$draws of 600 draws of chains were ranked"; fi
has "$(< folds/scores/rpinn-0001.json)" '"draws": 79,'
exit $failed
