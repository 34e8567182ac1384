#!/usr/bin/env bash
# Figures of the paper hold the numbers of their runs: curves and maps in the CSV files and in the scripts for gnuplot
# against predictions.csv.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
# shellcheck disable=SC2016 # programs of awk
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"
mkdir nothing # without gnuplot: scripts are written, pictures take their time

# check WORDS PROGRAM FILE…: an awk program that ends with 1 and a line where something is wrong, or that looked at nothing.
# column(NAME) is the column of that name in the file before; near(a, b) compares numbers of seven digits.
check() {
  local words=$1 program=$2
  shift 2
  awk -F, -v OFS=, 'function near(a, b) { return (a - b) ^ 2 <= (2e-6 * (a < 0 ? -a : a) + 2e-7) ^ 2 }
    FNR == 1 { split("", at); for (i = 1; i <= NF; i++) at[$i] = i }
    function column(name) { if (!(name in at)) { print "no column " name; bad = 1 }; return $at[name] }
    '"$program"'
    END { if (!bad && !looked) print "looked at nothing"; exit bad || !looked }' "$@" || complain "$words"
}

# block SCRIPT NUMBER: the rows of a block of data, with commas
block() { sed -n "/^\$d$2 << EOD\$/,/^EOD\$/p" "$1" | sed '1d;$d; s/ *$//; s/ /,/g'; }

# ---- curves ----
PATH=nothing run 0 reproduce fig-linear --members 3 --out linear --quiet
for sigma in 0.1 0.01; do
  for method in rpinn svgd ensemble; do
    for quantity in u f; do
      check "fig-linear.csv of $method, $quantity, sigma $sigma" '
        FNR == 1 { file++; n = 0; next }
        file == 1 { n++; x[n] = column("x"); mean[n] = column(q "_mean"); std[n] = column(q "_std"); truth[n] = column(q "_truth") }
        file == 2 && $1 == sigma && $2 == method && $4 == q {
          n++; looked = 1
          if ($3 != 1 || !near(column("x"), x[n]) || !near(column("mean"), mean[n]) || !near(column("std"), std[n]) ||
              !near(column("reference"), truth[n])) { print "row " n ": " $0; bad = 1 }
        }
        END { if (n != 201) { print n " points"; bad = 1 } }' \
        q=$quantity sigma=$sigma method=$method "linear/poisson-linear_Nf32_sigma${sigma}_$method/predictions.csv" linear/fig-linear.csv
    done
  done
  # Chains of equally many draws: the mean of their means is that of the run.
  check "fig-linear.csv of chains, sigma $sigma" '
    FNR == 1 { file++; n = 0; next }
    file == 1 { mean[column("x") + 0] = column("u_mean") }
    file == 2 && $1 == sigma && $2 == "nuts" && $4 == "u" { sum[column("x") + 0] += column("mean") / 4; last = $3 }
    END { for (x in sum) { looked++; if (!near(sum[x], mean[x])) { print x, sum[x], mean[x]; bad = 1 } }
          if (looked != 201 || last != 4) { print looked " points, " last " chains"; bad = 1 } }' \
    sigma=$sigma "linear/poisson-linear_Nf32_sigma${sigma}_nuts/predictions.csv" linear/fig-linear.csv
done

# The first row of the sheet: u with sigma 0.1. NUTS has a band and a line for each of four chains, the data and the truth:
# ten blocks; rPINN, SVGD and the ensemble four each: band, mean, data, truth.
first=11
for method in rpinn svgd ensemble; do
  block linear/fig-linear.gp $first > band && block linear/fig-linear.gp $((first + 1)) > mean && block linear/fig-linear.gp $((first + 3)) > truth
  check "panel of $method in fig-linear.gp" '
    FNR == 1 { file++; n = 0 }
    file == 1 && FNR > 1 { n++; mean[n] = column("u_mean"); std[n] = column("u_std"); truth[n] = column("u_truth") }
    file == 2 { n++; looked++; if (!near($2, mean[n] - 2 * std[n]) || !near($3, mean[n] + 2 * std[n])) { print "band: " $0; bad = 1 } }
    file == 3 { n++; looked++; if (!near($2, mean[n])) { print "mean: " $0; bad = 1 } }
    file == 4 { n++; looked++; if (!near($2, truth[n])) { print "truth: " $0; bad = 1 } }
    END { if (looked != 3 * 201) { print looked " rows"; bad = 1 } }' \
    "linear/poisson-linear_Nf32_sigma0.1_$method/predictions.csv" band mean truth
  first=$((first + 4))
done
titles=$(sed -n 's/^  set title "\(.*\)" noenhanced/\1/p' linear/fig-linear.gp | tr '\n' ,)
if [[ $titles != NUTS,rPINN,SVGD,ensemble,NUTS,rPINN,SVGD,ensemble,NUTS,rPINN,SVGD,ensemble,NUTS,rPINN,SVGD,ensemble, ]]; then
  complain "columns of fig-linear: $titles"
fi
labels=$(sed -n 's/^  set ylabel "\(.*\)" noenhanced/\1/p' linear/fig-linear.gp | uniq | tr '\n' ';')
if [[ $labels != 'u, σ = 0.1;f, σ = 0.1;u, σ = 0.01;f, σ = 0.01;' ]]; then complain "rows of fig-linear: $labels"; fi

# ---- maps ----
PATH=nothing run 0 reproduce fig-darcy-h --members 2 --out darcy --quiet
number=1 # of the block; each of the four maps has one for the measured points behind it
for sigma in 1 0.1 0.01; do
  run=darcy/darcy_sigma${sigma}_rpinn/predictions.csv
  check "fig-darcy-h_sigma$sigma.csv" '
    FNR == 1 { file++; n = 0; next }
    file == 1 { n++; x[n] = $1; y[n] = $2; mean[n] = column("h_mean"); std[n] = column("h_std"); truth[n] = column("h_truth") }
    file == 2 {
      n++; looked++; error = mean[n] - truth[n]; size = error < 0 ? -error : error
      if (!near($1, x[n]) || !near($2, y[n]) || !near(column("mean"), mean[n]) || !near(column("error"), error) ||
          !near(column("std"), std[n]) || column("covered") != (size < 2 * std[n])) { print "row " n ": " $0; bad = 1; exit }
    }
    END { if (looked != 256 * 128) { print looked " rows"; bad = 1 } }' "$run" darcy/fig-darcy-h_sigma$sigma.csv
  # Images have the largest x2 in their first row, and x1 along their columns.
  for map in mean error std covered; do
    block darcy/fig-darcy-h.gp $number > matrix
    check "map of $map, sigma $sigma" '
      FNR == 1 { file++ }
      file == 1 && FNR > 1 { value[int($1 * 256), int($2 * 256)] = column(map) }
      file == 2 { for (i = 1; i <= NF; i++) { looked++; v = value[i - 1, 128 - FNR]
                    if (($i - v) ^ 2 > (1e-3 * (v < 0 ? -v : v)) ^ 2 + 1e-24) { print "row " FNR ", column " i ": " $i ", expected " v; bad = 1; exit } } }
      END { if (looked != 256 * 128) { print looked " pixels"; bad = 1 } }' map=$map darcy/fig-darcy-h_sigma$sigma.csv matrix
    number=$((number + 2))
  done
done
titles=$(sed -n 's/^  set title "\(.*\)" noenhanced/\1/p' darcy/fig-darcy-h.gp | head -5 | tr '\n' ';')
if [[ $titles != 'h, σ = 1: mean;h, σ = 1: error of the mean;h, σ = 1: standard deviation;h, σ = 1: coverage;h, σ = 0.1: mean;' ]]; then
  complain "titles of fig-darcy-h: $titles"
fi
exit $failed
