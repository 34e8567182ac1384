# Loss against computing time, a panel per problem: median of the members, and the range between them shaded.
# gnuplot -e "curves='FOLDER'; output='FILE.svg'" losses.gnuplot       (or FILE.png)
if (output[strlen(output) - 2:] eq "png") {
  set terminal pngcairo size 1500,560 font "DejaVu Sans,13"
} else {
  set terminal svg size 1500,560 font "DejaVu Sans,13" background "white" dynamic
}
set output output

# Okabe and Ito's colours, which colour-blind readers can tell apart
orange = "#E69F00"; blue = "#0072B2"; green = "#009E73"
names = "adam lbfgs lm"
colour(k) = k == 1 ? orange : k == 2 ? blue : green
title_of(k) = k == 1 ? "Adam" : k == 2 ? "L-BFGS" : "Levenberg–Marquardt"
file(problem, k, precision) = sprintf("%s/%s-%s-%s.dat", curves, problem, word(names, k), precision)

set logscale xy
set format x "10^{%L}"
set format y "10^{%L}"
set mxtics 10
set mytics 10
set grid xtics ytics linecolor "#dddddd"
set border 3
set tics nomirror out
set style fill transparent solid 0.15 noborder
set xlabel "computing time per member [s], one core"
set key top right samplen 3

set multiplot layout 1,3 margins 0.055,0.99,0.13,0.9 spacing 0.05
do for [number = 1:3] {
  problem = word("poisson-linear poisson-nonlinear darcy", number)
  set title problem font ",15"
  if (number == 1) { set ylabel "energy E of a member with its rPINN offsets" } else { unset ylabel }
  if (problem eq "darcy") {
    set format y "%g"
    set ytics (3000, 10000, 30000, 100000, 300000)
    plot for [k = 1:3] file(problem, k, "float") using 1:3:4 with filledcurves linecolor rgb colour(k) notitle, \
         for [k = 1:3] file(problem, k, "float") using 1:2 with lines linewidth 2.5 linecolor rgb colour(k) \
           title title_of(k)." float"
  } else {
    plot for [k = 1:3] file(problem, k, "float") using 1:3:4 with filledcurves linecolor rgb colour(k) notitle, \
         for [k = 1:3] file(problem, k, "float") using 1:2 with lines linewidth 2.5 linecolor rgb colour(k) \
           title title_of(k)." float", \
         for [k = 1:3] file(problem, k, "double") using 1:2 with lines linewidth 2 dashtype (8,5) \
           linecolor rgb colour(k) title title_of(k)." double"
  }
}
unset multiplot
