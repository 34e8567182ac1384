#!/usr/bin/env bash
# What the program says when it is given something odd: in plain words, at once, and with an exit code that is right.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# hurried SECONDS COMMAND…: an answer within so many seconds
hurried() {
  local most=$1 begun=$SECONDS
  shift
  "$@"
  if ((SECONDS - begun > most)); then complain "$*: $((SECONDS - begun)) s, expected at most $most"; fi
}

# ---- ranges of settings ----
mistake "time_limit is '1e-9'; expected a number of at least 0.001 or auto" check poisson-linear --time-limit 1e-9
mistake "target_acceptance is '1e-9'; expected a number from 0.001 to 0.9999" check poisson-linear --target-acceptance 1e-9
mistake "learning_rate is '0'; expected a number above 0 and at most 1e+06" check poisson-linear --learning-rate 0
mistake "decay_steps is '-1'; expected a number above 0" check poisson-linear --decay-steps -1

# ---- a start that is nowhere ----
mkdir empty
mistake "start is 'nodirx'; expected one of glorot|prior|map|zero|normal|zero_then_normal|a run directory" \
  run poisson-linear --start nodirx --out started
mistake "empty: this folder holds no run to start from; expected checkpoint.db" \
  run poisson-linear --start empty --out started
mistake "start is 'glorott'" run poisson-linear --start glorott --out started
has "$err" "did you mean 'glorot'?"
if [[ -e started ]]; then complain "a start that is nowhere leaves a folder"; fi

# ---- files that are none ----
mkfifo silent
truncate -s 2G large.csv
hurried 2 mistake "'large.csv': found more than 1024 MiB, expected a smaller file" check poisson-linear --data large.csv
hurried 15 mistake "'silent': nothing came through this pipe in 10 seconds; expected a file" \
  check poisson-linear --data silent
mistake "/dev/zero: this is a device; expected a file or a pipe" check /dev/zero
mistake "empty: this is a directory; expected a file" check ./empty
# A pipe that a program writes to is as good as a file.
run 0 check poisson-linear
expected=$out
name=$RPINN_SOURCE_DIR/problems/poisson-linear.yaml
(sleep 1 && cat "$name") | "$RPINN_PROGRAM" check /dev/stdin > piped || complain "a problem through a pipe is refused"
if [[ $(< piped) != "$expected" ]]; then complain "a problem through a pipe is another one: $(< piped)"; fi

exit "$failed"
