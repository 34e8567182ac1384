#!/usr/bin/env bash
# Finished runs from the outside: rpinn summary, compare and predict, and what they say of runs that are none.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

run 0 run poisson-linear --preset paper --samples 5 --iterations 30 --out "a run" --quiet
run 0 run poisson-linear --preset paper --samples 4 --iterations 30 --method ensemble --backend plain --out b
has "$out" "method ensemble: 4 members by adam"
table=$out

# summary: the table that the run ended with, and the file as it is
run 0 summary b
if [[ $table != "$out"* ]]; then complain "rpinn summary differs from what rpinn run printed: $out"; fi
run 0 summary "a run" b
has "$out" "== a run"
has "$out" "== b"
run 0 summary b --json
if [[ $out != "$(< b/summary.json)" ]]; then complain "rpinn summary --json is not summary.json"; fi

# compare: a table per quantity, a row per run
run 0 compare "a run" b
if (($(grep -c '^  a run  ' <<< "$out") != 2 || $(grep -c '^  b ' <<< "$out") != 2)); then complain "rows: $out"; fi
has "$out" "poisson-linear, 2 runs"
run 0 compare "a run" b --json
if python3 -c pass 2> /dev/null; then
  python3 -c 'import json, sys
page = json.load(open(sys.argv[1])); b = json.load(open("b/summary.json"))
assert [r["method"] for r in page["runs"]] == ["rpinn", "ensemble"], page
assert page["quantities"]["f"][1] == dict(b["quantities"]["f"], run="b"), page' "$work/out" || complain "JSON of compare"
fi
printf 'name: other\ncoordinates: {x: [0, 1]}\nfields: {v: {network: [3]}}\ntruth: {v: x}\nterms:
  v: {expect: v, at: {grid: 4}, data: truth, noise: 0.1}\nprior: {reference_term: v}\npredict: {grid: 5, quantities: [v]}\n' > other.yaml
run 0 run other.yaml --samples 2 --iterations 5 --out other --quiet
run 0 compare b other
has "$out" "different problems"

# predict: at the points of the run's own grid the same numbers (plain: a point's bits do not depend on its neighbours)
{ echo x && cut -d, -f1 b/predictions.csv | sed -n '2~40p'; } > points.csv
run 0 predict b --points points.csv
if [[ $(head -n 1 "$work/out") != x,u_mean,u_std,u_q025,u_median,u_q975,f_mean,f_std,f_q025,f_median,f_q975 ]]; then
  complain "header: $(head -n 1 "$work/out")"
fi
if ! diff <(tail -n +2 "$work/out") <(sed -n '2~40p' b/predictions.csv | cut -d, -f1-6,8-12); then
  complain "rpinn predict differs from predictions.csv"
fi
run 0 predict b --points points.csv --quantities f --out f.csv
if [[ -n $out || $(head -n 1 f.csv) != x,f_mean,* ]]; then complain "predict --out: $out"; fi
printf 'x\n0.5\n1.5\n' > outside.csv
mistake "outside.csv:3:1: x = 1.5 is outside the domain" predict b --points outside.csv
run 0 predict b --points outside.csv --extrapolate
has "$out" "1.5,"
chmod -R a-w b
run 0 predict b --points points.csv
chmod -R u+w b
mistake "needs --points" predict b
mistake "unknown quantity 'q'; expected some of u, f" predict b --points points.csv --quantities u,q
mistake "'u' is given twice" predict b --points points.csv --quantities u,u
mistake "unknown quantity ''" predict b --points points.csv --quantities u,
mistake "unknown column 'y'; expected the columns x" predict b --points <(printf 'y\n1\n')
mistake "cannot open" predict b --points nowhere.csv
mistake "did you mean '--points'?" predict b --point points.csv
mistake "--out is given twice" predict b --points points.csv --out a.csv --out b.csv
mistake "a second RUN" predict b b --points points.csv
# … never into the points, whatever they are called
cp points.csv before.csv
ln -s points.csv linked.csv
ln points.csv hard.csv
for name in points.csv ./points.csv linked.csv hard.csv; do
  mistake "$name: the predictions would replace the points they are made at" predict b --points points.csv --out "$name"
done
mistake "the predictions would replace the points" predict b --points linked.csv --out points.csv
if ! cmp points.csv before.csv; then complain "rpinn predict changed its points"; fi
run 0 predict b --points points.csv --out /dev/null
run 1 predict b --points points.csv --out nowhere/f.csv
has "$err" "nowhere/f.csv: cannot write this file: No such file"

# A run.yaml that is not that of the draws, edited or another's
cp -r b edited
sed -i 's/activation: tanh/activation: sine/' edited/run.yaml
mistake "edited: the run in this directory was made with other settings: was   u: {network" predict edited --points points.csv
has "$err" "activation: tanh"
has "$err" "activation: sine"
mistake "edited: the run in this directory was made with other settings" report edited
mistake "edited: the run in this directory was made with other settings" diagnose edited --shape
cp b/run.yaml edited
sed -i 's/samples: 4/samples: 2/' edited/run.yaml
mistake "edited: checkpoint.db holds 2 draws, summary.json speaks of 4" predict edited --points points.csv
cp b/run.yaml edited
run 0 predict edited --points points.csv

# What files say reaches the terminal without its control characters.
escape=$'\033'
cp -r b "hostile${escape}[31m"
sed -i 's/"problem": "poisson-linear"/"problem": "evil\\u001b[31m\\u009b31m"/' hostile*/summary.json
printf 'lp__,a\033[31mb\n1,2\n3,4\n5,6\n7,8\n' > chain.csv
run 0 summary b hostile*
has "$out" "== hostile [31m"
has "$out" "evil [31m  31m"
said=$out
run 0 compare b hostile* && said+=$out
run 3 diagnose chain.csv --all && said+=$out
has "$out" "a [31mb"
mistake "hostile [31mx: there is no run here" summary "hostile${escape}[31mx" && said+=$err
mistake "unknown option '-- [31m'" summary "--${escape}[31m" && said+=$err
if [[ $said == *"$escape"* ]]; then complain "an escape sequence reached the output"; fi
rm -r hostile*

# Runs that are none
for command in summary compare; do
  mistake "needs RUN" $command
  mistake "nowhere: there is no run here: No such file" $command nowhere
  mistake "points.csv: this is a file; expected a run directory" $command points.csv
  mkdir -p empty && mistake "empty: this folder holds no run" $command empty
  mistake "unknown option '--quiet'" $command b --quiet
done
cp -r b damaged
rm damaged/summary.json
mistake "damaged: this run is not finished; rpinn run damaged/run.yaml" summary damaged
mistake "this run is not finished" predict damaged --points points.csv
for text in '' '{' '[]' '{"problem": 1}' "$(head -c 300 b/summary.json)" '{"problem": "p", "method": "m", "samples": 1,
"wall_seconds": 1, "members": {}, "quantities": {"u": {"rl2": "x"}}}' "$(sed 's/"method"/"problem"/' b/summary.json)"; do
  printf '%s' "$text" > damaged/summary.json
  mistake "damaged/summary.json:" compare b damaged
done
cp b/summary.json damaged
rm damaged/checkpoint.db
run 2 predict damaged --points points.csv
has "$err" "checkpoint.db"
printf 'not a database, but long enough to be taken for one by its size alone\n' > damaged/checkpoint.db
mistake "is not a checkpoint of rpinn" predict damaged --points points.csv
: > damaged/checkpoint.db
mistake "is not a checkpoint of rpinn" predict damaged --points points.csv
exit $failed
