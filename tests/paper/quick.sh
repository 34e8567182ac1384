#!/usr/bin/env bash
# Everything of the paper at the scale quick: tests/paper/quick.sh BUILD
#
# Every entry has its page, every figure its pictures, and the whole takes ten minutes at most on two cores. Nothing is
# judged: that is for the scales medium and paper. RPINN_REFERENCE_DIR names the published data; without them the data are synthetic.
set -euo pipefail
build=${1:?the folder of a build}
rpinn=$build/rpinn
folder=$build/paper-quick
limit=600

fail() {
  echo "paper: $1" >&2
  exit 1
}

command -v gnuplot > /dev/null || fail "there is no gnuplot to draw the figures"
rm -rf "$folder"
start=$SECONDS
"$rpinn" reproduce all --scale quick --quiet --out "$folder" > "$build/paper-quick.txt" || fail "rpinn reproduce all: exit code $?"
seconds=$((SECONDS - start))

count=0
while read -r name _; do
  count=$((count + 1))
  for suffix in md json; do
    [[ -s $folder/$name.$suffix ]] || fail "$name.$suffix is missing"
  done
  if [[ $name == fig-* ]]; then
    for suffix in gp svg pdf png; do
      [[ -s $folder/$name.$suffix ]] || fail "$name.$suffix is missing"
    done
    grep -q 'beside the caption' "$folder/$name.md" || fail "$name.md does not speak of the paper's caption"
  fi
  [[ $name == all ]] || grep -qF "[$name]($name.md)" "$folder/all.md" || fail "all.md does not name $name"
done < <("$rpinn" reproduce --help | sed -n 's/^  \(table[0-9]\|fig-[a-z-]*\|darcy-nuts\|uniform-likelihood\|sigma-p\|all\)  .*/\1/p')
((count >= 15)) || fail "found $count names in rpinn reproduce --help, expected 15 or more"
((seconds <= limit)) || fail "it took $seconds s, expected $limit at most"
# A second call finds everything finished.
start=$SECONDS
"$rpinn" reproduce all --scale quick --quiet --out "$folder" > /dev/null || fail "the second call: exit code $?"
echo "paper: $count entries in $seconds s, again in $((SECONDS - start)) s: $folder/all.md"
