#!/usr/bin/env bash
# Build and run the libFuzzer targets: scripts/fuzz.sh [DIRECTORY], by default build-fuzz.
#
# Every executable fuzz_NAME starts from a copy of tests/fuzz/corpus/NAME (fuzz_problem: the shipped problems and the
# mistakes of tests/bad too) and runs for FUZZ_SECONDS (default 10), FUZZ_JOBS at a time (default: one per core), or
# only those that FUZZ_ONLY names. An input that crashes one is kept in DIRECTORY/crashes, and the script fails.
# What reached new code stays in DIRECTORY/found/NAME and is tried first by the next run.
set -euo pipefail
cd "$(dirname "$0")/.."
directory=${1:-build-fuzz}
seconds=${FUZZ_SECONDS:-10}
jobs=${FUZZ_JOBS:-$(nproc)}

if [[ ! -f tests/fuzz/CMakeLists.txt ]]; then
  echo "fuzz: no targets in tests/fuzz"
  exit 0
fi
scripts/build.sh "$directory" -DCMAKE_C_COMPILER=clang -DRPINN_FUZZ=ON -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_C_FLAGS=-O1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$directory/crashes"

fixed_addresses=() # see scripts/test.sh
if setarch -R true 2> /dev/null; then fixed_addresses=(setarch -R); fi

fuzz_one() { # PROGRAM LOG
  local name seeds options=()
  name=$(basename "$1")
  local found=$directory/found/${name#fuzz_}
  mkdir -p "$found"
  seeds=("tests/fuzz/corpus/${name#fuzz_}")
  if [[ $name == fuzz_problem ]]; then
    mkdir -p "$work/mistakes"
    cp tests/bad/*.yaml "$work/mistakes"
    rm -f "$work/mistakes/expression_too_large.yaml" # takes a second to refuse
    seeds+=(problems "$work/mistakes")
  fi
  if [[ -f tests/fuzz/$name.dict ]]; then options+=("-dict=tests/fuzz/$name.dict"); fi
  options+=(-max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1
    -artifact_prefix="$directory/crashes/$name-")
  if "${fixed_addresses[@]}" "$1" "${options[@]}" "$found" "${seeds[@]}" > "$2" 2>&1; then
    echo "$name: nothing found in $(sed -n 's/^stat::number_of_executed_units: *//p' "$2") runs," \
      "$(grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [0-9]+' "$2" | tail -1)"
  else
    tail -n 60 "$2"
    echo "$name: FAILED; the input is in $directory/crashes, '$1 FILE' repeats it"
    return 1
  fi
}

mapfile -t programs < <(find "$directory" -type f -executable -name "fuzz_${FUZZ_ONLY:-*}" | sort)
echo "== fuzz: ${#programs[@]} targets, $seconds s each"
failed=0 running=0
for program in "${programs[@]}"; do
  if ((running == jobs)); then wait -n || failed=1; running=$((running - 1)); fi
  fuzz_one "$program" "$work/$(basename "$program").log" &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || failed=1
  running=$((running - 1))
done
exit $failed
