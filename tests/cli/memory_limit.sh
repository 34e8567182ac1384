#!/usr/bin/env bash
# The threads of a run are its own: BLAS has none. Under a memory limit a run ends by itself, with results or with a
# message. (OpenBLAS's own threads, where they were started, kept it from ending, and some from starting.)
# Environment: RPINN_PROGRAM
set -euo pipefail
work=$(mktemp -d)
run=
trap 'if [[ -n $run ]]; then kill -9 "$run" 2> /dev/null || true; fi; rm -rf "$work"' EXIT
# shellcheck source=tests/cli/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cd "$work"

# ---- threads: three that work and the one that writes, whatever the environment wants ----
OPENBLAS_NUM_THREADS=4 OMP_NUM_THREADS=4 "$RPINN_PROGRAM" run poisson-linear --preset paper --samples 1000000 --iterations 300 --threads 3 \
  --out threads --quiet &
run=$!
most=0
for ((look = 0; look < 400; look++)); do
  tasks=("/proc/$run/task/"*)
  if ((${#tasks[@]} > most)); then most=${#tasks[@]} look=380; fi # twenty looks after the last new one
  sleep 0.05
done
kill -9 "$run"
wait "$run" 2> /dev/null || true
run=
if ((most != 4)); then complain "the program has $most threads, expected 4"; fi

# ---- limits ----
finished=0 refused=0
# limited KIBIBYTES PROBLEM ARGUMENTS…
limited() {
  local status=0 limit=$1
  shift
  rm -rf out
  (ulimit -v "$limit" && exec timeout -s KILL 20 "$RPINN_PROGRAM" run "$@" --out out > stdout 2> stderr) || status=$?
  case $status in
    0)
      finished=$((finished + 1))
      if [[ ! -s out/summary.json || ! -s out/report.html ]]; then complain "$limit KiB: exit code 0 without results"; fi
      ;;
    1)
      refused=$((refused + 1))
      if (($(grep -c '^rpinn: ' stderr) != 1)); then complain "$limit KiB: not one message: $(< stderr)"; fi
      ;;
    127) if ! grep -q 'loading shared libraries' stderr; then complain "$limit KiB: $(< stderr)"; fi ;;
    *) complain "$limit KiB: exit code $status: $(< stderr)" ;;
  esac
}
for limit in 110000 120000 130000 140000 150000 175000 200000 225000 250000 300000 350000 375000 400000 425000 450000; do
  limited $limit poisson-linear --preset paper --samples 3 --iterations 100 --threads 2
  limited $limit darcy --preset paper --optimizer lm --samples 2 --iterations 2 --threads 2
done
if ((refused < 3)); then complain "$refused runs were refused for want of memory: the limits try nothing"; fi
finished=0
limited 500000 poisson-linear --preset paper --samples 3 --iterations 100 --threads 1
limited 1000000 poisson-linear --preset paper --samples 3 --iterations 100 --threads 2
limited 2000000 darcy --preset paper --optimizer lm --samples 2 --iterations 2 --threads 2
if ((finished != 3)); then complain "$finished of 3 runs with enough memory finished: $(< stderr)"; fi

# OpenBLAS works in 128 MiB per thread, for which it would ask for ever.
refused=0
for limit in 150000 200000 250000; do limited $limit darcy --preset paper --optimizer lm --samples 2 --iterations 2 --threads 2; done
if ((refused != 3)); then complain "$refused of 3 runs without enough memory were refused"; fi
has "$(< stderr)" 'out of memory'
exit $failed
