#!/usr/bin/env bash
# Shards of studies: calibrations, searches for weights, reproductions. The runs are shared, and the tables are those of a single process.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
cat > small.yaml << 'END'
name: small
coordinates: {x: [0, 1]}
fields: {u: {network: [4]}}
truth: {u: sin(3*x)}
terms: {u: {expect: u, at: {grid: 8}, data: truth, noise: 0.1}}
predict: {grid: 5, quantities: [u]}
END
# shards NAME COUNT ARGUMENTS…: into NAME/1 …
shards() {
  local name=$1 count=$2 number
  shift 2
  for ((number = 1; number <= count; number++)); do
    run 0 "$@" --shard "$number/$count" --out "$name/$number"
    has "$out" "shard $number/$count is made in $name/$number; rpinn merge with the folders of all $count shards"
  done
}
# same ONE OTHER COLUMN: tables without the times in this column
same() {
  if ! diff <(cut -d, -f"$3" --complement "$1") <(cut -d, -f"$3" --complement "$2") > difference; then
    complain "$2 is not $1: $(< difference)"
  fi
}

# ---- calibrations ----
calibrate=(calibrate small.yaml --datasets 4 --members 39 --methods rpinn,laplace --prior-scale 1)
run 0 "${calibrate[@]}" --out whole --quiet
shards parts 3 "${calibrate[@]}"
if [[ -e parts/1/calibration.md ]]; then complain "a shard has tables"; fi
if [[ $(ls parts/1/scores) != $'laplace-0002.json\nrpinn-0001.json\nrpinn-0004.json' ]]; then complain "shard 1 has $(ls parts/1/scores)"; fi
run 0 merge parts --out joined
has "$out" "joined/report.html"
same whole/calibration.csv joined/calibration.csv 13
if [[ -e joined/shard.json ]]; then complain "the whole says that it is a shard"; fi
run 0 "${calibrate[@]}" --out joined --quiet # which is a calibration like any other: nothing is made again
lacks "$err" "runs, "
# Folds: rows that are left out one by one are looked at when all is joined.
shards folds 2 calibrate small.yaml --from data --folds 3 --members 39 --prior-scale 1
run 0 calibrate small.yaml --from data --folds 3 --members 39 --prior-scale 1 --out folds-whole --quiet
run 0 merge folds/1 folds/2 --out folds-joined --quiet
same folds-whole/calibration.csv folds-joined/calibration.csv 13

# A shard keeps to what it is.
mistake "parts/1: this folder holds a shard, which rpinn calibrate small.yaml --datasets 4 --members 39 --methods rpinn,laplace --prior-scale 1 --shard 1/3 goes on with" \
  "${calibrate[@]}" --out parts/1 --quiet
mistake "this folder holds a shard" "${calibrate[@]}" --shard 2/3 --out parts/1 --quiet
mistake "--shard needs --out DIR" "${calibrate[@]}" --shard 2/3
mistake "a study learns nothing before its runs: expected I from 1 on" "${calibrate[@]}" --shard 0/3 --out none

# What is missing, twice, or foreign.
run 2 merge parts/1 parts/3 --out none
has "$err" "shard 2/3 is not there; rpinn calibrate small.yaml --datasets 4 --members 39 --methods rpinn,laplace --prior-scale 1 --shard 2/3 --out shard-2-of-3 goes on with it"
has "$err" "runs of this study are missing in its 3 shards"
cp -r parts/2 twice
mistake "twice: this is shard 2/3, and so is parts/2" merge parts twice --out none
mistake "parts/2: this folder is named twice, by itself or with a folder that holds it" merge parts parts/2 --out none
run 0 calibrate small.yaml --datasets 4 --members 39 --methods rpinn,laplace --prior-scale 2 --shard 2/3 --out foreign --quiet
mistake "foreign: this is a shard of another study than parts/1: it was made with 2, the other with 1" merge parts/1 foreign parts/3 --out none
sed 's/"version": "[^"]*"/"version": "0.0.9"/' parts/2/shard.json > twice/shard.json
mistake "twice: this shard was made by rpinn 0.0.9, and parts/1 by" merge parts/1 twice parts/3 --out none
cp parts/2/shard.json twice/shard.json
cp parts/1/scores/rpinn-0001.json twice/scores/rpinn-0001.json
sed -i 's/"seconds": /"seconds": 9/' twice/scores/rpinn-0001.json
mistake "twice: '/scores/rpinn-0001.json' is in this shard and in another one, and differs" merge parts/1 twice parts/3 --out differs
mkdir full && touch full/notes
mistake "full: this folder holds 'notes'" merge parts --out full
if [[ -e none ]]; then complain "a refused merge made a folder"; fi

# A shard that was stopped goes on; until then its runs are missing, and --partial takes those that are there.
long=(calibrate small.yaml --datasets 6 --members 60 --optimizer adam --iterations 30000 --prior-scale 1 --threads 1)
status=0
timeout -s INT 1 "$RPINN_PROGRAM" "${long[@]}" --shard 1/2 --out stopped/1 --quiet 2> page || status=$?
if ((status != 124)); then complain "a shard that is stopped: exit code $status"; fi
has "$(< page)" "what is done is saved in stopped/1"
mkdir stopped/2 && sed 's|1/2|2/2|; s/"left": .*/"left": []}/' stopped/1/shard.json > stopped/2/shard.json
run 2 merge stopped --out none
has "$err" "shard 1/2 lacks"
has "$err" "rpinn-0005"
run 0 merge stopped --out some --partial
has "$out" "some has the runs that are there"
if [[ -e some/calibration.md ]]; then complain "a partial merge has tables"; fi

# ---- weights ----
run 0 weights small.yaml --members 39 --prior-scale 1 --search prior=0.5,1,2 --out weights --quiet
shards weighed 2 weights small.yaml --members 39 --prior-scale 1 --search prior=0.5,1,2
run 0 merge weighed --out weights-joined --quiet
if ! cmp weights/weights.csv weights-joined/weights.csv; then complain "weights of shards differ"; fi

# ---- reproductions: entries that share runs deal them alike ----
paper=(reproduce table1 --members 2 --methods rpinn,ensemble)
run 0 "${paper[@]}" --out paper --quiet
shards papers 2 "${paper[@]}"
if [[ -e papers/1/table1.md ]]; then complain "a shard has tables"; fi
run 0 merge papers --out papers-joined --quiet
if ! diff <(sed -E 's/[0-9.]+ s\b//g; s/"seconds": [^,}]*//g' paper/table1.md) <(sed -E 's/[0-9.]+ s\b//g; s/"seconds": [^,}]*//g' papers-joined/table1.md) > difference; then
  complain "the table of shards differs: $(< difference)"
fi

exit "$failed"
