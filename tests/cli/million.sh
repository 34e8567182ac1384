#!/usr/bin/env bash
# A million members of a tiny problem: memory stays flat (RPINN_MEMBERS for another number).
# Environment: RPINN_PROGRAM
set -euo pipefail
members=${RPINN_MEMBERS:-1000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > tiny.yaml << 'END'
name: tiny
coordinates: {x: [0, 1]}
fields: {u: {network: [2]}}
terms: {a: {expect: u, at: {grid: 2}, data: x, noise: 0.1}}
prior: {reference_term: a}
predict: {grid: 3, quantities: [u]}
settings: {method: rpinn, iterations: 2}
END
"$RPINN_PROGRAM" run tiny.yaml --samples "$members" --out large --quiet &
run=$! peak=0
while kill -0 "$run" 2> /dev/null; do
  size=$(awk '/VmHWM/ {print $2}' "/proc/$run/status" 2> /dev/null || true)
  if [[ -n $size ]]; then peak=$size; fi
  sleep 0.2
done
wait "$run"
echo "$members members: peak memory $((peak / 1024)) MB"
if ((peak == 0 || peak > 300 * 1024)); then
  echo "expected at most 300 MB" >&2
  exit 1
fi
