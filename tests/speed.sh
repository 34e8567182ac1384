#!/usr/bin/env bash
# No speed of `rpinn bench` is below half of its bar. Machines are noisy: two more tries before it counts.
# Usage: speed.sh PROGRAM
set -euo pipefail
for try in 1 2 3; do
  if "$1" bench --repetitions 7 --at-least 0.5; then exit 0; fi
  echo "try $try failed"
done
exit 1
