#!/usr/bin/env bash
# rpinn report from the outside: pages of finished runs made anew, several side by side, figures for print, and what it says
# of runs that are none.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

run 0 run poisson-linear --preset paper --samples 5 --iterations 30 --out "a run" --quiet
run 0 run poisson-linear --preset paper --samples 4 --iterations 30 --method ensemble --out b --quiet
run 0 run poisson-linear --preset paper --samples 6 --iterations 20 --method svgd --out s --quiet
run 0 run poisson-linear --preset paper --method nuts --chains 3 --warmup 20 --samples 20 --max-depth 4 --quiet --out n
run 0 run poisson-linear --preset paper --method map --iterations 30 --out m --quiet

# Without gnuplot, which draws slowly.
undrawn() {
  local PATH=/nowhere
  run "$@"
}
# All but the last lines of a page, which have the date.
body() { sed '/<footer>/,$d' "$1"; }

# The page of a directory is the page that the run ended with; everything else in the directory stays as it was.
for folder in "a run" b s n m; do
  body "$folder/report.html" > before
  (cd "$folder" && sha256sum checkpoint.db posterior.nc run.yaml summary.json) > sums
  if [[ $folder == a* ]]; then run 0 report "$folder"; else undrawn 0 report "$folder"; fi
  if ! body "$folder/report.html" | cmp - before; then complain "the page of '$folder' has changed"; fi
  if ! (cd "$folder" && sha256sum --quiet -c ../sums); then complain "files of '$folder' have changed"; fi
  if [[ $(head -n 1 "$work/out") != "$folder/report.html" ]]; then complain "first line: $out"; fi
done
for figure in "a run"/figures/*.gp; do
  for kind in svg pdf png; do
    if command -v gnuplot > /dev/null && [[ ! -s ${figure%.gp}.$kind ]]; then complain "no ${figure%.gp}.$kind"; fi
  done
done
for figure in u f loss-traces loss-histogram; do
  if [[ ! -s "a run/figures/$figure.gp" ]]; then complain "no figure $figure"; fi
done
for figure in rhat-predictions rhat-parameters trace-best trace-worst energies; do
  if [[ ! -s n/figures/$figure.gp ]]; then complain "no figure $figure"; fi
done

# Without gnuplot the scripts remain, and one line says so.
undrawn 0 report b --out plain
has "$out" "there is no gnuplot here"
if [[ ! -s plain/figures/u.gp || -e plain/figures/u.svg ]]; then complain "figures without gnuplot: $(ls plain/figures)"; fi

# --json names files that are there; --out may be new folders, and the run write-protected
chmod -R a-w n
undrawn 0 report n --out new/folder --json
chmod -R u+w n
if python3 -c pass 2> /dev/null; then
  python3 -c 'import json, os, sys
page = json.load(open(sys.argv[1]))
assert page["report"] == "new/folder/report.html", page
assert len(page["figures"]) >= 7, page
for path in [page["report"]] + page["figures"]: assert os.path.getsize(path) > 0, path' "$work/out" || complain "JSON of report"
fi

# Several runs: columns
run 0 report "a run" b n s
has "$(< report/report.html)" "4 runs"
has "$(< report/report.html)" "<h2>What differs</h2>"
if (($(grep -c 'class="plot"' report/report.html) != 8)); then complain "expected 8 panels"; fi
undrawn 0 report b b --out twice # the same run twice: by its path
printf 'name: other\ncoordinates: {x: [0, 1]}\nunits: {x: m, v: K}\nfields: {v: {network: [3]}}\ntruth: {v: x}\nterms:
  v: {expect: v, at: {grid: 4}, data: truth, noise: 0.1}\nprior: {reference_term: v}\npredict: {grid: 5, quantities: [v]}\n' > other.yaml
run 0 run other.yaml --samples 2 --iterations 5 --out other --quiet
has "$(< other/report.html)" "v [K]"
has "$(< other/run.yaml)" "units: {x: m, v: K}"
mistake "other: this is a run of problem 'other', 'b' is one of 'poisson-linear'" report b other
sed 's/grid: 5,/grid: 6,/' other.yaml > finer.yaml
run 0 run finer.yaml --samples 2 --iterations 5 --out finer --quiet
mistake "finer: this run does not stand beside 'other': its predictions are at other points" report other finer
sed 's/truth: {v: x}/truth: {v: 2*x}/' other.yaml > steeper.yaml
run 0 run steeper.yaml --samples 2 --iterations 5 --out steeper --quiet
mistake "steeper: this run does not stand beside 'other': its truth differs" report other steeper
mistake "--shape is for one run" report b n --shape

# --shape: of chains and of members
run 0 run other.yaml --method nuts --chains 3 --warmup 20 --samples 20 --quiet --out small-chains
run 0 run other.yaml --samples 4 --iterations 20 --quiet --out small-members
for folder in small-chains small-members; do
  undrawn 0 report "$folder" --shape --out shape
  has "$(< shape/report.html)" "Shape of the posterior"
  if [[ ! -s shape/figures/posterior-plane.gp || ! -s shape/figures/hessian-spectrum.gp ]]; then complain "no shape"; fi
  rm -r shape
done
mistake "m: a plane needs three draws" report m --shape

# Units are words: they may be added to a finished run
cp -r other labelled
sed -i 's/v: K}/v: degree}/' labelled/run.yaml
undrawn 0 report labelled
has "$(< labelled/report.html)" "v [degree]"

# Runs that are none
mistake "needs RUN" report
mistake "nowhere: there is no run here: No such file" report nowhere
mistake "other.yaml: this is a file; expected a run directory" report other.yaml
mkdir empty && mistake "empty: this folder holds no run" report empty
mistake "nowhere: there is no run here" report b nowhere
mistake "did you mean '--shape'?" report b --shap
mistake "--out has an empty value" report b --out ""
cp -r b damaged
rm damaged/summary.json
mistake "damaged: this run is not finished; rpinn run damaged/run.yaml" report damaged
printf '{' > damaged/summary.json && mistake "damaged/summary.json:" report damaged
cp b/summary.json damaged
sed -i 's/noise: 0.1/noise: 0.2/' damaged/run.yaml
mistake "damaged: the run in this directory was made with other settings: was " report damaged
cp b/run.yaml damaged
sed 's/"samples": 4,/"samples": 3,/' b/summary.json > damaged/summary.json
mistake "checkpoint.db holds 4 draws, summary.json speaks of 3" report damaged
cp b/summary.json damaged
size=$(stat -c %s damaged/checkpoint.db)
printf 'XXXXXXXXXXXXXXXX' | dd of=damaged/checkpoint.db bs=1 seek=$((size / 2)) conv=notrunc status=none
mistake "is damaged" report damaged
printf 'not a database, but long enough to be taken for one by its size alone\n' > damaged/checkpoint.db
mistake "is not a checkpoint of rpinn" report damaged
rm damaged/checkpoint.db damaged/run.yaml
mistake "damaged/run.yaml" report damaged
: > file
run 2 report b --out file/below
has "$err" "file"
exit $failed
