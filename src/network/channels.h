/* Channels: what is carried through a network beside its value.
 *
 * A channel is a constant-coefficient operator applied to a field,
 *   order 0   u                            always the first channel: all others need it
 *   order 1   sum_i  c_i  d_i u            a derivative, or a fixed direction
 *   order 2   sum_{i<=j} c_ij d_i d_j u    a second derivative, a Laplacian, …
 * All are linear, so they pass a layer's matrix like the value does, and each hidden layer's activation
 * pointwise: a = s(z),  a_1 = s'(z) z_1,  a_2 = s'(z) z_2 + s''(z) sum_{i<=j} c_ij z_i z_j An order-2 channel
 * therefore needs the plain first derivatives z_i of every coordinate that it mentions. */
#ifndef RPINN_NETWORK_CHANNELS_H
#define RPINN_NETWORK_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>

enum { RPINN_MAX_COORDINATES = 4, RPINN_MAX_PAIRS = 10, RPINN_MAX_CHANNELS = 32 };

typedef struct RpinnChannel {
  unsigned order;
  double coefficient[RPINN_MAX_PAIRS]; /* order 1: by coordinate; order 2: by rpinn_pair_index(i, j) */
} RpinnChannel;

/* The channels of one field at one set of points: the value, then order 1, then order 2. */
typedef struct RpinnChannelSet {
  size_t count; /* 0: the field is not evaluated at all */
  RpinnChannel channels[RPINN_MAX_CHANNELS];
} RpinnChannelSet;

/* Position of the pair {i, j} in RpinnChannel.coefficient: 00 01 02 03 11 12 13 22 23 33. */
size_t rpinn_pair_index(size_t i, size_t j);

RpinnChannel rpinn_channel_value(void);
RpinnChannel rpinn_channel_first(size_t coordinate);
bool rpinn_channel_equal(const RpinnChannel *a, const RpinnChannel *b);

/* Add a channel with all that it needs, unless it is there. False when the set is full. Positions of channels
 * may change: look them up after the last insertion. */
bool rpinn_channel_set_insert(RpinnChannelSet *set, const RpinnChannel *channel);
/* Position of a channel in the set; -1 when absent. */
int rpinn_channel_set_find(const RpinnChannelSet *set, const RpinnChannel *channel);
/* Position of the plain first derivative; -1 when absent. */
int rpinn_channel_set_first(const RpinnChannelSet *set, size_t coordinate);

#endif
