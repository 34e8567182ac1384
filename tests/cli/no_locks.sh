#!/usr/bin/env bash
# Where the file system cannot lock files, a run says so, and is made all the same: the bytes are those of another one, and it can be resumed and read.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR; argument: a library that makes locks fail
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
no_locks=$1
words="cannot lock files: nothing keeps two processes from writing to this run at the same time"

run 0 run poisson-linear --samples 4 --iterations 5 --prior-scale 1 --threads 1 --out locked --quiet
lacks "$err" "cannot lock"
export LD_PRELOAD=$no_locks
run 0 run poisson-linear --samples 2 --iterations 5 --prior-scale 1 --threads 1 --out free --quiet
has "$err" "warning: the file system of 'free/checkpoint.db' $words"
if (($(grep -c "cannot lock" <<< "$err") != 1)); then complain "it is not told once: $err"; fi
has "$(< free/run.log)" "$words"
run 0 run poisson-linear --samples 4 --iterations 5 --prior-scale 1 --threads 1 --out free --resume --quiet
run 0 summary free
unset LD_PRELOAD
for file in posterior.nc predictions.csv run.yaml; do
  if ! cmp "locked/$file" "free/$file"; then complain "$file differs without locks"; fi
done
if compgen -G '*/*lock-*' > /dev/null; then complain "files are left behind: $(ls free)"; fi

exit "$failed"
