#include "plot_sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number_text.h"
#include "part_file.h"

/* ---- pieces of gnuplot ---- */

/* Text between double quotes; what gnuplot would interpret there is escaped, control characters are left out. */
static void append_quoted(RpinnText *text, const char *words) {
  rpinn_text_append(text, "\"");
  for (const char *c = words ? words : ""; *c; c++) {
    if ((unsigned char)*c < 32) continue;
    rpinn_text_append(text, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
  }
  rpinn_text_append(text, "\"");
}

/* "#rrggbb" with an opacity is "#aarrggbb" there, where aa = 0 is opaque. */
static void append_colour(RpinnText *text, const char *colour, double opacity) {
  rpinn_text_append(text, "rgb \"#%02x%s\"", (unsigned)lround(255 * (1 - opacity)), colour + 1);
}

static void append_stroke(RpinnText *text, RpinnStroke stroke) {
  rpinn_text_append(text, "lw %.2g%s lc ", stroke.width, stroke.dashes ? " dt (8,5)" : "");
  append_colour(text, stroke.colour, stroke.opacity);
}

/* Filled shapes of gnuplot; one less is the same shape as an outline. */
static int filled_shape(RpinnMarker marker) {
  static const int shapes[RPINN_NUM_MARKERS] = {[RPINN_MARKER_CIRCLE] = 7,
                                                [RPINN_MARKER_SQUARE] = 5,
                                                [RPINN_MARKER_DIAMOND] = 13,
                                                [RPINN_MARKER_TRIANGLE] = 9};
  return shapes[marker];
}

static void append_points_style(RpinnText *text, RpinnPointStyle style, bool is_outline) {
  rpinn_text_append(text, "pt %d ps %.2g lw 0.7 lc ", filled_shape(style.marker) - is_outline,
                    style.size / 5);
  append_colour(text, is_outline ? style.outline : style.fill, 1);
}

/* Beyond this, coordinates would overflow in gnuplot's own arithmetic. */
static double drawable(double value) {
  return fabs(value) < 1e300 ? value : (double)NAN;
}

static void append_number(RpinnText *text, double value) {
  if (isfinite(value))
    rpinn_text_append(text, "%.7g ", value);
  else
    rpinn_text_append(text, "NaN ");
}

/* ---- blocks of data ---- */

static void end_block(RpinnSheet *sheet) {
  if (sheet->last_style.length) rpinn_text_append(&sheet->blocks, "EOD\n");
  rpinn_text_free(&sheet->last_style);
  sheet->last_style = (RpinnText){0};
}

static void begin_block(RpinnSheet *sheet) {
  end_block(sheet);
  rpinn_text_append(&sheet->blocks, "$d%zu << EOD\n", ++sheet->num_blocks);
}

/* Rows of up to three columns; NaN leaves a gap. */
static void append_rows(RpinnSheet *sheet, size_t count, const double *x, const double *y, const double *z) {
  for (size_t i = 0; i < count; i++) {
    append_number(&sheet->blocks, drawable(x[i]));
    append_number(&sheet->blocks, drawable(y[i]));
    if (z) append_number(&sheet->blocks, drawable(z[i]));
    rpinn_text_append(&sheet->blocks, "\n");
  }
}

/* ", $d3 with lines …": the beginning of it. */
static RpinnText *begin_clause(RpinnSheet *sheet, const char *columns) {
  rpinn_text_append(&sheet->clauses, "%s$d%zu %s ", sheet->clauses.length ? ", \\\n    " : "",
                    sheet->num_blocks, columns);
  return &sheet->clauses;
}

void rpinn_sheet_line(const RpinnPlot *plot, size_t count, const double *x, const double *y,
                      RpinnStroke stroke) {
  RpinnSheet *sheet = plot->sheet;
  if (!count) return;
  begin_block(sheet);
  append_rows(sheet, count, x, y, NULL);
  rpinn_text_append(&sheet->blocks, "EOD\n");
  RpinnText *clause = begin_clause(sheet, "using 1:2 with lines");
  append_stroke(clause, stroke);
  rpinn_text_append(clause, " notitle");
}

void rpinn_sheet_band(const RpinnPlot *plot, size_t count, const double *x, const double *low,
                      const double *high, const char *colour, double opacity) {
  RpinnSheet *sheet = plot->sheet;
  if (!count) return;
  begin_block(sheet);
  append_rows(sheet, count, x, low, high);
  rpinn_text_append(&sheet->blocks, "EOD\n");
  RpinnText *clause = begin_clause(sheet, "using 1:2:3 with filledcurves fs solid noborder lc");
  append_colour(clause, colour, opacity);
  rpinn_text_append(clause, " notitle");
}

/* Points come one by one, too: those that look like the ones before join their block. */
void rpinn_sheet_points(const RpinnPlot *plot, size_t count, const double *x, const double *y, double error,
                        RpinnPointStyle style) {
  RpinnSheet *sheet = plot->sheet;
  bool has_error = error > 0 && isfinite(error);
  RpinnText look = {0};
  if (!count) return;
  append_points_style(&look, style, false);
  rpinn_text_append(&look, " %s %.9g", style.outline, has_error ? error : 0);
  if (!sheet->last_style.length || look.failed || strcmp(sheet->last_style.bytes, look.bytes) != 0) {
    begin_block(sheet);
    if (has_error) {
      RpinnText *bars = begin_clause(sheet, "");
      rpinn_text_append(bars, "using 1:2:(%.9g) with yerrorbars pt 0 lw 1 lc ", error);
      append_colour(bars, style.outline, 0.7);
      rpinn_text_append(bars, " notitle");
    }
    for (int is_outline = 0; is_outline < 2; is_outline++) {
      RpinnText *clause = begin_clause(sheet, "using 1:2 with points");
      append_points_style(clause, style, is_outline);
      rpinn_text_append(clause, " notitle");
    }
    sheet->last_style = look;
  } else {
    rpinn_text_free(&look);
  }
  append_rows(sheet, count, x, y, NULL);
}

void rpinn_sheet_bars(const RpinnPlot *plot, size_t count, const double *edges, const double *heights,
                      const char *colour) {
  RpinnSheet *sheet = plot->sheet;
  if (!count) return;
  begin_block(sheet);
  for (size_t k = 0; k < count; k++) {
    double row[] = {edges[k], edges[k + 1], heights[k]};
    append_rows(sheet, 1, &row[0], &row[1], &row[2]);
  }
  rpinn_text_append(&sheet->blocks, "EOD\n");
  RpinnText *clause =
      begin_clause(sheet, "using (($1+$2)/2):(0):1:2:(0):3 with boxxyerror fs solid border rgb \"white\" lc");
  append_colour(clause, colour, 1);
  rpinn_text_append(clause, " notitle");
}

void rpinn_sheet_image(const RpinnPlot *plot, const RpinnPlotImage *image) {
  RpinnSheet *sheet = plot->sheet;
  char columns[256];
  double across = (image->x_high - image->x_low) / (double)image->columns,
         down = (image->y_high - image->y_low) / (double)image->rows;
  begin_block(sheet);
  for (size_t row = 0; row < image->rows; row++) {
    for (size_t column = 0; column < image->columns; column++) {
      double value = image->values[row * image->columns + column];
      if (isfinite(value))
        rpinn_text_append(&sheet->blocks, "%.4g ", value);
      else
        rpinn_text_append(&sheet->blocks, "NaN ");
    }
    rpinn_text_append(&sheet->blocks, "\n");
  }
  rpinn_text_append(&sheet->blocks, "EOD\n");
  /* Viewers smooth images; few pixels shall stay pixels. */
  rpinn_format(columns, sizeof columns, "matrix using (%.9g+$1*%.9g):(%.9g-$2*%.9g):3 with image%s notitle",
               image->x_low + 0.5 * across, across, image->y_high - 0.5 * down, down,
               image->columns * image->rows < 1024 ? " pixels" : "");
  begin_clause(sheet, columns);
}

void rpinn_sheet_colours(const RpinnPlot *plot, RpinnColourMap map, const RpinnAxis *colours) {
  enum { STOPS = 33 };
  RpinnText *panels = &plot->sheet->panels;
  rpinn_text_append(panels, "  set palette defined (");
  for (int k = 0; k < STOPS; k++) {
    uint8_t rgb[3];
    rpinn_colour(map, k / (STOPS - 1.0), rgb);
    rpinn_text_append(panels, "%s%d \"#%02x%02x%02x\"", k ? ", " : "", k, rgb[0], rgb[1], rgb[2]);
  }
  rpinn_text_append(panels, ")\n  set cbrange [%.9g:%.9g]\n  set colorbox\n", colours->low, colours->high);
}

/* ---- panels ---- */

static void append_ticks(RpinnText *panels, const RpinnAxis *range) {
  double ticks[16];
  size_t count = rpinn_axis_ticks(range, 5, sizeof ticks / sizeof ticks[0], ticks);
  for (size_t k = 0; k < count; k++) rpinn_text_append(panels, "%s%.6g", k ? ", " : "(", ticks[k]);
  rpinn_text_append(panels, count ? ")\n" : "autofreq\n");
}

static void append_axis(RpinnText *panels, char axis, const RpinnAxis *range) {
  rpinn_text_append(panels, "  set %clabel ", axis);
  append_quoted(panels, range->label);
  /* The scale before the range: zero is no place on a logarithmic axis. */
  rpinn_text_append(panels, " noenhanced\n  unset logscale %c\n  set %crange [%.9g:%.9g]\n", axis, axis,
                    range->low, range->high);
  if (range->logarithmic) rpinn_text_append(panels, "  set logscale %c\n", axis);
  rpinn_text_append(panels, "  set format %c \"%s\"\n  set %ctics nomirror ", axis,
                    range->logarithmic && range->high / range->low > 1e3 ? "10^{%T}" : "%h", axis);
  /* On a logarithmic axis gnuplot labels powers of ten alone, of which a short one has none. */
  if (range->logarithmic && range->high / range->low <= 1e3)
    append_ticks(panels, range);
  else
    rpinn_text_append(panels, range->whole ? "1\n" : "autofreq\n");
}

void rpinn_sheet_open_panel(const RpinnPlot *plot) {
  RpinnSheet *sheet = plot->sheet;
  RpinnText *panels = &sheet->panels;
  sheet->width = fmax(sheet->width, plot->frame.width);
  sheet->height = fmax(sheet->height, plot->frame.height + (plot->title ? 18 : 0));
  rpinn_text_append(panels, "  set origin across(%zu), up(%zu)\n  set size 1.0/columns, (1-strip)/rows\n",
                    sheet->num_panels, sheet->num_panels);
  sheet->num_panels++;
  rpinn_text_append(panels, "  set title ");
  append_quoted(panels, plot->title);
  rpinn_text_append(panels, " noenhanced\n");
  append_axis(panels, 'x', &plot->x);
  append_axis(panels, 'y', &plot->y);
  rpinn_text_append(panels, "  %s\n  unset colorbox\n",
                    plot->without_grid ? "unset grid" : "set grid back lt 1 lw 0.5 lc rgb \"#e5e7eb\"");
}

void rpinn_sheet_close_panel(const RpinnPlot *plot) {
  RpinnSheet *sheet = plot->sheet;
  end_block(sheet);
  rpinn_text_append(&sheet->panels, "  plot %s\n",
                    sheet->clauses.length ? sheet->clauses.bytes : "NaN notitle");
  sheet->panels.failed = sheet->panels.failed || sheet->clauses.failed;
  rpinn_text_free(&sheet->clauses);
  sheet->clauses = (RpinnText){0};
}

/* ---- legend ---- */

/* " title "label"", unless the legend has it. */
static bool begin_key(RpinnSheet *sheet, const char *label, RpinnText *title) {
  rpinn_text_append(title, " title ");
  append_quoted(title, label);
  bool is_new = title->bytes && !(sheet->keys.bytes && strstr(sheet->keys.bytes, title->bytes));
  if (is_new) {
    size_t length = strlen(label);
    sheet->num_keys++;
    if (length > sheet->longest_key) sheet->longest_key = length;
    rpinn_text_append(&sheet->keys, ", \\\n    keyentry ");
  }
  return is_new;
}

static void end_key(RpinnSheet *sheet, RpinnText *title, bool is_new) {
  if (is_new) rpinn_text_append(&sheet->keys, "%s noenhanced", title->bytes);
  sheet->keys.failed = sheet->keys.failed || title->failed;
  rpinn_text_free(title);
}

void rpinn_sheet_key_line(RpinnSheet *sheet, RpinnStroke stroke, const char *label) {
  RpinnText title = {0};
  bool is_new = begin_key(sheet, label, &title);
  if (is_new) {
    rpinn_text_append(&sheet->keys, "with lines ");
    append_stroke(&sheet->keys, stroke);
  }
  end_key(sheet, &title, is_new);
}

void rpinn_sheet_key_band(RpinnSheet *sheet, const char *colour, double opacity, const char *label) {
  RpinnText title = {0};
  bool is_new = begin_key(sheet, label, &title);
  if (is_new) {
    rpinn_text_append(&sheet->keys, "with boxes fs solid noborder lc ");
    append_colour(&sheet->keys, colour, opacity);
  }
  end_key(sheet, &title, is_new);
}

void rpinn_sheet_key_points(RpinnSheet *sheet, RpinnPointStyle style, const char *label) {
  RpinnText title = {0};
  bool is_new = begin_key(sheet, label, &title);
  bool is_hollow = !strcmp(style.fill, "#ffffff");
  if (is_new) {
    rpinn_text_append(&sheet->keys, "with points ");
    append_points_style(&sheet->keys, style, is_hollow);
  }
  end_key(sheet, &title, is_new);
}

/* The height that the legend needs: its entries stand in columns as wide as the longest one. */
static double key_strip(const RpinnSheet *sheet, double width) {
  double entry = 7 * (double)sheet->longest_key + 50, columns = fmax(1, floor(width / entry));
  return sheet->num_keys ? 12 + 18 * ceil((double)sheet->num_keys / columns) : 0;
}

/* ---- the whole ---- */

void rpinn_sheet_write(const RpinnSheet *sheet, const char *name, RpinnText *script) {
  size_t columns = sheet->columns ? sheet->columns : 1, rows = (sheet->num_panels + columns - 1) / columns;
  if (!rows) rows = 1;
  if (columns > sheet->num_panels && sheet->num_panels) columns = sheet->num_panels;
  double width = (double)columns * sheet->width, strip = key_strip(sheet, width),
         height = (double)rows * sheet->height + strip;
  rpinn_text_append(
      script,
      "# gnuplot %s.gp, in this folder, draws %s.svg, %s.pdf and %s.png\n"
      "columns = %zu\nrows = %zu\nstrip = %.6g\n"
      "across(k) = 1.0*(k%%columns)/columns\nup(k) = strip+(1-strip)*(1-(1.0+k/columns)/rows)\n"
      "set encoding utf8\nset tics nomirror out scale 0.6\nset border lw 0.8 lc rgb \"#4b5563\"\n"
      "set key off\n",
      name, name, name, name, columns, rows, strip / height);
  if (sheet->blocks.length) rpinn_text_append_bytes(script, sheet->blocks.bytes, sheet->blocks.length);
  /* One unit of a page is a pixel in the SVG, two in the PNG, and 0.75 points in the PDF. */
  rpinn_text_append(
      script,
      "do for [kind in \"svg pdf png\"] {\n"
      "  if (kind eq \"svg\") { set terminal svg standalone size %.0f,%.0f font \"Helvetica,12\" background "
      "rgb "
      "\"white\" }\n"
      "  if (kind eq \"pdf\") { set terminal pdfcairo size %.4fin,%.4fin font \"Helvetica,9\" }\n"
      "  if (kind eq \"png\") { set terminal pngcairo size %.0f,%.0f font \"Helvetica,9\" fontscale 2 "
      "linewidth 2 pointscale 2 }\n"
      "  set output \"%s.\".kind\n  set multiplot\n",
      width, height, width / 96, height / 96, 2 * width, 2 * height, name);
  if (sheet->panels.length) rpinn_text_append_bytes(script, sheet->panels.bytes, sheet->panels.length);
  if (sheet->keys.length) {
    rpinn_text_append(
        script, "  set origin 0, 0\n  set size 1, strip\n  unset title\n  unset xlabel\n  unset ylabel\n"
                "  unset tics\n  unset border\n  unset grid\n  unset colorbox\n  unset logscale\n"
                "  set xrange [0:1]\n  set yrange [0:1]\n"
                "  set key center center horizontal Left reverse samplen 2.5\n  plot NaN notitle");
    rpinn_text_append_bytes(script, sheet->keys.bytes, sheet->keys.length);
    rpinn_text_append(script, "\n  set key off\n  set tics\n  set border\n");
  }
  rpinn_text_append(script, "  unset multiplot\n  set output\n}\n");
  script->failed = script->failed || sheet->blocks.failed || sheet->panels.failed || sheet->keys.failed;
}

RpinnStatus rpinn_sheet_save(RpinnContext *context, const RpinnSheet *sheet, const char *folder,
                             const char *name, RpinnDrawing *drawing) {
  RpinnText script = {0}, path = {0}, file = {0};
  rpinn_sheet_write(sheet, name, &script);
  rpinn_text_append(&file, "%s.gp", name);
  rpinn_text_append(&path, "%s/%s.gp", folder, name);
  RpinnStatus status = path.failed || file.failed ? rpinn_fail_memory(context)
                                                  : rpinn_part_file_write(context, path.bytes, &script);
  if (status == RPINN_OK) *drawing = rpinn_gnuplot(folder, file.bytes);
  rpinn_text_free(&script);
  rpinn_text_free(&path);
  rpinn_text_free(&file);
  return status;
}

void rpinn_sheet_free(RpinnSheet *sheet) {
  rpinn_text_free(&sheet->blocks);
  rpinn_text_free(&sheet->panels);
  rpinn_text_free(&sheet->clauses);
  rpinn_text_free(&sheet->keys);
  rpinn_text_free(&sheet->last_style);
  *sheet = (RpinnSheet){0};
}
