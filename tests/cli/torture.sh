#!/usr/bin/env bash
# A run that is killed again and again at random moments and resumed each time must end in the same bytes as one that was
# never disturbed. RPINN_KILLS: how many kills (default 20).
# Environment: RPINN_PROGRAM
set -euo pipefail
kills=${RPINN_KILLS:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

settings=(poisson-linear --preset paper --set Nf=8 --samples 60 --iterations 400 --quiet)
"$RPINN_PROGRAM" run "${settings[@]}" --out whole
files=(predictions.csv summary.csv run.yaml)
if [[ -e whole/posterior.nc ]]; then files+=(posterior.nc); fi

done_kills=0 round=0
while ((done_kills < kills)); do
  round=$((round + 1))
  rm -rf broken
  resume=() status=137
  while ((status == 137)); do
    "$RPINN_PROGRAM" run "${settings[@]}" --out broken "${resume[@]}" 2> error &
    run=$!
    if ((done_kills < kills)); then
      sleep "0.$(printf '%03d' $((RANDOM % 250)))"
      if kill -9 "$run" 2> /dev/null; then done_kills=$((done_kills + 1)); fi
    fi
    status=0
    wait "$run" 2> /dev/null || status=$?
    # What was killed before its store was there begins anew; every other one resumes.
    if [[ -e broken/checkpoint.db ]]; then resume=(--resume); fi
    if ((status != 0 && status != 137)); then
      echo "exit code $status after $done_kills kills: $(< error)" >&2
      exit 1
    fi
  done
  for file in "${files[@]}"; do
    cmp "whole/$file" "broken/$file" || { echo "$file differs after $done_kills kills" >&2 && exit 1; }
  done
done
echo "$done_kills kills over $round runs: always the same bytes"

# Ctrl-C and SIGTERM save and say so.
for signal in INT TERM; do
  rm -rf broken
  "$RPINN_PROGRAM" run poisson-linear --preset paper --samples 4000 --iterations 2000 --out broken --quiet 2> error &
  run=$!
  sleep 0.5
  kill -s "$signal" "$run"
  status=0
  wait "$run" || status=$?
  if ((status != 130)) || ! grep -q -- "--resume goes on" error; then
    echo "SIG$signal: exit code $status: $(< error)" >&2
    exit 1
  fi
done

# Two runs in one directory: the second refuses.
rm -rf broken
"$RPINN_PROGRAM" run poisson-linear --preset paper --samples 4000 --out broken --quiet 2> /dev/null &
run=$!
sleep 0.5
status=0
"$RPINN_PROGRAM" run poisson-linear --preset paper --samples 4000 --out broken --quiet --resume 2> error || status=$?
kill -9 "$run"
wait "$run" 2> /dev/null || true
if ((status != 2)) || ! grep -q "another run" error; then
  echo "a second run in the same directory: exit code $status: $(< error)" >&2
  exit 1
fi

# A full disk: exit 1, a message, and a resume that completes. A limit on file sizes stands in for it.
rm -rf broken
status=0
(
  trap '' XFSZ
  ulimit -f 400
  exec "$RPINN_PROGRAM" run "${settings[@]}" --out broken
) > /dev/null 2> error || status=$?
if ((status != 1)) || [[ ! -s error ]]; then
  echo "a full disk: exit code $status: $(< error)" >&2
  exit 1
fi
"$RPINN_PROGRAM" run "${settings[@]}" --out broken --resume
for file in "${files[@]}"; do cmp "whole/$file" "broken/$file"; done
echo "signals, a second run and a full disk: as they should be"
