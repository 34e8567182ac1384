#!/usr/bin/env bash
# rpinn bench --scaling: rows of one and two ranks, the model, and the files; what is no launcher.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
# shellcheck source=tests/cli/launchers.sh
. "$RPINN_SOURCE_DIR/tests/cli/launchers.sh"

run 0 bench --scaling --ranks 2 --repetitions 1 --seconds 0.1 --launcher "mpirun.${launchers[0]}" --out figures
has "$out" "scaling over ranks of one thread each, with members of"
has "$out" "model: a run of n members of c seconds on each of P ranks takes t0 + t1 P + max(n c, P n a) + c + P n u"
has "$out" "1024 ranks"
has "$out" "It assumes that every rank has a core of its own"
# row RANKS: the numbers of its line
row() { sed -n "s/^ *$1  *\([0-9].*%.*\)/\1/p" <<< "$out" | tr -d %; }
read -r weak alone model strong served latency bandwidth load <<< "$(row 2)"
if [[ -z ${load:-} ]]; then complain "no row of two ranks: $out"; fi
between() { awk -v value="$2" -v low="$3" -v high="$4" 'BEGIN {exit !(value >= low && value <= high)}' || complain "$1 is $2, expected $3 to $4"; }
# How busy the machine is decides on the first ones: they are no more than possible.
between "weak scaling" "${weak:-0}" 2 1000
between "weak scaling beside one" "${alone:-0}" 2 1000
between "the model's" "${model:-0}" 2 100.1
between "strong scaling" "${strong:-0}" 2 1000
between "members per second" "${served:-0}" 2000 1e9
between "latency in microseconds" "${latency:-0}" 0.1 100000
between "MB/s" "${bandwidth:-0}" 1 1e6
has "$(< figures/scaling.json)" '{"rows": [{"ranks": 1,'
has "$(< figures/scaling.json)" '"latency": null' # of one rank
has "$(< figures/scaling.svg)" 'points: measured, 0.01 s'
if compgen -G 'rpinn-scaling-*' > /dev/null; then complain "its runs are left behind"; fi

mistake "--ranks is 'two'; expected a whole number from 1 to 100000, or here" bench --scaling --ranks two
mistake "--ranks, --launcher, --seconds and --out are for rpinn bench --scaling" bench --ranks 2
mistake "--at-least is not for --scaling" bench --scaling --at-least 0.5
mistake "--seconds is '0'; expected seconds, up to 1000" bench --scaling --seconds 0
run 1 bench --scaling --ranks 2 --repetitions 1 --seconds 0.01 --launcher "sh -c :"
has "$err" "'sh -c : -n 2 '"
has "$err" "started no such ranks: found ''; expected a launcher of MPI, which --launcher names"

exit "$failed"
