#!/usr/bin/env bash
# Configure and build: scripts/build.sh DIRECTORY [options of cmake...]. A new directory uses Ninja where it is.
set -euo pipefail
cd "$(dirname "$0")/.."
directory=$1
shift

if command -v ninja > /dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
echo "== $directory: build $*"
trap 'rm -f "$directory.log"' EXIT
cmake -S . -B "$directory" "$@" > "$directory.log" 2>&1 || { cat "$directory.log" >&2 && exit 1; }
grep '^rpinn: ' "$directory.log" || true
cmake --build "$directory" --parallel "$(nproc)"
