#!/usr/bin/env bash
# Shards: any number of them makes the run of a single process, byte for byte; what does not belong together, or is missing, is named.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
job=
trap 'if [[ -n $job ]]; then kill -9 "$job" 2> /dev/null || true; fi; rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

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
# Without what differs from session to session.
untimed() { sed -E 's/"(wall_seconds|seconds_median|pilot_seconds|seconds)": [^,}]*//g' "$1"; }
# same ONE OTHER FILE…: runs with the same files, and summaries but for times
same() {
  local one=$1 other=$2 file
  shift 2
  for file in "$@"; do
    if ! cmp "$one/$file" "$other/$file"; then complain "$other/$file is not that of $one"; fi
  done
  if ! diff <(untimed "$one/summary.json") <(untimed "$other/summary.json") > difference; then
    complain "the summaries of $one and $other differ: $(< difference)"
  fi
}
files=(run.yaml posterior.nc predictions.csv summary.csv)
# shards NAME COUNT ARGUMENTS…: into NAME/1 …
shards() {
  local name=$1 count=$2 number
  shift 2
  for ((number = 1; number <= count; number++)); do
    run 0 run "$@" --shard "$number/$count" --out "$name/$number" --quiet
  done
}
# every NAME FILES ARGUMENTS…: 1, 3 and 8 shards beside a single process
every() {
  local name=$1 more=$2 count
  shift 2
  run 0 run "$@" --out "$name" --quiet
  for count in 1 3 8; do
    shards "$name-$count" "$count" "$@"
    run 0 merge "$name-$count" --out "$name-$count/run" --quiet
    # shellcheck disable=SC2086
    same "$name" "$name-$count/run" "${files[@]}" $more
  done
}
every lm "" small.yaml --samples 10
every adam "" small.yaml --samples 10 --optimizer adam --iterations 30 --prior-scale 1
every ensemble "" small.yaml --samples 10 --method ensemble
every chains diagnostics.csv small.yaml --samples 5 --method nuts --chains 4 --warmup 20 --keep-warmup yes --prior-scale 1
every noise "" unsure.yaml --samples 10
every integrated "" small.yaml --samples 10 --prior-integrate yes
every map "" small.yaml --samples 10 --start map --optimizer adam --iterations 30 --prior-scale 1
every laplace "" small.yaml --samples 10 --method laplace
every flat fields.vti flat.yaml --samples 10 --correct mh
continued=(small.yaml --prior-scale 1 --correct nuts --correct-budget 200 --max-depth 4)
every continued "" "${continued[@]}" --samples 10

# A merged run is a run: it goes on as one, and has the draws of one that was asked for more at once.
run 0 run small.yaml --samples 13 --out more --quiet
run 0 run small.yaml --samples 13 --out lm-3/run --resume --quiet
same more lm-3/run "${files[@]}"
run 0 run small.yaml --samples 7 --method nuts --chains 4 --warmup 20 --keep-warmup yes --prior-scale 1 --out longer --quiet
run 0 run small.yaml --samples 7 --method nuts --chains 4 --warmup 20 --keep-warmup yes --prior-scale 1 --out chains-3/run --resume --quiet
same longer chains-3/run "${files[@]}"
# So do shards: each is asked for more, and keeps its members.
for number in 1 2 3; do run 0 run small.yaml --samples 13 --shard "$number/3" --out "lm-3/$number" --resume --quiet; done
run 0 merge lm-3/[123] --out more-3 --quiet
same more more-3 "${files[@]}"

# Members that are continued: shards that are asked for more, that were asked for members alone, and that were stopped in their pilot.
run 0 run "${continued[@]}" --samples 19 --out further --quiet
run 0 run "${continued[@]}" --samples 19 --out continued-3/run --resume --quiet
same further continued-3/run "${files[@]}"
for number in 1 2 3; do run 0 run "${continued[@]}" --samples 19 --shard "$number/3" --out "continued-3/$number" --resume --quiet; done
run 0 merge continued-3/[123] --out further-3 --quiet
same further further-3 "${files[@]}"
shards members 2 small.yaml --prior-scale 1 --max-depth 4 --samples 19
run 0 run "${continued[@]}" --samples 19 --shard 1/2 --out members/1 --resume --quiet --time-limit 0.001
run 0 summary members/1
has "$out" "shard 1/2 of a run: 0 of 10 members"
has "$out" "it is not complete: --resume goes on with it"
run 2 merge members/1 further-3 --out none
has "$err" "further-3: this folder holds a whole run"
run 2 merge members/1 --out none --partial
has "$err" "no shard has a corrected member yet; --partial makes results of those that are there"
for number in 1 2; do run 0 run "${continued[@]}" --samples 19 --shard "$number/2" --out "members/$number" --resume --quiet; done
run 0 merge members --out members/run --quiet
same further members/run "${files[@]}"
# The pilot is learnt once where shard 0 makes it, by members that are not its own.
run 0 run "${continued[@]}" --samples 19 --shard 0/2 --out pilot/0 --time-limit 0.001
has "$out" "shard 0/2 of a run: what all shards need is not yet learnt"
run 0 run "${continued[@]}" --samples 19 --shard 0/2 --out pilot/0 --resume
has "$out" "shard 0/2 of a run: what all shards need is learnt"
for number in 1 2; do
  run 0 run "${continued[@]}" --samples 19 --shard "$number/2" --out "pilot/$number" --learnt pilot/0/learnt.db --quiet
done
has "$(< pilot/0/run.log)" "16 of 16 members are done"
has "$(< pilot/2/run.log)" "9 of 9 members are done"
lacks "$(< pilot/2/run.log)" "the pilot takes a step"
run 0 merge pilot --out pilot/run --quiet
same further pilot/run "${files[@]}"
run 0 run "${continued[@]}" --samples 3 --shard 5/5 --out idle-pilot # which has no member, and needs no pilot
has "$out" "0 of 0 members"
lacks "$(< idle-pilot/run.log)" "the pilot takes a step"

# What all shards learn is left by the first, or by number 0, which makes nothing else.
run 0 run small.yaml --samples 10 --shard 0/2 --out learnt/0
has "$out" "small, method rpinn, shard 0/2 of a run: what all shards need is learnt"
for number in 1 2; do
  run 0 run small.yaml --samples 10 --shard "$number/2" --out "learnt/$number" --learnt learnt/0/learnt.db --quiet
done
lacks "$(< learnt/2/run.log)" "the scale of the prior, chosen by"
has "$(< learnt/0/run.log)" "the scale of the prior, chosen by"
run 0 merge learnt --out learnt/run --quiet
same lm learnt/run "${files[@]}"
run 0 run unsure.yaml --samples 10 --shard 1/2 --out unsure/1 --quiet
run 0 run unsure.yaml --samples 10 --shard 2/2 --out unsure/2 --learnt unsure/1/learnt.db --quiet
lacks "$(< unsure/2/run.log)" "is being learnt"
run 0 merge unsure --out unsure/run --quiet
same noise unsure/run "${files[@]}"
mistake "--learnt: this is for shards" run small.yaml --learnt learnt/0/learnt.db --out whole
mistake "nowhere.db: cannot read this file: No such file" run small.yaml --shard 1/2 --learnt nowhere.db --out whole
mistake "learnt/0/learnt.db: the run in this directory was made with other settings: was   seed: 0, is now   seed: 1" \
  run small.yaml --samples 10 --seed 1 --shard 1/2 --learnt learnt/0/learnt.db --out whole
if [[ -e whole/checkpoint.db ]]; then complain "a refused --learnt began a run"; fi

# A shard says what it is, and keeps to it.
run 0 run small.yaml --samples 10 --shard 3/4 --out shard --json
has "$out" '"shard": 3, "shards": 4, "samples": 10, "tasks": 2, "draws": 2, "draws_asked": 2, "failed": 0, "complete": true'
run 0 summary shard
has "$out" "small, method rpinn, shard 3/4 of a run: 2 of 2 members"
has "$out" "rpinn merge with the folders of all 4 shards and --out RUN makes the run"
run 0 run small.yaml --samples 10 --shard 3/4 --plan
has "$out" "shard 3/4 makes 2 of the 10 members, and no results"
printf 'x\n0.5\n' > points.csv
for command in "report" "diagnose" "compare" "predict --points points.csv"; do
  # shellcheck disable=SC2086
  mistake "shard: this is shard 3/4 of a run, and has no results of its own; rpinn merge" $command shard
done
mistake "shard: this is shard 3/4 of a run" run small.yaml --start shard --out started
mistake "this folder holds shard 3/4 of a run; found no --shard, expected --shard 3/4" run small.yaml --samples 10 --out shard --resume
mistake "this folder holds shard 3/4 of a run; found --shard 3/5, expected --shard 3/4" run small.yaml --samples 10 --shard 3/5 --out shard --resume
mistake "this folder holds a whole run; found --shard 3/4, expected none" run small.yaml --samples 13 --shard 3/4 --out more --resume
# More shards than members: the last ones have nothing to do, and say so.
run 0 run small.yaml --samples 2 --shard 4/4 --out idle
has "$out" "0 of 0 members"

# What cannot be shared.
mistake "--shard: method svgd cannot be made in shards: its draws move together" run small.yaml --method svgd --shard 1/2 --out whole
mistake "--shard: method map cannot be made in shards: it has one draw" run small.yaml --method map --shard 1/2 --plan
mistake "--shard: method vi cannot be made in shards: its draws come cheaply from one fit" run small.yaml --method vi --shard 1/2 --out whole
for bad in 0 3 0/0 5/4 1/ /4 1/2/3 -1/4 1/100001 a/b; do
  mistake "--shard: found '$bad'; expected I/N such as 3/64" run small.yaml "--shard=$bad" --out whole
done

# What is missing is named, with the command that makes it.
shards gaps 3 small.yaml --samples 10
rm -r gaps/2
run 2 merge gaps --out joined
has "$err" "shard 2/3 is not there, and lacks 3 members: 1 to 7 in steps of 3; rpinn run gaps/1/run.yaml --shard 2/3 --out gaps/shard-2-of-3 --learnt gaps/1/learnt.db makes them"
has "$err" "expected all of them, or --partial"
if [[ -e joined ]]; then complain "a refused merge made a folder"; fi
run 0 run small.yaml --samples 12 --shard 1/3 --out gaps/1 --resume --quiet
run 2 merge gaps/1 gaps/3 --out joined
has "$err" "shard 2/3 is not there, and lacks 4 members: 1 to 10 in steps of 3"
has "$err" "shard 3/3 in gaps/3 lacks 1 member: 11; rpinn run gaps/3/run.yaml --shard 3/3 --out gaps/3 --resume --samples 12 makes it"
# … and the commands do.
(
  command=$(sed -n 's/.*; rpinn \(run .*\) makes them$/\1/p' "$work/err") again=$(sed -n 's/.*; rpinn \(run .*\) makes it$/\1/p' "$work/err")
  # shellcheck disable=SC2086
  "$RPINN_PROGRAM" $command --quiet && "$RPINN_PROGRAM" $again --quiet
)
run 0 run small.yaml --samples 12 --out twelve --quiet
run 0 merge gaps --out joined --quiet
same twelve joined "${files[@]}"
# What is there is enough for --partial; the rest is made in the merged run, or in another merge.
rm -r gaps/3
run 0 merge gaps --out part --partial --quiet
has "$err" "shard 3/3 is not there, and lacks 4 members: 2 to 11 in steps of 3"
run 0 summary part --json
has "$out" '"samples": 8, "samples_asked": 12'
has "$out" '"out_of_time": false, "partial": true'
has "$out" "The shards that were merged left 4 draws undone; --resume makes them."
run 0 run part/run.yaml --out part --resume --quiet
same twelve part "${files[@]}"
shards some 2 small.yaml --samples 5 --method nuts --chains 3 --warmup 20 --prior-scale 1
rm -r some/2
run 2 merge some --out joined-chains --partial
has "$err" "shard 2/2 is not there, and lacks 1 chain: 1"
has "$err" "chain 1 has no draw yet"

# What does not belong together.
mistake "there is no shard here: No such file" merge nowhere --out none
mistake "lm-33: there is no shard here: No such file or directory; did you mean 'lm-3'?" merge lm-33 --out none
mistake "lm-3/22: there is no shard here: No such file or directory; did you mean '2'?" merge lm-3/1 lm-3/22 lm-3/3 --out none
mistake "lm-3/1: this folder is named twice, by itself or with a folder that holds it" merge lm-8/1/../../lm-3/[123] lm-3/1 --out none
mistake "lm-3/1: this folder holds shard 1/3; expected another one for the run, with --out" merge lm-3/[123] --out lm-3/1
mkdir killed-early && : > killed-early/checkpoint.db
mistake "killed-early: the session that made this folder ended before it had begun a shard; the same command with --resume begins it" \
  merge lm-3/[12] killed-early --out none
if [[ $(id -u) != 0 ]]; then # from whom no folder can be kept
  cp -r lm-8 closed && rm -r closed/run && chmod 000 closed/2
  mistake "closed/2: cannot look into this folder: Permission denied" merge closed --out none
  chmod 700 closed/2
fi
mistake "small.yaml: this is a file; expected the folder of a shard" merge small.yaml --out none
mkdir empty
mistake "empty: this folder holds no shard, and none is in it" merge empty --out none
mistake "more: this folder holds a whole run; expected a shard" merge more --out none
mistake "rpinn merge needs --out RUN" merge lm-3
cp -r lm-3/2 twice
mistake "twice: this is shard 2/3, and so is lm-3/2; expected each of them once" merge lm-3/[123] twice --out none
mistake "lm-8/1: this is shard 1/8, and lm-3/1 is 1/3; expected shards of one number" merge lm-3/1 lm-8/1 --out none
run 0 run small.yaml --samples 13 --seed 1 --shard 2/3 --out foreign --quiet
mistake "foreign: this is a shard of another run than lm-3/1: it has   seed: 1, the other   seed: 0" merge lm-3/1 foreign lm-3/3 --out none
run 0 run small.yaml --samples 13 --correct mh --shard 2/3 --out corrected --quiet
mistake "corrected: this shard was made with other settings than lm-3/1: it has correct: mh, the other correct: none" \
  merge lm-3/1 corrected lm-3/3 --out none
mistake "this folder holds a run already; rpinn run more-3/run.yaml --out more-3 --resume" merge lm-3/[123] --out more-3
mkdir full && touch full/notes
mistake "full: this folder holds 'notes'; expected one that is absent or empty" merge lm-3/[123] --out full
printf 'damage' | dd of=twice/checkpoint.db bs=1 seek=0 conv=notrunc status=none
mistake "'twice/checkpoint.db' is not a checkpoint of rpinn" merge lm-3/1 twice lm-3/3 --out none
if [[ -e none ]]; then complain "a refused merge made a folder"; fi

# Killed anywhere, and gone on with: the same bytes.
long=(small.yaml --samples 40 --optimizer adam --iterations 20000 --prior-scale 1 --threads 1)
run 0 run "${long[@]}" --out steady --quiet
run 0 run "${long[@]}" --shard 2/2 --out killed/2 --quiet
for delay in 0.0${RANDOM:0:1} 0.1${RANDOM:0:1} 0.2${RANDOM:0:1} 0.3${RANDOM:0:1}; do
  "$RPINN_PROGRAM" run "${long[@]}" --shard 1/2 --out killed/1 --resume --quiet 2> /dev/null &
  job=$!
  sleep "$delay"
  kill -9 "$job" 2> /dev/null || true
  wait "$job" 2> /dev/null || true
  job=
done
status=0
timeout -s INT 0.3 "$RPINN_PROGRAM" run "${long[@]}" --shard 1/2 --out killed/1 --resume --quiet 2> /dev/null || status=$?
if ((status != 124 && status != 0)); then complain "Ctrl-C: exit code $status"; fi
run 0 run "${long[@]}" --shard 1/2 --out killed/1 --resume --quiet
run 0 merge killed --out killed/run --quiet
same steady killed/run "${files[@]}"
# A time limit leaves a shard that goes on.
run 0 run "${long[@]}" --shard 1/2 --time-limit 0.05 --out late/1
has "$out" "it is not complete: --resume goes on with it"
run 2 merge late/1 killed/2 --out none
has "$err" "shard 1/2 in late/1 lacks"
run 0 run "${long[@]}" --shard 1/2 --out late/1 --resume --quiet
run 0 merge late/1 killed/2 --out late/run --quiet
same steady late/run "${files[@]}"
# A merge that is killed leaves nothing that hinders the next.
mkdir half && cp late/run/checkpoint.db half/checkpoint.db.part
run 0 merge late/1 killed/2 --out half --quiet
same steady half "${files[@]}"

# The script of the examples, with a stand-in for Slurm that makes one job after the other.
mkdir bin
ln -s "$RPINN_PROGRAM" bin/rpinn
cat > bin/sbatch << 'END'
#!/bin/sh
while [ "$#" -gt 0 ]; do
  case $1 in
    --array=1-*) count=${1#--array=1-} ;;
    --wrap) sh -c "$2"; exit ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
for number in $(seq "$count"); do SLURM_ARRAY_TASK_ID=$number SLURM_CPUS_PER_TASK=1 sh "$@" || exit; done
echo 17
END
chmod +x bin/sbatch
if ! PATH=$work/bin:$PATH sh "$RPINN_SOURCE_DIR/examples/slurm-array.sh" small.yaml 10 3 slurm > page 2>&1; then complain "slurm-array.sh: $(< page)"; fi
has "$(< page)" "shard 1/3 makes 4 of the 10 members"
run 0 summary slurm --json
has "$out" '"samples": 10'

exit "$failed"
