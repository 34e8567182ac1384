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

# Table 1 with synthetic data
run 0 reproduce table1 --scale quick --out one --quiet
has "$out" "Synthetic data"
has "$out" "with a later version"
has "$out" "one/reproduce.md"
if [[ -n $err ]]; then complain "--quiet, and yet: $err"; fi
if (($(find one -name summary.json | wc -l) != 8)); then complain "expected eight runs: $(ls one)"; fi
if ! diff "$work/out" <(cat one/reproduce.md && printf '\none/reproduce.md\n'); then complain "reproduce.md is not what was printed"; fi
if (($(wc -l < one/reproduce.csv) != 1 + 4 * 8 * 5)); then complain "rows of reproduce.csv: $(wc -l < one/reproduce.csv)"; fi
if [[ $(cut -d, -f15 one/reproduce.csv | sort -u | tr '\n' ' ') != 'not judged verdict with a later version ' ]]; then
  complain "verdicts: $(cut -d, -f15 one/reproduce.csv | sort -u)"
fi

# Once more: no run is touched, the same bytes come out
before=$(cksum one/*/* one/reproduce.*)
run 0 reproduce table1 --out one --json
if [[ $out != "$(< one/reproduce.json)" ]]; then complain "--json is not reproduce.json"; fi
if [[ -n $err ]]; then complain "finished runs begin again: $err"; fi
if [[ $(cksum one/*/* one/reproduce.*) != "$before" ]]; then complain "finished runs have changed"; fi
if python3 -c pass 2> /dev/null; then
  python3 -c 'import json, math, sys
page = json.load(open(sys.argv[1]))
assert page["scale"] == "quick" and page["data"] == "synthetic" and page["agree"] == page["differ"] == 0, page
assert len(page["rows"]) == 32, len(page["rows"])
first = page["rows"][0]
ours = json.load(open("one/" + first["run"] + "/summary.json"))["quantities"]["u"]
assert all(first["metrics"][k]["ours"] == ours[k] and first["metrics"][k]["standard_error"] >= 0 for k in first["metrics"])
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

# Table 2 with data from a folder, one method
mkdir data
for sigma in 0.1 0.01; do
  run 0 run poisson-nonlinear --set sigma=$sigma --samples 1 --iterations 1 --out "data/$sigma" --quiet
  { echo term,x,value && awk -F, 'NR > 1 && NR % 20 == 2 { print "f," $1 "," $12 }' "data/$sigma/predictions.csv" &&
    echo b,-0.7,0.66 && echo b,0.7,-0.66; } > "data/poisson_nonlinear_Nf32_sigma$sigma.csv"
done
run 0 reproduce table2 --data-dir data --methods rpinn --out two --quiet
has "$out" "published data sets"
has "$out" "not asked for"
if (($(find two -name summary.json | wc -l) != 2)); then complain "expected two runs: $(ls two)"; fi
if [[ ! -e two/poisson-nonlinear_Nf32_sigma0.01_rpinn/data.csv ]]; then complain "the data were not used"; fi
rm "data/poisson_nonlinear_Nf32_sigma0.01.csv"
mistake "poisson_nonlinear_Nf32_sigma0.01.csv" reproduce table2 --data-dir data --methods rpinn --out two --quiet
RPINN_REFERENCE_DIR=nowhere mistake "nowhere/datasets/poisson_nonlinear_Nf32_sigma0.1.csv" reproduce table2 --out three --quiet

# Usage
mistake "needs TABLE" reproduce
mistake "expected table1 or table2; did you mean 'table1'?" reproduce tabel1
mistake "expected quick or paper; did you mean 'paper'?" reproduce table1 --scale papr
mistake "did you mean 'ensemble'?" reproduce table1 --methods rpinn,ensembel
mistake "nuts comes with a later version" reproduce table1 --methods nuts
mistake "rpinn is given twice" reproduce table1 --methods rpinn,rpinn
mistake "did you mean '--scale'?" reproduce table1 --scal quick
exit $failed
