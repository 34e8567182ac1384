#!/usr/bin/env bash
# 64 shards of 10,000 tiny members each (RPINN_SHARDS and RPINN_MEMBERS for other numbers) are merged at the speed of a copy, in memory that
# their number does not decide.
# Environment: RPINN_PROGRAM
set -euo pipefail
shards=${RPINN_SHARDS:-64} members=${RPINN_MEMBERS:-10000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > tiny.yaml << 'END'
name: tiny
coordinates: {x: [0, 1]}
fields: {u: {network: [2]}}
terms: {a: {expect: u, at: {grid: 2}, data: x, noise: 0.1}}
prior: {scale: 1}
predict: {grid: 3, quantities: [u]}
settings: {method: rpinn, optimizer: adam, iterations: 2}
END
for ((number = 1; number <= shards; number++)); do
  "$RPINN_PROGRAM" run tiny.yaml --samples $((shards * members)) --shard "$number/$shards" --out "shards/$number" --quiet
done
bytes=$(cat shards/*/checkpoint.db | wc -c)
"$RPINN_PROGRAM" merge shards --out merged --quiet &
merge=$! peak=0 begun=$(date +%s%N) filled=0
while kill -0 "$merge" 2> /dev/null; do
  size=$(awk '/VmHWM/ {print $2}' "/proc/$merge/status" 2> /dev/null || true)
  if [[ -n $size ]]; then peak=$size; fi
  if ((filled == 0)) && [[ -e merged/checkpoint.db ]]; then filled=$(date +%s%N); fi
  sleep 0.1
done
wait "$merge"
ended=$(date +%s%N)
if ((filled == 0)); then filled=$ended; fi
echo "$shards shards of $members members, $((bytes / 1000000)) MB: peak memory $((peak / 1024)) MB, one store in" \
  "$(((filled - begun) / 1000000)) ms ($((bytes * 1000 / (filled - begun))) MB/s), all results in $(((ended - begun) / 1000000)) ms"
found=$(sed -E 's/.*"samples": ([0-9]+).*/\1/; q' merged/summary.json)
if [[ $found != "$((shards * members))" ]]; then
  echo "the merged run has $found members" >&2
  exit 1
fi
if ((peak == 0 || peak > 400 * 1024)); then
  echo "expected at most 400 MB" >&2
  exit 1
fi
