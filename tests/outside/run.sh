#!/usr/bin/env bash
# Install into an empty prefix, move it, and build main.c against it as a stranger would: once through find_package,
# once through pkg-config; the examples as well. Usage: run.sh BUILD_DIRECTORY C_COMPILER VERSION
set -euo pipefail
build=$1 compiler=$2 version=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

DESTDIR='' cmake --install "$build" --prefix "$work/first" > /dev/null
mv "$work/first" "$work/prefix"
libdir=$(dirname "$(find "$work/prefix" -name librpinn.so)")

echo "through find_package:"
cmake -S "$here" -B "$work/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DRPINN_WANTED="$version" > "$work/log" 2>&1 || { cat "$work/log" && exit 1; }
cmake --build "$work/build" > "$work/log" 2>&1 || { cat "$work/log" && exit 1; }
"$work/build/outside"

echo "the examples:"
cmake -S "$here/../../examples" -B "$work/examples" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" \
  > "$work/log" 2>&1 || { cat "$work/log" && exit 1; }
cmake --build "$work/examples" > "$work/log" 2>&1 || { cat "$work/log" && exit 1; }
"$work/examples/eight_schools" | sed -n 1,2p
"$work/examples/laplace" | sed -n 1,2p

cxx=$(command -v c++ || true)
if [[ -n $cxx ]]; then
  echo "from C++:"
  PKG_CONFIG_PATH=$libdir/pkgconfig
  export PKG_CONFIG_PATH
  read -ra flags <<< "$(pkg-config --cflags --libs rpinn)"
  "$cxx" -std=c++11 -Wall -Wextra -Werror "$here/main.cpp" "${flags[@]}" -o "$work/outside_cpp"
  LD_LIBRARY_PATH=$libdir "$work/outside_cpp"
fi

echo "through pkg-config:"
export PKG_CONFIG_PATH=$libdir/pkgconfig
[[ $(pkg-config --modversion rpinn) == "$version" ]]
read -ra flags <<< "$(pkg-config --cflags --libs rpinn)"
"$compiler" "$here/main.c" "${flags[@]}" -o "$work/outside"
LD_LIBRARY_PATH=$libdir "$work/outside"

if [[ -e $work/prefix/bin/rpinn ]]; then
  echo "the installed command line:"
  "$work/prefix/bin/rpinn" list
fi

echo "the guides, and what they link to:"
guides=$(dirname "$(dirname "$(find "$work/prefix" -path '*/docs/clusters.md')")")
for name in slurm-array.sh slurm-mpi.sh; do
  grep -qF "(../examples/$name)" "$guides/docs/clusters.md" && sh -n "$guides/examples/$name" && echo "$name"
done

echo "soname:"
readelf -d "$libdir/librpinn.so" | grep -F "[librpinn.so.${version%%.*}]"
