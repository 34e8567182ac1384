#!/usr/bin/env bash
# The prior from the outside: rpinn check --prior shows the choice that rpinn run makes, and so do summary and report.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

cat > curve.yaml << 'END'
name: curve
coordinates: {x: [0, 2]}
fields: {u: {network: [6, 6]}}
unknowns: {c: {start: 2, transform: log, prior: {mean: 0, std: 0.5}}}
quantities: {slope: "c*d(u, x)"}
truth: {c: 1.5}
terms:
  u: {expect: u, data: u.csv, noise: 0.2}
  c: {expect: c + 0*u, at: {grid: 3}, data: truth, noise: 0.2}
predict: {grid: 21, quantities: [u, slope]}
settings: {method: rpinn, likelihood: noise, scale_fields: yes, optimizer: lm, iterations: 100, start: prior,
           prior_scale: loo, prior_shape: fan_in, samples: 6, seed: 5, threads: 2}
END
awk 'BEGIN { print "x,value"; for (x = 0; x < 2; x += 0.15) printf "%g,%g\n", x, 20 + 3 * sin(3 * x) + 0.2 * cos(40 * x) }' > u.csv
run 0 check curve.yaml --prior --json
cp out check.json
run 0 check curve.yaml --prior --threads 1 --out page
has "$out" "prior fan_in, scale "
has "$out" " chosen by loo: the smallest scale within one nat of the best leave-one-out sum"
has "$out" "members converged"
has "$out" "page/prior.html"
cp out check.txt
run 0 run curve.yaml --out run --quiet
run 0 summary run
cp out summary.txt
python3 - << 'END' || complain "check --prior, run and their pages do not agree"
import json, math, re
check, summary = json.load(open("check.json")), json.load(open("run/summary.json"))
prior = summary["prior"]
assert check["prior"] == prior, (check["prior"], prior)
trials = prior["trials"]
scales = [t["scale"] for t in trials]
assert scales == sorted(scales) and scales == [1, 1.5, 2, 3, 4.5, 7][:len(scales)] and len(scales) >= 3, scales
# the rule, from the figures themselves
best = max(t["leave_one_out"] for t in trials)
alike = [t for t in trials if t["leave_one_out"] >= best - 1]
most = max(t["log_evidence"] for t in alike)
expected = min(t["scale"] for t in alike if t["log_evidence"] >= most - 5)
assert [t["scale"] for t in trials if t["chosen"]] == [expected], (expected, trials)
assert prior["scale"] == expected == summary["sigmas"]["prior"] == prior["fields"]["u"]["scale"], prior
assert prior["chosen_by"] == "loo" and prior["fields"]["u"]["shape"] == "fan_in", prior
for t in trials:
    energies = sorted(t["start_energies"])
    assert t["energy"] == (energies[3] + energies[4]) / 2 and t["starts"] == len(energies) == 8, t
    assert t["converged"] == (t["starts_at_minimum"] >= 4), t
assert prior["tried_at"] == "members", prior
# the table of the check has every scale, that of the summary the chosen one and its neighbours
rows = re.findall(r"^  ([* ]) ([0-9.]+) +(-?[0-9.]+) .* ([0-9]+) of ([0-9]+)", open("check.txt").read(), re.M)
assert len(rows) == len(trials), rows
for row, t in zip(rows, trials):
    assert (row[0] == "*") == t["chosen"] and float(row[1]) == float("%.4g" % t["scale"]), (row, t)
    assert float(row[2]) == float("%.5g" % t["leave_one_out"]), (row, t)
    assert int(row[3]) == t["starts_at_minimum"] and int(row[4]) == t["starts"], (row, t)
at = scales.index(expected)
near = ["%.4g" % s for s in scales[max(at - 1, 0):at + 2]]
shown = re.findall(r"^  [* ] ([0-9.]+) +-", open("summary.txt").read(), re.M)
assert shown == near, (shown, near)
# bands of the prior: u about the mean of the data, c = exp(N(0, 0.5^2))
u, c = check["bands"]["u"], check["bands"]["c"]
data = [float(line.split(",")[1]) for line in open("u.csv") if line[0] != "x"]
assert u["data_low"] == min(data) and u["data_high"] == max(data) and len(data) == 14, (u, data)
assert u["q025"] < u["data_low"] and u["q975"] > u["data_high"], u
assert abs(u["median"] - sum(data) / 14) < 2, u
assert abs(c["median"] - 1) < 0.15 and 0.25 < c["q025"] < 0.5 and 2 < c["q975"] < 3.5, c
assert c["data_low"] is None and check["draws"] == 199, check
page = open("page/prior.html").read()
assert "Draws of the prior" in page and page.count("<svg class=\"plot\"") >= 3, page.count("<svg")
report = open("run/report.html").read()
assert "<h2>Prior</h2>" in report and "was chosen from the data by <code>loo</code>" in report
END
# A method that seeks the most probable parameters chooses there.
run 0 check curve.yaml --prior --method laplace --json
has "$out" '"tried_at": "minimum"'
run 0 check curve.yaml --prior --method laplace
has "$out" "starts at the minimum"
for figure in prior-scale u slope; do
  if [[ ! -s page/figures/$figure.gp ]]; then complain "no figure $figure of the prior"; fi
done
# A run that goes on keeps the curve; so does a page that is made anew. A scale that is given has none.
scales() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["prior"])' "$1"; }
before=$(scales run/summary.json)
run 0 run curve.yaml --out run --samples 8 --resume --quiet
if [[ $(scales run/summary.json) != "$before" ]]; then complain "the curve after --resume: $(scales run/summary.json)"; fi
run 0 report run --out anew
has "$(< anew/report.html)" "<h2>Prior</h2>"
if [[ ! -s anew/figures/prior-scale.gp ]]; then complain "no figure of the scale"; fi
run 0 check curve.yaml --prior --prior-scale 0.5
has "$out" "the scale is given: 0.5"
run 0 run curve.yaml --prior-scale 0.5 --out given --quiet
has "$(< given/summary.json)" '"prior": {"scale": 0.5, "chosen_by": null,'
if grep -q '<h2>Prior</h2>' given/report.html; then complain "a curve of a scale that was given"; fi
# Scales of single fields: in the summary and run.yaml, the same when run again or resumed, and only where they are asked for.
cat > two.yaml << 'END'
name: two
coordinates: {x: [0, 1]}
fields: {u: {network: [6]}, v: {network: [6]}}
truth: {u: 3*sin(6*x), v: 0.05*x}
terms:
  u: {expect: u, at: {grid: 14}, data: truth, noise: 0.05}
  v: {expect: v, at: {grid: 10}, data: truth, noise: 0.01}
predict: {grid: 5, quantities: [u, v]}
settings: {method: rpinn, likelihood: noise, scale_fields: no, optimizer: lm, iterations: 60, start: prior,
           prior_scale: loo, prior_shape: iid, samples: 4, seed: 2, threads: 1}
END
run 0 run two.yaml --prior-per-field yes --out fields
has "$out" "  field v, scale "
run 0 run two.yaml --prior-per-field yes --samples 2 --out parts --quiet
run 0 run two.yaml --prior-per-field yes --out parts --quiet --resume
run 0 run fields/run.yaml --out again --quiet
run 0 run two.yaml --out common --quiet
for other in parts again; do
  cmp fields/posterior.nc $other/posterior.nc || complain "scales of fields: other draws in $other"
done
cmp fields/run.yaml again/run.yaml || complain "scales of fields: another run.yaml"
if cmp -s fields/posterior.nc common/posterior.nc; then complain "scales of fields have no effect"; fi
python3 - << 'END' || complain "scales of fields"
import json, re
fields, common = (json.load(open(run + "/summary.json"))["prior"] for run in ("fields", "common"))
assert fields["scale"] == common["scale"] == common["fields"]["v"]["scale"], (fields, common)
assert "trials" not in common["fields"]["v"], common
yaml = open("fields/run.yaml").read()
for name in "uv":
    field = fields["fields"][name]
    trials = field["trials"]
    best = max(t["leave_one_out"] for t in trials)
    alike = [t for t in trials if t["leave_one_out"] >= best - 1]
    most = max(t["log_evidence"] for t in alike)
    expected = min(t["scale"] for t in alike if t["log_evidence"] >= most - 5)
    assert abs(field["scale"] - expected) < 1e-12 and [t["scale"] for t in trials if t["chosen"]] == [expected], field
    factor = float(re.search(name + r": .*factor: ([0-9.e-]+)", yaml)[1])
    assert abs(factor * fields["scale"] - expected) < 1e-12, (factor, expected)
assert fields["fields"]["v"]["scale"] < common["scale"], fields
assert "Field <code>v</code>, with the scales of the others fixed" in open("fields/report.html").read()
END
# A plain check does not choose, and says so.
run 0 check two.yaml
has "$out" "-          -          -  chosen from the data by loo: rpinn check --prior shows it"
run 0 check two.yaml --json
has "$out" '"prior": null}'
# What is refused: no prior to draw from, no data to choose by, a page of somebody else.
mistake "networks have no prior to draw from; expected a finite scale" check curve.yaml --prior --prior-scale inf
mistake "--out is for --prior" check curve.yaml --out x
sed 's/u.csv/none.csv/' curve.yaml > empty.yaml
mistake "none.csv" check empty.yaml --prior
# A wave that one neuron cannot follow: all is noise about nothing, which is refused and not sampled.
cat > wave.yaml << 'END'
name: wave
coordinates: {x: [0, 1]}
fields: {u: {network: [1]}}
truth: {u: "5 + cos(40*x)"}
terms: {u: {expect: u, at: {grid: 30}, data: truth, noise: 0.01}}
predict: {grid: 5, quantities: [u]}
settings: {method: rpinn, likelihood: noise, scale_fields: yes, optimizer: lm, iterations: 50, start: prior,
           samples: 3, prior_scale: evidence, prior_shape: iid}
END
for command in "run wave.yaml --out wave" "check wave.yaml --prior"; do
  # shellcheck disable=SC2086
  mistake "every minimum that was found explains the data as noise (mean square of their rows " $command
done
if [[ -n $(ls wave) ]]; then complain "a run that was refused left $(ls wave)"; fi
mkdir own && echo mine > own/prior.html
mistake "this is no report of rpinn" check curve.yaml --prior --prior-scale 0.5 --out own
if [[ $(< own/prior.html) != mine ]]; then complain "a file of mine was replaced"; fi
exit $failed
