#!/usr/bin/env bash
# Are there cheaper ways from rPINN's members to the posterior than NUTS?
#
#   bench/cheaper/run.sh PROGRAM FOLDER PROBLEM SCALE SHAPE NARROW
#
# PROGRAM is bench_cheaper; SCALE and SHAPE are those of the prior, NARROW is a scale of the same shape at which rPINN's members can be trusted. Long
# chains of NUTS (4 of DRAWS draws, 1000, after WARMUP iterations, 600), members, and every way at about the price GRADIENTS (60000) that a member has that
# NUTS continues. A table in FOLDER/page.md; steps whose rows are there are not made again.
set -euo pipefail
program=$1 folder=$2 problem=$3 scale=$4 shape=$5 narrow=$6
mkdir -p "$folder"
go() { # NAME WAY NUMBERS...
  if [[ -s $folder/$1.md ]]; then return; fi
  "$program" "$problem" "$scale" "$shape" "$folder" "${@:2}" > "$folder/$1.part"
  mv "$folder/$1.part" "$folder/$1.md"
}
go 1-truth truth 4 "${WARMUP:-600}" "${DRAWS:-1000}" 0.9
go 2-members members 64
go 3-present present 8 "${GRADIENTS:-60000}"
go 4-start start 8 "${GRADIENTS:-60000}"
go 5-moved annealing 32 "$narrow" 1 16 10 0
go 6-resampled annealing 32 "$narrow" 24 2 9 1
go 7-mixture mixture 48 1000
{
  echo "| way | | chains × draws | price, gradients | largest R-hat | effective draws: least, median | gradients per effective draw | means within 4 errors | deviations within 4 errors | deviation by NUTS's |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
  cat "$folder"/[1-6]-*.md
  echo
  echo "| mixture | draws | Pareto k | effective size | accepted by Metropolis |"
  echo "|---|---|---|---|---|"
  cat "$folder"/7-*.md
} | tee "$folder/page.md"
