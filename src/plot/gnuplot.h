/* gnuplot, as a program. */
#ifndef RPINN_PLOT_GNUPLOT_H
#define RPINN_PLOT_GNUPLOT_H

typedef enum RpinnDrawing {
  RPINN_DRAWN,
  RPINN_DRAWING_FAILED, /* gnuplot, or the machine, did not do it */
  RPINN_NO_GNUPLOT      /* there is no such program */
} RpinnDrawing;

/* gnuplot SCRIPT in the folder, in silence. */
RpinnDrawing rpinn_gnuplot(const char *folder, const char *script);

#endif
