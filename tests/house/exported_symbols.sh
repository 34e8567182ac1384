#!/usr/bin/env bash
# The shared library exports exactly what the public headers declare with RPINN_API, and all of it starts with rpinn_.
# Usage: exported_symbols.sh LIBRARY INCLUDE_DIRECTORY...
set -euo pipefail
library=$1
shift

# Without comments and preprocessor lines, a declaration runs from RPINN_API to the semicolon, and the name is what
# stands before the first parenthesis or bracket.
declared=$(find "$@" -name '*.h' -print0 | sort -z | xargs -0 cat |
  sed -z 's:/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/::g' | grep -v '^[[:space:]]*#' | tr '\n' ' ' |
  grep -oE 'RPINN_API [^;]*' | sed -E 's/ *[[(].*//; s/.*[ *]//' | sort)
exported=$(nm -D --defined-only "$library" | awk '{ sub("@.*", "", $3); print $3 }' |
  grep -vxE '_init|_fini|_edata|_end|__bss_start' | sort)

if foreign=$(grep -v '^rpinn_' <<< "$exported"); then
  printf 'exported, but not ours to name:\n%s\n' "$foreign" >&2
  exit 1
fi
if ! diff <(echo "$declared") <(echo "$exported"); then
  echo "left (<): declared with RPINN_API; right (>): exported by $library" >&2
  exit 1
fi
echo "$(wc -l <<< "$exported") symbols"
