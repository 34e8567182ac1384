/* Jets of random networks: against closed forms where there is one hidden layer, against hyper-dual numbers
 * where there are more. Forward and reverse, all activations, one to four coordinates. */
#include "hand_network.h"

#include "plain_jet.h"

enum { MAX_HIDDEN = 4, MAX_PARAMETERS = 512, NUM_POINTS = 6 };

typedef struct Case {
  RpinnNetwork network;
  size_t num_coordinates;
  RpinnChannelSet set;
  double parameters[MAX_PARAMETERS];
} Case;

static double uniform(RpinnStream *stream, double low, double high) {
  return low + (high - low) * rpinn_stream_uniform(stream);
}

/* Inputs in any order, perhaps not all of them; scaled inputs and outputs half of the time. */
static Case random_case(RpinnStream *stream, RpinnActivation activation, size_t num_coordinates,
                        size_t num_hidden) {
  Case c = {.num_coordinates = num_coordinates};
  RpinnNetwork *network = &c.network;
  size_t order[RPINN_MAX_COORDINATES], widths[MAX_HIDDEN];
  rpinn_stream_permutation(stream, num_coordinates, order);
  bool subset = rpinn_stream_below(stream, 3) == 0;
  *network = (RpinnNetwork){.activation = activation, .output_factor = 1};
  network->num_inputs = subset ? 1 + (size_t)rpinn_stream_below(stream, num_coordinates) : num_coordinates;
  bool scaled = rpinn_stream_below(stream, 2);
  for (size_t i = 0; i < network->num_inputs; i++) {
    network->input_coordinate[i] = order[i];
    network->input_scale[i] = scaled ? uniform(stream, 0.3, 3) : 1;
    network->input_shift[i] = scaled ? uniform(stream, -1, 1) : 0;
  }
  if (rpinn_stream_below(stream, 2)) {
    network->output_factor = uniform(stream, 1, 8);
    network->output_shift = uniform(stream, -100, 100);
  }
  for (size_t l = 0; l < num_hidden; l++) widths[l] = 2 + (size_t)rpinn_stream_below(stream, 6);
  rpinn_network_lay_out(network, num_hidden, widths);
  assert_true(network->num_all <= MAX_PARAMETERS);
  for (size_t j = 0; j < network->num_all; j++) c.parameters[j] = 0.8 * rpinn_stream_normal(stream);
  return c;
}

static bool is_input(const RpinnNetwork *network, size_t coordinate) {
  for (size_t i = 0; i < network->num_inputs; i++)
    if (network->input_coordinate[i] == coordinate) return true;
  return false;
}

/* Every first and second derivative, one direction, and one operator with all coefficients. */
static void fill_channels(Case *c, RpinnStream *stream) {
  RpinnChannel direction = {.order = 1}, mixture = {.order = 2};
  for (size_t i = 0; i < c->num_coordinates; i++) {
    if (!is_input(&c->network, i)) continue;
    RpinnChannel first = rpinn_channel_first(i);
    assert_true(rpinn_channel_set_insert(&c->set, &first));
    direction.coefficient[i] = uniform(stream, -2, 2);
    for (size_t j = i; j < c->num_coordinates; j++) {
      if (!is_input(&c->network, j)) continue;
      RpinnChannel second = {.order = 2};
      second.coefficient[rpinn_pair_index(i, j)] = 1;
      mixture.coefficient[rpinn_pair_index(i, j)] = uniform(stream, -2, 2);
      assert_true(rpinn_channel_set_insert(&c->set, &second));
    }
  }
  assert_true(rpinn_channel_set_insert(&c->set, &direction));
  assert_true(rpinn_channel_set_insert(&c->set, &mixture));
}

/* found against expected, in relation to the largest expected of the channel over the points. */
typedef struct Comparison {
  double worst;
  size_t count;
} Comparison;

static void compare(Comparison *comparison, double found, double expected, double size, const char *what) {
  double error = fabs(found - expected) / fmax(fabs(expected), size);
  check_true(error <= 1e-12, "%s is %.17g, expected %.17g (size %g)", what, found, expected, size);
  comparison->worst = fmax(comparison->worst, error);
  comparison->count++;
}

/* ---- one hidden layer ---- */

/* Activation and its first three derivatives, from textbooks. */
static void textbook(RpinnActivation activation, double z, double s[4]) {
  double e = exp(-z), p = 1 + e;
  double sigma[] = {1 / p, e / (p * p), e * (e - 1) / (p * p * p), e * (1 - 4 * e + e * e) / (p * p * p * p)};
  double sh = sinh(z), ch = cosh(z);
  switch (activation) {
  case RPINN_ACTIVATION_TANH:
    s[0] = sh / ch, s[1] = 1 / (ch * ch), s[2] = -2 * sh / (ch * ch * ch),
    s[3] = (4 * sh * sh - 2) / (ch * ch * ch * ch);
    return;
  case RPINN_ACTIVATION_SINE: s[0] = sin(z), s[1] = cos(z), s[2] = -sin(z), s[3] = -cos(z); return;
  case RPINN_ACTIVATION_SOFTPLUS:
    s[0] = log(1 + exp(z)), s[1] = sigma[0], s[2] = sigma[1], s[3] = sigma[2];
    return;
  default:
    s[0] = z * sigma[0], s[1] = sigma[0] + z * sigma[1], s[2] = 2 * sigma[1] + z * sigma[2],
    s[3] = 3 * sigma[2] + z * sigma[3];
  }
}

/* One unit: z, its image under the operator of a channel (D for order 1, Q for order 2), and how that changes
 * with the unit's input weights. */
typedef struct Unit {
  double z, image, input[RPINN_MAX_COORDINATES], slope[RPINN_MAX_COORDINATES];
} Unit;

static Unit evaluate_unit(const Case *c, const RpinnChannel *channel, size_t k, const double *x) {
  const RpinnNetwork *network = &c->network;
  size_t num_in = network->num_inputs;
  const double *w = c->parameters + k * num_in;
  Unit unit = {.z = c->parameters[network->width[1] * num_in + k]};
  for (size_t m = 0; m < num_in; m++) {
    unit.input[m] = network->input_scale[m] * x[network->input_coordinate[m]] + network->input_shift[m];
    unit.z += w[m] * unit.input[m];
  }
  for (size_t m = 0; m < num_in; m++) {
    size_t i = network->input_coordinate[m];
    if (channel->order == 1) {
      unit.slope[m] = channel->coefficient[i] * network->input_scale[m];
      unit.image += unit.slope[m] * w[m];
    }
    for (size_t n = 0; n < num_in && channel->order == 2; n++) {
      size_t j = network->input_coordinate[n];
      if (j < i) continue;
      double q =
          channel->coefficient[rpinn_pair_index(i, j)] * network->input_scale[m] * network->input_scale[n];
      unit.image += q * w[m] * w[n];
      unit.slope[m] += q * w[n];
      unit.slope[n] += q * w[m];
    }
  }
  return unit;
}

/* The channel and its derivative with respect to every parameter:
 *   order 0  sum v s(z) + c      order 1  sum v s'(z) D      order 2  sum v s''(z) Q */
static double closed_form(const Case *c, const RpinnChannel *channel, const double *x, double *gradient) {
  const RpinnNetwork *network = &c->network;
  size_t num_in = network->num_inputs, num_hidden = network->width[1];
  const double *v = c->parameters + num_hidden * (num_in + 1);
  double factor = network->output_factor, sum = 0;
  for (size_t k = 0; k < num_hidden; k++) {
    double s[5] = {0};
    Unit unit = evaluate_unit(c, channel, k, x);
    textbook(network->activation, unit.z, s);
    const double *shifted = s + channel->order; /* s, s' or s'' and what follows */
    double image = channel->order ? unit.image : 1;
    sum += v[k] * shifted[0] * image;
    gradient[num_hidden * (num_in + 1) + k] = factor * shifted[0] * image;
    gradient[num_hidden * num_in + k] = factor * v[k] * shifted[1] * image;
    for (size_t m = 0; m < num_in; m++)
      gradient[k * num_in + m] =
          factor * v[k] *
          (shifted[1] * unit.input[m] * image + shifted[0] * (channel->order ? unit.slope[m] : 0));
  }
  gradient[network->num_all - 1] = channel->order ? 0 : factor;
  double constant = channel->order ? 0 : network->output_shift + factor * c->parameters[network->num_all - 1];
  return constant + factor * sum;
}

static void one_hidden_layer(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_CHECK, 0, 0);
  Comparison forward = {0}, reverse = {0};
  for (int repeat = 0; repeat < 10; repeat++)
    for (size_t d = 1; d <= RPINN_MAX_COORDINATES; d++)
      for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
        Case c = random_case(&stream, (RpinnActivation)activation, d, 1);
        fill_channels(&c, &stream);
        double *memory = malloc(rpinn_plain_jet_size(&c.network) * sizeof *memory);
        RpinnPlainJet jet = rpinn_plain_jet_place(&c.network, memory);
        for (int point = 0; point < NUM_POINTS; point++) {
          double x[RPINN_MAX_COORDINATES], values[RPINN_MAX_CHANNELS];
          for (size_t i = 0; i < d; i++) x[i] = uniform(&stream, -1.5, 1.5);
          rpinn_plain_jet_forward(&c.network, &c.set, c.parameters, x, &jet, values);
          for (size_t k = 0; k < c.set.count; k++) {
            double expected[MAX_PARAMETERS], found[MAX_PARAMETERS] = {0}, adjoints[RPINN_MAX_CHANNELS] = {0};
            double value = closed_form(&c, &c.set.channels[k], x, expected), size = 1;
            for (size_t j = 0; j < c.network.num_all; j++) size = fmax(size, fabs(expected[j]));
            compare(&forward, values[k], value, size, "a channel");
            adjoints[k] = 1;
            rpinn_plain_jet_reverse(&c.network, &c.set, c.parameters, &jet, adjoints, found);
            for (size_t j = 0; j < c.network.num_all; j++)
              compare(&reverse, found[j], expected[j], size, "a parameter derivative");
          }
        }
        free(memory);
      }
  print_message("  closed forms: %zu channels %.1e, %zu parameter derivatives %.1e\n", forward.count,
                forward.worst, reverse.count, reverse.worst);
}

/* ---- deeper networks ---- */

/* The channel by hyper-dual numbers, with the size of what was added up. */
static double hand_channel(const Case *c, const RpinnChannel *channel, const double *x, double *size) {
  if (channel->order == 0) return hand_network(&c->network, c->parameters, x, 0, 0).v;
  double sum = 0;
  for (size_t i = 0; i < c->num_coordinates; i++)
    for (size_t j = i; j < c->num_coordinates; j++) {
      if (channel->order == 1 && j > i) break;
      double q = channel->coefficient[channel->order == 1 ? i : rpinn_pair_index(i, j)];
      if (q == 0) continue;
      Hyper u = hand_network(&c->network, c->parameters, x, i, j);
      double part = q * (channel->order == 1 ? u.a : u.ab);
      sum += part;
      *size = fmax(*size, fabs(part));
    }
  return sum;
}

/* d/dtheta_j of the value and of the channels of order 1: a is the parameter, b a coordinate. */
static double hand_slope(const Case *c, const RpinnChannel *channel, size_t j, const double *x) {
  if (channel->order == 0) return hand_network_seeded(&c->network, c->parameters, j, x, SIZE_MAX, 0).a;
  double sum = 0;
  for (size_t i = 0; i < c->num_coordinates; i++)
    if (channel->coefficient[i] != 0)
      sum += channel->coefficient[i] * hand_network_seeded(&c->network, c->parameters, j, x, SIZE_MAX, i).ab;
  return sum;
}

static void deeper_networks(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(12, RPINN_PURPOSE_CHECK, 0, 0);
  Comparison forward = {0}, reverse = {0};
  for (size_t depth = 1; depth <= MAX_HIDDEN; depth++)
    for (size_t d = 1; d <= RPINN_MAX_COORDINATES; d++)
      for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
        Case c = random_case(&stream, (RpinnActivation)activation, d, depth);
        fill_channels(&c, &stream);
        double *memory = malloc(rpinn_plain_jet_size(&c.network) * sizeof *memory);
        RpinnPlainJet jet = rpinn_plain_jet_place(&c.network, memory);
        for (int point = 0; point < NUM_POINTS; point++) {
          double x[RPINN_MAX_COORDINATES], values[RPINN_MAX_CHANNELS];
          for (size_t i = 0; i < d; i++) x[i] = uniform(&stream, -1.5, 1.5);
          rpinn_plain_jet_forward(&c.network, &c.set, c.parameters, x, &jet, values);
          for (size_t k = 0; k < c.set.count; k++) {
            const RpinnChannel *channel = &c.set.channels[k];
            double size = 1, found[MAX_PARAMETERS] = {0}, adjoints[RPINN_MAX_CHANNELS] = {0};
            double expected = hand_channel(&c, channel, x, &size);
            compare(&forward, values[k], expected, size, "a channel");
            if (channel->order > 1 || point > 0) continue;
            adjoints[k] = 1;
            rpinn_plain_jet_reverse(&c.network, &c.set, c.parameters, &jet, adjoints, found);
            for (size_t j = 0; j < c.network.num_all; j++)
              compare(&reverse, found[j], hand_slope(&c, channel, j, x), size, "a parameter derivative");
          }
        }
        free(memory);
      }
  print_message("  hyper-dual numbers: %zu channels %.1e, %zu parameter derivatives %.1e\n", forward.count,
                forward.worst, reverse.count, reverse.worst);
}

/* What the reverse pass adds up: all channels at once, on top of what was there. */
static void reverse_adds_up(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(13, RPINN_PURPOSE_CHECK, 0, 0);
  Case c = random_case(&stream, RPINN_ACTIVATION_SWISH, 3, 3);
  fill_channels(&c, &stream);
  double *memory = malloc(rpinn_plain_jet_size(&c.network) * sizeof *memory);
  RpinnPlainJet jet = rpinn_plain_jet_place(&c.network, memory);
  double x[] = {0.3, -0.7, 1.1}, values[RPINN_MAX_CHANNELS], weights[RPINN_MAX_CHANNELS];
  double together[MAX_PARAMETERS], one_by_one[MAX_PARAMETERS];
  rpinn_plain_jet_forward(&c.network, &c.set, c.parameters, x, &jet, values);
  for (size_t j = 0; j < MAX_PARAMETERS; j++) together[j] = one_by_one[j] = 7;
  for (size_t k = 0; k < c.set.count; k++) {
    double alone[RPINN_MAX_CHANNELS] = {0};
    weights[k] = alone[k] = rpinn_stream_normal(&stream);
    rpinn_plain_jet_reverse(&c.network, &c.set, c.parameters, &jet, alone, one_by_one);
  }
  rpinn_plain_jet_reverse(&c.network, &c.set, c.parameters, &jet, weights, together);
  for (size_t j = 0; j < c.network.num_all; j++) check_relative(together[j], one_by_one[j], 1e-12);
  for (size_t j = c.network.num_all; j < MAX_PARAMETERS; j++) assert_true(together[j] == 7);
  free(memory);
}

/* Far out, activations neither overflow nor lose their limits. */
static void activations_far_out(void **state) {
  (void)state;
  for (int sign = -1; sign <= 1; sign += 2) {
    double s[4];
    rpinn_activation_derivatives(RPINN_ACTIVATION_TANH, 800.0 * sign, s);
    assert_true(s[0] == sign && s[1] == 0 && s[2] == 0 && s[3] == 0);
    rpinn_activation_derivatives(RPINN_ACTIVATION_SOFTPLUS, 800.0 * sign, s);
    assert_true(s[0] == (sign > 0 ? 800 : 0) && s[1] == (sign > 0) && s[2] == 0 && s[3] == 0);
    rpinn_activation_derivatives(RPINN_ACTIVATION_SWISH, 800.0 * sign, s);
    assert_true(s[0] == (sign > 0 ? 800 : 0) && s[1] == (sign > 0) && s[2] == 0 && s[3] == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_hidden_layer), cmocka_unit_test(deeper_networks),
                                     cmocka_unit_test(reverse_adds_up),
                                     cmocka_unit_test(activations_far_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
