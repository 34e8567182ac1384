#!/usr/bin/env bash
# Which deliberate faults do the tests find?
#
#   tests/mutants/run.sh LIST... [--only PATTERN]... [--folder FOLDER] [--tree FOLDER] [--patience SECONDS]
#
# Every row of a LIST is a fault. It is put into a copy of the tree, what its tests need is built, its tests run until
# one fails, and the fault is taken out again. README.md beside this script describes the columns.
#
#   --only PATTERN      only rows that match this regular expression (of grep -E); several add up
#   --folder FOLDER     keep the copy and what was built there, so that the next run starts at once
#   --tree FOLDER       the tree to copy, by default the one of this script
#   --patience SECONDS  a faulty run may take so much longer than five times a sound one; by default 30
#
# Each row ends as one of these:
#
#   killed by NAME    a test failed
#   killed by time    the tests ran far longer than without the fault
#   survived          all of its tests passed
#   does not compile  it proves nothing
#   does not apply    the text is not in the file, or more than once: the list has aged
#
# Exit code: 0 no row survived and all applied, 1 some did not, 2 the tests fail without any fault, or wrong usage.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

usage() { sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//p}' "$0"; }
stop() { echo "run.sh: $1" >&2 && exit 2; }

lists=() tree=$(cd "$here/../.." && pwd) folder='' patience=30 patterns=()
while (($#)); do
  case $1 in
    --only) patterns+=(-e "${2:?--only needs a pattern}") && shift ;;
    --folder) folder=${2:?--folder needs a folder} && shift ;;
    --tree) tree=$(cd "${2:?--tree needs a folder}" && pwd) && shift ;;
    --patience) patience=${2:?--patience needs seconds} && shift ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && exit 2 ;;
    *) lists+=("$1") ;;
  esac
  shift
done
if ((${#lists[@]} == 0)); then usage >&2 && exit 2; fi
for list in "${lists[@]}"; do
  if [[ ! -r $list ]]; then stop "$list cannot be read"; fi
done
command -v ninja > /dev/null || stop "needs ninja"

if [[ -n $folder ]]; then
  mkdir -p "$folder"
else
  folder=$(mktemp -d "${TMPDIR:-/tmp}/rpinn_mutants_XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 130' INT TERM HUP
fi
folder=$(cd "$folder" && pwd)
copy=$folder/tree build=$folder/build log=$folder/log

# ---- the rows ----

# Empty columns count, which read with a tab would join.
files=() wanted=() froms=() tos=() tests=() harms=()
while IFS=$'\x1f' read -r file from to names harm; do
  froms+=("$from") tos+=("$to") tests+=("$names") harms+=("$harm")
  if [[ $file == *'#'* ]]; then wanted+=("${file##*#}"); else wanted+=(0); fi
  files+=("${file%%#*}")
done < <({ grep -hvE '^#|^[[:space:]]*$|^file	from	to' "${lists[@]}" || true; } |
  { if ((${#patterns[@]})); then grep -E "${patterns[@]}" || true; else cat; fi; } | tr '\t' '\037')
count=${#files[@]}
if ((count == 0)); then stop "no rows"; fi

# ---- the copy ----

# Files that git knows or would take; without git, all but what was built.
tree_files() {
  if ! git -C "$tree" ls-files --cached --others --exclude-standard 2> /dev/null; then
    (cd "$tree" && find . -path './build*' -prune -o -type f -print | sed 's:^\./::')
  fi | sort
}
# Only what differs is touched, so that a kept folder builds little.
mirror() {
  local file
  mkdir -p "$copy"
  tree_files > "$folder/files"
  while read -r file; do
    if [[ ! -f $tree/$file ]] || cmp -s "$tree/$file" "$copy/$file"; then continue; fi
    mkdir -p "$copy/$(dirname "$file")"
    cp "$tree/$file" "$copy/$file" && touch "$copy/$file"
  done < "$folder/files"
  (cd "$copy" && find . -type f | sed 's:^\./::' | sort) | comm -13 "$folder/files" - |
    while read -r file; do rm "$copy/$file"; done
}

# Compilations are taken from the cache whatever the name of the folder.
export CCACHE_BASEDIR=$folder CCACHE_NOHASHDIR=1
if command -v ccache > /dev/null; then export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache}; fi

# A fault may leave a variable unused: warnings are no errors here. Kernels are tried on the host; compiling them for GPUs takes minutes.
configure() {
  cmake -S "$copy" -B "$build" -G Ninja -DRPINN_TESTS=ON -DRPINN_WERROR=OFF -DRPINN_CUDA=OFF > "$log" 2>&1 ||
    { cat "$log" >&2 && stop "cmake failed"; }
}

# chosen REGEX: options of ctest for the tests of a row; by default all but long ones.
chosen() { if [[ -n $1 ]]; then printf -- '-R\n%s\n' "$1"; else printf -- '-LE\nlong\n'; fi; }

# The files of the build that the tests of a row name, in their commands or through their environment.
targets() {
  local options
  mapfile -t options < <(chosen "$1")
  ctest --test-dir "$build" --show-only=json-v1 "${options[@]}" | grep -oE "$build/[A-Za-z0-9_./-]+" | sed "s:^$build/::" |
    sort -u | comm -12 - "$folder/outputs"
}

# ---- the tests without a fault ----

declare -A needs limits
seconds_of_tests() { awk '/ Passed .* sec$/ { total += $(NF - 1) } END { print int(total + 0.5) }' "$1"; }

# Everything is built once, as ctest knows only programs that exist. Each choice of tests is run once, which also says
# how long a faulty run may take.
baseline() {
  local names options status
  ninja -C "$build" > "$log" 2>&1 || { cat "$log" >&2 && stop "the tree does not build"; }
  ninja -C "$build" -t targets all | sed 's/: [^:]*$//' | sort -u > "$folder/outputs"
  while read -r names; do
    mapfile -t options < <(chosen "$names")
    needs[x$names]=$(targets "$names" || true)
    if [[ -z ${needs[x$names]} ]]; then stop "no test is called '$names'"; fi
    status=0
    ctest --test-dir "$build" --output-on-failure "${options[@]}" > "$log" 2>&1 || status=$?
    if ((status)); then cat "$log" >&2 && stop "tests of '$names' fail without any fault"; fi
    limits[x$names]=$((5 * $(seconds_of_tests "$log") + patience))
  done < <(printf '%s\n' "${tests[@]}" | sort -u)
}

# ---- one fault ----

# replace FILE NUMBER FROM TO: the changed text on standard output, the line on descriptor 3; fails where FROM is not
# there, or without a NUMBER more than once.
replace() {
  WANTED=$2 FROM=$3 TO=$4 LC_ALL=C awk '
    { text = text $0 "\n" }
    END {
      from = ENVIRON["FROM"]; wanted = ENVIRON["WANTED"] + 0
      if (from == "" || from == ENVIRON["TO"]) exit 1
      for (rest = text; (at = index(rest, from)) > 0; rest = substr(rest, at + length(from))) {
        start += at + (found ? length(from) - 1 : 0)
        found++
        if (found == (wanted ? wanted : 1)) place = start
      }
      if (!place || (!wanted && found != 1)) exit 1
      printf "%s", substr(text, 1, place - 1) ENVIRON["TO"] substr(text, place + length(from))
      before = substr(text, 1, place - 1)
      print 1 + gsub(/\n/, "\n", before) > "/dev/fd/3"
    }' "$1"
}

# try NUMBER: what becomes of a row, in `outcome`.
try() {
  local file=$copy/${files[$1]} names=${tests[$1]} options status=0
  if [[ ! -f $file ]] || ! replace "$file" "${wanted[$1]}" "${froms[$1]}" "${tos[$1]}" > "$folder/changed" 3> "$folder/line"; then
    outcome='does not apply'
    return
  fi
  cp "$file" "$folder/original"
  cat "$folder/changed" > "$file"
  mapfile -t options < <(chosen "$names")
  # shellcheck disable=SC2086 # one word per target
  if ! ninja -C "$build" ${needs[x$names]} > "$log" 2>&1; then
    outcome='does not compile'
  else
    timeout -k 5 "${limits[x$names]}" ctest --test-dir "$build" --stop-on-failure "${options[@]}" > "$log" 2>&1 || status=$?
    if ((status == 0)); then
      outcome=survived
    elif ((status >= 124)); then
      outcome='killed by time'
    else
      outcome="killed by $(sed -n '/FAILED:$/,$s/^[[:space:]]*[0-9]* - \([^ ]*\).*/\1/p' "$log" | head -1)"
    fi
  fi
  cat "$folder/original" > "$file"
}

mirror
configure
started=$SECONDS
baseline
echo "the tests pass without a fault ($((SECONDS - started)) s); $count rows"

outcomes=() killed=0 survived=0 broken=0 aged=0
for ((k = 0; k < count; k++)); do
  started=$SECONDS
  : > "$folder/line"
  try "$k"
  case $outcome in
    killed*) killed=$((killed + 1)) ;;
    survived) survived=$((survived + 1)) ;;
    'does not compile') broken=$((broken + 1)) ;;
    *) aged=$((aged + 1)) ;;
  esac
  outcomes+=("$outcome")
  files[k]=${files[$k]}:$(cat "$folder/line")
  printf '[%*d/%d] %-34s %3d s  %s  %s  ->  %s\n' ${#count} $((k + 1)) "$count" "$outcome" $((SECONDS - started)) \
    "${files[$k]%:}" "${froms[$k]}" "${tos[$k]}"
done

if ((killed < count)); then
  printf '\nnot killed:\n'
  for ((k = 0; k < count; k++)); do
    if [[ ${outcomes[$k]} == killed* ]]; then continue; fi
    printf '  %-16s  %s  %s  ->  %s\n  %16s  %s (tests: %s)\n' "${outcomes[$k]}" "${files[$k]%:}" "${froms[$k]}" "${tos[$k]}" '' \
      "${harms[$k]}" "${tests[$k]:-all but long}"
  done
fi
printf '\n%-40s %6s %8s %16s %14s\n' file killed survived 'does not compile' 'does not apply'
for ((k = 0; k < count; k++)); do printf '%s\t%s\n' "${files[$k]%:*}" "${outcomes[$k]}"; done | awk -F '\t' '
  !($1 in seen) { seen[$1] = 1; order[++n] = $1 }
  { kind = $2 ~ /^killed/ ? "k" : $2; counts[$1, kind]++ }
  END { for (i = 1; i <= n; i++) { f = order[i]
    printf "%-40s %6d %8d %16d %14d\n", f, counts[f, "k"], counts[f, "survived"], counts[f, "does not compile"], counts[f, "does not apply"] } }'
printf '\n%d killed, %d survived, %d did not compile, %d did not apply\n' "$killed" "$survived" "$broken" "$aged"
((survived == 0 && aged == 0))
