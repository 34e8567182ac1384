/* Key: the seed. Counter: (block, purpose and part, member low, member high), so streams never overlap. After
 * 2^32 blocks of four 32-bit words a stream goes on under the key that the block with the purpose 0, which no
 * stream has, gives it; keys of 64 bits, so that it neither repeats nor meets another. */
#include "random_stream.h"

#include <Random123/philox.h>
#include <math.h>

enum { PART_BITS = 24, PART_MASK = (1 << PART_BITS) - 1 };

RpinnStream rpinn_stream(uint64_t seed, RpinnPurpose purpose, uint64_t member, uint32_t part) {
  return (RpinnStream){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                       .counter = {0, (uint32_t)purpose << PART_BITS | (part & PART_MASK), (uint32_t)member,
                                   (uint32_t)(member >> 32)}};
}

/* The block of the stream's name with these two words of the counter. */
static philox4x32_ctr_t block_at(const RpinnStream *stream, uint32_t number, uint32_t purpose_and_part) {
  philox4x32_ctr_t counter = {{number, purpose_and_part, stream->counter[2], stream->counter[3]}};
  philox4x32_key_t key = {{stream->key[0], stream->key[1]}};
  return philox4x32(counter, key);
}

static void next_block(RpinnStream *stream) {
  philox4x32_ctr_t block = block_at(stream, stream->counter[0], stream->counter[1]);
  for (int i = 0; i < 4; i++) stream->words[i] = block.v[i];
  stream->num_words = 4;
  if (++stream->counter[0]) return;
  philox4x32_ctr_t next_key = block_at(stream, 0, stream->counter[1] & PART_MASK);
  for (int i = 0; i < 2; i++) stream->key[i] = next_key.v[i];
}

uint32_t rpinn_stream_word(RpinnStream *stream) {
  if (!stream->num_words) next_block(stream);
  return stream->words[4 - stream->num_words--];
}

static uint64_t next_64_bits(RpinnStream *stream) {
  uint64_t high = rpinn_stream_word(stream);
  return high << 32 | rpinn_stream_word(stream);
}

double rpinn_stream_uniform(RpinnStream *stream) {
  /* (k + 1/2) / 2^53 with k of 53 bits would round to 1 for the largest k: use 52 bits for the open interval.
   */
  return ((double)(next_64_bits(stream) >> 12) + 0.5) * 0x1p-52;
}

double rpinn_stream_normal(RpinnStream *stream) {
  if (stream->has_spare_normal) {
    stream->has_spare_normal = 0;
    return stream->spare_normal;
  }
  /* Box-Muller: sqrt(-2 log u1) (cos 2 pi u2, sin 2 pi u2). */
  double radius = sqrt(-2.0 * log(rpinn_stream_uniform(stream)));
  double angle = 6.283185307179586476925 * rpinn_stream_uniform(stream);
  stream->spare_normal = radius * sin(angle);
  stream->has_spare_normal = 1;
  return radius * cos(angle);
}

void rpinn_stream_normals(RpinnStream *stream, size_t count, double *values) {
  for (size_t i = 0; i < count; i++) values[i] = rpinn_stream_normal(stream);
}

uint64_t rpinn_stream_below(RpinnStream *stream, uint64_t bound) {
  uint64_t reject_below = (0 - bound) % bound; /* 2^64 mod bound: the uneven rest is drawn again */
  uint64_t bits;
  do bits = next_64_bits(stream);
  while (bits < reject_below);
  return bits % bound;
}

void rpinn_stream_permutation(RpinnStream *stream, size_t count, size_t *order) {
  for (size_t i = 0; i < count; i++) {
    size_t j = (size_t)rpinn_stream_below(stream, i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}
