# Loss against computing time, a panel per problem: median of the members, and for float the range between them shaded.
# A dot marks the end of an optimiser that stopped by itself in most members.
# gnuplot -e "curves='FOLDER'; output='FILE.svg'" losses.gnuplot       (or FILE.png)
if (output[strlen(output) - 2:] eq "png") {
  set terminal pngcairo size 1500,600 font "DejaVu Sans,13"
} else {
  set terminal svg size 1500,600 font "DejaVu Sans,13" background "white" dynamic
}
set output output

# Okabe and Ito's colours, which colour-blind readers can tell apart
orange = 0xE69F00; blue = 0x0072B2; green = 0x009E73
colour_number(k) = k == 1 ? orange : k == 2 ? blue : green
colour(k) = sprintf("#%06X", colour_number(k))
title_of(k) = k == 1 ? "Adam" : k == 2 ? "L-BFGS" : "LM"
file(k, precision) = sprintf("%s/%s-%s-%s.dat", curves, problem, word("adam lbfgs lm", k), precision)

set logscale xy
set format x "10^{%L}"
set format y "10^{%L}"
set mxtics 10
set mytics 10
set grid xtics ytics linecolor "#dddddd"
set border 3
set tics nomirror out
set style fill transparent solid 0.18 noborder
set xlabel "computing time on one core [s]"
set key bottom left Left reverse samplen 3 spacing 1.15

set multiplot layout 1,3 margins 0.07,0.985,0.115,0.92 spacing 0.055
do for [number = 1:3] {
  problem = word("poisson-linear poisson-nonlinear darcy", number)
  first_double = problem eq "darcy" ? 3 : 1
  set title problem.(problem eq "darcy" ? " (2 members)" : " (5 members)") font ",15"
  if (number == 1) { set ylabel "energy E of a member with its rPINN offsets" } else { unset ylabel }
  if (number > 1) { unset key }
  if (problem eq "darcy") {
    set format y "%g"
    set ytics (5000, 10000, 20000, 50000, 100000, 200000)
    unset mytics
    set xrange [5e-3:100]
    set yrange [4500:250000]
  } else {
    set xrange [1e-4:3]
    set yrange [0.3:4000]
  }
  plot for [k = 1:3] file(k, "float") using 1:3:4 with filledcurves linecolor rgb colour(k) notitle, \
       for [k = 1:3] file(k, "float") using 1:2 with lines linewidth 2.5 linecolor rgb colour(k) \
         title title_of(k).", float", \
       for [k = first_double:3] file(k, "double") using 1:2 with lines linewidth 2 dashtype (8,5) \
         linecolor rgb colour(k) title title_of(k).", double", \
       sprintf("%s/ends-%s.dat", curves, problem) using 1:2:($4 * 0.9):(colour_number($3)) with points pointtype 7 \
         pointsize variable linecolor rgb variable notitle
}
unset multiplot
