#!/usr/bin/env bash
# One verdict in four places: the end of rpinn run, rpinn summary, rpinn diagnose and the report show the word and the sentences
# of summary.json; a good run, and a bad or fair one of each kind. rpinn run ends with 0 whatever it says.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# A bump and its curvature, both measured.
cat > bump.yaml << 'YAML'
name: bump
coordinates: {x: [-1, 1]}
constants: {amplitude: 1}
fields: {u: {network: [10]}}
quantities: {f: "d(u, x, x)"}
truth: {u: amplitude*cos(2*x), f: -4*amplitude*cos(2*x)}
terms:
  f: {expect: f, at: {grid: 20}, data: truth, noise: 0.3}
  u: {expect: u, at: {grid: 20}, data: truth, noise: 0.1}
predict: {grid: 21, quantities: [u, f]}
YAML
honest=(--likelihood noise --optimizer lm --iterations 300 --progress-tolerance 1e-4 --start prior --scale-fields yes --prior-shape iid
  --prior-scale 1 --samples 39 --threads 1 --seed 3)

# text of the report: tags away, entities back
page_text() {
  sed -e 's/<[^>]*>//g' -e 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&#39;/'"'"'/g; s/&amp;/\&/g' "$1/report.html"
}

# verdict WORD EXIT NAME FINDING... -- ARGUMENTS...: the run NAME ends with 0, its verdict is WORD in all places with these findings
# ("caution (misfit)"), and diagnose exits with EXIT
verdict() {
  local word=$1 code=$2 name=$3 line page
  shift 3
  local findings=()
  while [[ $1 != -- ]]; do
    findings+=("$1")
    shift
  done
  shift
  run 0 run "$@" --out "$name"
  sed -n '/^verdict: /,/^$/p' "$work/out" > "$name.lines"
  has "$(head -n 1 "$name.lines")" "verdict: $word"
  for finding in "${findings[@]}"; do has "$(< "$name.lines")" "$finding: "; done
  run 0 summary "$name"
  if [[ $(sed -n '/^verdict: /,/^$/p' "$work/out") != $(< "$name.lines") ]]; then complain "$name: summary says: $out"; fi
  run "$code" diagnose "$name"
  if [[ $(sed -n '/^verdict: /,/^$/p' "$work/out") != $(< "$name.lines") ]]; then complain "$name: diagnose says: $out"; fi
  has "$(< "$name/summary.json")" "\"verdict\": {\"word\": \"$word\""
  page=$(page_text "$name")
  has "$page" "Verdict: $word"
  while read -r line; do has "$page" "$line"; done < <(sed -n 's/^  //p' "$name.lines")
  run "$code" diagnose "$name" --json
  has "$out" "\"verdict\": {\"word\": \"$word\""
}

verdict good 0 good -- bump.yaml "${honest[@]}"
if (($(wc -l < good.lines) > 2)); then complain "a good run says: $(< good.lines)"; fi

# The report made anew, and that of a run from before there were verdicts
run 0 report good --out again
has "$(page_text again)" "Verdict: good"
sed -i 's/"verdict": {"word": "good", "findings": \[\]}/"later": 0/' good/summary.json
run 0 summary good
has "$out" "caution (not_judged): An earlier version made this run and kept no evidence"
run 0 diagnose good
has "$out" "verdict: fair"

# Members that stopped long before they converged
verdict bad 3 hasty "caution (unconverged)" "bad (off_posterior)" -- bump.yaml "${honest[@]}" --optimizer adam --iterations 100 --start glorot
# A prior that is too narrow: the data are not reached
verdict bad 3 narrow "bad (misfit)" "caution (left_out_spread)" -- bump.yaml "${honest[@]}" --set amplitude=10 --scale-fields no --prior-scale 0.15
# Few draws, one of them, and ensembles and particles, which are never good
verdict fair 0 few "caution (few_draws)" -- bump.yaml "${honest[@]}" --samples 38
verdict fair 0 ensemble "caution (spread)" -- bump.yaml "${honest[@]}" --method ensemble --start glorot
verdict good 0 map "note (one_draw)" -- bump.yaml "${honest[@]}" --method map --start glorot
verdict good 0 laplace "note (linearised)" -- bump.yaml "${honest[@]}" --method laplace
run 0 run bump.yaml "${honest[@]}" --method svgd --optimizer adam --iterations 200 --start glorot --quiet --out particles
run 0 summary particles
has "$out" "caution (spread): On a Gaussian of 31 parameters with equal variances 39 particles with repulsion divided rest at 0.12 times the variance or less. The spread of the particles is that of the moment at which they were stopped"
run 0 run bump.yaml "${honest[@]}" --method svgd --optimizer adam --iterations 10 --start glorot --repulsion undivided --quiet --out undivided
run 0 summary undivided
has "$out" "39 particles with repulsion undivided rest at 4.6 times the variance or less."
run 0 run bump.yaml "${honest[@]}" --method svgd --optimizer adam --iterations 10 --start glorot --kernel functions --quiet --out functions
run 0 summary functions
has "$out" "  repulsion divided between functions; kernel Stein discrepancy "
has "$out" "On a Gaussian of 31 predicted values with equal variances 39 particles with repulsion divided rest at 0.12 times the variance or less, and what these do not tell apart is not pushed apart."
# One chain disagrees with none
run 0 run bump.yaml "${honest[@]}" --method nuts --start glorot --chains 1 --warmup 100 --samples 100 --max-depth 5 --quiet --out chain
run 0 summary chain
has "$out" "caution (one_chain): There is one chain, which cannot disagree with any other"
lacks "$out" "the chains disagree"
# Chains that never move: steps so large that none is accepted
run 0 run bump.yaml "${honest[@]}" --method nuts --start glorot --chains 2 --warmup 0 --first-step 1e6 --samples 50 --max-depth 3 --quiet --out still
run 3 diagnose still
has "$out" "verdict: bad"

# Noise that is stated wrongly: measurements of noise 0.1, from a table
awk 'BEGIN { print "term,x,value"; seed = 7
  for (i = 0; i < 40; i++) {
    x = -1 + 2 * (i % 20) / 19
    seed = (seed * 16807) % 2147483647; a = seed / 2147483647; seed = (seed * 16807) % 2147483647; b = seed / 2147483647
    noise = sqrt(-2 * log(a)) * cos(6.283185307 * b)
    printf "%s,%.6f,%.6f\n", i < 20 ? "f" : "u", x, (i < 20 ? -4 : 1) * cos(2 * x) + (i < 20 ? 0.3 : 0.1) * noise
  } }' > data.csv
verdict good 0 right -- bump.yaml --data data.csv "${honest[@]}"
sed 's/noise: 0.3/noise: 0.1/; s/noise: 0.1}/noise: 0.03}/' bump.yaml > small.yaml
verdict bad 3 small "bad (misfit)" -- small.yaml --data data.csv "${honest[@]}"
sed 's/noise: 0.3/noise: 1.2/; s/noise: 0.1}/noise: 0.5}/' bump.yaml > large.yaml
verdict fair 0 large "caution (noise_too_large)" -- large.yaml --data data.csv "${honest[@]}"
# An equation that contradicts the data
sed 's/expect: f,/expect: -f,/' bump.yaml > wrong.yaml
verdict bad 3 wrong "bad (misfit)" -- wrong.yaml --data data.csv "${honest[@]}"
# A run leaves a table of all data behind, with those of its equation: made again from it, the equation is no measurement either.
printf 'x,value\n0.1,0.2\n0.4,0.72\n0.7,0.99\n0.9,0.97\n' > measured.csv
cat > equation.yaml << 'YAML'
name: equation
coordinates: {x: [0, 1]}
fields: {u: {network: [6]}}
unknowns: {k: {start: 1, prior: {mean: 1, std: 1}}}
terms:
  pde: {expect: "d(u, x, x) + k*u", at: {grid: 15}, data: 0, noise: 0.05}
  obs: {expect: u, data: measured.csv, noise: 0.05}
predict: {grid: 3, quantities: [u]}
YAML
run 0 run equation.yaml --samples 20 --prior-scale 1 --quiet --out first
run 0 run first/run.yaml --quiet --out second
evidence() { grep -o '"evidence": .*' "$1/summary.json"; }
has "$(evidence first)" '"pde": {"measured": false'
if [[ $(evidence first) != "$(evidence second)" ]]; then complain "made again, the evidence is another: $(evidence second)"; fi
# Where the table has other values for it, somebody has measured them.
sed 's/^pde,\(.*\),0$/pde,\1,0.1/' first/data.csv > other.csv
run 0 run equation.yaml --data other.csv --samples 20 --prior-scale 1 --quiet --out other
has "$(evidence other)" '"pde": {"measured": true'
# The likelihood of the paper, which changes the noise
cat bump.yaml - > paper.yaml << 'YAML'
prior: {reference_term: f}
YAML
sed -i 's/data: truth, noise: 0.1}/data: truth, noise: 0.1, weight: 1}/' paper.yaml
run 0 run paper.yaml "${honest[@]}" --likelihood paper --prior-scale 1 --out paper
has "$out" "(likelihood): Likelihood paper gives the data of 'u' a deviation of "
exit $failed
