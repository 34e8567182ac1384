#!/usr/bin/env bash
# The table of docs/methods.md: its marker lines are there, and bench/methods/run.sh writes between them, and nowhere else, what
# a small run found; a second call makes nothing anew.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
complain() { echo "methods_table: $1" >&2 && exit 1; }
if ! python3 -c '' 2> error; then
  echo "methods_table: skipped, there is no python3"
  exit 0
fi
begin='<!-- bench/methods/run.sh writes from here -->' end='<!-- to here -->'
# the page without what stands between the markers
around() { sed "/^$begin\$/,/^$end\$/{/^$begin\$/!{/^$end\$/!d}}" "$1"; }
begin=$(sed 's/[/]/\\&/g' <<< "$begin") end=$(sed 's/[/]/\\&/g' <<< "$end")

cat > slope.yaml << 'YAML'
name: slope
coordinates: {x: [0, 1]}
fields: {u: {network: [4]}}
truth: {u: x}
terms: {u: {expect: u, at: {grid: 8}, data: truth, noise: 0.1}}
predict: {grid: 3, quantities: [u]}
settings: {prior_scale: 1}
YAML
cp "$RPINN_SOURCE_DIR/docs/methods.md" page.md
export PROBLEMS="$work/slope.yaml" METHODS="laplace rpinn rpinn:optimizer=lbfgs rpin" DATASETS=2 MEMBERS=39 JOBS=1
table() { "$RPINN_SOURCE_DIR/bench/methods/run.sh" "$RPINN_PROGRAM" "$work/scores" "$@" 2> error; }

table page.md > out || complain "$(< error)"
grep -qF "slope, rpin: rpinn: --methods: found 'rpin'; expected" out || complain "a method that is none is not named: $(< out)"
[[ $(around page.md) == "$(around "$RPINN_SOURCE_DIR/docs/methods.md")" ]] || complain "the page changed outside of the markers"
for method in laplace rpinn rpinn:optimizer=lbfgs; do
  [[ $(grep -cF "| \`$method\` | 2 of 1 |" page.md) == 1 ]] || complain "no row for $method: $(< out)"
done
# the reference by itself: its CRPS is the best one's or more, its width its own
awk -F'|' '/^\| `rpinn` / { found = $7 + 0 >= 1 && $8 + 0 == 1 && $5 + 0 <= 100 && $6 + 0 >= 38 } END { exit !found }' page.md ||
  complain "the row of rpinn: $(grep '^| `rpinn`' page.md)"
awk -F'|' '/^\| `/ && $7 + 0 == 1 { best++ } END { exit !best }' page.md || complain "no method is the best one: $(< out)"

# again: the same table, and no run
cp page.md before.md
METHODS="laplace rpinn rpinn:optimizer=lbfgs" table page.md > out || complain "$(< error)"
cmp -s before.md page.md || complain "the second table is another one"
find scores -path '*/scores/*.json' -newer before.md > newer
[[ ! -s newer ]] || complain "made anew: $(< newer)"

# the program reads all methods of the list: what it refuses is the one member
while read -r method; do
  if "$RPINN_PROGRAM" calibrate slope.yaml --methods "$method" --members 1 --out never 2> error; then complain "one member is enough"; fi
  grep -qF -- "--members: found '1'" error || complain "$method: $(< error)"
done < <(METHODS='' "$RPINN_SOURCE_DIR/bench/methods/run.sh" --list)

# a page without markers is left as it is
echo "no markers" > plain.md
if table plain.md > out; then complain "a page without markers was taken"; fi
grep -qF "expected one line" error || complain "no message about markers: $(< error)"
[[ $(< plain.md) == "no markers" ]] || complain "the page without markers changed"
