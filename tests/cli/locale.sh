#!/usr/bin/env bash
# The library in a host program whose locale has a comma in its numbers: files and texts are those of a program without
# a locale. Usage: locale.sh PROGRAM (tests/outside/in_locale.c)
# Environment: RPINN_SOURCE_DIR, RPINN_PROGRAM
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/cli/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# A locale "comma" of our own, in ASCII: no package need be installed for it.
{
  printf '%s\n' '<code_set_name> ANSI_X3.4-1968' '<comment_char> %' '<escape_char> /' CHARMAP
  for ((byte = 0; byte < 128; byte++)); do printf '<U%04X> /x%02x\n' $byte $byte; done
  echo 'END CHARMAP'
} > "$work/ascii"
printf '%s\n' LC_NUMERIC 'decimal_point ","' 'thousands_sep "."' 'grouping 3;3' 'END LC_NUMERIC' > "$work/comma.source"
if ! command -v localedef > /dev/null; then echo "skipped: no localedef" && exit 77; fi
# It warns of the categories that are not there, with exit code 1.
localedef -c --no-archive -f "$work/ascii" -i "$work/comma.source" "$work/comma" > "$work/localedef" 2>&1 || true
export LOCPATH=$work
# The C library splits LOCPATH into parts that it never frees, which a sanitizer would take for a leak of ours.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
# The scripts for gnuplot are compared; drawing them takes long.
mkdir "$work/bin" && printf '#!/bin/sh\nexit 1\n' > "$work/bin/gnuplot" && chmod +x "$work/bin/gnuplot"
export PATH=$work/bin:$PATH

# Times differ between any two runs, and so does the size of a file that holds one.
without_times() {
  sed -E -e '/seconds/d' -e 's/[0-9][0-9.,]*(&#8201;| )?(ms|s|min|h)\b/TIME/g' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5} UTC/DATE/g' "$1"
}
# both NAME PROBLEM POINTS [SETTING VALUE]…: the host program in both locales; complains of every file that differs.
both() {
  local name=$1 problem=$2 points=$3 locale file status count=0
  shift 3
  for locale in C comma; do
    mkdir -p "$work/$locale/$name" && cd "$work/$locale/$name"
    status=0
    "$program" "$locale" "$problem" run "$points" "$@" > printed 2> err || status=$?
    if ((status == 77)); then echo "skipped: the locale cannot be made: $(tail -1 "$work/localedef")" && exit 77; fi
    if ((status != 0)); then complain "$name in $locale: exit code $status: $(< err)" && return; fi
  done
  cd "$work/C/$name"
  while read -r file; do
    count=$((count + 1))
    case $file in
      */checkpoint.db*) continue ;; # times inside
      */run.log) if grep -qvE '^ *[0-9]+\.[0-9]{3}  ' "$work/comma/$name/$file"; then complain "$name: $(< "$work/comma/$name/$file")"; fi ;;
      *.nc | *.vti | *.csv) cmp "$file" "$work/comma/$name/$file" || failed=1 ;;
      *) diff <(without_times "$file") <(without_times "$work/comma/$name/$file") > "$work/difference" ||
        complain "$name: $file differs: $(head -c 600 "$work/difference")" ;;
    esac
  done < <(find . -type f | sort)
  if ((count < 10)); then complain "$name: only $count files"; fi
}

points=$work/points.csv
printf 'x\n0.25\n0.75\n' > "$points"
paper=(likelihood paper optimizer adam start glorot scale_fields no) # a host program names no preset
both rpinn poisson-linear "$points" "${paper[@]}" samples 6 iterations 150 threads 2 sigma 0.125
both nuts poisson-linear "$points" "${paper[@]}" method nuts chains 2 warmup 40 samples 20 threads 2
both svgd poisson-linear "$points" "${paper[@]}" method svgd samples 6 iterations 20 threads 2
printf 'x,t\n0.25,0.5\n' > "$points"
both measured "$RPINN_SOURCE_DIR/tests/problems/measured.yaml" "$points" samples 3 iterations 50
printf 'x1,x2\n0.25,0.5\n' > "$points"
both darcy darcy "$points" "${paper[@]}" samples 2 iterations 2

# Predictions and table are also those of the command line.
cd "$work"
"$RPINN_PROGRAM" run poisson-linear --preset paper --samples 6 --iterations 150 --threads 2 --set sigma=0.125 --quiet --out line > /dev/null
cmp line/predictions.csv comma/rpinn/run/predictions.csv || failed=1
exit $failed
