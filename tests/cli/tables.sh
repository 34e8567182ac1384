#!/usr/bin/env bash
# What rpinn summary and rpinn compare print of fixed summaries: every cell with its unit, every line at its threshold.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$RPINN_SOURCE_DIR/tests/cli/tables/." "$work"
cd "$work"
for name in members chains particles; do mkdir "$name" && mv "$name.json" "$name/summary.json"; done
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# prints FILE ARGUMENTS…: the output is that file, to the last space
prints() {
  local file=$1
  shift
  run 0 "$@"
  diff "$file" "$work/out" || complain "rpinn $* prints (>) something else than $file (<)"
}
prints members.txt summary members
prints chains.txt summary chains
prints particles.txt summary particles
prints compare_same.txt compare members chains
prints compare_other.txt compare chains particles # names of unequal lengths, the longer one second
prints compare_other.json compare members particles --json
run 0 compare chains
if [[ $(head -n 1 "$work/out") != "bridge, 1 run" ]]; then complain "one run: $out"; fi

# with RUN EDIT LINE: with the summary so edited (by sed), the table has this line; LINE beginning with !: it has not
with() {
  local line=${3#!} found=no wanted=yes
  if [[ $3 == !* ]]; then wanted=no; fi
  rm -rf edited
  cp -R "$1" edited
  sed -i "$2" edited/summary.json
  if cmp -s "$1/summary.json" edited/summary.json; then complain "$2 changes nothing in $1"; fi
  run 0 summary edited
  if grep -qF -- "$line" "$work/out"; then found=yes; fi
  if [[ $found != "$wanted" ]]; then complain "$1 with $2: '$line': $found, expected $wanted: $out"; fi
}
converged='did not converge: the loss still fell. Raise --iterations, or use --optimizer lm.'
with members 's/"converged": 90/"converged": 94/' "  note (unconverged): 1 of 95 members $converged"
with members 's/"converged": 90/"converged": 47/' "  caution (unconverged): 48 of 95 members $converged"
with members 's/"converged": 90/"converged": 95/' "!$converged"
never='failed: their loss was not finite in any attempt, and they are left out.'
with members 's/"failed": 2/"failed": 1/' "  note (failed): 1 of 96 members $never"
with members 's/"failed": 2/"failed": 1/' '  note (undone): The time limit left 24 draws undone; --resume makes them.'
with members 's/"failed": 2/"failed": 0/' '!failed'
with members 's/"failed": 2/"failed": 0/' 'The time limit left 25 draws undone'
with members 's/"failed": 2/"failed": null/' 'The time limit left 25 draws undone'
with members 's/"out_of_time": true/"out_of_time": false/' '!undone'
with members 's/"constant": false/"constant": true/' 'effective size 77.8 of 95 draws; all equal, so the draws are the posterior'
with members 's/"constant": false/"constant": true/' '!Pareto'
with members 's/"apply": true/"apply": false/; s/"reason": ""/"reason": "of this"/' '  Gauss-Newton weights do not apply: of this'
with members 's/"apply": true/"apply": false/; s/"method": "rpinn"/"method": "ensemble"/' '!Gauss-Newton'
with members 's/"correction": "mh"/"correction": "none"/; s/"reason": ""/"reason": "of that"/' '  warning: --correct mh was not done: of that'
with members 's/"correction": "mh"/"correction": "none"/; s/"correction_asked": true/"correction_asked": false/' '!Metropolis'
with members 's/"correction": "mh"/"correction": "none"/; s/"correction_asked": true/"correction_asked": false/' '!--correct'
with particles 's/"iterations": 20,/"iterations": 20, "stein_discrepancy": 3.25,/' '  repulsion undivided; kernel Stein discrepancy 3.25; along the iterations'
with members 's/"samples": 95/"samples": 1/' 'method rpinn: 1 member by lbfgs'

with particles 's/"samples": 1,/"samples": 2,/' 'method svgd: 2 particles by adagrad'
exit $failed
