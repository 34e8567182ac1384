#!/usr/bin/env bash
# rpinn reference field and rpinn reference solve from the outside, their tables as the truth of a problem, and a run of
# darcy on the truth that it makes.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
field=(reference field --cells 16x8 --domain "0,1,0,0.5" --covariance matern32 --length "0.5,0.25" --mean -3 --variance 0.81)
same() { cmp -s "$1" "$2" || complain "$1 and $2 differ"; }
differ() { ! cmp -s "$1" "$2" || complain "$1 and $2 are equal"; }

# Help and the two words
run 0 reference --help
has "$out" "rpinn reference field"
run 0 reference field --help
for option in --cells --domain --covariance --length --mean --variance --seed --condition --kriging --out --json; do
  has "$out" "  $option "
done
run 0 reference solve --help
for option in --conductivity --column --log --left --right --bottom --top --source --well --out --json; do
  has "$out" "  $option"
done
mistake "needs a second word" reference
mistake "did you mean 'reference field'?" reference feild
mistake "did you mean 'reference'?" refrence

# A field: the same from the same seed, another from another, to a file or to the standard output
run 0 "${field[@]}" --seed 4 --out a.csv
has "$out" "16 cells of x1 in [0, 1], 8 cells of x2 in [0, 0.5]"
if [[ ${out##*$'\n'} != a.csv ]]; then complain "the last line is not the file: $out"; fi
if [[ $(head -n 1 a.csv) != "x1,x2,y,k" ]] || (($(wc -l < a.csv) != 129)); then complain "not a table of 128 cells"; fi
if [[ $(sed -n 2p a.csv) != 0.03125,0.03125,* ]]; then complain "the first centre: $(sed -n 2p a.csv)"; fi
run 0 "${field[@]}" --seed 4
same "$work/out" a.csv
run 0 "${field[@]}" --seed 5 --out b.csv --quiet
if [[ -n $out ]]; then complain "--quiet printed $out"; fi
differ a.csv b.csv
run 0 "${field[@]}" --seed 4 --out a.vti
has "$(head -c 200 a.vti)" 'type="ImageData"'
has "$(< a.vti)" 'Name="k"'
has "$(< a.vti)" 'WholeExtent="0 16 0 8 0 0"'
run 0 reference field --cells 20 --covariance exponential --length 0.3 --coordinates t --out line.csv
if [[ $(head -n 1 line.csv) != "t,y,k" ]]; then complain "columns of an interval: $(head -n 1 line.csv)"; fi

# Measurements: at a cell, without error, they come back; kriging says so with a deviation of nothing
printf 'x1,x2,value\n0.03125,0.03125,-1\n0.5,0.3,-4\n' > wells.csv
run 0 "${field[@]}" --condition wells.csv --out given.csv --quiet
awk -F, 'NR == 2 { if ($3 + 1 > 1e-4 || $3 + 1 < -1e-4) exit 1 }' given.csv || complain "a draw misses its measurement"
run 0 "${field[@]}" --condition wells.csv --kriging --out kriged.csv --quiet
if [[ $(head -n 1 kriged.csv) != "x1,x2,y,y_std" ]]; then complain "columns of kriging"; fi
awk -F, 'NR == 2 { if ($3 + 1 > 1e-4 || $3 + 1 < -1e-4 || $4 > 1e-4) exit 1 }
  NR > 1 && ($4 < 0 || $4 > 0.9000001) { exit 1 }' kriged.csv || complain "kriging: $(sed -n 2p kriged.csv)"
printf 'x1,x2,value,std\n0.03125,0.03125,-1,0.5\n' > noisy.csv
run 0 "${field[@]}" --condition noisy.csv --kriging --out noisy-kriged.csv --quiet
# One measurement of error 0.5: mean -3 + 2*0.81/(0.81 + 0.25), variance 0.81*0.25/(0.81 + 0.25)
awk -F, 'function off(a, b) { return a - b > 1e-9 || b - a > 1e-9 }
  NR == 2 && (off($3, -3 + 2*0.81/1.06) || off($4, sqrt(0.81*0.25/1.06))) { exit 1 }' noisy-kriged.csv ||
  complain "kriging with errors: $(sed -n 2p noisy-kriged.csv)"

# Mistakes of field
mistake "needs --cells" reference field --covariance exponential --length 1
mistake "needs --covariance" reference field --cells 4 --length 1
mistake "needs --length" reference field --cells 4 --covariance exponential
mistake "did you mean '--covariance'?" reference field --covarianc exponential
mistake "did you mean 'matern32'?" reference field --cells 4 --covariance mattern32 --length 1
mistake "--cells is '4x'" reference field --cells 4x --covariance exponential --length 1
mistake "--cells is '4x4x4'" reference field --cells 4x4x4 --covariance exponential --length 1
mistake "0 cells along x1" reference field --cells 0x4 --covariance exponential --length 1
mistake "expected 1 to 4096" reference field --cells 5000 --covariance exponential --length 1
mistake "--domain has 2 numbers" reference field --cells 4x4 --domain 0,1 --covariance exponential --length 1
mistake "x1 goes from 1 to 0" reference field --cells 4 --domain 1,0 --covariance exponential --length 1
mistake "--length is 'long'" reference field --cells 4 --covariance exponential --length long
mistake "a correlation length is -1" reference field --cells 4 --covariance exponential --length -1
mistake "the variance is 0" reference field --cells 4 --covariance exponential --length 1 --variance 0
mistake "--mean is 'nan'" reference field --cells 4 --covariance exponential --length 1 --mean nan
mistake "--seed is '-1'" reference field --cells 4 --covariance exponential --length 1 --seed -1
mistake "expected --condition" "${field[@]}" --kriging
mistake "which draws nothing" "${field[@]}" --kriging --condition wells.csv --seed 1
mistake "cannot open" "${field[@]}" --condition nowhere.csv
mistake "ends in .csv or .vti" "${field[@]}" --out a.txt
mistake "expected two dimensions" reference field --cells 4 --covariance exponential --length 1 --out line.vti
mistake "'y' is no name for coordinate 1" reference field --cells 4 --covariance exponential --length 1 --coordinates y
printf 'x1,x2,valu\n0,0,1\n' > bad.csv
mistake "bad.csv:1:7: unknown column 'valu'; expected the coordinates, value and std; did you mean 'value'?" \
  "${field[@]}" --condition bad.csv
printf 'x1,value\n0,1\n' > bad.csv
mistake "no column 'x2'" "${field[@]}" --condition bad.csv
printf 'x1,x2,value,std\n0,0,1,-2\n' > bad.csv
mistake "bad.csv:2:7: std is -2" "${field[@]}" --condition bad.csv
run 1 "${field[@]}" --out nowhere/a.csv
has "$err" "nowhere/a.csv"

# Flow: a uniform interval by hand. k = 2, inflow 3 on the left, head 5 on the right: h = 5 + 1.5 (1 - x).
printf 'x1,k\n0.875,2\n0.125,2\n0.375,2\n0.625,2\n' > even.csv
run 0 reference solve --conductivity even.csv --left flux:3 --right head:5
expected=$'x1,y,k,h\n0.125,0.6931471805599453,2,6.3125\n0.375,0.6931471805599453,2,5.9375'
if [[ $out != "$expected"* ]]; then complain "heads of an interval: $out"; fi
# A positive source takes out what flows in, so that no head is left: inflow 3, s = 3.
run 0 reference solve --conductivity even.csv --left flux:3 --right head:5 --source 3 --json
has "$out" '"balance_error": '
# … and so does a well in the first cell: all other heads are that of the right side.
run 0 reference solve --conductivity even.csv --left flux:3 --right head:5 --well 0.1,3
awk -F, 'NR > 1 && ($4 - 5 > 1e-12 || 5 - $4 > 1e-12) { exit 1 }' "$work/out" || complain "a well: $out"
# Two dimensions: y where there is no k, columns by name, rows in any order
run 0 reference solve --conductivity a.csv --left flux:1 --right head:0 --well 0.5,0.25,0.1 --well 1,0.5,-0.1 --out flow.csv
has "$out" "inflow and outflow differ by"
if [[ $(head -n 1 flow.csv) != "x1,x2,y,k,h" ]] || (($(wc -l < flow.csv) != 129)); then complain "not a table of heads"; fi
{ head -n 1 a.csv && tail -n +2 a.csv | sort -r; } > shuffled.csv
run 0 reference solve --conductivity shuffled.csv --left flux:1 --right head:0 --well 0.5,0.25,0.1 --well 1,0.5,-0.1
same "$work/out" flow.csv
cut -d, -f1-3 a.csv > logs.csv
sed '1s/y/logk/' logs.csv > named.csv
run 0 reference solve --conductivity logs.csv --left flux:1 --right head:0 --out c.csv --quiet
run 0 reference solve --conductivity named.csv --column logk --log --left flux:1 --right head:0 --out d.csv --quiet
same c.csv d.csv
run 0 reference solve --conductivity a.csv --left flux:1 --right head:0 --out flow.vti
has "$(< flow.vti)" 'Name="h"'

# Mistakes of solve
mistake "needs --conductivity" reference solve --left head:0
mistake "all sides have a flux" reference solve --conductivity a.csv --left flux:1
mistake "--left is 'hed:1'; expected head:VALUE or flux:VALUE" reference solve --conductivity a.csv --left hed:1
mistake "--left is 'x'; expected a number" reference solve --conductivity a.csv --left head:x
mistake "--well is '1'; expected X,Y,RATE" reference solve --conductivity a.csv --left head:1 --well 1
mistake "well 1 has 1 coordinate; expected 2" reference solve --conductivity a.csv --left head:1 --well 0.5,1
mistake "expected a point of the domain" reference solve --conductivity a.csv --left head:1 --well 0.5,0.6,1
mistake "did you mean 'k'?" reference solve --conductivity a.csv --left head:1 --column kk
mistake "--log without a column" reference solve --conductivity a.csv --left head:1 --log
mistake "a.csv:2:17: a conductivity of -" reference solve --conductivity a.csv --left head:1 --column y
mistake "on side top of an interval" reference solve --conductivity even.csv --left head:1 --top flux:1
sed 4d a.csv > holes.csv
mistake "the 127 rows are no grid" reference solve --conductivity holes.csv --left head:1
mistake "no column 'x1'" reference solve --conductivity line.csv --left head:1
mistake "cannot open" reference solve --conductivity nowhere.csv --left head:1

# JSON
if python3 -c pass 2> /dev/null; then
  run 0 reference solve --conductivity a.csv --left flux:1 --right head:0 --json
  python3 -c 'import json, sys; page = json.load(open(sys.argv[1]))
assert page["coordinates"]["x2"]["cells"] == 8 and abs(page["coordinates"]["x2"]["high"] - 0.5) < 1e-12, page
assert page["columns"]["h"]["smallest"] > 0 and page["balance_error"] < 1e-10, page' "$work/out" || complain "JSON of solve"
  run 0 "${field[@]}" --json
  python3 -c 'import json, sys; page = json.load(open(sys.argv[1]))
assert page["balance_error"] is None and "y" in page["columns"], page' "$work/out" || complain "JSON of field"
fi

# The table as the truth of a problem, as it is and by expressions of its columns
for truth in "flow.csv" "{csv: flow.csv, y: log(k), h: h - 1}"; do
  cat > tabled.yaml << END
name: tabled
coordinates: {x1: [0, 1], x2: [0, 0.5]}
fields: {h: {network: [4]}, y: {network: [4]}}
quantities: {k: exp(y)}
truth: $truth
terms:
  y: {expect: y, at: {cells: 9}, data: truth, noise: 0.1}
  h: {expect: h, at: {same_as: y}, data: truth, noise: 0.1}
prior: {reference_term: y}
predict: {cells: truth, quantities: [y, h, k]}
END
  run 0 check tabled.yaml
  has "$out" "ok: all derivatives agree"
  if [[ $out == *"used nowhere"* || $out == *"no data yet"* ]]; then complain "warnings: $out"; fi
done

# … and in place of the truth that a problem has: relative to the current folder wherever the problem lies.
mkdir elsewhere
sed 's/^truth: .*/truth: {cells: [4, 4]}/' tabled.yaml > elsewhere/tabled.yaml
run 0 check elsewhere/tabled.yaml
has "$out" "no data yet"
run 0 check elsewhere/tabled.yaml --truth '{csv: flow.csv, y: log(k), h: h - 1}'
if [[ $out == *"no data yet"* ]]; then complain "--truth is not taken: $out"; fi
run 0 run elsewhere/tabled.yaml --truth flow.csv --prior-scale 1 --samples 1 --iterations 3 --out with-truth --quiet
grep -q '"h": {"rl2": [0-9]' with-truth/summary.json || complain "no errors of h with --truth"
same with-truth/truth.csv flow.csv
mistake "--truth:1:17: unknown field, quantity or unknown 'z'" check elsewhere/tabled.yaml --truth '{csv: flow.csv, z: 1}'
mistake "nowhere.csv" check elsewhere/tabled.yaml --truth nowhere.csv
mistake "--truth has an empty value" check elsewhere/tabled.yaml --truth=

# darcy needs nothing from outside: it runs on the truth that it makes, has errors against it, and run.yaml makes it again.
run 0 run darcy --preset paper --optimizer lm --samples 1 --iterations 3 --out darcy --quiet
grep -q '"y": {"rl2": [0-9]' darcy/summary.json || complain "no errors of y: $(< darcy/summary.json)"
grep -q '"h": {"rl2": [0-9]' darcy/summary.json || complain "no errors of h: $(< darcy/summary.json)"
run 0 run darcy/run.yaml --out again --quiet
same darcy/run.yaml again/run.yaml
same darcy/posterior.nc again/posterior.nc
exit $failed
