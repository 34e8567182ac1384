#include "channel_map.h"

#include <string.h>

/* The input that a coordinate feeds; the expression compiler asks for no derivative in any other coordinate.
 */
static size_t input_of_coordinate(const RpinnNetwork *network, size_t coordinate) {
  size_t input = 0;
  while (network->input_coordinate[input] != coordinate) input++;
  return input;
}

/* Position of the plain first derivative in an input among the kernel's channels, added when new. */
static size_t first_channel(RpinnJetShape *shape, size_t input) {
  size_t k = 0;
  while (k < shape->num_first && shape->input_of_first[k] != input) k++;
  if (k == shape->num_first) shape->input_of_first[shape->num_first++] = input;
  return 1 + k;
}

static bool uses_coordinate(const RpinnChannel *channel, size_t i) {
  if (channel->order == 1) return channel->coefficient[i] != 0;
  for (size_t j = 0; channel->order == 2 && j < RPINN_MAX_COORDINATES; j++)
    if (channel->coefficient[rpinn_pair_index(i, j)] != 0) return true;
  return false;
}

static void use(RpinnChannelMap *map, size_t program_channel, size_t kernel_channel, double factor) {
  map->factor[program_channel][kernel_channel] = (Real)factor;
  map->used[program_channel][map->num_used[program_channel]++] = kernel_channel;
}

/* H_ii = 2 c_ii scale_i^2, H_ij = c_ij scale_i scale_j over the first derivatives of the shape. */
static void fill_hessian(const RpinnNetwork *network, const RpinnChannel *channel, const RpinnJetShape *shape,
                         Real *hessian) {
  for (size_t a = 0; a < shape->num_first; a++)
    for (size_t b = 0; b < shape->num_first; b++) {
      size_t i = shape->input_of_first[a], j = shape->input_of_first[b];
      double c =
          channel->coefficient[rpinn_pair_index(network->input_coordinate[i], network->input_coordinate[j])];
      double scale = network->input_scale[i] * network->input_scale[j];
      hessian[a * shape->num_first + b] = (Real)((a == b ? 2 : 1) * c * scale);
    }
}

void RPINN_REAL_NAME(rpinn_channel_map_make)(const RpinnNetwork *network, const RpinnChannelSet *set,
                                             RpinnJetShape *shape, RpinnChannelMap *map) {
  memset(shape, 0, sizeof *shape);
  memset(map, 0, sizeof *map);
  map->num_program = set->count;
  map->shift = (Real)network->output_shift;
  for (size_t c = 0; c < set->count; c++) /* all first derivatives before any second one */
    for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
      if (uses_coordinate(&set->channels[c], i)) first_channel(shape, input_of_coordinate(network, i));
  for (size_t c = 0; c < set->count; c++) {
    const RpinnChannel *channel = &set->channels[c];
    if (channel->order == 0) use(map, c, 0, network->output_factor);
    if (channel->order == 2) {
      size_t k = shape->num_second++;
      fill_hessian(network, channel, shape, shape->hessians + k * shape->num_first * shape->num_first);
      use(map, c, 1 + shape->num_first + k, network->output_factor);
    }
    for (size_t i = 0; channel->order == 1 && i < RPINN_MAX_COORDINATES; i++) {
      if (channel->coefficient[i] == 0) continue;
      size_t input = input_of_coordinate(network, i);
      use(map, c, first_channel(shape, input),
          network->output_factor * channel->coefficient[i] * network->input_scale[input]);
    }
  }
  shape->num_channels = map->num_kernel = 1 + shape->num_first + shape->num_second;
}
