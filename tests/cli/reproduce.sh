#!/usr/bin/env bash
# rpinn reproduce at its quick scale, from the runs to the tables; what is finished is not made again.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
unset RPINN_REFERENCE_DIR
has_python=false
if python3 -c pass 2> /dev/null; then has_python=true; fi
verdicts() { cut -d, -f15 "$1" | sort -u | tr '\n' ' '; }

# Table 1 with synthetic data
run 0 reproduce table1 --scale quick --out one --quiet
has "$out" "Synthetic data"
has "$out" "at LPP's peak"
has "$out" "draws 20 (paper: 5000), warmup 30 (paper: 50000), largest depth 5 (paper: 10)"
has "$out" "re-run, divided"
has "$out" "not judged; n_eff"
has "$out" "one/table1.md"
if [[ -n $err ]]; then complain "--quiet, and yet: $err"; fi
if (($(find one -name summary.json | wc -l) != 16)); then complain "expected sixteen runs: $(ls one)"; fi
if ! diff "$work/out" <(cat one/table1.md && printf '\none/table1.md\n'); then complain "table1.md is not what was printed"; fi
if (($(wc -l < one/table1.csv) != 1 + 4 * 8 * 5 + 4 * 2 * 5)); then complain "rows of table1.csv: $(wc -l < one/table1.csv)"; fi
if [[ $(verdicts one/table1.csv) != 'not judged transient verdict ' ]]; then complain "verdicts: $(verdicts one/table1.csv)"; fi

# Once more: no run is touched, the same bytes come out
before=$(cksum one/*/* one/table1.*)
run 0 reproduce table1 --out one --json
if [[ $out != "$(< one/table1.json)" ]]; then complain "--json is not table1.json"; fi
if [[ -n $err ]]; then complain "finished runs begin again: $err"; fi
if [[ $(cksum one/*/* one/table1.*) != "$before" ]]; then complain "finished runs have changed"; fi
if $has_python; then
  python3 -c 'import json, math, sys
page = json.load(open(sys.argv[1]))
assert page["scale"] == "quick" and page["data"] == "synthetic" and page["agree"] == page["differ"] == 0, page
rows = page["rows"]
assert len(rows) == 32 and not page["chain_tables"], len(rows)
for row in rows:
    summary = json.load(open("one/" + row["run"] + "/summary.json"))
    ours = summary["quantities"][row["quantity"]]
    assert all(row["metrics"][k]["ours"] == ours[k] and row["metrics"][k]["standard_error"] >= 0 for k in row["metrics"]), row
    if row["method"] == "nuts":
        assert row["effective_size"] == summary["chains"]["quantities"][row["quantity"]]["min_ess_bulk"], row
        assert row["chains"] == 4 and row["warmup"] == 30 and row["members"] == 80 and row["iterations"] is None, row
    if row["method"] == "svgd":
        peak = summary["particles"]["lpp_peaks"][row["quantity"]]
        assert row["lpp_peak"] == {k: peak[k] for k in row["lpp_peak"]} and row["members"] == 20, row
first = rows[0]
assert first["metrics"]["rl2"]["published"] == 5.1e-2 and first["metrics"]["rl2"]["rerun"] == 1.71e-1, first' "$work/out" ||
    complain "JSON of reproduce"
fi

# An unfinished run goes on; one of other settings is refused by name
run=one/poisson-linear_Nf32_sigma0.1_rpinn
rm $run/summary.json
run 0 reproduce table1 --out one
has "$err" "poisson-linear_Nf32_sigma0.1_rpinn"
mistake "$run: the run in this directory was made with other settings" reproduce table1 --scale paper --out one --quiet
printf '{' > $run/summary.json
mistake "$run/summary.json:1:2" reproduce table1 --out one

# Table 2 with data from a folder, one method, more members
mkdir -p reference/data
data=reference/data
for sigma in 0.1 0.01; do
  run 0 run poisson-nonlinear --preset paper --set sigma=$sigma --samples 1 --iterations 1 --out "$data/$sigma" --quiet
  { echo term,x,value && awk -F, 'NR > 1 && NR % 20 == 2 { print "f," $1 "," $11 }' "$data/$sigma/predictions.csv" &&
    echo b,-0.7,0.66 && echo b,0.7,-0.66; } > "$data/poisson_nonlinear_Nf32_sigma$sigma.csv"
done
run 0 reproduce table2 --data-dir $data --methods rpinn --members 3 --out two --quiet
has "$out" "published data sets"
has "$out" "not asked for"
has "$out" "members 3 (paper: 5000), iterations 60 (paper: 2000)"
if (($(find two -name summary.json | wc -l) != 2)); then complain "expected two runs: $(ls two)"; fi
if [[ ! -e two/poisson-nonlinear_Nf32_sigma0.01_rpinn/data.csv ]]; then complain "the data were not used"; fi
run 0 reproduce table2 --data-dir $data --methods svgd --out two --quiet
has "$out" "SVGD"

# Medium says first how long it takes, and judges
run 0 reproduce table2 --scale medium --data-dir $data --methods rpinn --members 3 --out medium
has "$err" "2 runs to make, about"
has "$out" "figures agree with the re-run"
if [[ $(verdicts medium/table2.csv) != *differs* || $(verdicts medium/table2.csv) != *"reported only"* ]]; then
  complain "verdicts at medium: $(verdicts medium/table2.csv)"
fi
if ! grep -q 'rpinn,u,rl2.*,3,20000,.*reported only' medium/table2.csv; then complain "rl2 of u is judged, or has other iterations"; fi

# Table 3: the chains, sorted by what they say about u
run 0 reproduce table3 --data-dir $data --out two --quiet
has "$out" "rl2 ranges over 4.56e-01 in u and over 3.00e-03 in f, 152 times less"
has "$out" "say nothing"
if (($(wc -l < two/table3.csv) != 1 + 2 * 6 * 4)); then complain "rows of Table 3: $(wc -l < two/table3.csv)"; fi
if $has_python; then
  python3 -c 'import json
tables = json.load(open("two/table3.json"))["chain_tables"]
assert [t["sigma"] for t in tables] == ["0.1", "0.01"], tables
for table in tables:
    chains = json.load(open("two/" + table["run"] + "/summary.json"))["chains"]["per_chain"]
    for whose in "ours", "published":
        rl2 = [c["u"]["rl2"] for c in table[whose]]
        assert rl2 == sorted(rl2) and sorted(c["chain"] for c in table[whose]) == [1, 2, 3, 4, 5, 6], table
    for c in table["ours"]:
        theirs = chains[c["chain"] - 1]["quantities"]
        assert all(c[q][k] == theirs[q][k] for q in "uf" for k in ("rl2", "lpp_table")), c' || complain "JSON of Table 3"
fi
rm "$data/poisson_nonlinear_Nf32_sigma0.01.csv"
mistake "poisson_nonlinear_Nf32_sigma0.01.csv" reproduce table2 --data-dir $data --methods rpinn --members 3 --out two --quiet
RPINN_REFERENCE_DIR=nowhere mistake "nowhere/datasets/poisson_nonlinear_Nf32_sigma0.1.csv" reproduce table2 --out three --quiet

# Table 4: a reference field of our own beside the folder of data sets, with the offset that the published one has
run 0 reference field --cells 256x128 --domain 0,1,0,0.5 --covariance squared_exponential --length 0.5 --mean -3 --out field.csv --quiet
run 0 reference solve --conductivity field.csv --left flux:1 --right head:141.494 --out flow.csv --quiet
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "x1,x2,k,h"; next }
  { print $at["x1"] "," $at["x2"] "," $at["k"] "," $at["h"] }' flow.csv > reference/darcy_reference_256x128.csv
for sigma in 1 0.1 0.01; do
  awk -F, -v sigma=$sigma 'BEGIN { print "term,x1,x2,value" }
    NR > 1 && NR % 800 == 5 { print "pde," $1 "," $2 ",0"; print "y," $1 "," $2 "," log($3); print "h," $1 "," $2 "," $4 - 141.494 }
    END { for (i = 0; i < 4; i++) { print "flux_left,0," i / 8 ",1"; print "dirichlet_right,1," i / 8 ",0"
                                    print "flux_top," i / 4 ",0.5,0"; print "flux_bottom," i / 4 ",0,0" } }' \
    reference/darcy_reference_256x128.csv > $data/darcy_sigma$sigma.csv
done
run 0 reproduce table4 --data-dir $data --out four --quiet
has "$out" "darcy, sigma = 0.01"
has "$out" "members 2 (paper: 500), iterations 20 (paper: 50000)"
if (($(wc -l < four/table4.csv) != 1 + 3 * 4 * 5)); then complain "rows of Table 4: $(wc -l < four/table4.csv)"; fi
if $has_python; then # the figures, from the predictions and the reference by hand: y = log k, h - 141.494
  python3 -c 'import csv, json, math
rows = json.load(open("four/table4.json"))["rows"]
truth = {(round(float(r["x1"]), 4), round(float(r["x2"]), 4)): r for r in csv.DictReader(open("reference/darcy_reference_256x128.csv"))}
first = {row["quantity"]: row for row in rows if row["sigma"] == "0.1" and row["method"] == "rpinn"}
predictions = list(csv.DictReader(open("four/" + first["y"]["run"] + "/predictions.csv")))
assert len(predictions) == 256 * 128, len(predictions)
for name, reference in ("y", lambda r: math.log(float(r["k"]))), ("h", lambda r: float(r["h"]) - 141.494):
    error = square = deviation = covered = 0
    for p in predictions:
        value = reference(truth[round(float(p["x1"]), 4), round(float(p["x2"]), 4)])
        miss, spread = float(p[name + "_mean"]) - value, float(p[name + "_std"])
        error, square = error + miss * miss, square + value * value
        deviation, covered = deviation + spread, covered + (abs(miss) < 2 * spread)
    ours = {k: first[name]["metrics"][k]["ours"] for k in ("rl2", "mean_std", "coverage")}
    expected = {"rl2": math.sqrt(error / square), "mean_std": deviation / len(predictions), "coverage": covered / len(predictions)}
    assert all(abs(ours[k] - expected[k]) <= 1e-9 * (1 + abs(expected[k])) for k in ours), (name, ours, expected)' ||
    complain "figures of Table 4"
fi

# The figures, from the same runs; without gnuplot the CSV files remain
run 0 reproduce fig-darcy-h --data-dir $data --out four --quiet
has "$out" "four/fig-darcy-h.md"
for sigma in 1 0.1 0.01; do
  if (($(wc -l < four/fig-darcy-h_sigma$sigma.csv) != 1 + 256 * 128)); then complain "panels of sigma $sigma"; fi
done
if [[ $(head -1 four/fig-darcy-h_sigma1.csv) != x1,x2,mean,error,std,covered ]]; then complain "columns of the panels"; fi
if gnuplot --version > /dev/null 2>&1; then
  if [[ ! -s four/fig-darcy-h.svg || ! -s four/fig-darcy-h.png ]]; then complain "gnuplot drew nothing: $err"; fi
fi
mkdir empty
PATH=empty run 0 reproduce fig-reference --out five --quiet
has "$err" "no gnuplot, no figure"
if (($(wc -l < five/fig-reference.csv) != 1 + 256 * 128)); then complain "the reference: $(wc -l < five/fig-reference.csv)"; fi
if (($(wc -l < five/fig-reference_measured.csv) != 1 + 40)); then complain "the measured points"; fi
if [[ -d five/darcy_sigma1_rpinn ]]; then complain "the reference needs no run"; fi
mistake "only tables take it" reproduce fig-darcy-y --methods ensemble

# NUTS on Darcy flow: R-hat in both forms
run 0 reproduce darcy-nuts --data-dir $data --out four --quiet
has "$out" "in the paper's form"
has "$out" "the largest R-hat exceeds 20"
if $has_python; then
  python3 -c 'import json
table = json.load(open("four/darcy-nuts.json"))["chain_tables"][0]
chains = json.load(open("four/" + table["run"] + "/summary.json"))["chains"]
worst = dict(chains["quantities"], parameters=chains["parameters"])
assert table["published_rhat_exceeds"] == 20 and len(table["ours"]) == len(table["published"]) == 4, table
assert [c["h"]["rl2"] for c in table["published"]] == [0.058, 1.6, 1.3, 2.1], table
for name in "parameters", "y", "h":
    ours = table["max_rhat"][name]
    assert ours["usual"] == worst[name]["max_rhat"] > 1 and ours["paper_form"] == worst[name]["max_rhat_paper"] > 1, ours' ||
    complain "R-hat of darcy-nuts"
fi

# Everything: interrupted, gone on with, and then nothing is left to be made
status=0
# --foreground: the signal comes once, a second one ends the program at once
timeout --foreground --preserve-status -s INT 2 "$RPINN_PROGRAM" reproduce all --members 3 --out six --quiet > /dev/null 2> "$work/err" || status=$?
if ((status != 130)) || [[ $(< "$work/err") != *"the same command goes on"* ]]; then complain "interrupted: $status, $(< "$work/err")"; fi
run 0 reproduce all --members 3 --out six --quiet
has "$out" "[uniform-likelihood](uniform-likelihood.md)"
has "$out" "[csv](table1.csv), [json](table1.json)"
if (($(wc -l < six/all.csv) != $(grep -c '](.*\.md)' six/all.md) + 1)); then complain "all.csv: $(< six/all.csv)"; fi
before=$(cksum six/*_*/* six/uniform-likelihood/*/*)
run 0 reproduce uniform-likelihood --members 3 --out six
if [[ -n $err ]]; then complain "all had not made these runs: $err"; fi
has "$out" "| uniform    | MAP, 3 noises"
has "$out" "say nothing"
run 0 reproduce sigma-p --members 3 --out six
if [[ -n $err ]]; then complain "all had not made these runs: $err"; fi
has "$out" "40 of 42 agree to the printed digits, 2 are one unit of the last digit off"
if [[ $(cksum six/*_*/* six/uniform-likelihood/*/*) != "$before" ]]; then complain "runs have changed"; fi
if (($(grep -c differs six/sigma-p_sigmas.csv) != 0)); then complain "sigmas: $(< six/sigma-p_sigmas.csv)"; fi
if $has_python; then
  python3 -c 'import json, math
page = json.load(open("six/uniform-likelihood.json"))
def rl2(name, quantity): return json.load(open("six/" + name + "/summary.json"))["quantities"][quantity]["rl2"]
for c in page["comparisons"]:
    tail = "_uniform" if c["likelihood"] == "uniform" else ""
    if c["of"] == "MAP, 3 noises": # pair by pair
        runs = [["uniform-likelihood/poisson-linear_Nf%d_sigma%s_map%s_noise%d" % (n, c["sigma"], tail, k) for k in (1, 2, 3)] for n in (32, 128)]
        few, many = ([rl2(run, c["quantity"]) for run in side] for side in runs)
        change = [b - a for a, b in zip(few, many)]
        mean = sum(change) / 3
        error = math.sqrt(sum((x - mean) ** 2 for x in change) / 2 / 3)
        assert math.isclose(c["change"]["value"], mean, rel_tol=1e-9, abs_tol=1e-12) and math.isclose(c["change"]["standard_error"], error, rel_tol=1e-9), c
        assert math.isclose(c["Nf32"]["value"], sum(few) / 3, rel_tol=1e-12), c
    elif c["figure"] == "rl2":
        name = "map" if c["of"].startswith("MAP") else "rpinn"
        assert c["Nf128"]["value"] == rl2("poisson-linear_Nf128_sigma%s_%s%s" % (c["sigma"], name, tail), c["quantity"]), c
for case in json.load(open("six/sigma-p.json"))["cases"]:
    for run in case["runs"]:
        summary = json.load(open("six/" + run["run"] + "/summary.json"))
        factor, first = 1 + run["epsilon"] / float(case["sigma"]), case["runs"][0]["sigmas"]
        assert all(math.isclose(v, factor * first[k], rel_tol=1e-12) for k, v in run["sigmas"].items()), run
        assert summary["sigmas"]["prior"] == run["sigmas"]["prior"] and run["u"]["lpp"]["value"] == summary["quantities"]["u"]["lpp"], run
    best = max(case["runs"], key=lambda run: run["u"]["lpp"]["value"] + run["f"]["lpp"]["value"])
    assert case["epsilon_of_largest_lpp"]["sum"] == best["epsilon"], case' || complain "JSON of the studies"
fi
mistake "only tables take it" reproduce all --methods rpinn
mistake "only tables take it" reproduce sigma-p --methods rpinn
mistake "did you mean 'darcy-nuts'?" reproduce darcy-nut
run 0 help reproduce
has "$out" "uniform-likelihood"
help=$out
run 0 reproduce --help
if [[ $out != "$help" ]]; then complain "help reproduce is not reproduce --help"; fi
mistake "did you mean 'reproduce'" help reprodcue

# Usage
mistake "needs NAME" reproduce
mistake "did you mean 'table1'?" reproduce tabel1
mistake "expected quick, medium or paper; did you mean 'paper'?" reproduce table1 --scale papr
mistake "did you mean 'ensemble'?" reproduce table1 --methods rpinn,ensembel
mistake "found 'nuts'; expected rpinn, ensemble or svgd" reproduce table2 --methods nuts --out seven
mistake "found 'rpinn'; expected nuts" reproduce table3 --methods rpinn --out seven
mistake "rpinn is given twice" reproduce table1 --methods rpinn,rpinn
mistake "did you mean '--scale'?" reproduce table1 --scal quick
mistake "--members" reproduce table1 --members none --out seven
# By another backend and in another precision, which the table says
run 0 reproduce table1 --methods rpinn --members 2 --backend cpu --precision double --out other --quiet
has "$out" "iterations 60 (paper: 2000), precision double (preset: auto)"
has "$(< other/poisson-linear_Nf32_sigma0.1_rpinn/summary.json)" '"precision": "double"'
# What auto has chosen, here for runs that are there already, is what the table says
run 0 reproduce table1 --methods rpinn --members 2 --backend plain --out plain --quiet
run 0 reproduce table1 --methods rpinn --members 2 --backend auto --out plain --quiet
has "$out" "iterations 60 (paper: 2000), backend plain (preset: cpu)"
mistake "did you mean 'cuda'?" reproduce table1 --methods rpinn --members 4 --backend cud --out seven
mistake "backend plain does not compute in tf32" reproduce table1 --methods rpinn --members 4 --backend plain --precision tf32 --out seven --quiet
exit $failed
