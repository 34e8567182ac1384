#!/usr/bin/env bash
# Methods nuts and svgd from the outside: runs that are killed, resumed, extended and shared by threads end in the same
# bytes; their files and verdicts.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

cat > small.yaml << 'YAML'
name: small
coordinates: {x: [0, 1]}
fields: {u: {network: [4]}}
unknowns: {c: {start: 1, transform: log, prior: {mean: 0, std: 1}}}
quantities: {f: "c*d(u, x, x)"}
truth: {u: sin(3*x), f: -2*9*sin(3*x)}
terms:
  f: {expect: f, at: {grid: 12}, data: truth, noise: 0.5}
  u: {expect: u, at: {grid: 8}, data: truth, noise: 0.05}
predict: {grid: 11, quantities: [u, f]}
settings: {likelihood: noise, prior_scale: 1, optimizer: adam, start: glorot, scale_fields: no, samples: 300, nuts: {samples: 120, warmup: 80, max_depth: 6}, svgd: {samples: 30, iterations: 150}}
presets:
  dense: {nuts: {metric: dense, warmup: 90}}
YAML

same() { # FOLDER FOLDER FILE...
  local first=$1 second=$2
  shift 2
  for file in "$@"; do
    if ! cmp -s "$first/$file" "$second/$file"; then complain "$first/$file and $second/$file differ"; fi
  done
}

# What is said for a method counts for that method.
run 0 run small.yaml --method nuts --plan
has "$out" "4 chains of 80 warmup iterations and 120 draws"
run 0 run small.yaml --method nuts --preset dense --plan
has "$out" "4 chains of 90 warmup iterations"
run 0 run small.yaml --method nuts --start prior --plan
has "$out" "per gradient measured just now on one thread"
run 0 run small.yaml --method svgd --plan
has "$out" "30 particles"
run 0 run small.yaml --method rpinn --plan
has "$out" "300 members"

# NUTS: any number of threads; all files
nuts=(run small.yaml --method nuts --chains 3 --quiet)
run 0 "${nuts[@]}" --threads 1 --out one
run 0 "${nuts[@]}" --threads 3 --out three
files=(posterior.nc diagnostics.csv predictions.csv summary.csv)
same one three "${files[@]}"
run 0 summary one
has "$out" "3 chains of 120 draws after 80 iterations of warmup"
has "$out" "u, chain 3"
has "$out" "E-BFMI"
has "$out" "  c "
if (($(wc -l < one/diagnostics.csv) != 1 + 22 + 1 + 13)); then complain "diagnostics.csv has $(wc -l < one/diagnostics.csv) lines"; fi

# Killed and resumed, at random moments
for metric in diagonal dense; do
  rm -rf whole
  run 0 "${nuts[@]}" --metric "$metric" --keep-warmup yes --max-depth 8 --out whole
  for round in 1 2 3; do
    rm -rf broken
    resume=() status=137 kills=0
    while ((status == 137)); do
      "$RPINN_PROGRAM" "${nuts[@]}" --metric "$metric" --keep-warmup yes --max-depth 8 --out broken "${resume[@]}" 2> error &
      process=$!
      if ((kills++ < 4)); then # a chain saves its state every 20 s: killed for ever it would never end
        sleep "0.$(printf '%03d' $((RANDOM % 400)))"
        kill -9 "$process" 2> /dev/null || true
      fi
      status=0
      wait "$process" 2> /dev/null || status=$?
      if [[ -e broken/checkpoint.db ]]; then resume=(--resume); fi
      if ((status != 0 && status != 137)); then complain "exit code $status: $(< error)"; fi
    done
    same whole broken "${files[@]}"
  done
done

# Longer chains go on from where they ended.
run 0 "${nuts[@]}" --samples 40 --out longer
run 0 "${nuts[@]}" --samples 120 --out longer --resume
same one longer "${files[@]}"
mistake "warmup" "${nuts[@]}" --warmup 81 --out longer --resume
mistake "chains" "${nuts[@]}" --chains 4 --out longer --resume

# Ctrl-C saves; the time limit too, with what every chain has.
"$RPINN_PROGRAM" "${nuts[@]}" --samples 1000000 --out stopped 2> error &
process=$!
sleep 1.5
kill -s INT "$process"
status=0
wait "$process" || status=$?
if ((status != 130)) || ! grep -q -- "--resume goes on" error; then complain "Ctrl-C: exit code $status: $(< error)"; fi
run 0 run small.yaml --method nuts --chains 2 --samples 10000000 --time-limit 2 --out limited
has "$out" "The time limit left"
run 0 predict limited --points <(printf 'x\n0.5\n')
has "$out" "u_mean"

# Starts
for start in glorot prior member map zero normal zero_then_normal one; do
  run 0 run small.yaml --method nuts --chains 2 --samples 5 --warmup 5 --iterations 50 --start "$start" --quiet --out "start-$start"
done
mistake "start member" run small.yaml --method ensemble --start member --out never
mistake "adagrad" run small.yaml --method rpinn --optimizer adagrad --out never
mistake "expected adam or adagrad" run small.yaml --method svgd --optimizer lm --out never
mistake "did you mean 'diagonal'?" run small.yaml --method nuts --metric diagnal --out never

# SVGD
svgd=(run small.yaml --method svgd --quiet)
run 0 "${svgd[@]}" --threads 1 --out svgd-one
run 0 "${svgd[@]}" --threads 2 --out svgd-two
same svgd-one svgd-two posterior.nc predictions.csv summary.csv svgd_trace.csv
if (($(wc -l < svgd-one/svgd_trace.csv) != 151)); then complain "svgd_trace.csv has $(wc -l < svgd-one/svgd_trace.csv) lines"; fi
run 0 summary svgd-one
has "$out" "LPP was highest"
run 0 "${svgd[@]}" --kernel functions --threads 1 --out functions-one
run 0 "${svgd[@]}" --kernel functions --threads 2 --out functions-two
same functions-one functions-two posterior.nc predictions.csv summary.csv svgd_trace.csv
for long in "parameters 20000" "functions 10000"; do # a second or more, whatever the processor
  read -r kernel iterations <<< "$long"
  moved=(run small.yaml --method svgd --kernel "$kernel" --quiet --iterations "$iterations")
  "$RPINN_PROGRAM" "${moved[@]}" --out "$kernel-broken" 2> error &
  process=$!
  for ((tries = 0; tries < 1000; tries++)); do # until it has begun
    if [[ -e "$kernel-broken/checkpoint.db" ]]; then break; fi
    sleep 0.02
  done
  sleep 0.2
  kill -s TERM "$process"
  status=0
  wait "$process" || status=$?
  if ((status != 130)); then complain "svgd, SIGTERM: exit code $status: $(< error)"; fi
  run 0 "${moved[@]}" --out "$kernel-broken" --resume
  run 0 "${moved[@]}" --out "$kernel-whole"
  same "$kernel-whole" "$kernel-broken" posterior.nc predictions.csv summary.csv svgd_trace.csv
done
mistake "was nothing, is now   kernel: functions" "${svgd[@]}" --kernel functions --out svgd-one --resume
mistake "did you mean 'functions'?" "${svgd[@]}" --kernel function --out never
mistake "this run has 30 particles" "${svgd[@]}" --samples 40 --out svgd-one --resume
run 0 "${svgd[@]}" --optimizer adagrad --repulsion undivided --start normal --out svgd-adagrad
run 0 "${svgd[@]}" --samples 1 --out svgd-single

# Verdicts: small problems are cautions, unless --strict says that they count.
run 0 diagnose one --all
has "$out" "u[10]"
has "$out" "verdict: fair"
has "$out" "caution (rhat): R-hat is above 1.01 for "
lacks "$out" "problem: "
run 0 diagnose one --json
has "$out" '"healthy": true, "verdict": {"word": "fair"'
# The error of a deviation is that of diagnostics.csv, to the digits that both have.
column=$(head -n 1 one/diagnostics.csv | tr ',' '\n' | grep -nx mcse_sd | cut -d : -f 1)
error_of_c=$(grep '^unknown,c,' one/diagnostics.csv | cut -d , -f "$column")
has "$out" "\"mcse_sd\": ${error_of_c:0:7}"
run 3 diagnose one --strict
has "$out" "problem: R-hat is above 1.01 for "
run 3 diagnose svgd-one # 150 iterations are not enough to reach the data
has "$out" "there are no chains to compare"
has "$out" "bad (misfit): "
has "$out" "caution (spread): On a Gaussian of 14 parameters with equal variances 30 particles with repulsion divided rest at 0.25 times the variance or less. The spread of the particles is that of the moment at which they were stopped"
run 0 diagnose one --shape
for file in shape_plane.csv shape_points.csv shape_spectrum.csv; do
  if [[ ! -s one/$file ]]; then complain "no one/$file"; fi
done
if (($(wc -l < one/shape_spectrum.csv) != 1 + 3 * 14)); then complain "shape_spectrum.csv has $(wc -l < one/shape_spectrum.csv) lines"; fi
mistake "is for a run directory" diagnose small.yaml --shape
mistake "not finished" diagnose stopped

# Long chains of an easy problem are healthy: the linear model.
sed 's/network: \[4\]/network: [4], trainable: output/; /^unknowns/d; s/c\*d(u/d(u/; s/-2\*9/-9/' small.yaml > linear.yaml
run 0 run linear.yaml --method nuts --samples 1000 --warmup 500 --max-depth 8 --target-acceptance 0.9 --quiet --out linear
run 0 diagnose linear --strict
has "$out" "ok"
exit $failed
