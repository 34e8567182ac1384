#!/usr/bin/env bash
# rpinn merge beside a plain copy of the same bytes (cat to one file, and fsync), in turns, on the same disk: bench/merge/merge.sh PROGRAM [FOLDER]
#   RPINN_SHARDS (64) shards of RPINN_MEMBERS (10000) members, whose network has RPINN_WIDTH (2) neurons in its hidden layer; RPINN_TURNS (3)
# Prints the best of the turns. "store": until checkpoint.db is there, whole and on disk; "results": until the report is written. Seconds of CPU
# time beside those of the clock tell a busy machine from a slow program. FOLDER (a temporary one) is where the shards are made, and left if named.
set -euo pipefail
program=$(realpath "$1")
shards=${RPINN_SHARDS:-64} members=${RPINN_MEMBERS:-10000} width=${RPINN_WIDTH:-2} turns=${RPINN_TURNS:-3}
if [[ -n ${2:-} ]]; then
  mkdir -p "$2"
  work=$2
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
cd "$work"
cat > tiny.yaml << END
name: tiny
coordinates: {x: [0, 1]}
fields: {u: {network: [$width]}}
terms: {a: {expect: u, at: {grid: 2}, data: x, noise: 0.1}}
prior: {scale: 1}
predict: {grid: 3, quantities: [u]}
settings: {method: rpinn, optimizer: adam, iterations: 2}
END
for ((number = 1; number <= shards; number++)); do
  "$program" run tiny.yaml --samples $((shards * members)) --shard "$number/$shards" --out "shards/$number" --quiet --resume
done
bytes=$(cat shards/*/checkpoint.db | wc -c)
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
ticks=$(getconf CLK_TCK)
cpu_milliseconds() { awk -v ticks="$ticks" '{print int(($14 + $15) * 1000 / ticks)}' "/proc/$1/stat" 2> /dev/null || true; }
best() { if (($2 < $1 || $1 == 0)); then echo "$2"; else echo "$1"; fi; }
copy=0 store=0 store_cpu=0 results=0 peak=0
for ((turn = 0; turn < turns; turn++)); do
  rm -rf copy merged
  begun=$(milliseconds)
  cat shards/*/checkpoint.db > copy
  sync copy
  copy=$(best "$copy" $(($(milliseconds) - begun)))
  begun=$(milliseconds) filled=0
  "$program" merge shards --out merged --quiet > /dev/null &
  merge=$!
  while kill -0 "$merge" 2> /dev/null; do
    if ((filled == 0)); then cpu=$(cpu_milliseconds "$merge"); fi
    if ((filled == 0)) && [[ -e merged/checkpoint.db ]]; then filled=$(milliseconds) && store_cpu=$(best "$store_cpu" "${cpu:-0}"); fi
    size=$(awk '/VmHWM/ {print $2}' "/proc/$merge/status" 2> /dev/null || true)
    if [[ -n $size ]] && ((size > peak)); then peak=$size; fi
    sleep 0.02
  done
  wait "$merge"
  store=$(best "$store" $((filled - begun)))
  results=$(best "$results" $(($(milliseconds) - begun)))
done
rate() { awk -v bytes="$bytes" -v milliseconds="$1" 'BEGIN {printf "%.0f MB/s", bytes / 1e3 / (milliseconds > 0 ? milliseconds : 1)}'; }
echo "$shards shards of $members members, $((bytes / 1000000)) MB, best of $turns; load $(cut -d' ' -f1 /proc/loadavg) on $(nproc) cores"
echo "  copy     $copy ms   $(rate "$copy")"
echo "  store    $store ms   $(rate "$store")   CPU $store_cpu ms   $(rate "$store_cpu")"
echo "  results  $results ms   peak memory $((peak / 1024)) MB"
