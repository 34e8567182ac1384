#!/usr/bin/env bash
# The paper's data sets through --data. Skips (77) without RPINN_REFERENCE_DIR.
# Environment: RPINN_PROGRAM, RPINN_REFERENCE_DIR
set -euo pipefail
if [[ -z ${RPINN_REFERENCE_DIR:-} ]]; then
  echo "skipped: RPINN_REFERENCE_DIR is not set"
  exit 77
fi
failed=0
check() { # ROWS ARGUMENTS…
  local rows=$1 page status=0
  shift
  page=$("$RPINN_PROGRAM" check "$@") || status=$?
  if ((status != 0)) || [[ $page != *" $rows rows"* || $page == *"no data yet"* ]]; then
    printf 'rpinn check %s: exit code %s\n%s\n' "$*" "$status" "$page" >&2
    failed=1
  fi
}
data=$RPINN_REFERENCE_DIR/datasets
check 34 poisson-linear --data "$data/poisson_linear_Nf32_sigma0.1.csv"
check 130 poisson-linear --data "$data/poisson_linear_Nf128_sigma0.01.csv" --set sigma=0.01
check 34 poisson-nonlinear --data "$data/poisson_nonlinear_Nf32_sigma0.1.csv"
darcy=$data/darcy_sigma0.1.csv
check $(($(grep -c . "$darcy") - 1)) darcy --data "$darcy"
exit $failed
