#!/usr/bin/env bash
# run.sh on a tiny tree with one fault for each way to end; the tree itself stays as it is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command -v ninja > /dev/null || { echo "no ninja: skipped" && exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/rpinn_mutants_test_XXXXXX")
trap 'rm -rf "$folder"' EXIT
cp -R "$here/example" "$folder/tree"
cd "$folder"
fail() { echo "$1" >&2 && cat out >&2 && exit 1; }
# run EXIT_CODE ARGUMENT...: what run.sh says, in `out`.
run() {
  local expected=$1 code=0
  shift
  "$here/run.sh" --tree tree --patience 1 "$@" > out 2>&1 || code=$?
  if [[ $code != "$expected" ]]; then fail "run.sh $*: exit code $code, expected $expected"; fi
}
says() { grep -qE -- "$1" out || fail "run.sh does not say: $1"; }

run 1 tree/faults.tsv --folder kept
says '^\[1/7\] killed by seconds +[0-9]+ s  clock.h:3  time % 60  ->  time % 100$'
says '^\[2/7\] killed by seconds +[0-9]+ s  clock.h:3  % 60  ->  % 100$'
says '^\[3/7\] killed by time +[0-9]+ s  clock.h:10 '
says '^\[4/7\] survived +[0-9]+ s  clock.h:10  hours\+\+  ->  hours--$'
says '^\[5/7\] does not compile +[0-9]+ s  clock.h:11 '
says '^\[6/7\] does not apply +[0-9]+ s  clock.h  time % 61 '
says '^\[7/7\] does not apply +[0-9]+ s  clock.h  % 60 '
says '^clock.h +3 +1 +1 +2$'
[[ $(tail -n 1 out) == '3 killed, 1 survived, 1 did not compile, 2 did not apply' ]] || fail 'wrong last line'
diff -r "$here/example" tree || fail 'the tree was changed'
diff -r "$here/example" kept/tree || fail 'a fault was left in the copy'

run 0 tree/faults.tsv --folder kept --only 'time % 60' --only 'endless'
[[ $(tail -n 1 out) == '2 killed, 0 survived, 0 did not compile, 0 did not apply' ]] || fail 'wrong last line'
run 1 tree/faults.tsv --folder kept --only 'nothing tests'
run 1 tree/faults.tsv --folder kept --only 'not there'

# Tests that fail by themselves find nothing.
sed -i 's/time % 60/time % 100/' tree/clock.h
run 2 tree/faults.tsv --folder kept
says "tests of '.*' fail without any fault"
run 2
run 2 tree/nothing.tsv
