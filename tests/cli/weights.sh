#!/usr/bin/env bash
# rpinn weights from the outside: tables that agree with each other, a file that runs with the values of the table, going on after
# an interruption, runs side by side, and what it refuses.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

cat > line.yaml << 'END'
name: line
coordinates: {x: [0, 1]}
fields: {u: {network: [6], trainable: output}}
truth: {u: 0.5 + x}
terms:
  u: {expect: u, at: {latin_hypercube: 12}, data: truth, noise: 0.1, weight: 100}
  ends: {expect: u, at: {boundary: all}, data: truth, noise: 0.1, weight: 10}
prior: {reference_term: u}
predict: {grid: 11, quantities: [u]}
settings: {optimizer: lm, iterations: 40, start: prior, samples: 39, scale_fields: no}
presets:
  paper: {likelihood: paper}
END

# All rules over a map of two weights, and the paper's row beside them.
run 0 weights line.yaml --preset paper --out all --datasets 2 --members 39 --write best.yaml
has "$err" "searches"
has "$err" "MAP runs"
has "$err" "runs of choices"
has "$out" "# Weights of line"
has "$out" "weight:u in 1, 10, 100, 1000, 10000; weight:ends in 0.1, 1, 10, 100, 1000"
has "$out" "| paper | 100 | 10 | 0 | 0.1 |"
has "$(grep -m 1 '^| annealing, start' all/weights.md)" "| annealing, start | 100 |"
for rule in loo evidence folds mse lpp 'gradients, start' 'gradients, MAP' 'annealing, MAP' 'kernel, start'; do
  has "$out" "| $rule |"
done
has "$out" "on 2 data sets with fresh noise"
has "$out" "best.yaml"
for file in weights.md weights.csv weights.json chosen.yaml report.html searched.yaml; do
  if [[ ! -s all/$file ]]; then complain "no all/$file"; fi
done
maps=$(grep -c '<svg class="plot"' all/report.html)
if ((maps != 5)); then complain "five maps: $maps"; fi
# The file runs, with the deviations of the table.
run 0 run best.yaml --out best --quiet --json
printf '%s' "$out" > best.json
if python3 -c pass 2> /dev/null; then
  python3 - << 'END' || complain "tables, chosen.yaml and the run do not agree"
import csv, json
page = json.load(open("all/weights.json"))
choice = {c["by"]: c for c in page["choices"]}
first = choice["loo"]
sigmas = json.load(open("best.json"))["sigmas"]
for term in ("u", "ends"):
    assert abs(sigmas["terms"][term] / first["sigmas"]["terms"][term] - 1) < 1e-12, (sigmas, first)
assert abs(sigmas["prior"] / first["sigmas"]["prior"] - 1) < 1e-12, (sigmas, first)
rows = list(csv.DictReader(open("all/weights.csv")))
grid = rows[:25]
assert len(rows) == 25 + 1 + 6, len(rows)
for rule, pick in (("loo", max), ("evidence", max), ("folds", max), ("mse", min), ("lpp", max)):
    best = pick(grid, key=lambda row: float(row[rule]))
    assert float(best["weight:u"]) == choice[rule]["values"]["weight:u"], (rule, best)
    assert float(best["weight:ends"]) == choice[rule]["values"]["weight:ends"], (rule, best)
    assert rule in best["chosen_by"].split("; "), (rule, best)
paper = rows[25]
assert paper["chosen_by"] == "paper" and float(paper["weight:u"]) == 100 and float(paper["u_rl2"]) > 0, paper
text = open("all/chosen.yaml").read()
for term in ("u", "ends"):
    assert "  %s: {weight: %g}" % (term, first["values"]["weight:" + term]) in text, text
# 95 % over two data sets: never surer than chance
assert choice["paper"]["scores"]["u"]["coverage"]["error"] >= (0.95 * 0.05 / 2) ** 0.5 - 1e-12
cell = "| loo | u | %.3g ± %.2g |" % (first["scores"]["u"]["rl2"]["mean"], first["scores"]["u"]["rl2"]["error"])
assert cell in open("all/weights.md").read(), cell
END
fi
# On the data at hand, the scores are those of a run with the file that was written.
run 0 weights line.yaml --preset paper --out hand --rule evidence --search weight:u=10,1000 --members 39 --write hand.yaml --quiet
run 0 run hand.yaml --samples 39 --out hand-run --quiet --json
printf '%s' "$out" > hand.json
if python3 -c pass 2> /dev/null; then
  python3 - << 'END' || complain "scores are not those of the run"
import json
scores = json.load(open("hand/weights.json"))["choices"][1]["scores"]["u"]
run = json.load(open("hand.json"))["quantities"]["u"]
for key, name in (("rl2", "rl2"), ("crps", "crps"), ("lpp", "lpp"), ("coverage", "interval_coverage")):
    assert scores[key]["mean"] == run[name] and scores[key]["error"] is None, (key, scores, run)
END
fi
# The paper's two steps: weights by the MAP's error, and epsilon by LPP with these.
run 0 weights line.yaml --preset paper --out first --rule mse --write first.yaml --quiet --search weight:ends=1,10
run 0 weights first.yaml --out second --rule lpp --search epsilon=0,0.1 --quiet --members 39
has "$out" "| lpp |"
if [[ $(grep -c '<svg class="plot"' second/report.html) != 1 ]]; then complain "one curve"; fi

# Two at once give the same; what was made is not made again, and what is missing is made to the same tables.
few=(weights line.yaml --preset paper --rule mse,evidence --search weight:ends=1,100 --datasets 2 --members 39)
run 0 "${few[@]}" --out one --quiet
run 0 "${few[@]}" --out two --quiet --jobs 2
for file in weights.md weights.csv weights.json chosen.yaml; do cmp "one/$file" "two/$file" || complain "--jobs 2: $file"; done
run 0 "${few[@]}" --out one
if [[ -n $err ]]; then complain "made again: $err"; fi
rm one/scores/map-0001.json one/scores/look-0000.json one/weights.*
run 0 "${few[@]}" --out one
has "$err" "2 of 3 MAP runs"
lacks "$err" "1 of 3 MAP runs"
for file in weights.md weights.csv weights.json; do cmp "one/$file" "two/$file" || complain "gone on: $file"; done
# Ctrl-C, whenever it comes.
status=0
timeout -s INT 0.3 "$RPINN_PROGRAM" weights line.yaml --preset paper --members 39 --datasets 2 --out stopped --quiet > /dev/null 2> stopped.err || status=$?
if ((status == 130)); then
  has "$(< stopped.err)" "the same command goes on"
elif ((status != 0 && status != 124)); then
  complain "exit code $status after Ctrl-C: $(< stopped.err)"
fi
run 0 weights line.yaml --preset paper --members 39 --datasets 2 --out stopped --quiet
for file in weights.md weights.csv weights.json; do cmp "all/$file" "stopped/$file" || complain "after Ctrl-C: $file"; done

# Stated noise: what is searched then, in words.
run 0 weights line.yaml --out noise --rule loo --quiet --json --search prior=0.3:3:4
has "$out" '"likelihood": "noise"'
has "$out" '"axes": [{"name": "prior", "values": [0.3, '
has "$(< noise/weights.md)" "Weights and epsilon have no meaning"
has "$(< noise/chosen.yaml)" "prior: {scale: "

# Without a truth the paper's ways are left out, and the others used; files that the problem reads go with the one that is written.
cat > untold.yaml << 'END'
name: untold
coordinates: {x: [0, 1]}
fields: {u: {network: [6], trainable: output}}
terms: {u: {expect: u, data: measured.csv, noise: 0.1}}
predict: {grid: 11, quantities: [u]}
settings: {scale_fields: no}
END
{
  echo x,value
  for k in 0 1 2 3 4 5 6 7; do echo "0.$k,0.9$k"; done
} > measured.csv
mkdir chosen
run 0 weights untold.yaml --out untold --quiet --search prior=0.5,1 --write chosen/told.yaml
has "$out" "- mse: nothing that is predicted has a truth"
has "$out" "| evidence |"
if [[ ! -s chosen/told-data.csv ]]; then complain "no told-data.csv beside told.yaml: $(ls chosen)"; fi
run 0 check chosen/told.yaml
mistake "'lpp' is not for this problem: nothing that is predicted has a truth" weights untold.yaml --rule lpp --out refused
mistake "--datasets: nothing that is predicted has a truth" weights untold.yaml --rule loo --datasets 3 --out refused

# Mistakes.
mistake "--rule: found 'lo'; expected loo, evidence, folds, mse, lpp, gradients, annealing or kernel; did you mean 'loo'?" weights line.yaml --rule lo --out typo
mistake "'loo' is given twice" weights line.yaml --rule loo,loo --out typo
mistake "--search: found 'wieght'; expected weight, prior, shape, epsilon or noise; did you mean 'weight'?" weights line.yaml --search wieght --out typo
mistake "did you mean 'ends'?" weights line.yaml --preset paper --search weight:end --out typo
mistake "prior is given '-1'; expected numbers above 0" weights line.yaml --search prior=-1 --out typo
mistake "expected LOW:HIGH:COUNT" weights line.yaml --search prior=3:1:4 --out typo
mistake "prior has '1' twice" weights line.yaml --search prior=1,2,1 --out typo
mistake "did you mean 'fan_in'?" weights line.yaml --search shape=fan_im --out typo
mistake "move the same values" weights line.yaml --preset paper --search weight --search weight:u --out typo
mistake "is given 3 times; expected at most 2" weights line.yaml --search prior --search shape --search noise --out typo
mistake "'weight' is not for this problem: a term has a weight under likelihood paper alone" weights line.yaml --search weight --out typo
mistake "'kernel' is not for this problem" weights line.yaml --rule kernel --out typo
mistake "--quantities: found 'v'; expected u" weights line.yaml --quantities v --out typo
mistake "at least 39" weights line.yaml --members 20 --out typo
mistake "was not written by a search" weights line.yaml --write line.yaml --out typo
mistake "expected NAME.yaml" weights line.yaml --write chosen.txt --out typo
mistake "did you mean '--rule'" weights line.yaml --rules loo --out typo
mistake "whole number from 1 to 9999" weights line.yaml --jobs 0 --out typo
mistake "another grid; expected another --out" weights line.yaml --preset paper --rule mse --search weight:ends=1,11 --members 39 --out one
mkdir own && touch own/report.html
mistake "own: there is no search for weights here, but report.html" weights line.yaml --out own
if [[ -e typo || -e refused ]]; then complain "a mistake has left a folder"; fi
exit "$failed"
