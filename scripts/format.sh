#!/usr/bin/env bash
# Format all C sources in place, or with --check say which are not formatted and fail.
set -euo pipefail
cd "$(dirname "$0")/.."

folders=()
for folder in include src cli python tests tools bench examples; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
mapfile -t files < <(find "${folders[@]}" -name '*.[ch]' | sort)

major=$({ clang-format --version 2> /dev/null || true; } | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [[ -z $major ]] || ((major < 14 || major > 19)); then
  echo "format: skipped, needs clang-format 14 to 19, found ${major:-none}"
  exit 0
fi

if [[ ${1:-} == --check ]]; then
  clang-format --dry-run -Werror "${files[@]}" || { echo "format: run 'make format'" >&2 && exit 1; }
  echo "format: ${#files[@]} files are as clang-format $major wants them"
else
  clang-format -i "${files[@]}"
fi
