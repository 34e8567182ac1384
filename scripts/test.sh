#!/usr/bin/env bash
# Build with tests and run them: scripts/test.sh DIRECTORY [options of cmake...].
# RPINN_TEST_LABELS chooses among them for ctest (default: all but those labelled "long").
set -euo pipefail
cd "$(dirname "$0")/.."
directory=$1

scripts/build.sh "$@" -DRPINN_TESTS=ON

# Sanitizers: use their stricter settings, and turn address randomisation off where that is allowed, because
# older sanitizers do not start on kernels that randomise many bits.
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
fixed_addresses=()
if grep -q '^RPINN_SANITIZE:STRING=.' "$directory/CMakeCache.txt" && setarch -R true 2> /dev/null; then
  fixed_addresses=(setarch -R)
fi

# Tests write below a temporary folder of this run. Afterwards nothing is left there, and no file has appeared among the
# sources or in the build, but for the list that `cmake --install` keeps of what it has put elsewhere.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
list_files() {
  find . \( -path ./.git -o -path './build*' -o -path ./results \) -prune -o -type f -print
  find "$directory" -path "$directory/Testing" -prune -o -type f ! -name install_manifest.txt -print
  find "$TMPDIR" -mindepth 1
}
before=$(list_files | sort)

# OpenBLAS computes with kernels that fit this processor, whatever an older one takes it for or the environment says: with others
# every run warns, and tests look at all that is printed.
unset OPENBLAS_CORETYPE
if grep -qw avx512dq /proc/cpuinfo 2> /dev/null; then
  export OPENBLAS_CORETYPE=SKYLAKEX
elif grep -qw avx2 /proc/cpuinfo 2> /dev/null; then
  export OPENBLAS_CORETYPE=HASWELL
fi

echo "== $directory: test"
# shellcheck disable=SC2086 # labels are an option and its argument
"${fixed_addresses[@]}" ctest --test-dir "$directory" --output-on-failure --parallel "$(nproc)" \
  ${RPINN_TEST_LABELS:--LE long}

left=$(comm -13 <(echo "$before") <(list_files | sort))
if [[ -n $left ]]; then
  printf 'tests have left files behind:\n%s\n' "$left" >&2
  exit 1
fi
