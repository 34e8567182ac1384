#!/usr/bin/env bash
# Ranks: however many of them make a run, by whichever MPI, it is that of a single process, byte for byte.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
# shellcheck source=tests/cli/launchers.sh
. "$RPINN_SOURCE_DIR/tests/cli/launchers.sh"

problem() { # NOISE
  printf '%s\n' "name: small" "coordinates: {x: [0, 1]}" "fields: {u: {network: [6]}}" "truth: {u: sin(3*x)}" \
    "terms:" "  u: {expect: u, at: {grid: 12}, data: truth, noise: $1}" "  f: {expect: \"d(u, x, x)\", at: {grid: 4}, data: -9*sin(3*x), noise: 1}" \
    "predict: {grid: 9, quantities: [u]}"
}
problem 0.1 > small.yaml
problem '{unknown: true, truth: 0.1}' | sed 's/name: small/name: unsure/' > unsure.yaml
cat > flat.yaml << 'END'
name: flat
coordinates: {x: [0, 1], y: [0, 1]}
fields: {u: {network: [4]}}
truth: {u: x*y}
terms: {u: {expect: u, at: {grid: [3, 3]}, data: truth, noise: 0.1}}
predict: {grid: [5, 4], quantities: [u]}
END

# every NAME NUMBERS ARGUMENTS…: so many ranks, of the launchers in turn, beside a single process
turn=0
every() {
  local name=$1 numbers=$2 number kind
  shift 2
  run 0 run "$@" --out "$name" --quiet
  for number in $numbers; do
    kind=${launchers[turn++ % ${#launchers[@]}]}
    ranks 0 "$kind" "$number" run "$@" --out "$name-$number" --quiet
    same "$name" "$name-$number"
    rm -rf "$name-$number"
  done
}
every members '2 4 7 1 4 2 1 7' small.yaml --samples 23 --iterations 40
every scaled '7 2' flat.yaml --method ensemble --samples 20 --iterations 15 --prior-scale loo
every unsure '4 2' unsure.yaml --samples 9 --iterations 30 --start map
every chains '2 4 7' small.yaml --method nuts --chains 5 --warmup 40 --samples 30 --max-depth 4 --keep-warmup yes
every laplace '7 2 4' flat.yaml --method laplace --samples 40
every corrected '7 2' small.yaml --samples 20 --iterations 20 --prior-scale 1 --correct nuts --correct-budget 60 --max-depth 4
has "$(< corrected/summary.json)" '"correction"'
every scaled-back '4' unsure.yaml --samples 17 --iterations 20 --prior-scale 1 --correct nuts --correct-budget 60 --max-depth 4 --correct-scale 0.7
every weighed '4' small.yaml --samples 12 --iterations 20 --correct mh
every particles '1 2 4 7' small.yaml --method svgd --samples 11 --iterations 20
every functions '4' small.yaml --method svgd --samples 5 --iterations 20 --kernel functions
# What one process makes: rank 0 does, and says so.
for method in map vi; do
  every "$method" 2 small.yaml --method "$method" --iterations 20
  has "$err" "the other 1 ranks have nothing to do"
done

# Rank 0 alone speaks, and says how many there are.
ranks 0 "${launchers[0]}" 3 run small.yaml --samples 5 --iterations 5 --threads 2 --out spoken
if (($(grep -c 'spoken/summary.json' <<< "$out") != 1)); then complain "not one rank speaks: $out"; fi
has "$err" "3 ranks on 1 machine, with at most 2 threads each"
has "$err" "5 of 5 members"
has "$(< spoken/run.log)" "the stores of 2 ranks are collected"
# More ranks than members.
ranks 0 "${launchers[0]}" 4 run small.yaml --samples 2 --iterations 5 --out few --quiet
run 0 run small.yaml --samples 2 --iterations 5 --out few-alone --quiet
same few-alone few

exit $failed
