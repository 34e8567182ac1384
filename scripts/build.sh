#!/usr/bin/env bash
# Configure and build: scripts/build.sh DIRECTORY [options of cmake...]. A new directory uses Ninja where it is.
set -euo pipefail
cd "$(dirname "$0")/.."
directory=$1
shift

if command -v ninja > /dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
echo "== $directory: build $*"
configured=true
cmake -S . -B "$directory" "$@" > "$directory.log" 2>&1 || configured=false
if $configured; then grep '^rpinn: ' "$directory.log" || true; else cat "$directory.log" >&2; fi
rm "$directory.log"
$configured
cmake --build "$directory" --parallel "$(nproc)"
