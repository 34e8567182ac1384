#!/usr/bin/env bash
# Open our files with the Python packages that people use: scripts/python-tests.sh BUILD_DIRECTORY.
#
# Virtual environments in build-python, made once: ArviZ before 1, ArviZ from 1 on where the Python is new enough
# (RPINN_PYTHON names another one than python3), and VTK where there is a package for this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$1/tests
python=${RPINN_PYTHON:-python3}
samples=build-python/samples
mkdir -p "$samples"

# environment NAME PACKAGE...: makes build-python/NAME; a finished one is kept.
environment() {
  local folder=build-python/$1
  shift
  if [[ -e $folder/complete ]]; then return; fi
  echo "== python: install $*"
  rm -rf "$folder"
  "$python" -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" || return 1
  touch "$folder/complete"
}

"$programs/test_posterior_file" "$samples"
rm -rf "$samples/chains"
"$1/rpinn" run poisson-linear --method nuts --chains 3 --warmup 60 --samples 80 --max-depth 6 --keep-warmup yes --quiet \
  --out "$samples/chains"
for seed in 1 2; do
  rm -rf "$samples/members-$seed"
  "$1/rpinn" run tests/python/one_term.yaml --samples 199 --seed "$seed" --quiet --out "$samples/members-$seed"
  for kind in "several rpinn --samples 99" "short nuts --chains 2 --warmup 200 --samples 100"; do
    read -r name method <<< "$kind"
    rm -rf "$samples/$name-$seed"
    # shellcheck disable=SC2086 # options of the method
    "$1/rpinn" run tests/python/several_terms.yaml --seed "$seed" --data-seed 1 --quiet --out "$samples/$name-$seed" --method $method
  done
done
"$1/examples/parallel_chains" "$samples/parallel.nc" > "$samples/parallel.txt" 2>&1
"$1/examples/draw_file" "$samples/gibbs.nc"
readers=(xarray netCDF4 h5netcdf h5py matplotlib)

# opened_by NAME: all checks of posterior.nc in an environment.
opened_by() {
  build-python/"$1"/bin/python -W ignore tests/python/check_posterior_file.py "$samples"
  build-python/"$1"/bin/python -W ignore tests/python/check_chains.py "$samples/chains"
  local data
  for data in "level members" "measured several" "measured short"; do
    build-python/"$1"/bin/python -W ignore tests/python/check_arviz_functions.py "${data% *}" "$samples/${data#* }-1" "$samples/${data#* }-2"
  done
  build-python/"$1"/bin/python -W ignore tests/python/check_draw_files.py "$samples/parallel.nc" "$samples/gibbs.nc"
}

environment arviz-0 'arviz<1' "${readers[@]}"
opened_by arviz-0
if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
  environment arviz-1 'arviz>=1' "${readers[@]}"
  opened_by arviz-1
else
  echo "python: skipped ArviZ 1, which needs Python 3.12; RPINN_PYTHON may name one"
fi

"$programs/test_vti_file" "$samples"
if environment vtk vtk numpy; then
  build-python/vtk/bin/python tests/python/check_vti_file.py "$samples"
else
  echo "python: skipped VTK, which could not be installed"
fi
