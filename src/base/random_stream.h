/* Counter-based random streams (Philox 4x32-10). A stream is named by (seed, purpose, member, part): member k
 * draws the same numbers whichever thread, rank or resumed run computes it, and however many members there
 * are. A stream has no end: it does not repeat after the 2^32 blocks that its counter can name. */
#ifndef RPINN_BASE_RANDOM_STREAM_H
#define RPINN_BASE_RANDOM_STREAM_H

#include <stddef.h>
#include <stdint.h>

/* The numbers are part of the file format of every run: add at the end, never renumber. 0 is taken. */
typedef enum RpinnPurpose {
  RPINN_PURPOSE_POINTS = 1,        /* where residuals are evaluated; part: term */
  RPINN_PURPOSE_NOISE = 2,         /* noise of synthetic data; part: term */
  RPINN_PURPOSE_FROZEN = 3,        /* hidden layers of networks with trainable: output; part: field */
  RPINN_PURPOSE_START = 4,         /* starting points of members */
  RPINN_PURPOSE_OFFSETS = 5,       /* offsets of rPINN members */
  RPINN_PURPOSE_CHECK = 6,         /* directions and points of derivative checks */
  RPINN_PURPOSE_METROPOLIS = 7,    /* acceptance of draws by their importance weights */
  RPINN_PURPOSE_BOOTSTRAP = 8,     /* resamples of members; member: resample */
  RPINN_PURPOSE_CHAIN = 9,         /* the transitions of a chain; member: chain */
  RPINN_PURPOSE_CHAIN_START = 10,  /* where a chain starts; member: chain */
  RPINN_PURPOSE_RANDOM_FIELD = 11, /* fields of a generated truth and their measurement errors */
  RPINN_PURPOSE_SCALE = 12,        /* starts while the scale of the prior is chosen; member: start */
  RPINN_PURPOSE_RANKS = 13,        /* random parts of ranks; member: data set */
  RPINN_PURPOSE_PRIOR_SCALE = 14,  /* the scale of an rPINN member's prior */
  RPINN_PURPOSE_SIGNS = 15,        /* signs that estimate a trace */
  RPINN_PURPOSE_SIMULATION =
      16, /* parameters from the prior, and data of them; member: attempt; part: which of these */
  RPINN_PURPOSE_FOLDS = 17,       /* which rows are left out together; member: term */
  RPINN_PURPOSE_NOISE_LEVEL = 18, /* the noise of a draw where it is not known; member: draw, or chain */
  RPINN_PURPOSE_PREDICTIVE = 19,  /* noise of the data that a draw foretells; member: draw; part: chain */
  RPINN_PURPOSE_VARIATIONAL =
      20, /* pairs of draws while a normal distribution is fitted; member: pair; part: start */
  RPINN_PURPOSE_VARIATIONAL_START = 21, /* its factors at first; member: start */
  RPINN_PURPOSE_VARIATIONAL_DRAW = 22   /* draws of it; member: draw */
} RpinnPurpose;

typedef struct RpinnStream {
  uint32_t key[2], counter[4]; /* counter[0] counts blocks, the rest names the stream */
  uint32_t words[4];
  unsigned num_words;  /* unused ones left in words */
  double spare_normal; /* Box-Muller makes two at a time */
  int has_spare_normal;
} RpinnStream;

RpinnStream rpinn_stream(uint64_t seed, RpinnPurpose purpose, uint64_t member, uint32_t part);
uint32_t rpinn_stream_word(RpinnStream *stream);
/* In the open interval (0, 1), 52 random bits. */
double rpinn_stream_uniform(RpinnStream *stream);
double rpinn_stream_normal(RpinnStream *stream);
void rpinn_stream_normals(RpinnStream *stream, size_t count, double *values);
/* 0 … bound-1 without bias; bound > 0. */
uint64_t rpinn_stream_below(RpinnStream *stream, uint64_t bound);
/* A random order of 0 … count-1. */
void rpinn_stream_permutation(RpinnStream *stream, size_t count, size_t *order);

#endif
