#!/usr/bin/env bash
# The run directory: nothing of anybody else is replaced, an old run's results neither, and --resume can stand in a script.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
small=(poisson-linear --preset paper --iterations 5 --quiet)

# --resume where nothing is begins a run and says so; after that it goes on.
run 0 run "${small[@]}" --samples 2 --out a/new/run --resume
has "$err" "rpinn: there is no run to resume in a/new/run yet: it begins here"
has "$(< a/new/run/run.log)" "new problem poisson-linear"
mkdir empty
run 0 run "${small[@]}" --samples 2 --out empty --resume
has "$err" "there is no run to resume in empty yet"
run 0 run "${small[@]}" --samples 4 --out empty --resume
if [[ -n $err ]]; then complain "a run that goes on: $err"; fi
has "$(tail -n 4 empty/run.log)" "resumed problem poisson-linear"
run 0 run "${small[@]}" --samples 4 --out whole
cmp whole/posterior.nc empty/posterior.nc || complain "begun by --resume and continued: other bytes"
mkdir notes && echo mine > notes/notes.txt
mistake "notes: there is no run to resume in this folder, and it is not empty" run "${small[@]}" --out notes --resume
mistake "whole: this folder holds a run already; go on with it by --resume" run "${small[@]}" --out whole
run 0 run "${small[@]}" --samples 2 --out notes # other files may be there
if [[ $(< notes/notes.txt) != mine ]]; then complain "notes.txt was changed"; fi

# Files that the run would write and that are not its own, also behind a link.
for name in run.yaml run.log data.csv truth.csv predict.csv posterior.nc predictions.csv summary.csv summary.json \
  report.html; do
  rm -rf own && mkdir own && echo mine > "own/$name"
  mistake "own: there is no run here, but $name, which a run would replace; move it away" run "${small[@]}" --samples 2 --out own
  if [[ $(< "own/$name") != mine || $(ls own) != "$name" ]]; then complain "$name: $(ls own)"; fi
  ln -sfn own linked
  mistake "linked: there is no run here, but $name" run "${small[@]}" --samples 2 --out linked
done
rm -rf own && mkdir own && echo mine > precious && ln -s ../precious own/summary.csv
mistake "own: there is no run here, but summary.csv" run "${small[@]}" --samples 2 --out own
ln -sfn ../nowhere own/summary.csv
mistake "own: there is no run here, but summary.csv" run "${small[@]}" --samples 2 --out own
mkdir chains && echo mine > chains/diagnostics.csv
mistake "chains: there is no run here, but diagnostics.csv" run "${small[@]}" --method nuts --samples 2 --out chains
cp -r whole replaced && rm replaced/report.html && ln -s ../precious replaced/report.html
mistake "replaced: report.html is a link, which the run would replace" run "${small[@]}" --samples 5 --out replaced --resume
if [[ $(< precious) != mine ]]; then complain "a link led to a file that was replaced"; fi

# Reports replace reports.
mkdir page && echo '<html>mine</html>' > page/report.html
mistake "page/report.html: this is no report of rpinn, and would be replaced by one; move it away" report whole --out page
if [[ $(< page/report.html) != '<html>mine</html>' ]]; then complain "rpinn report replaced a page of the user"; fi
rm page/report.html
run 0 report whole --out page
run 0 report whole --out page
run 0 report whole
cp -r whole behind && rm behind/report.html && ln -s ../precious behind/report.html
mistake "behind/report.html: this is a link, and a report would replace what it leads to" report behind
if [[ $(< precious) != mine ]]; then complain "rpinn report wrote where a link leads"; fi

# Predictions replace predictions, and no file of the run.
printf 'x\n0.5\n' > points.csv
for name in checkpoint.db run.yaml posterior.nc predictions.csv; do
  cp "whole/$name" kept
  ln -sf "whole/$name" by-a-link
  mistake "by-a-link: the predictions would replace a file of the run; choose another file" \
    predict whole --points points.csv --out by-a-link
  mistake "whole/$name: the predictions would replace a file of the run" predict whole --points points.csv --out "whole/$name"
  cmp kept "whole/$name" || complain "rpinn predict replaced $name"
done
run 0 predict whole --points points.csv --out whole/middle.csv
run 0 predict whole --points points.csv --out whole/middle.csv

# An old run without its draws keeps its results.
cp -r whole old && rm old/checkpoint.db && cp old/posterior.nc before.nc
mistake "old: there is no run here, but run.yaml" run "${small[@]}" --samples 2 --seed 9 --out old
mistake "old: there is no run to resume in this folder, and it is not empty" run "${small[@]}" --samples 9 --out old --resume
cmp old/posterior.nc before.nc || complain "an old run's results were replaced"

# A run.yaml that is not the run's stays what it is; without one, the run writes its own.
cp -r whole foreign
for text in 'shopping: [milk]' 'not: [closed' "$(sed 's/iterations: 5/iterations: 6/' whole/run.yaml)"; do
  printf '%s\n' "$text" > foreign/run.yaml
  mistake "foreign/run.yaml: this is not what the run in this folder was made from; move it away" \
    run "${small[@]}" --samples 5 --out foreign --resume
  if [[ $(< foreign/run.yaml) != "$text" ]]; then complain "a foreign run.yaml was replaced"; fi
done
: > foreign/run.yaml # what a full disk used to leave
run 0 run "${small[@]}" --samples 4 --out foreign --resume
cmp foreign/run.yaml whole/run.yaml || complain "run.yaml was not written again"

# Draws that are there are not dropped without a word.
cp whole/summary.json before.json
mistake "whole: this run has 4 members already, and --samples asks for 3; expected no fewer than there are" \
  run "${small[@]}" --samples 3 --out whole --resume
has "$(< whole/run.yaml)" "samples: 4"
cmp whole/summary.json before.json || complain "a refused --resume changed summary.json"
run 0 run "${small[@]}" --samples 4 --out whole --resume
run 0 run poisson-linear --preset paper --method nuts --warmup 5 --chains 2 --samples 6 --max-depth 2 --out six --quiet
mistake "six: this run has 6 draws in a chain already, and --samples asks for 5" \
  run poisson-linear --preset paper --method nuts --warmup 5 --chains 2 --samples 5 --max-depth 2 --out six --quiet --resume
run 0 run poisson-linear --preset paper --method svgd --samples 4 --iterations 3 --out particles --quiet
mistake "this run has 4 particles, which move together; found --samples 3, expected 4" \
  run poisson-linear --preset paper --method svgd --samples 3 --iterations 3 --out particles --quiet --resume
has "$(< particles/run.yaml)" "samples: 4"
exit $failed
