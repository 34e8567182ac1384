#!/usr/bin/env bash
# Build and run the libFuzzer targets: scripts/fuzz.sh [DIRECTORY], by default build-fuzz.
#
# Every executable fuzz_NAME starts from a copy of tests/fuzz/corpus/fuzz_NAME or tests/fuzz/corpus/NAME and runs for
# FUZZ_SECONDS (default 10), as many at a time as there are cores. An input that crashes one is kept in
# DIRECTORY/crashes, and the script fails.
set -euo pipefail
cd "$(dirname "$0")/.."
directory=${1:-build-fuzz}
seconds=${FUZZ_SECONDS:-10}

if [[ ! -f tests/fuzz/CMakeLists.txt ]]; then
  echo "fuzz: no targets in tests/fuzz"
  exit 0
fi
scripts/build.sh "$directory" -DCMAKE_C_COMPILER=clang -DRPINN_FUZZ=ON -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_C_FLAGS=-O1 -DRPINN_SANITIZE=fuzzer-no-link,address,undefined

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$directory/crashes"

fixed_addresses=() # see scripts/test.sh
if setarch -R true 2> /dev/null; then fixed_addresses=(setarch -R); fi

fuzz_one() { # PROGRAM WORK_DIRECTORY
  local name seeds corpus=$2/corpus log=$2/log options=()
  name=$(basename "$1")
  mkdir -p "$corpus"
  for seeds in "tests/fuzz/corpus/$name" "tests/fuzz/corpus/${name#fuzz_}"; do
    if [[ -d $seeds ]]; then cp -r "$seeds/." "$corpus"; fi
  done
  if [[ -f tests/fuzz/$name.dict ]]; then options+=("-dict=tests/fuzz/$name.dict"); fi
  options+=(-max_total_time="$seconds" -timeout=20 -print_final_stats=1 -artifact_prefix="$directory/crashes/$name-")
  if "${fixed_addresses[@]}" "$1" "$corpus" "${options[@]}" > "$log" 2>&1; then
    echo "$name: nothing found in $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
  else
    tail -n 60 "$log"
    echo "$name: FAILED; the input is in $directory/crashes, '$1 FILE' repeats it"
    return 1
  fi
}

mapfile -t programs < <(find "$directory" -type f -executable -name 'fuzz_*' | sort)
echo "== fuzz: ${#programs[@]} targets, $seconds s each"
failed=0 running=0
for program in "${programs[@]}"; do
  if ((running == $(nproc))); then wait -n || failed=1; running=$((running - 1)); fi
  fuzz_one "$program" "$work/$(basename "$program")" &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || failed=1
  running=$((running - 1))
done
exit $failed
