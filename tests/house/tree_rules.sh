#!/usr/bin/env bash
# How the tree is laid out: unique file names, no rag-bag names, foreign libraries only in their corners, guides that
# name files which exist, a file tour that leaves none out.
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
corner libpng 'png|zlib' src/plot
# A host program's locale may write 0,5: numbers are read and written by src/base/number_text.c, kinds of characters told
# by src/base/ascii.h. A plain snprintf or fprintf has its format at hand, and no floating-point number in it.
locale_bound='\b(strto(d|f|ld)|atof|[a-z]*scanf|v[a-z]*printf|asprintf|setlocale|is(alpha|alnum|digit|space|print|upper|lower|punct|graph|cntrl|xdigit)|to(upper|lower)|str(n?casecmp|coll))[[:space:]]*\('
found=$(grep -rnE "$locale_bound" src | grep -v '^src/base/number_text.c:' || true)
if [[ -n $found ]]; then complain "these know the locale of the host program:" "$found"; fi
conversion='%[-+ #0]*([0-9]+|\*)?(\.([0-9]+|\*)?)?l?[aefgAEFG]'
for file in $(grep -rlE '\b(sn|f)printf\(' src); do
  found=$(tr '\n' ' ' < "$file" | grep -oP '\b(snprintf\((?:[^,]*,){2}|fprintf\([^,]*,)\s*("(?:[^"\\]|\\.)*"\s*|[A-Z][A-Z0-9_]*\s*)*' | grep -E "$conversion|,[[:space:]]*$" || true)
  if [[ -n $found ]]; then complain "$file: write numbers, and by formats from elsewhere, with rpinn_format:" "$found"; fi
done

# BLAS is one for the process: one place decides about it.
blas=$(grep -rl 'openblas_set_num_threads' src cli include | grep -v '^src/base/blas_threads.c$' || true)
if [[ -n $blas ]]; then complain "threads of BLAS are set outside of src/base/blas_threads.c:" "$blas"; fi
mpi=$(including 'mpi\.h')
if (($(grep -c . <<< "$mpi") > 1)); then complain "more than one file includes MPI:" "$mpi"; fi

# Files are written whole by src/base/part_file.c. What it cannot do:
#   run_folder.c  run.log grows line by line
#   draw_spool.c  a scratch file without a name
#   file_lock.c   an empty file, to try locks with
writers=$(grep -rnE '\<(fopen|fdopen|freopen) *\([^;]*"[^"]*[wa+]|\<(open|openat) *\([^;]*O_(WRONLY|RDWR|CREAT)|\<(creat|mkstemp|tmpfile) *\(' \
  src cli | grep -vE '^src/(base/part_file|run/run_folder|results/draw_spool|io/file_lock)\.c:' || true)
if [[ -n $writers ]]; then complain "files written without src/base/part_file.h:" "$writers"; fi

# What others read of a run is read: only the driver puts something into its store.
found=$(grep -rnE 'rpinn_member_store_(open|put|put_state|set_text|drop|flush)\(' src/results src/diagnose src/report || true)
if [[ -n $found ]]; then complain "a store is written outside of the driver:" "$found"; fi

# Guides write files of the tree as `folder/…/name.extension`.
# shellcheck disable=SC2016 # the quotes are theirs
for file in $(grep -ohE '`(src|include|cli|cmake|tests|scripts|problems|bench|examples|docs|tools|man|completion)/[a-zA-Z0-9_./-]+\.[a-z]+`' \
  ./*.md docs/*.md docs/*/*.md | tr -d '`' | sort -u); do
  if [[ $file != *NAME* && ! -e $file ]]; then complain "a guide names a file that is not there:" "$file"; fi
done

# The file tour: a row has a file and what is there, or is a heading; every file of these folders is named, a header by
# itself or by its source, a source by itself or by its header.
tour=$(sed -n '/^## File tour/,/^## [^F]/p' docs/architecture.md)
# shellcheck disable=SC2016 # the quotes are theirs
stray=$(grep '^|' <<< "$tour" | sed 1,2d | grep -vE '^\| (`[^`]+/[^`]+`(, `[^`]+/[^`]+`)* \| [^|]+|\*\*[a-z, ]+\*\* \| ?)\|$' || true)
if [[ -n $stray ]]; then complain "stray rows in the file tour:" "$stray"; fi
# shellcheck disable=SC2016
named=$(grep -oE '`[^` ]+/[^` ]+`' <<< "$tour" | tr -d '`' | sort -u)
twice=$(grep '^| `' <<< "$tour" | cut -d'|' -f2 | tr -d ' ' | tr ',' '\n' | grep . | sort | uniq -d)
if [[ -n $twice ]]; then complain "rows that the file tour has twice:" "$twice"; fi
for file in $(find src include cli tools examples cmake scripts -type f ! -name CMakeLists.txt ! -name '*.md' | sort); do
  other=${file%.[ch]}
  case $file in *.c) other+=.h ;; *.h) other+=.c ;; esac
  if ! grep -qxF -e "$file" -e "$other" <<< "$named"; then complain "the file tour leaves out:" "$file"; fi
done

exit $failed
