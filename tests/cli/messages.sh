#!/usr/bin/env bash
# What the program says when it is given something odd: in plain words, at once, and with an exit code that is right.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# hurried SECONDS COMMAND…: an answer within so many seconds
hurried() {
  local most=$1 begun=$SECONDS
  shift
  "$@"
  if ((SECONDS - begun > most)); then complain "$*: $((SECONDS - begun)) s, expected at most $most"; fi
}

# ---- ranges of settings ----
mistake "time_limit is '1e-9'; expected a number of at least 0.001 or auto" check poisson-linear --time-limit 1e-9
mistake "target_acceptance is '1e-9'; expected a number from 0.001 to 0.9999" check poisson-linear --target-acceptance 1e-9
mistake "learning_rate is '0'; expected a number above 0 and at most 1e+06" check poisson-linear --learning-rate 0
mistake "decay_steps is '-1'; expected a number above 0" check poisson-linear --decay-steps -1

mistake "--length is 'nan'; expected 1 to 2 finite numbers with commas between them" \
  reference field --cells 8x8 --covariance exponential --length nan
mistake "--seed is '99999999999999999999'; expected a whole number of at most 18 digits" \
  reference field --cells 8x8 --covariance exponential --length 1 --seed 99999999999999999999
mistake "x1 goes from -1e+308 to 1e+308; expected a width that a double can hold" \
  reference field --cells 8x8 --covariance exponential --length 1 --domain -1e308,1e308,0,1
mistake "--plan has no JSON form" run poisson-linear --plan --json

# ---- a start that is nowhere ----
mkdir empty
mistake "start is 'nodirx'; expected one of glorot|prior|member|map|zero|normal|zero_then_normal|a run directory" \
  run poisson-linear --start nodirx --out started
mistake "empty: this folder holds no run to start from; expected checkpoint.db" \
  run poisson-linear --start empty --out started
mistake "start is 'glorott'" run poisson-linear --start glorott --out started
has "$err" "did you mean 'glorot'?"
if [[ -e started ]]; then complain "a start that is nowhere leaves a folder"; fi

# ---- files that are none ----
mkfifo silent
truncate -s 2G large.csv
hurried 2 mistake "'large.csv': found more than 1024 MiB, expected a smaller file" check poisson-linear --data large.csv
hurried 15 mistake "'silent': nothing came through this pipe in 10 seconds; expected a file" \
  check poisson-linear --data silent
mistake "/dev/zero: this is a device; expected a file or a pipe" check /dev/zero
mistake "empty: this is a directory; expected a file" check ./empty
# A pipe that a program writes to is as good as a file.
run 0 check poisson-linear
expected=$out
name=$RPINN_SOURCE_DIR/problems/poisson-linear.yaml
(sleep 1 && cat "$name") | "$RPINN_PROGRAM" check /dev/stdin > piped || complain "a problem through a pipe is refused"
if [[ $(< piped) != "$expected" ]]; then complain "a problem through a pipe is another one: $(< piped)"; fi
# Data are read once, by however many threads.
printf 'term,x,value\nf,0.1,0.5\nf,0.9,0.2\nb,-1,0\nb,1,0\n' > data.csv
piped=(--preset paper --samples 2 --iterations 5 --threads 2 --quiet)
run 0 run poisson-linear --data data.csv "${piped[@]}" --out from-file
run 0 run poisson-linear --data <(cat data.csv) "${piped[@]}" --out from-pipe
if ! cmp from-file/posterior.nc from-pipe/posterior.nc; then complain "data through a pipe are other data"; fi

# ---- numbers that a person reads ----
cat > plain.yaml << 'END'
name: plain
coordinates: {x: [0, 1]}
unknowns:
  a: {start: 1, prior: {mean: 1, std: 1}}
fields:
  u: {network: [8]}
terms:
  eq: {expect: "d(u, x, x) + a", at: {grid: 16}, data: 0, noise: 0.1}
settings: {likelihood: noise, prior_scale: 1, optimizer: adam, start: glorot, scale_fields: no, chains: 2, threads: 1}
END
# One draw has no deviation, and a problem without predict: says how to get one.
run 0 run plain.yaml --method map --optimizer lm --iterations 100 --out map --quiet
run 0 summary map
has "$out" "(one draw: no deviation)"
lacks "$out" "nan"
has "$out" "nothing is predicted: the problem file has no predict, such as"
has "$out" "    predict: {grid: 101, quantities: [NAME]}"
lacks "$out" "CRPS" # the header of a table without rows
printf 'x\n0.5\n' > points.csv
mistake "expected --quantities NAME" predict map --points points.csv
run 0 predict map --points points.csv --quantities u
has "$(< map/report.html)" "<code>predict: {grid: 101, quantities: [NAME]}</code>"
lacks "$(< map/report.html)" "<h2>Scores"
run 0 compare map map
has "$out" "there is nothing to compare: their problem files have no predict, such as"
run 0 diagnose map
has "$out" "method map: 1 draw made on its own"
# The median of two numbers of iterations is a number of iterations.
run 0 run plain.yaml --samples 2 --optimizer lbfgs --iterations 300 --seed 8 --out two --quiet
if ! grep -Eq '[ >][0-9]+ iterations, ' two/report.html; then complain "$(grep -o '.\{9\} iterations, ' two/report.html)"; fi
# Where particles have no truth to be measured by
run 0 run plain.yaml --method svgd --samples 3 --iterations 20 --out particles --quiet
run 0 summary particles
has "$out" '  repulsion divided; kernel Stein discrepancy '
lacks "$out" 'LPP was highest'
# Chains that are too short for any figure
run 0 run plain.yaml --method nuts --samples 3 --warmup 0 --first-step 1000 --out chains --quiet
run 0 summary chains
lacks "$out" "nan"
run 3 diagnose chains
has "$out" "2 chains of 3 draws, 1 scalar"$'\n'
has "$out" "6 of 6 trajectories diverged (100 %), in 2 of 2 chains"

# ---- networks that are too large to check ----
widths=$(printf '4096, %.0s' {1..63})
sed "s/\[8\]/[${widths%, }]/" plain.yaml > huge.yaml
hurried 5 mistake "the networks have 1040453634 parameters, a vector of 8.32 GB: too many to check" check huge.yaml
has "$err" "expected smaller networks, which test the same expressions"
widths=$(printf '64, %.0s' {1..30})
sed "s/\[8\]/[${widths%, }]/" plain.yaml > deep.yaml
hurried 20 run 0 check deep.yaml # twenty seconds before, on an idle machine
has "$out" "warning: 120834 parameters are many: fewer points and directions were tried than usual"
has "$out" "ok: all derivatives agree"
hurried 20 mistake "6000002 rows with networks of 2701 parameters are too many to compute the energy within seconds" \
  check poisson-linear --set Nf=6e6
# More than the machine holds is refused before the system kills the program for it.
hurried 5 mistake "GB of memory, and the machine has" run huge.yaml --out huge
has "$err" "expected smaller networks or fewer --threads"
hurried 5 mistake "this run needs at least 8000001248 GB of memory" run plain.yaml --method svgd --samples 1e9 --out huge
has "$err" "expected fewer --samples or smaller networks"
mistake "plain.yaml: this is no directory; expected one" run plain.yaml --out plain.yaml/run

# ---- long names ----
# A name is used whole or refused, never cut.
here=$(pwd -P)
part=$(printf 'd%.0s' {1..200})
whole=$part/$part
longest=$whole/$(head -c $((490 - ${#here} - ${#whole} - 2)) /dev/zero | tr '\0' e)
run 0 run plain.yaml --method map --iterations 10 --out "$longest" --quiet
if [[ ! -e $longest/summary.json ]]; then complain "--out is cut: $(find "$part")"; fi
mistake "the name of the run directory has 491 characters from the root on; expected at most 490" \
  run plain.yaml --method map --out "${longest}e"
mistake "expected at most 490" run plain.yaml --method map --out "$part/$part/$part/$part"
if [[ -e ${longest}e || -e $part/$part/$part ]]; then complain "a name that is too long leaves a folder"; fi
sed "s/^name: .*/name: $part$part$part/" plain.yaml > long.yaml
mistake "long.yaml:1:7: name has 600 bytes; expected at most 200" run long.yaml --method map

# ---- time limits ----
# One member is made however short the time is; a run without any result yet was interrupted, and can go on.
run 0 run plain.yaml --samples 50 --iterations 2000 --time-limit 1e-3 --out limited
has "$out" "draws undone; --resume makes them"
run 130 run plain.yaml --method nuts --samples 50 --time-limit 1e-3 --out limited-chains
hurried 10 run 130 run plain.yaml --method nuts --chains 1000000 --samples 1 --warmup 0 --time-limit 0.1 --out million
run 130 run plain.yaml --method nuts --samples 50 --time-limit 1e-3 --out limited-chains --resume
has "$err" "the time limit ended the run before every chain had a draw; what is done is saved, and --resume"
run 0 run plain.yaml --method nuts --samples 50 --out limited-chains --resume --quiet

exit "$failed"
