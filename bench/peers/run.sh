#!/usr/bin/env bash
# One Adam iteration: rpinn against JAX on the CPU. Usage: bench/peers/run.sh [--install] [options of jax_adam.py]
#
# Uses the Python that has JAX: build-peers/venv, or python3. --install makes build-peers/venv and installs JAX there with
# pip. Without JAX it says so and ends well: nothing here is required.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build-peers

if [[ ${1:-} == --install ]]; then
  shift
  python3 -m venv "$build/venv"
  "$build/venv/bin/pip" install --quiet jax
fi

python=python3
if [[ -x $build/venv/bin/python ]]; then python=$build/venv/bin/python; fi
if ! "$python" -c 'import jax' 2> /dev/null; then
  echo "bench/peers: skipped, $python cannot import jax ('$0 --install' puts it into $build/venv)"
  exit 0
fi

scripts/build.sh "$build/rpinn" -DRPINN_BENCH_PROGRAMS=ON
exec "$python" bench/peers/jax_adam.py --ours "$build/rpinn/bench_member" "$@"
