#!/usr/bin/env bash
# Where OpenBLAS computes for a much older processor, a run and `rpinn bench` say so, with the remedy; elsewhere they say nothing of it. And
# a run has as many threads as the process may use processors.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

sample=(run poisson-linear --preset paper --samples 2 --iterations 2)
run 0 "${sample[@]}" --out as-it-is
lacks "$err$(< as-it-is/run.log)" OpenBLAS

if grep -qw avx2 /proc/cpuinfo 2> /dev/null; then
  export OPENBLAS_CORETYPE=Prescott
  run 0 "${sample[@]}" --out old
  has "$err" "rpinn: warning: OpenBLAS computes for a processor of kind Prescott and reaches "
  has "$err" "% of what this one can: install a newer OpenBLAS, or take OPENBLAS_CORETYPE out of the environment"
  has "$(< old/run.log)" "kind Prescott"
  run 0 bench --repetitions 1
  has "$out" "OpenBLAS (Prescott) reaches "
  has "$out" "warning: OpenBLAS computes for a processor of kind Prescott"
  unset OPENBLAS_CORETYPE
fi

# A member on each processor, and the forward products of predictions, 1416 million operations.
run 0 bench --repetitions 1
grep -qE "^  all threads +[0-9.]+ +\([1-9][0-9]* members at once / as many times one alone\)$" <<< "$out" || complain "all threads: $out"
grep -qE "^  darcy, predictions +1415\.58 " <<< "$out" || complain "predictions: $out"

if (($(nproc) > 1)); then
  has "$(< as-it-is/run.log)" " 2 threads,"
  RPINN_PROGRAM=taskset run 0 -c "$(taskset -pc $$ | grep -oE '[0-9]+' | tail -1)" "$RPINN_PROGRAM" "${sample[@]}" --out narrow
  has "$(< narrow/run.log)" " 1 threads,"
fi
exit $failed
