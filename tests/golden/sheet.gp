# gnuplot sheet.gp, in this folder, draws sheet.svg, sheet.pdf and sheet.png
columns = 2
rows = 3
strip = 0.0295858
across(k) = 1.0*(k%columns)/columns
up(k) = strip+(1-strip)*(1-(1.0+k/columns)/rows)
set encoding utf8
set tics nomirror out scale 0.6
set border lw 0.8 lc rgb "#4b5563"
set key off
$d1 << EOD
0 0 2 
0.5 0.25 NaN 
1 -3 -1 
EOD
$d2 << EOD
0 1 
0.5 NaN 
1 -2 
EOD
$d3 << EOD
0 0 
0.5 0.25 
EOD
$d4 << EOD
0 1 
1 -2 
EOD
$d5 << EOD
0.5 0.25 
EOD
$d6 << EOD
1 10 3 
10 100 1 
EOD
$d7 << EOD
1 2 NaN 
4 5 6 
EOD
$d8 << EOD
1e-06 2 
1 5 
EOD
$d9 << EOD
1 0 
EOD
do for [kind in "svg pdf png"] {
  if (kind eq "svg") { set terminal svg standalone size 900,1014 font "Helvetica,12" background rgb "white" }
  if (kind eq "pdf") { set terminal pdfcairo size 9.3750in,10.5625in font "Helvetica,9" }
  if (kind eq "png") { set terminal pngcairo size 1800,2028 font "Helvetica,9" fontscale 2 linewidth 2 pointscale 2 }
  set output "sheet.".kind
  set multiplot
  set origin across(0), up(0)
  set size 1.0/columns, (1-strip)/rows
  set title "curves" noenhanced
  set xlabel "x [m]" noenhanced
  unset logscale x
  set xrange [0:1]
  set format x "%h"
  set xtics nomirror autofreq
  set ylabel "u" noenhanced
  unset logscale y
  set yrange [-3:2]
  set format y "%h"
  set ytics nomirror autofreq
  set grid back lt 1 lw 0.5 lc rgb "#e5e7eb"
  unset colorbox
  plot $d1 using 1:2:3 with filledcurves fs solid noborder lc rgb "#bf0072b2" notitle, \
    $d2 using 1:2 with lines lw 2 lc rgb "#000072b2" notitle, \
    $d3 using 1:2 with lines lw 1.6 dt (8,5) lc rgb "#80111827" notitle, \
    $d4  using 1:2:(0.125) with yerrorbars pt 0 lw 1 lc rgb "#4dd55e00" notitle, \
    $d4 using 1:2 with points pt 5 ps 0.6 lw 0.7 lc rgb "#00d55e00" notitle, \
    $d4 using 1:2 with points pt 4 ps 0.6 lw 0.7 lc rgb "#00d55e00" notitle, \
    $d5 using 1:2 with points pt 9 ps 0.8 lw 0.7 lc rgb "#00ffffff" notitle, \
    $d5 using 1:2 with points pt 8 ps 0.8 lw 0.7 lc rgb "#00009e73" notitle
  set origin across(1), up(1)
  set size 1.0/columns, (1-strip)/rows
  set title "bars" noenhanced
  set xlabel "loss" noenhanced
  unset logscale x
  set xrange [1:100]
  set logscale x
  set format x "%h"
  set xtics nomirror (1, 2, 5, 10, 20, 50, 100)
  set ylabel "members" noenhanced
  unset logscale y
  set yrange [0:3]
  set format y "%h"
  set ytics nomirror 1
  set grid back lt 1 lw 0.5 lc rgb "#e5e7eb"
  unset colorbox
  plot $d6 using (($1+$2)/2):(0):1:2:(0):3 with boxxyerror fs solid border rgb "white" lc rgb "#00009e73" notitle
  set origin across(2), up(2)
  set size 1.0/columns, (1-strip)/rows
  set title "map" noenhanced
  set xlabel "x" noenhanced
  unset logscale x
  set xrange [0:3]
  set format x "%h"
  set xtics nomirror autofreq
  set ylabel "y" noenhanced
  unset logscale y
  set yrange [-1:1]
  set format y "%h"
  set ytics nomirror autofreq
  unset grid
  unset colorbox
  set palette defined (0 "#350252", 1 "#360f5b", 2 "#351a62", 3 "#342469", 4 "#332d70", 5 "#313676", 6 "#2f3e7b", 7 "#2c4780", 8 "#294f85", 9 "#255789", 10 "#225f8d", 11 "#1e6790", 12 "#1a6f93", 13 "#167796", 14 "#147f98", 15 "#13879a", 16 "#158f9c", 17 "#1a979d", 18 "#219e9d", 19 "#2aa69d", 20 "#35ad9c", 21 "#40b59a", 22 "#4dbc97", 23 "#5ac394", 24 "#69c990", 25 "#78d08a", 26 "#88d684", 27 "#99db7d", 28 "#abe074", 29 "#bee46a", 30 "#d2e85e", 31 "#e6eb51", 32 "#faee40")
  set cbrange [1:6]
  set colorbox
  plot $d7 matrix using (0.5+$1*1):(0.5-$2*1):3 with image pixels notitle 
  set origin across(3), up(3)
  set size 1.0/columns, (1-strip)/rows
  set title "" noenhanced
  set xlabel "size" noenhanced
  unset logscale x
  set xrange [1e-06:1]
  set logscale x
  set format x "10^{%T}"
  set xtics nomirror autofreq
  set ylabel "number" noenhanced
  unset logscale y
  set yrange [2:5]
  set logscale y
  set format y "%h"
  set ytics nomirror (2, 2.5, 3, 3.5, 4, 4.5, 5)
  set grid back lt 1 lw 0.5 lc rgb "#e5e7eb"
  unset colorbox
  plot $d8 using 1:2 with lines lw 1 lc rgb "#00a8467f" notitle
  set origin across(4), up(4)
  set size 1.0/columns, (1-strip)/rows
  set title "inside" noenhanced
  set xlabel "" noenhanced
  unset logscale x
  set xrange [0:1]
  set format x "%h"
  set xtics nomirror autofreq
  set ylabel "" noenhanced
  unset logscale y
  set yrange [0:1]
  set format y "%h"
  set ytics nomirror autofreq
  set grid back lt 1 lw 0.5 lc rgb "#e5e7eb"
  unset colorbox
  set palette defined (0 "#d55e00", 1 "#d55e00", 2 "#d55e00", 3 "#d55e00", 4 "#d55e00", 5 "#d55e00", 6 "#d55e00", 7 "#d55e00", 8 "#d55e00", 9 "#d55e00", 10 "#d55e00", 11 "#d55e00", 12 "#d55e00", 13 "#d55e00", 14 "#d55e00", 15 "#d55e00", 16 "#56b4e9", 17 "#56b4e9", 18 "#56b4e9", 19 "#56b4e9", 20 "#56b4e9", 21 "#56b4e9", 22 "#56b4e9", 23 "#56b4e9", 24 "#56b4e9", 25 "#56b4e9", 26 "#56b4e9", 27 "#56b4e9", 28 "#56b4e9", 29 "#56b4e9", 30 "#56b4e9", 31 "#56b4e9", 32 "#56b4e9")
  set cbrange [0:1]
  set colorbox
  unset colorbox
  plot $d9 matrix using (0.25+$1*0.5):(0.5-$2*1):3 with image pixels notitle 
  set origin 0, 0
  set size 1, strip
  unset title
  unset xlabel
  unset ylabel
  unset tics
  unset border
  unset grid
  unset colorbox
  unset logscale
  set xrange [0:1]
  set yrange [0:1]
  set key center center horizontal Left reverse samplen 2.5
  plot NaN notitle, \
    keyentry with lines lw 2 lc rgb "#000072b2" title "mean" noenhanced, \
    keyentry with lines lw 1.6 dt (8,5) lc rgb "#80111827" title "the \"truth\"" noenhanced, \
    keyentry with boxes fs solid noborder lc rgb "#bf0072b2" title "95 %" noenhanced, \
    keyentry with points pt 5 ps 0.6 lw 0.7 lc rgb "#00d55e00" title "data" noenhanced, \
    keyentry with points pt 8 ps 0.8 lw 0.7 lc rgb "#00009e73" title "held-out data" noenhanced
  set key off
  set tics
  set border
  unset multiplot
  set output
}
