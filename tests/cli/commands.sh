#!/usr/bin/env bash
# The program as a user meets it: exit codes, help, typos, JSON, overrides, a full disk.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# Alone and asked for help
run 2
has "$err" "usage: rpinn COMMAND"
run 0 --help
for command in check list; do has "$out" "  $command"; done
run 0 --version
has "$out" "rpinn "
mapfile -t settings < <(sed -nE 's/^ *X\([A-Z_]+, "([a-z_]+)".*/\1/p' "$RPINN_SOURCE_DIR/include/rpinn/settings.h" | tr _ -)
if ((${#settings[@]} < 17)); then complain "found only ${#settings[@]} settings in settings.h"; fi
run 0 check --help
for setting in "${settings[@]}"; do has "$out" "  --$setting "; done
for option in --preset --set --data --json --help; do has "$out" "  $option "; done
run 0 list --help
has "$out" "--json"

# Typos
mistake "unknown command 'chek'; did you mean 'check'?" chek
mistake "unknown command 'frobnicate'" frobnicate
mistake "did you mean '--samples'?" check poisson-linear --sampels 3
mistake "unknown option '--frobnicate'" check poisson-linear --frobnicate
mistake "unknown option '--set'" list --set a=1
mistake "did you mean 'sigma'?" check poisson-linear --set sgima=1
mistake "did you mean 'iterations'?" check poisson-linear --set itertions=1
mistake "did you mean 'paper'?" check poisson-linear --preset papr
mistake "did you mean 'rpinn'?" check poisson-linear --method rpin
mistake "did you mean 'poisson-linear'?" check poisson-liner
mistake "cannot open this file" check nowhere.yaml

# Usage
mistake "needs PROBLEM" check
mistake "a second PROBLEM" check poisson-linear darcy
mistake "takes no arguments; found 'darcy'" list darcy
mistake "expected NAME=VALUE" check poisson-linear --set sigma
mistake "expected NAME=VALUE" check poisson-linear --set =1
mistake "sigma has no value" check poisson-linear --set sigma=
mistake "--set has no value" check poisson-linear --set
mistake "--preset has no value" check poisson-linear --preset
mistake "--preset is given twice" check poisson-linear --preset paper --preset paper
mistake "--data has an empty value" check poisson-linear --data=
mistake "--json takes no value" check poisson-linear --json=yes

# Shipped problems, and what --set, --preset and --likelihood do to them
for problem in poisson-linear poisson-nonlinear darcy darcy-geostatistics; do
  run 0 check "$problem"
  has "$out" "ok: all derivatives agree"
done
run 0 check poisson-linear --set Nf=128
has "$out" "130 rows"
run 0 check darcy --preset text
has "$out" "944 rows"
run 0 check poisson-linear --likelihood noise --prior-scale=inf
has "$out" "likelihood noise"
has "$out" "no prior"
run 0 check -- poisson-linear
run 0 list
has "$out" "darcy"

# A run ends by naming its report; one whose report cannot be written shows its results all the same.
run 0 run poisson-linear --samples 2 --iterations 5 --out "$work/run"
if [[ ${out##*$'\n'} != "$work/run/report.html" ]]; then complain "the last line is not the report: $out"; fi
if [[ $(tail -n 1 "$work/run/report.html") != "</html>" ]]; then complain "the report is not whole"; fi
rm "$work/run/report.html"
mkdir -p "$work/run/report.html/in-the-way"
run 1 run poisson-linear --samples 2 --iterations 5 --out "$work/run" --resume
has "$out" "rl2"
has "$err" "report.html"
rm -r "$work/run"

# What a Gaussian prior is given decides the draws: another file does not go on with them. A run directory stands alone.
cat > "$work/prior.yaml" << 'EOF'
name: prior
coordinates: {x: [0, 1]}
fields: {u: {network: [4]}}
terms:
  data: {expect: u, at: {grid: 3}, data: x, noise: 0.1}
  field: {gaussian: {field: u, covariance: matern52, length: 0.5, given: wells.csv}, at: {grid: 6}}
prior: {reference_term: data}
predict: {grid: 5, quantities: [u]}
EOF
printf 'x,value,std\n0.2,1,0.1\n0.8,0.5,0.1\n' > "$work/wells.csv"
run 0 run "$work/prior.yaml" --samples 2 --iterations 5 --out "$work/run"
has "$(< "$work/run/run.yaml")" "given: field_given.csv"
printf 'x,value,std\n0.2,1,0.1\n0.8,0.6,0.1\n' > "$work/wells.csv"
run 2 run "$work/prior.yaml" --samples 3 --iterations 5 --out "$work/run" --resume
rm "$work/wells.csv"
run 0 run "$work/run/run.yaml" --samples 3 --iterations 5 --out "$work/run" --resume
rm -r "$work/run" "$work/prior.yaml"

# JSON
run 0 list
has "$out" "  nuts                 Hamiltonian Monte Carlo with the no-U-turn sampler: chains of draws"
if python3 -c pass 2> /dev/null; then
  for problem in poisson-linear poisson-nonlinear; do
    run 0 check "$problem" --json
    python3 -c 'import json, sys; page = json.load(open(sys.argv[1])); assert page["problem"] == sys.argv[2], page
assert page["passed"] is True and page["sigmas"]["prior"] is None, page' "$work/out" "$problem" || complain "JSON of check $problem"
    run 0 check "$problem" --preset paper --json # a scale that the data do not choose
    python3 -c 'import json, sys; assert abs(json.load(open(sys.argv[1]))["sigmas"]["prior"] - 2.9047) < 1e-4' "$work/out" ||
      complain "JSON of check $problem --preset paper"
  done
  run 0 check poisson-linear --prior-scale inf --json
  python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/out" || complain "JSON with an infinite number"
  run 0 list --json
  python3 -c 'import json, sys; page = json.load(open(sys.argv[1]))
assert [p["name"] for p in page["problems"]] == ["darcy", "darcy-geostatistics", "poisson-linear", "poisson-nonlinear"], page
assert "rpinn" in page["methods"] and "plain" in page["backends"], page' "$work/out" || complain "JSON of list"
else
  echo "no python3: JSON is not parsed"
fi

# A standard output that cannot take it
for arguments in "check poisson-linear" "check poisson-linear --json" list --help --version "check --help"; do
  for target in /dev/full closed; do
    status=0
    if [[ $target == closed ]]; then
      # shellcheck disable=SC2086 # several words
      "$RPINN_PROGRAM" $arguments >&- 2> "$work/err" || status=$?
    elif [[ -w $target ]]; then
      # shellcheck disable=SC2086
      "$RPINN_PROGRAM" $arguments > $target 2> "$work/err" || status=$?
    else
      continue
    fi
    if ((status != 1)); then complain "rpinn $arguments > $target: exit code $status, expected 1"; fi
    has "$(< "$work/err")" "cannot write to the standard output"
  done
done

leftovers=$(find . -type f ! -name out ! -name err)
if [[ -n $leftovers ]]; then complain "left behind: $leftovers"; fi
exit $failed
