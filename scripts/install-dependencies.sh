#!/usr/bin/env bash
# Install what building and testing need and this machine lacks.
#
#   scripts/install-dependencies.sh [--dry-run] [build] [test] [cuda] [python] [browser] [slurm]   (no group named: build and test)
#
# Debian 12, 13 and Ubuntu 22.04, 24.04: through apt-get, as root or with sudo. Nothing is fetched when nothing is
# missing. Elsewhere: looks for the tools and headers themselves and lists those that are not there.
set -euo pipefail

# group | package, or names to choose from | proof that it is there, however it came | what for
needs='
build | gcc                | tool gcc                  | C compiler
build | libc6-dev          | header stdio.h            | headers of the C library
build | make               | tool make                 | the commands of the Makefile
build | cmake              | tool cmake                | build system
build | ninja-build        | tool ninja                | fast builds
build | pkg-config pkgconf | tool pkg-config           | finds libraries
build | libyaml-dev        | module yaml-0.1           | reads problem files
build | librandom123-dev   | header Random123/philox.h | counter-based random streams
build | libopenblas-dev    | module openblas           | matrix products
build | liblapacke-dev     | header lapacke.h          | matrix factorisations
build | libarpack2-dev     | optional_module arpack    | leading parts of spectra (optional)
build | libsqlite3-dev     | module sqlite3            | crash-safe checkpoints
build | libnetcdf-dev      | module netcdf             | posterior files
build | libpng-dev         | module libpng             | maps in reports
test  | g++                | tool g++                  | the kernels of the backend cuda, tried on the host
test  | clang              | tool clang                | second compiler of the checks
test  | CLANG_RUNTIME      | clang_runtime             | sanitizers and libFuzzer for clang
test  | clang-format       | tool clang-format         | format check
test  | libcmocka-dev      | module cmocka             | unit tests
test  | libopenmpi-dev     | optional_module ompi-c    | ranks by Open MPI (optional)
test  | openmpi-bin        | optional_tool mpirun.openmpi | its launcher (optional)
test  | libmpich-dev       | optional_module mpich     | ranks by MPICH (optional)
test  | mpich              | optional_tool mpirun.mpich | its launcher (optional)
test  | gnuplot-nox        | tool gnuplot              | figures of reports, for print
cuda | nvidia-cuda-toolkit | tool nvcc                 | the backend cuda (large, not free software)
browser | chromium chromium-browser | browser             | opens reports
slurm | slurmctld          | tool slurmctld            | a cluster on one machine, to try the scripts of examples/ in
slurm | slurmd             | tool slurmd               | its nodes
slurm | slurm-client       | tool sbatch               | its commands
slurm | munge              | tool munged               | who is who in it
python | python3           | tool python3              | other readers of our files
python | python3-venv      | python_venv               | packages of Python, apart from the system
python | python3-dev       | python_headers            | the Python package
'

tool() { command -v "$1" > /dev/null; }
header() { echo "#include <$1>" | cc -E -x c - > /dev/null 2>&1; }
module() { pkg-config --exists "$1" 2> /dev/null; }
optional_module() { module "$1" || ! tool apt-get; } # never demanded where nobody can install it for the user
optional_tool() { tool "$1" || ! tool apt-get; }
clang_runtime() { tool clang && compgen -G "$(clang -print-resource-dir)/lib/*/libclang_rt.fuzzer*.a" > /dev/null; }
python_venv() { "${RPINN_PYTHON:-python3}" -c 'import venv, ensurepip' > /dev/null 2>&1; }
python_headers() { "${RPINN_PYTHON:-python3}" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' 2> /dev/null; }

# On Ubuntu the package of Chromium is a snap, which needs more than apt; a browser that is there is good enough.
browser() { tool chromium || tool chromium-browser || tool google-chrome || tool google-chrome-stable; }

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null) == installed ]]; }
available() { [[ -n $(apt-cache madison "$1" 2> /dev/null) ]]; }

# The runtime of the default clang has a package of its own or, in older releases, lives in libclang-common.
clang_runtime_names() {
  local major
  if tool clang; then
    major=$(clang -dumpversion | cut -d. -f1)
  else
    major=$(apt-cache depends clang 2> /dev/null | sed -n 's/.*Depends: clang-\([0-9]\+\)$/\1/p')
  fi
  echo "${major:+libclang-rt-$major-dev} libclang-rt-dev ${major:+libclang-common-$major-dev}"
}

# package NAME...: the first name that apt knows, or the first of all when it knows none.
package() {
  local name names=()
  read -ra names <<< "${*/CLANG_RUNTIME/$(clang_runtime_names)}"
  for name in "${names[@]}"; do
    if available "$name"; then echo "$name" && return; fi
  done
  echo "${names[0]}"
}

dry_run=false groups=()
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=true ;;
    build | test | cuda | python | browser | slurm) groups+=("$argument") ;;
    *) echo "usage: $0 [--dry-run] [build] [test] [cuda] [python] [browser] [slurm]" >&2 && exit 2 ;;
  esac
done
if [[ ${#groups[@]} == 0 ]]; then groups=(build test); fi

count=0 missing=() purposes=()
while IFS='|' read -r group names proof purpose; do
  if [[ -z $group || " ${groups[*]} " != *" ${group// /} "* ]]; then continue; fi
  count=$((count + 1))
  found=false
  for name in $names; do
    if installed "$name"; then found=true; fi
  done
  if ! $found && ! $proof; then missing+=("$names") purposes+=("${purpose# }"); fi
done <<< "$needs"

if [[ ${#missing[@]} == 0 ]]; then
  echo "dependencies (${groups[*]}): all $count packages are there"
  exit 0
fi

packages=()
list() { # fills packages, says what each is for
  local i
  for i in "${!missing[@]}"; do
    packages[i]=$(package "${missing[i]}")
    printf '  %-20s %s\n' "${packages[i]}" "${purposes[i]}"
  done
}
refuse() {
  echo "dependencies: $1 Missing, by Debian's names:" >&2
  list >&2
  exit 1
}
all_known() {
  local names
  for names in "${missing[@]}"; do
    available "$(package "$names")" || return 1
  done
}
as_root=()
# apt ARGUMENT...: apt-get. While another program (an upgrade at night, a second shell) holds one of apt's locks, waits
# for it: apt-get itself can wait for dpkg's lock only, not for those of the lists and the archives.
longest_wait=600
messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
apt() {
  local since=$SECONDS waiting=false
  until "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" 2> "$messages"; do
    if ! grep -qE 'Could not get lock|Unable to lock|Unable to acquire the dpkg' "$messages" ||
      ((SECONDS - since >= longest_wait)); then
      cat "$messages" >&2
      return 1
    fi
    if ! $waiting; then
      echo "dependencies: another program is using apt; waiting until it is done, at most $longest_wait s" >&2
    fi
    waiting=true
    sleep 2
  done
  cat "$messages" >&2
}

tool apt-get || refuse "there is no apt-get here; install these with your package manager, then start again."
if ! $dry_run; then
  if [[ $(id -u) != 0 ]]; then
    tool sudo || refuse "installing needs root or sudo, and neither is at hand."
    as_root=(sudo)
  fi
  if ! all_known; then
    echo "dependencies: refreshing the package lists"
    apt update > /dev/null
  fi
fi

verb=installing
if $dry_run; then verb='would install'; fi
echo "dependencies (${groups[*]}): $((count - ${#missing[@]})) of $count packages are there, $verb ${#missing[@]}:"
list
if $dry_run; then exit 0; fi

# Old package lists may name files that are gone: refresh them and try once more.
install=(install --no-install-recommends -o Dpkg::Use-Pty=0 "${packages[@]}")
if ! apt "${install[@]}" > /dev/null; then
  apt update > /dev/null
  apt "${install[@]}"
fi
echo "dependencies: installed ${packages[*]}"
