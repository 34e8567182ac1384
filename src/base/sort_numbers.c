/* Byte by byte, from the last to the first: each pass keeps the order of the one before among those that share its byte. What is
 * sorted are keys, whole numbers in the order of the values. */
#include "sort_numbers.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BYTES = sizeof(uint64_t), VALUES = 256 };

static const uint64_t sign = UINT64_C(1) << 63;

/* Of numbers above zero the bits, and a sign above those of all below, whose bits count downwards. */
static uint64_t key_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return isnan(value) ? UINT64_MAX : bits & sign ? ~bits : bits | sign;
}

static double value_of(uint64_t key) {
  uint64_t bits = key & sign ? key & ~sign : ~key;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static unsigned byte_of(uint64_t key, unsigned byte) {
  return (unsigned)(key >> (8 * byte)) % VALUES;
}

/* Keys lie in arrays of doubles, which are as long. */
static uint64_t load(const double *keys, size_t i) {
  uint64_t key;
  memcpy(&key, keys + i, sizeof key);
  return key;
}

static void store(double *keys, size_t i, uint64_t key) {
  memcpy(keys + i, &key, sizeof key);
}

/* From what stands in `from` to `to`, by one byte; counts [VALUES] of it become places. */
static void pass(size_t count, const double *from, double *to, unsigned byte, size_t *counts) {
  size_t place = 0;
  for (unsigned v = 0; v < VALUES; v++) {
    size_t own = counts[v];
    counts[v] = place;
    place += own;
  }
  for (size_t i = 0; i < count; i++) {
    uint64_t key = load(from, i);
    store(to, counts[byte_of(key, byte)]++, key);
  }
}

void rpinn_sort_numbers(size_t count, double *values, double *room) {
  size_t counts[BYTES][VALUES] = {{0}};
  double *from = values, *to = room;
  for (size_t i = 0; i < count; i++) {
    uint64_t key = key_of(values[i]);
    store(values, i, key);
    for (unsigned byte = 0; byte < BYTES; byte++) counts[byte][byte_of(key, byte)]++;
  }
  for (unsigned byte = 0; byte < BYTES && count > 0; byte++) {
    if (counts[byte][byte_of(load(from, 0), byte)] == count) continue; /* all of them share it */
    pass(count, from, to, byte, counts[byte]);
    double *last = from;
    from = to;
    to = last;
  }
  for (size_t i = 0; i < count; i++) values[i] = value_of(load(from, i));
}
