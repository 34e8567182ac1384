#!/usr/bin/env bash
# What a person gets who states a problem and nothing else: the settings that it was run with, bands that hold the truth, real
# units, the same run by spelling `auto`, and an error with its remedy where noise is not stated.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# Heads of a confined aquifer with recharge r and an unknown transmissivity T, in metres and metres per day.
cat > strip.yaml << 'END'
name: strip
coordinates: {x: [0, 5000]}
constants: {r: 1e-3}
fields: {h: {network: [12, 12]}}
unknowns: {T: {start: 300, transform: log, prior: {mean: log(300), std: 1}}}
truth: {h: "100 + r/(2*500)*x*(5000 - x)", T: 500}
terms:
  balance: {expect: "T*d(h, x, x) + r", at: {grid: 20}, data: 0, noise: 5e-5}
  wells: {expect: h, at: {grid: 11}, data: truth, noise: 0.2}
predict: {grid: 51, quantities: [h]}
END
run 0 run strip.yaml --threads 1 --out plain --quiet
settings=$(< plain/run.yaml)
for line in "optimizer: lm" "iterations: 1000" "progress_tolerance: 0.0001" "start: prior" "samples: 199" "likelihood: noise" \
  "scale_fields: yes" "chosen_by: loo"; do
  has "$settings" "$line"
done
if ! grep -Eq '^  prior_scale: [0-9.]+$' plain/run.yaml; then complain "run.yaml has no scale: $(grep prior_scale plain/run.yaml)"; fi
has "$(< plain/summary.json)" '"verdict"'
# Every member says why it stopped, in the summary and in the report
stops=$(grep -o '"stops": {[^}]*}' plain/summary.json)
has "$stops" '"decrease_small": '
lacks "$stops" '"running"'
has "$(< plain/report.html)" "decrease_small"
awk 'match($0, /"interval_coverage": [0-9.]+/) { share = substr($0, RSTART + 21, RLENGTH - 21) }
  match($0, /"members": [{].*"converged": [0-9]+/) { found = $0; sub(/.*"converged": /, "", found); converged = found + 0 }
  END { if (!(share + 0 >= 0.8)) { print "95 % intervals hold " share " of h"; bad = 1 }
        if (!(converged >= 190)) { print converged " of 199 members converged"; bad = 1 }
        exit bad }' plain/summary.json || complain "the default run of strip.yaml"
run 0 summary plain
# The truth is 500: its 95 % interval holds it, and is no wider than a factor of two either way.
awk '/^  T / { gsub(/[][,]/, " "); low = $(NF - 1); high = $NF }
  END { if (!(low < 500 && 500 < high && low > 250 && high < 1000)) { print "T in " low " to " high; exit 1 } }' \
  "$work/out" || complain "the interval of T"

# The word auto is the default, more members do not choose the scale again, and a given value wins.
run 0 run strip.yaml --threads 1 --optimizer auto --iterations auto --start auto --samples auto --prior-scale auto --out spelt --quiet
cmp plain/run.yaml spelt/run.yaml || complain "auto is not the default"
cmp plain/posterior.nc spelt/posterior.nc || complain "auto gives other draws"
run 0 run strip.yaml --threads 1 --samples 203 --out spelt --resume --quiet
has "$(< spelt/run.yaml)" "$(grep 'prior_scale' plain/run.yaml)"
run 0 run strip.yaml --threads 1 --prior-scale 0.5 --samples 3 --optimizer adam --out given --quiet
for line in "optimizer: adam" "iterations: 2000" "progress_tolerance: auto" "prior_scale: 0.5" "samples: 3"; do
  has "$(< given/run.yaml)" "$line"
done
run 0 run strip.yaml --method laplace --plan
has "$out" "999 draws"
run 0 run strip.yaml --method nuts --plan
has "$out" "4 chains of 1000 warmup iterations and 1000 draws"
has "$out" "the choice of the prior's scale"

# Noise is what a problem must state.
sed 's/, noise: 5e-5/, weight: 10/' strip.yaml > silent.yaml
mistake "silent.yaml:8:3: term 'balance' has no noise above 0; expected noise:" run silent.yaml --out never
has "$err" "or likelihood: paper, which goes by weights"
if [[ -e never ]]; then complain "a refused run leaves a folder"; fi
sed -e '$a prior: {reference_term: wells}' silent.yaml > weighed.yaml
run 0 check weighed.yaml --likelihood paper
exit $failed
