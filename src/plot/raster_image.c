/* PNG without a compressor: deflate allows blocks that are stored as they are, each of at most 65535 bytes. A
 * palette keeps a pixel at one byte. Colour 255 of it is for values that are not finite. */
#include "raster_image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_COLOURS = 255, NOT_FINITE = 255, BLOCK_LIMIT = 65535 };

/* ---- bytes ---- */

static void append_byte(RpinnText *bytes, unsigned value) {
  char byte = (char)(unsigned char)value;
  rpinn_text_append_bytes(bytes, &byte, 1);
}

static void append_big_endian(RpinnText *bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) append_byte(bytes, value >> shift & 255);
}

/* The checksum of a PNG chunk: CRC-32, polynomial 0xEDB88320 on reflected bits. */
static uint32_t crc32(const char *bytes, size_t length) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < length; i++) {
    crc ^= (unsigned char)bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1)));
  }
  return ~crc;
}

static uint32_t adler32(const uint8_t *bytes, size_t length) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < length; i++) {
    a = (a + bytes[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

static void append_chunk(RpinnText *png, const char *type, const RpinnText *content) {
  size_t start = png->length + 4;
  append_big_endian(png, (uint32_t)content->length);
  rpinn_text_append_bytes(png, type, 4);
  rpinn_text_append_bytes(png, content->bytes, content->length);
  if (!png->failed) append_big_endian(png, crc32(png->bytes + start, png->length - start));
}

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

/* ---- the parts of a PNG ---- */

static void make_header(RpinnText *content, size_t columns, size_t rows) {
  static const unsigned kind[] = {8, 3, 0, 0, 0}; /* bits, palette, deflate, usual filters, not interlaced */
  append_big_endian(content, (uint32_t)columns);
  append_big_endian(content, (uint32_t)rows);
  for (size_t i = 0; i < 5; i++) append_byte(content, kind[i]);
}

static void make_palette(RpinnText *content, RpinnColourMap map) {
  for (int k = 0; k <= NOT_FINITE; k++) {
    uint8_t rgb[3] = {200, 200, 200};
    if (k != NOT_FINITE) rpinn_colour(map, k / (NUM_COLOURS - 1.0), rgb);
    for (int i = 0; i < 3; i++) append_byte(content, rgb[i]);
  }
}

static uint8_t colour_number(double value, double low, double high) {
  if (!isfinite(value)) return NOT_FINITE;
  double position = high > low ? (value - low) / (high - low) : 0.5;
  position = position > 0 ? fmin(position, 1) : 0;
  return (uint8_t)lround(position * (NUM_COLOURS - 1));
}

/* The zlib stream of lines [rows][1 + columns], each begun by its filter 0. */
static void make_pixels(RpinnText *content, const uint8_t *lines, size_t length) {
  append_byte(content, 0x78);
  append_byte(content, 0x01);
  for (size_t start = 0; start < length; start += BLOCK_LIMIT) {
    size_t left = length - start, size = left < BLOCK_LIMIT ? left : BLOCK_LIMIT;
    append_byte(content, size == left); /* the last one is marked */
    append_byte(content, size & 255);
    append_byte(content, size >> 8 & 255);
    append_byte(content, ~size & 255);
    append_byte(content, ~size >> 8 & 255);
    rpinn_text_append_bytes(content, (const char *)lines + start, size);
  }
  append_big_endian(content, adler32(lines, length));
}

RpinnStatus rpinn_raster_image_append(RpinnText *page, RpinnColourMap map, size_t columns, size_t rows,
                                      const double *values, double low, double high) {
  size_t length = rows * (columns + 1);
  uint8_t *lines = calloc(length, 1);
  if (!lines) return RPINN_ERROR_MEMORY;
  for (size_t row = 0; row < rows; row++)
    for (size_t column = 0; column < columns; column++)
      lines[row * (columns + 1) + 1 + column] = colour_number(values[row * columns + column], low, high);
  RpinnText png = {0}, header = {0}, palette = {0}, pixels = {0}, end = {0};
  make_header(&header, columns, rows);
  make_palette(&palette, map);
  make_pixels(&pixels, lines, length);
  rpinn_text_append_bytes(&png, "\x89PNG\r\n\x1a\n", 8);
  append_chunk(&png, "IHDR", &header);
  append_chunk(&png, "PLTE", &palette);
  append_chunk(&png, "IDAT", &pixels);
  append_chunk(&png, "IEND", &end);
  bool failed = png.failed || header.failed || palette.failed || pixels.failed;
  if (!failed) {
    rpinn_text_append(page, "data:image/png;base64,");
    append_base64(page, png.bytes, png.length);
  }
  rpinn_text_free(&png);
  rpinn_text_free(&header);
  rpinn_text_free(&palette);
  rpinn_text_free(&pixels);
  free(lines);
  return failed || page->failed ? RPINN_ERROR_MEMORY : RPINN_OK;
}
