#!/usr/bin/env bash
# rpinn against other libraries on the CPU. Usage: bench/peers/run.sh [--install] [PEER [options of PEER.py]]
#
#   jax_adam      one Adam iteration, against JAX
#   numpyro_nuts  one leapfrog of NUTS, against NumPyro
#   jax_lm        members by Levenberg-Marquardt until they converge, against JAX and optimistix; --more: and jaxopt
#
# Without PEER all run and write their tables to bench/results. Uses the Python that has them: build-peers/venv, or
# python3. --install makes build-peers/venv and installs the libraries there with pip. What cannot be imported is skipped
# with a message: nothing here is required.
set -euo pipefail
cd "$(dirname "$0")/../.."
build="build-peers"

if [[ ${1:-} == --install ]]; then
  shift
  python3 -m venv "$build/venv"
  "$build/venv/bin/pip" install --quiet jax numpyro optimistix jaxopt
fi

python=python3
if [[ -x $build/venv/bin/python ]]; then python=$build/venv/bin/python; fi

# race PEER MODULE OURS [options]
race() {
  local peer=$1 module=$2 ours=$3
  shift 3
  if ! "$python" -c "import $module" 2> /dev/null; then
    echo "bench/peers: $peer skipped, $python cannot import $module ('$0 --install' puts it into $build/venv)"
    return
  fi
  scripts/build.sh "$build/rpinn" -DRPINN_BENCH_PROGRAMS=ON -DRPINN_CUDA=OFF
  "$python" "bench/peers/$peer.py" --ours "$ours" "$@"
}

peer=${1:-all}
case $peer in
  all)
    race jax_adam jax "$build/rpinn/bench_member" --output bench/results/peers.md
    race numpyro_nuts numpyro "$build/rpinn" --output bench/results/peers_nuts.md
    race jax_lm jax "$build/rpinn/bench_squares" --output bench/results/peers_lm.md
    ;;
  jax_adam) race jax_adam jax "$build/rpinn/bench_member" "${@:2}" ;;
  numpyro_nuts) race numpyro_nuts numpyro "$build/rpinn" "${@:2}" ;;
  jax_lm) race jax_lm jax "$build/rpinn/bench_squares" "${@:2}" ;;
  *)
    echo "bench/peers: '$peer', expected jax_adam, numpyro_nuts or jax_lm" >&2
    exit 2
    ;;
esac
