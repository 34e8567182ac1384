/* Colours of the pixels of an image: the palette of the map, and which of its colours a value gets. */
#include "check.h"

#include "raster_image.h"

static const char prefix[] = "data:image/png;base64,";

static RpinnText image_of(RpinnColourMap map, size_t columns, size_t rows, const double *values, double low,
                          double high) {
  RpinnText text = {0};
  assert_int_equal(rpinn_raster_image_append(&text, map, columns, rows, values, low, high), RPINN_OK);
  assert_memory_equal(text.bytes, prefix, sizeof prefix - 1);
  return text;
}

static size_t decode_base64(const char *text, uint8_t *bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t count = 0;
  uint32_t group = 0;
  for (size_t i = 0; text[i] && text[i] != '='; i++) {
    const char *digit = strchr(digits, text[i]);
    assert_non_null(digit);
    group = group << 6 | (uint32_t)(digit - digits);
    if (i % 4 != 0) bytes[count++] = (uint8_t)(group >> (6 - 2 * (i % 4)) & 255);
  }
  return count;
}

/* 255 colours along the map, and grey for what is not finite. */
static void the_palette_is_the_map(void **state) {
  (void)state;
  for (int map = 0; map < 3; map++) {
    RpinnText text = image_of((RpinnColourMap)map, 1, 1, (double[]){1}, 0, 1);
    uint8_t *bytes = malloc(text.length);
    assert_non_null(bytes);
    size_t length = decode_base64(text.bytes + sizeof prefix - 1, bytes), at = 0;
    while (at + 4 + 768 < length && memcmp(bytes + at, "PLTE", 4) != 0) at++;
    assert_memory_equal(bytes + at, "PLTE", 4);
    for (int k = 0; k < 256; k++) {
      uint8_t rgb[3] = {200, 200, 200};
      if (k < 255) rpinn_colour((RpinnColourMap)map, k / 254.0, rgb);
      assert_memory_equal(bytes + at + 4 + 3 * k, rgb, 3);
    }
    free(bytes);
    rpinn_text_free(&text);
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
    RpinnText image = image_of(RPINN_COLOURS_VALUE, 3, 1, cases[k].values, cases[k].low, cases[k].high),
              shares = image_of(RPINN_COLOURS_VALUE, 3, 1, cases[k].shares, 0, 1);
    check_true(!strcmp(image.bytes, shares.bytes) == cases[k].is_same, "case %zu", k);
    rpinn_text_free(&image);
    rpinn_text_free(&shares);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_palette_is_the_map),
                                     cmocka_unit_test(values_have_the_colours_of_their_share)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
