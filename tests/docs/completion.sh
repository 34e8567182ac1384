#!/usr/bin/env bash
# The completions are what the tables of the program give, and bash completes by them.
# Usage: completion.sh PROGRAM; environment: RPINN_SOURCE_DIR
set -euo pipefail
here=$RPINN_SOURCE_DIR/completion
diff "$here/rpinn.bash" <("$1" bash) || { echo "completion/rpinn.bash is not fresh: run 'make docs'" >&2 && exit 1; }
diff "$here/_rpinn" <("$1" zsh) || { echo "completion/_rpinn is not fresh: run 'make docs'" >&2 && exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir 'my runs' && touch 'my runs/x' heat.yaml wells.csv notes.txt
# shellcheck source=/dev/null
source "$here/rpinn.bash"
failed=0

# complete_to EXPECTED WORD...: what the last word, under way, can become, with | between the offers. A first sign * asks
# for the rest to be among them.
complete_to() {
  local expected=$1 offers one
  shift
  COMP_WORDS=(rpinn "$@") COMP_CWORD=$#
  _rpinn || true # how it ends does not matter to bash
  offers=$(IFS='|' && echo "${COMPREPLY[*]}")
  one=${expected#\*}
  if [[ $expected == \** && "|$offers|" == *"|$one|"* ]] || [[ $offers == "$expected" ]]; then return; fi
  printf 'rpinn %s<TAB> offers "%s"; expected "%s"\n' "$*" "$offers" "$expected" >&2
  failed=1
}

complete_to 'diagnose' d
complete_to '*reference' ''
complete_to 'field|solve|--help' reference ''
complete_to '--iterations' run --iter
complete_to 'map' run --method m
complete_to 'map' run --method = m
complete_to 'map|rpinn|ensemble|nuts|svgd|laplace|vi' run --method =
complete_to 'adam|adagrad' run poisson-linear --optimizer ada
complete_to 'poisson-linear|poisson-nonlinear' check poi
complete_to 'heat.yaml' check hea
complete_to 'wells.csv' run heat.yaml --data w
complete_to 'my runs' run heat.yaml --out m
complete_to 'my runs' summary my
complete_to 'wells.csv|my runs' diagnose ''
complete_to 'auto' run heat.yaml --samples ''
complete_to '' run heat.yaml --retries ''
complete_to 'paper' reproduce table1 --scale p
complete_to 'rpinn,nuts' reproduce table1 --methods rpinn,n
complete_to 'rpinn,laplace' calibrate heat.yaml --methods rpinn,l
complete_to 'rpinn|ensemble|nuts|svgd|laplace|vi' calibrate heat.yaml --methods ''
complete_to 'truth|prior|data' calibrate heat.yaml --from ''
complete_to 'points' calibrate heat.yaml --redraw p
complete_to 'mse,folds' weights heat.yaml --rule mse,f
complete_to 'loo|evidence|folds|mse|lpp|gradients|annealing|kernel' weights heat.yaml --rule ''
complete_to 'weight' weights heat.yaml --search w
complete_to 'matern32|matern52' reference field --covariance ma
complete_to '--well' reference solve --w
complete_to '' list ''
complete_to '' nosuch --x

# Whatever the library can reproduce is offered: it lists the names where it refuses one.
names=$("$RPINN_PROGRAM" reproduce '?' 2>&1 | sed 's/.*expected //; s/, / /g; s/ or / /') || true
for name in $names; do complete_to "*$name" reproduce ''; done
if (($(wc -w <<< "$names") < 7)); then echo "expected at least seven names; found '$names'" >&2 && failed=1; fi

# Every command of the help can be completed.
while read -r name; do complete_to "*$name" ''; done \
  < <("$RPINN_PROGRAM" --help | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p')

if command -v zsh > /dev/null; then
  zsh -n "$here/_rpinn"
else
  echo "no zsh: completion/_rpinn was compared and not parsed"
fi
exit $failed
