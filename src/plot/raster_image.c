/* PNG through libpng. A palette keeps a pixel at one byte; its colour 255 is for values that are not finite. The same
 * values give the same bytes, for one version of libpng and zlib. */
#include "raster_image.h"

#include <math.h>
#include <stdlib.h>

#include <png.h>

enum { NUM_COLOURS = 255, NOT_FINITE = 255 };

static void append_base64(RpinnText *page, const char *bytes, size_t length) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < length; i += 3) {
    uint32_t group = 0;
    char four[4];
    for (size_t k = 0; k < 3; k++) group = group << 8 | (i + k < length ? (unsigned char)bytes[i + k] : 0);
    for (size_t k = 0; k < 4; k++) four[k] = i + k > length ? '=' : digits[group >> (18 - 6 * k) & 63];
    rpinn_text_append_bytes(page, four, 4);
  }
}

static void make_palette(RpinnColourMap map, uint8_t palette[NUM_COLOURS + 1][3]) {
  for (int k = 0; k < NUM_COLOURS; k++) rpinn_colour(map, k / (NUM_COLOURS - 1.0), palette[k]);
  for (int i = 0; i < 3; i++) palette[NOT_FINITE][i] = 200;
}

static uint8_t colour_number(double value, double low, double high) {
  if (!isfinite(value)) return NOT_FINITE;
  double position = high > low ? (value - low) / (high - low) : 0.5;
  position = position > 0 ? fmin(position, 1) : 0;
  return (uint8_t)lround(position * (NUM_COLOURS - 1));
}

/* pixels [rows][columns]: numbers of colours. */
static RpinnStatus append_png(RpinnText *page, RpinnColourMap map, size_t columns, size_t rows,
                              const uint8_t *pixels) {
  uint8_t palette[NUM_COLOURS + 1][3];
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)columns,
                     .height = (png_uint_32)rows,
                     .format = PNG_FORMAT_RGB_COLORMAP,
                     .colormap_entries = NUM_COLOURS + 1};
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  char *png = malloc(size);
  if (!png) return RPINN_ERROR_MEMORY;
  make_palette(map, palette);
  bool made = png_image_write_to_memory(&image, png, &size, 0, pixels, (png_int_32)columns, palette);
  if (made) {
    rpinn_text_append(page, "data:image/png;base64,");
    append_base64(page, png, size);
  }
  free(png);
  return made && !page->failed ? RPINN_OK
                               : RPINN_ERROR_MEMORY; /* of a raster within the limits it is the only one */
}

RpinnStatus rpinn_raster_image_append(RpinnText *page, RpinnColourMap map, size_t columns, size_t rows,
                                      const double *values, double low, double high) {
  uint8_t *pixels = malloc(rows * columns);
  if (!pixels) return RPINN_ERROR_MEMORY;
  for (size_t k = 0; k < rows * columns; k++) pixels[k] = colour_number(values[k], low, high);
  RpinnStatus status = append_png(page, map, columns, rows, pixels);
  free(pixels);
  return status;
}
