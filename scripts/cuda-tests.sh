#!/usr/bin/env bash
# All that needs a GPU, on a machine that has one: conformance with `plain`, bits of members, and timings; within eight minutes.
#
#   scripts/cuda-tests.sh BUILD_FOLDER [RESULTS]
#
# BUILD_FOLDER has been built with -DRPINN_TESTS=ON and CUDA. RESULTS (default: cuda-results) gets what each step printed. Exits with 1
# where a step fails. The programs may have been built elsewhere: they need nothing of their folder but themselves, the sources' tests/
# and problems/, and their libraries (LD_LIBRARY_PATH).
set -uo pipefail
if [[ $# -lt 1 ]]; then echo "usage: $0 BUILD_FOLDER [RESULTS]" >&2 && exit 2; fi
build=$(cd "$1" && pwd) results=${2:-cuda-results} failed=0
RPINN_SOURCE_DIR=$(cd "$(dirname "$0")/.." && pwd)
export RPINN_SOURCE_DIR RPINN_TEST_BACKEND=cuda OPENBLAS_NUM_THREADS=1
mkdir -p "$results"

# step NAME SECONDS COMMAND...: its output goes to RESULTS/NAME.txt, the end of it here
step() {
  local name=$1 seconds=$2 start=$SECONDS
  shift 2
  if timeout "$seconds" "$@" > "$results/$name.txt" 2>&1; then
    echo "cuda-tests: $name passed in $((SECONDS - start)) s"
  else
    echo "cuda-tests: $name FAILED after $((SECONDS - start)) s; the end of $results/$name.txt:" >&2
    tail -5 "$results/$name.txt" >&2
    failed=1
  fi
}

"$build/rpinn" list | sed -n '/^backends/,$p'
if ! "$build/rpinn" list --json | grep -q '"cuda": "'; then
  echo "cuda-tests: there is no GPU here, nothing was tried" >&2
  exit 1
fi
step probe 30 "$build/cuda_probe"
step steps 60 "$build/tests/test_cuda_steps"
step particles 60 "$build/tests/test_cuda_particles"
step chains 60 "$build/tests/test_cuda_chains"
step random 60 "$build/tests/test_backend_random"
step batches 100 "$build/tests/test_backend_batches"
step conformance 200 "$build/tests/test_backend_conformance"
step adam-32 60 "$build/bench_cuda" poisson-linear 5000 2000 float Nf=32
step adam-128 60 "$build/bench_cuda" poisson-linear 5000 2000 float Nf=128
step adam-darcy 60 "$build/bench_cuda" darcy 500 50 float
step adam-32-tf32 60 "$build/bench_cuda" poisson-linear 5000 2000 tf32 Nf=32
step adam-128-tf32 60 "$build/bench_cuda" poisson-linear 5000 2000 tf32 Nf=128
step adam-darcy-tf32 60 "$build/bench_cuda" darcy 500 50 tf32
step svgd 60 "$build/bench_cuda_particles" poisson-linear 1000 5300 float Nf=32
step svgd-tf32 60 "$build/bench_cuda_particles" poisson-linear 1000 5300 tf32 Nf=32
step chains-32 60 "$build/bench_cuda_chains" poisson-linear 512 8 float Nf=32
step bench 60 "$build/rpinn" bench --backend cuda
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck initcheck; do
    step "$tool" 60 compute-sanitizer --error-exitcode 9 --tool "$tool" "$build/bench_cuda" poisson-linear 3 2 float Nf=32
    step "$tool-tf32" 60 compute-sanitizer --error-exitcode 9 --tool "$tool" "$build/bench_cuda" poisson-linear 3 2 tf32 Nf=32
    step "$tool-chains" 60 compute-sanitizer --error-exitcode 9 --tool "$tool" "$build/bench_cuda_chains" poisson-linear 3 1 float Nf=32
    step "$tool-particles" 60 compute-sanitizer --error-exitcode 9 --tool "$tool" "$build/bench_cuda_particles" poisson-linear 5 2 float Nf=32
    step "$tool-steps" 60 compute-sanitizer --error-exitcode 9 --tool "$tool" "$build/bench_cuda_steps" poisson-linear 3 1 float Nf=32
  done
fi
grep -h "members\|call\|chains:" "$results"/{adam,svgd,chains}*.txt
exit $failed
