#!/usr/bin/env bash
# How the tree is laid out: unique file names, no rag-bag names, foreign libraries only in their corners, guides that
# name files which exist.
# Usage: tree_rules.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"
failed=0
complain() {
  printf '%s\n%s\n' "$1" "$2" >&2
  failed=1
}

twice=$(find src -type f ! -name CMakeLists.txt -printf '%f\n' | sort | uniq -d)
if [[ -n $twice ]]; then complain "file names that occur twice in src/:" "$twice"; fi

vague=$(find src cli include -regextype posix-extended -regex '.*/(utils?|common|misc|helpers?)(\.[ch]|/.*)?')
if [[ -n $vague ]]; then complain "names that say nothing:" "$vague"; fi

# including PATTERN: files of the product with an include that matches.
including() { grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($1)" src cli include || true; }
# corner LIBRARY PATTERN FOLDER
corner() {
  local outside
  outside=$(including "$2" | grep -v "^$3/" || true)
  if [[ -n $outside ]]; then complain "$1 is included outside of $3/:" "$outside"; fi
}
corner CUDA 'cuda|cublas|cusolver|curand|cusparse|nvrtc|nvml|nvtx|cooperative_groups' src/backend/cuda
corner NetCDF 'netcdf' src/io
corner SQLite 'sqlite3' src/io
mpi=$(including 'mpi\.h')
if (($(grep -c . <<< "$mpi") > 1)); then complain "more than one file includes MPI:" "$mpi"; fi

# Guides write files of the tree as `folder/…/name.extension`.
# shellcheck disable=SC2016 # the quotes are theirs
for file in $(grep -ohE '`(src|include|cli|cmake|tests|scripts|problems|bench|examples|docs|tools|man|completion)/[a-zA-Z0-9_./-]+\.[a-z]+`' \
  ./*.md docs/*.md docs/*/*.md | tr -d '`' | sort -u); do
  if [[ $file != *NAME* && ! -e $file ]]; then complain "a guide names a file that is not there:" "$file"; fi
done

exit $failed
