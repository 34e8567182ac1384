#!/usr/bin/env bash
# Every public header compiles alone and twice over, as C and, where there is a compiler, as C++; rpinn.h has them all.
# Usage: public_headers.sh C_COMPILER CXX_COMPILER INCLUDE_DIRECTORY...
set -euo pipefail
c_compiler=$1 cxx_compiler=$2
shift 2
options=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only)
for directory in "$@"; do options+=("-I$directory"); done
mapfile -t headers < <(for directory in "$@"; do find "$directory" -name '*.h' -printf 'rpinn/%f\n'; done | sort)

for header in "${headers[@]}"; do
  program=$(printf '#include <%s>\n#include <%s>\nextern int not_empty;' "$header" "$header")
  "$c_compiler" -std=c17 "${options[@]}" -x c - <<< "$program" || { echo "$header is not C17" >&2 && exit 1; }
  if [[ -x $cxx_compiler ]]; then
    "$cxx_compiler" -std=c++11 "${options[@]}" -x c++ - <<< "$program" || { echo "$header is not C++11" >&2 && exit 1; }
  fi
  if [[ $header != rpinn/rpinn.h ]] && ! grep -qF "#include \"$header\"" "$1/rpinn/rpinn.h"; then
    echo "rpinn/rpinn.h lacks $header" >&2 && exit 1
  fi
done
echo "${#headers[@]} headers"
