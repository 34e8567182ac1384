/* Images of numbers, read back by libpng: every pixel has the colour of its value. */
#include <png.h>

#include "check.h"

#include "raster_image.h"

static size_t decode_base64(const char *text, uint8_t *bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t count = 0, length = strlen(text);
  uint32_t group = 0;
  assert_int_equal(length % 4, 0);
  for (size_t i = 0; text[i] && text[i] != '='; i++) {
    const char *digit = strchr(digits, text[i]);
    assert_non_null(digit);
    group = group << 6 | (uint32_t)(digit - digits);
    if (i % 4 != 0) bytes[count++] = (uint8_t)(group >> (6 - 2 * (i % 4)) & 255);
  }
  return count;
}

/* The pixels [rows][columns][3] of a data: address, which the caller frees. */
static uint8_t *read_pixels(const char *address, size_t columns, size_t rows) {
  static const char prefix[] = "data:image/png;base64,";
  assert_memory_equal(address, prefix, sizeof prefix - 1);
  uint8_t *bytes = malloc(strlen(address)), *pixels = malloc(3 * columns * rows);
  assert_true(bytes && pixels);
  size_t length = decode_base64(address + sizeof prefix - 1, bytes);
  png_image image = {.version = PNG_IMAGE_VERSION};
  check_true(png_image_begin_read_from_memory(&image, bytes, length), "%s", image.message);
  assert_int_equal(image.width, columns);
  assert_int_equal(image.height, rows);
  image.format = PNG_FORMAT_RGB;
  check_true(png_image_finish_read(&image, NULL, pixels, (png_int_32)(3 * columns), NULL), "%s",
             image.message);
  free(bytes);
  return pixels;
}

static void every_pixel_has_the_colour_of_its_value(void **state) {
  (void)state;
  static const struct {
    size_t columns, rows;
  } sizes[] = {{1, 1}, {2, 1}, {1, 3}, {300, 400}, {RPINN_RASTER_LIMIT, 2}, {3, RPINN_RASTER_LIMIT}};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int map = 0; map < 3; map++) {
      size_t columns = sizes[s].columns, rows = sizes[s].rows;
      double *values = malloc(columns * rows * sizeof *values);
      for (size_t k = 0; k < columns * rows; k++) values[k] = (double)(7 * k % 255) - 100;
      if (columns > 100) {
        values[7] = (double)NAN;
        values[8] = (double)INFINITY;
        values[9] = -1e9; /* beyond the ends: their colours */
        values[10] = 1e9;
      }
      RpinnText page = {0}, again = {0};
      for (int k = 0; k < 2; k++)
        assert_int_equal(rpinn_raster_image_append(k ? &again : &page, (RpinnColourMap)map, columns, rows,
                                                   values, -100, 154),
                         RPINN_OK);
      assert_string_equal(page.bytes, again.bytes);
      uint8_t *pixels = read_pixels(page.bytes, columns, rows);
      for (size_t k = 0; k < columns * rows; k++) {
        uint8_t rgb[3] = {200, 200, 200};
        if (isfinite(values[k]))
          rpinn_colour((RpinnColourMap)map, fmin(fmax(values[k] + 100, 0), 254) / 254, rgb);
        check_true(!memcmp(rgb, pixels + 3 * k, 3), "pixel %zu is %d %d %d, expected %d %d %d", k,
                   pixels[3 * k], pixels[3 * k + 1], pixels[3 * k + 2], rgb[0], rgb[1], rgb[2]);
      }
      free(pixels);
      free(values);
      rpinn_text_free(&page);
      rpinn_text_free(&again);
    }
}

/* Images are equal when each pixel has the same colour. */
static void values_have_the_colours_of_their_share(void **state) {
  (void)state;
  const double nan = (double)NAN, inf = (double)INFINITY;
  const struct {
    double values[3], low, high;
    double shares[3]; /* of the way from low to high */
    bool is_same;
  } cases[] = {{{10, 15, 20}, 10, 20, {0, 0.5, 1}, true},       {{-4, -2, -3}, -4, -2, {0, 1, 0.5}, true},
               {{5, 30, 17}, 10, 20, {0, 1, 0.7}, true},        {{7, 7, 7}, 7, 7, {0.5, 0.5, 0.5}, true},
               {{nan, inf, -inf}, 0, 1, {nan, nan, nan}, true}, {{10, 15, 20}, 10, 20, {1, 0.5, 0}, false},
               {{0, nan, 1}, 0, 1, {0, 1, 1}, false},           {{0, nan, 1}, 0, 1, {0, 0, 1}, false}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    RpinnText image = {0}, shares = {0};
    assert_int_equal(rpinn_raster_image_append(&image, RPINN_COLOURS_VALUE, 3, 1, cases[k].values,
                                               cases[k].low, cases[k].high),
                     RPINN_OK);
    assert_int_equal(rpinn_raster_image_append(&shares, RPINN_COLOURS_VALUE, 3, 1, cases[k].shares, 0, 1),
                     RPINN_OK);
    check_true(!strcmp(image.bytes, shares.bytes) == cases[k].is_same, "case %zu", k);
    rpinn_text_free(&image);
    rpinn_text_free(&shares);
  }
}

/* A map of 128 by 64 cells of a smooth field takes a small part of its bytes. */
static void images_are_compressed(void **state) {
  (void)state;
  enum { COLUMNS = 128, ROWS = 64 };
  static double values[ROWS * COLUMNS];
  for (int k = 0; k < ROWS * COLUMNS; k++) values[k] = sin(k % COLUMNS * 0.02) + k / COLUMNS * 0.01;
  RpinnText page = {0};
  assert_int_equal(rpinn_raster_image_append(&page, RPINN_COLOURS_VALUE, COLUMNS, ROWS, values, -1, 2),
                   RPINN_OK);
  check_true(page.length < 4 * ROWS * COLUMNS / 3 / 2, "%zu characters", page.length);
  rpinn_text_free(&page);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_pixel_has_the_colour_of_its_value),
                                     cmocka_unit_test(values_have_the_colours_of_their_share),
                                     cmocka_unit_test(images_are_compressed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
