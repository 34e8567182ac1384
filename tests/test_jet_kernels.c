/* The jet kernels of the CPU backend, in one precision: each shape of channels against the formulas in long
 * double, the reverse passes against differences of the forward formulas, and every instruction set to the
 * same bits. */
#include "check.h"

#include "exact_activations.h"
#include "pointwise.h"
#include "random_stream.h"

enum { MAX_WIDTH = 50, MAX_POINTS = 19, MAX_ELEMENTS = MAX_WIDTH * MAX_POINTS, MAX_TILE = 16 * MAX_WIDTH };
enum { MAX_FIRST = RPINN_JET_MAX_INPUTS, MAX_SECOND = 10, CHANNELS = RPINN_JET_MAX_CHANNELS };

static const double tolerance = sizeof(Real) == sizeof(float) ? 2e-5 : 1e-9;

/* Inputs of all kernels, for one shape. */
typedef struct Case {
  RpinnJetRun run;
  size_t num_channels, num_elements;
  Real hessians[MAX_SECOND * MAX_FIRST * MAX_FIRST];
  RealBits rows[MAX_TILE];
  Real bias[MAX_WIDTH], bias_tile[MAX_TILE];
  Real z[CHANNELS * MAX_ELEMENTS], a_bars[CHANNELS * MAX_ELEMENTS]; /* [channels][num_elements] */
  size_t num_inputs, input_of_first[MAX_FIRST];
  Real coordinates[MAX_FIRST][MAX_ELEMENTS], weights[MAX_FIRST][MAX_WIDTH], weight_tiles[MAX_FIRST][MAX_TILE];
  Real output_weights[MAX_WIDTH], output_weight_tile[MAX_TILE];
  Real output_bars[CHANNELS * MAX_POINTS + RPINN_REAL_GROUP]; /* [channels][num_points], and a group */
} Case;

/* What all kernels make of them. Zeroed before use, compared as bytes. */
typedef struct Results {
  Real a[CHANNELS * MAX_ELEMENTS], kept[MAX_ELEMENTS];
  Real z_bars[CHANNELS * MAX_ELEMENTS], bias_sums[MAX_WIDTH];
  Real last_a_bars[CHANNELS * MAX_ELEMENTS], last_z_bars[CHANNELS * MAX_ELEMENTS];
  Real last_bias_sums[MAX_WIDTH], last_weight_sums[MAX_WIDTH];
  Real input_a[CHANNELS * MAX_ELEMENTS], input_kept[MAX_ELEMENTS];
  Real input_bias_sums[MAX_WIDTH], input_weight_sums[MAX_FIRST][MAX_WIDTH];
  Real output_weight_sums[MAX_WIDTH];
} Results;

typedef struct Shape {
  size_t num_first, num_second, width, num_points;
} Shape;

static const Shape shapes[] = {{0, 0, 5, 3},   {1, 0, 50, 19}, {1, 1, 50, 8},  {1, 1, 5, 13}, {2, 0, 16, 7},
                               {2, 1, 50, 19}, {2, 1, 1, 1},   {2, 3, 24, 11}, {3, 1, 7, 19}, {4, 10, 33, 3}};
enum { NUM_SHAPES = sizeof shapes / sizeof shapes[0] };

static void fill(RpinnStream *stream, size_t count, Real *values) {
  for (size_t i = 0; i < count; i++) values[i] = (Real)(3 * rpinn_stream_uniform(stream) - 1.5);
}

static void fill_hessians(RpinnStream *stream, Case *test) {
  const size_t n = test->run.num_first;
  for (size_t l = 0; l < test->run.num_second; l++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) {
        Real *hessian = test->hessians + l * n * n;
        fill(stream, 1, &hessian[i * n + j]);
        hessian[j * n + i] = hessian[i * n + j];
      }
}

static void fill_tile(Shape shape, const Real *values, Real *tile) {
  for (size_t e = 0; e < RPINN_REAL_NAME(rpinn_tile_length)(shape.width); e++)
    tile[e] = values[e % shape.width];
}

static Case *case_create(RpinnActivation activation, Shape shape) {
  Case *test = calloc(1, sizeof *test);
  assert_non_null(test);
  RpinnStream stream = rpinn_stream(13, RPINN_PURPOSE_CHECK, activation, (uint32_t)shape.width);
  test->num_channels = 1 + shape.num_first + shape.num_second;
  test->num_elements = shape.width * shape.num_points;
  test->run = (RpinnJetRun){.activation = activation,
                            .num_points = shape.num_points,
                            .width = shape.width,
                            .tile_length = RPINN_REAL_NAME(rpinn_tile_length)(shape.width),
                            .rows = test->rows,
                            .num_first = shape.num_first,
                            .num_second = shape.num_second,
                            .hessians = test->hessians};
  RPINN_REAL_NAME(rpinn_tile_rows)(shape.width, test->rows);
  fill_hessians(&stream, test);
  fill(&stream, shape.width, test->bias);
  fill_tile(shape, test->bias, test->bias_tile);
  fill(&stream, shape.width, test->output_weights);
  fill_tile(shape, test->output_weights, test->output_weight_tile);
  fill(&stream, test->num_channels * test->num_elements, test->z);
  fill(&stream, test->num_channels * test->num_elements, test->a_bars);
  fill(&stream, test->num_channels * shape.num_points + RPINN_REAL_GROUP, test->output_bars);
  test->num_inputs = shape.num_first < MAX_FIRST ? shape.num_first + 1 : MAX_FIRST;
  for (size_t d = 0; d < test->num_inputs; d++) {
    fill(&stream, shape.width, test->weights[d]);
    fill_tile(shape, test->weights[d], test->weight_tiles[d]);
    Real x[MAX_POINTS];
    fill(&stream, shape.num_points, x);
    for (size_t e = 0; e < test->num_elements; e++) test->coordinates[d][e] = x[e / shape.width];
  }
  for (size_t d = 0; d < shape.num_first; d++) test->input_of_first[d] = test->num_inputs - 1 - d;
  return test;
}

/* ---- running the kernels ---- */

static void run_hidden(const RpinnPointwise *kernels, Case *test, Results *results) {
  const RpinnJetRun *run = &test->run;
  Real sums[MAX_TILE] = {0};
  kernels->hidden_forward(run, test->bias_tile, test->z, results->a, results->kept);
  kernels->hidden_reverse(run, test->bias_tile, test->z, results->a, results->kept, test->a_bars,
                          results->z_bars, sums);
  kernels->tile_fold(run->width, run->tile_length, sums, results->bias_sums);
}

/* The layer below the output, once with the bars spread out in memory (into z_bars of a copy) and once fused.
 */
static void run_last(const RpinnPointwise *kernels, Case *test, Results *results) {
  const RpinnJetRun *run = &test->run;
  Real bias_sums[MAX_TILE] = {0}, weight_sums[MAX_TILE] = {0}, unused[MAX_TILE] = {0};
  kernels->output_reverse(test->num_channels * run->num_points, run->width, results->a, test->output_weights,
                          test->output_bars, results->last_a_bars, results->output_weight_sums);
  kernels->hidden_reverse(run, test->bias_tile, test->z, results->a, results->kept, results->last_a_bars,
                          results->last_a_bars, unused);
  kernels->last_reverse(run, test->bias_tile, test->z, results->a, results->kept, test->output_weight_tile,
                        test->output_bars, results->last_z_bars, bias_sums, weight_sums);
  kernels->tile_fold(run->width, run->tile_length, bias_sums, results->last_bias_sums);
  kernels->tile_fold(run->width, run->tile_length, weight_sums, results->last_weight_sums);
}

static void run_input(const RpinnPointwise *kernels, Case *test, Results *results) {
  const RpinnJetRun *run = &test->run;
  const Real *coordinates[MAX_FIRST], *weights[MAX_FIRST];
  Real bias_sums[MAX_TILE] = {0}, weight_sums[MAX_FIRST][MAX_TILE] = {{0}}, *weight_sum_tiles[MAX_FIRST];
  for (size_t d = 0; d < test->num_inputs; d++) {
    coordinates[d] = test->coordinates[d];
    weights[d] = test->weight_tiles[d];
    weight_sum_tiles[d] = weight_sums[d];
  }
  RpinnJetInputs inputs = {test->num_inputs, coordinates, weights, test->input_of_first};
  kernels->input_forward(run, &inputs, test->bias_tile, results->input_a, results->input_kept);
  kernels->input_reverse(run, &inputs, test->bias_tile, results->input_a, results->input_kept, test->a_bars,
                         bias_sums, weight_sum_tiles);
  kernels->tile_fold(run->width, run->tile_length, bias_sums, results->input_bias_sums);
  for (size_t d = 0; d < test->num_inputs; d++)
    kernels->tile_fold(run->width, run->tile_length, weight_sums[d], results->input_weight_sums[d]);
}

static Results *results_create(RpinnIsa isa, Case *test) {
  const RpinnPointwise *kernels = RPINN_REAL_NAME(rpinn_pointwise)(isa);
  Results *results = calloc(1, sizeof *results);
  assert_non_null(results);
  run_hidden(kernels, test, results);
  run_last(kernels, test, results);
  run_input(kernels, test, results);
  return results;
}

/* ---- the formulas in long double ---- */

/* a of all channels from z of all channels */
static void jet_forward(const Case *test, const long double *z, long double *a) {
  const size_t n = test->run.num_first;
  long double s[4];
  exact_activation[test->run.activation](z[0], s);
  a[0] = s[0];
  for (size_t d = 0; d < n; d++) a[1 + d] = s[1] * z[1 + d];
  for (size_t l = 0; l < test->run.num_second; l++) {
    const Real *hessian = test->hessians + l * n * n;
    long double form = 0;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) form += (long double)hessian[i * n + j] * z[1 + i] * z[1 + j] / 2;
    a[1 + n + l] = s[1] * z[1 + n + l] + s[2] * form;
  }
}

/* Derivatives of sum_c a_bars[c] a[c] with respect to z, by central differences. */
static void jet_reverse(const Case *test, const long double *z, const long double *a_bars,
                        long double *z_bars) {
  const long double step = 1e-6L;
  long double moved[CHANNELS], above[CHANNELS], below[CHANNELS];
  for (size_t k = 0; k < test->num_channels; k++) {
    memcpy(moved, z, sizeof moved);
    moved[k] = z[k] + step;
    jet_forward(test, moved, above);
    moved[k] = z[k] - step;
    jet_forward(test, moved, below);
    z_bars[k] = 0;
    for (size_t c = 0; c < test->num_channels; c++)
      z_bars[k] += a_bars[c] * (above[c] - below[c]) / (2 * step);
  }
}

/* Element e of a channel, in an array of all channels. */
static long double element(const Case *test, const Real *array, size_t channel, size_t e) {
  return (long double)array[channel * test->num_elements + e];
}

static void check_channels(const Case *test, const Real *found, const long double *expected, size_t e) {
  for (size_t c = 0; c < test->num_channels; c++)
    check_close((double)element(test, found, c, e), (double)expected[c], tolerance);
}

static void check_units(size_t width, const Real *found, const long double *expected) {
  for (size_t u = 0; u < width; u++) check_close((double)found[u], (double)expected[u], 2 * tolerance);
}

static void check_hidden(Case *test, Results *results) {
  const size_t width = test->run.width;
  long double bias_sums[MAX_WIDTH] = {0};
  for (size_t e = 0; e < test->num_elements; e++) {
    long double z[CHANNELS] = {0}, a[CHANNELS], a_bars[CHANNELS], z_bars[CHANNELS];
    for (size_t c = 0; c < test->num_channels; c++) {
      z[c] = element(test, test->z, c, e);
      a_bars[c] = element(test, test->a_bars, c, e);
    }
    z[0] += (long double)test->bias[e % width];
    jet_forward(test, z, a);
    jet_reverse(test, z, a_bars, z_bars);
    check_channels(test, results->a, a, e);
    check_channels(test, results->z_bars, z_bars, e);
    bias_sums[e % width] += z_bars[0];
  }
  check_units(width, results->bias_sums, bias_sums);
}

static void check_last(Case *test, Results *results) {
  const size_t width = test->run.width, num_elements = test->num_elements;
  long double weight_sums[MAX_WIDTH] = {0}, bias_sums[MAX_WIDTH] = {0};
  for (size_t e = 0; e < num_elements; e++) {
    bias_sums[e % width] += element(test, results->last_z_bars, 0, e);
    for (size_t c = 0; c < test->num_channels; c++)
      weight_sums[e % width] += (long double)test->output_bars[c * test->run.num_points + e / width] *
                                element(test, results->a, c, e);
  }
  assert_memory_equal(results->last_z_bars, results->last_a_bars,
                      test->num_channels * num_elements * sizeof(Real));
  check_units(width, results->last_bias_sums, bias_sums);
  check_units(width, results->last_weight_sums, weight_sums);
  check_units(width, results->output_weight_sums, weight_sums);
}

static void check_input(Case *test, Results *results) {
  const size_t width = test->run.width;
  long double bias_sums[MAX_WIDTH] = {0}, weight_sums[MAX_FIRST][MAX_WIDTH] = {{0}};
  for (size_t e = 0; e < test->num_elements; e++) {
    const size_t u = e % width;
    long double z[CHANNELS] = {0}, a[CHANNELS], a_bars[CHANNELS], z_bars[CHANNELS];
    z[0] = (long double)test->bias[u];
    for (size_t d = 0; d < test->num_inputs; d++)
      z[0] += (long double)test->coordinates[d][e] * (long double)test->weights[d][u];
    for (size_t d = 0; d < test->run.num_first; d++)
      z[1 + d] = (long double)test->weights[test->input_of_first[d]][u];
    for (size_t c = 0; c < test->num_channels; c++) a_bars[c] = element(test, test->a_bars, c, e);
    jet_forward(test, z, a);
    jet_reverse(test, z, a_bars, z_bars);
    check_channels(test, results->input_a, a, e);
    bias_sums[u] += z_bars[0];
    for (size_t d = 0; d < test->num_inputs; d++)
      weight_sums[d][u] += z_bars[0] * (long double)test->coordinates[d][e];
    for (size_t d = 0; d < test->run.num_first; d++) weight_sums[test->input_of_first[d]][u] += z_bars[1 + d];
  }
  check_units(width, results->input_bias_sums, bias_sums);
  for (size_t d = 0; d < test->num_inputs; d++)
    check_units(width, results->input_weight_sums[d], weight_sums[d]);
}

/* ---- tests ---- */

static void kernels_follow_the_formulas(void **state) {
  (void)state;
  for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
    for (size_t i = 0; i < NUM_SHAPES; i++) {
      Case *test = case_create((RpinnActivation)activation, shapes[i]);
      Results *results = results_create(rpinn_isa_best(), test);
      check_hidden(test, results);
      check_last(test, results);
      check_input(test, results);
      free(results);
      free(test);
    }
  }
}

static void instruction_sets_agree_to_the_bit(void **state) {
  (void)state;
  for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
    for (size_t i = 0; i < NUM_SHAPES; i++) {
      Case *test = case_create((RpinnActivation)activation, shapes[i]);
      Results *portable = results_create(RPINN_ISA_PORTABLE, test);
      for (int isa = RPINN_ISA_PORTABLE + 1; isa < RPINN_NUM_ISAS; isa++) {
        if (!rpinn_isa_is_available((RpinnIsa)isa)) continue;
        Results *results = results_create((RpinnIsa)isa, test);
        assert_memory_equal(portable, results, sizeof *results);
        free(results);
      }
      free(portable);
      free(test);
    }
  }
}

enum { NUM_PARAMETERS = 77 };

static void adam_follows_its_rule(void **state) {
  (void)state;
  const RpinnAdamStep step = {(Real)0.9, (Real)0.999, (Real)1e-2, (Real)3, (Real)1e-8};
  RpinnStream stream = rpinn_stream(14, RPINN_PURPOSE_CHECK, 0, 0);
  Real start[6][NUM_PARAMETERS], first[3][NUM_PARAMETERS];
  for (size_t row = 0; row < 6; row++) fill(&stream, NUM_PARAMETERS, start[row]);
  for (size_t i = 0; i < NUM_PARAMETERS; i++) start[5][i] *= start[5][i];
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    if (!rpinn_isa_is_available((RpinnIsa)isa)) continue;
    Real now[3][NUM_PARAMETERS]; /* theta, m, v */
    memcpy(now, start[3], sizeof now);
    RPINN_REAL_NAME(rpinn_pointwise)
    ((RpinnIsa)isa)->adam_update(NUM_PARAMETERS, &step, start[0], start[1], start[2], now[0], now[1], now[2]);
    if (isa == 0) memcpy(first, now, sizeof now);
    assert_memory_equal(first, now, sizeof now);
  }
  for (size_t i = 0; i < NUM_PARAMETERS; i++) {
    double theta = (double)start[3][i],
           g = (double)start[0][i] + (double)start[1][i] * theta - (double)start[2][i];
    double m = 0.9 * (double)start[4][i] + 0.1 * g, v = 0.999 * (double)start[5][i] + 0.001 * g * g;
    check_relative((double)first[1][i], m, tolerance);
    check_relative((double)first[2][i], v, tolerance);
    check_relative((double)first[0][i], theta - 1e-2 * m / (3 * sqrt(v) + 1e-8), tolerance);
  }
}

/* The gradient of a prior and its energy: without mean and offsets, with them, and for parameters without a prior. */
static void gradients_are_finished(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(16, RPINN_PURPOSE_CHECK, 0, 0);
  Real data[NUM_PARAMETERS];
  double numbers[4][NUM_PARAMETERS], first[NUM_PARAMETERS];
  fill(&stream, NUM_PARAMETERS, data);
  for (size_t k = 0; k < 4; k++) rpinn_stream_normals(&stream, NUM_PARAMETERS, numbers[k]);
  const double *theta = numbers[0], *mean = numbers[2], *offsets = numbers[3];
  double *root = numbers[1];
  for (size_t j = 0; j < NUM_PARAMETERS; j++) root[j] = j % 5 == 3 ? 0 : fabs(root[j]);
  for (size_t count = 1; count <= NUM_PARAMETERS; count++)
    for (int with = 0; with < 2; with++) {
      double energy = 0, first_energy = 0;
      for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
        const RpinnPointwise *kernels = RPINN_REAL_NAME(rpinn_pointwise)((RpinnIsa)isa);
        double gradient[NUM_PARAMETERS];
        if (kernels == NULL) continue;
        energy = kernels->finish_gradient(count, data, theta, root, with ? mean : NULL, with ? offsets : NULL,
                                          gradient);
        if (isa == 0) memcpy(first, gradient, sizeof first);
        if (isa == 0) first_energy = energy;
        assert_memory_equal(first, gradient, count * sizeof *first);
        assert_memory_equal(&first_energy, &energy, sizeof energy);
        double alone = kernels->finish_gradient(count, NULL, theta, root, with ? mean : NULL,
                                                with ? offsets : NULL, NULL);
        assert_memory_equal(&alone, &energy, sizeof energy);
      }
      double expected = 0;
      for (size_t j = 0; j < count; j++) {
        double row = (theta[j] - (with ? mean[j] : 0)) * root[j] - (with ? offsets[j] : 0);
        if (root[j] > 0) expected += 0.5 * row * row;
        check_relative(first[j], (double)data[j] + root[j] * row, 1e-12);
      }
      check_relative(energy, expected, 1e-12);
    }
}

static void outer_sums_follow_their_formula(void **state) {
  (void)state;
  enum { NUM_OUT = 3, STEP = MAX_WIDTH + 1 };
  RpinnStream stream = rpinn_stream(15, RPINN_PURPOSE_CHECK, 0, 0);
  Real bars[CHANNELS * NUM_OUT], inputs[CHANNELS * STEP], first[NUM_OUT * MAX_WIDTH], W[NUM_OUT * MAX_WIDTH];
  fill(&stream, CHANNELS * NUM_OUT, bars);
  fill(&stream, CHANNELS * STEP, inputs);
  for (size_t num_channels = 1; num_channels <= CHANNELS; num_channels++)
    for (size_t num_in = 1; num_in <= MAX_WIDTH; num_in += 7)
      for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
        const RpinnPointwise *kernels = RPINN_REAL_NAME(rpinn_pointwise)((RpinnIsa)isa);
        if (kernels == NULL) continue;
        kernels->outer_sum(num_channels, NUM_OUT, num_in, bars, NUM_OUT, inputs, STEP, W);
        if (isa == 0) memcpy(first, W, sizeof first);
        assert_memory_equal(first, W, NUM_OUT * num_in * sizeof *W);
        for (size_t k = 0; k < NUM_OUT * num_in; k++) {
          long double sum = 0;
          for (size_t c = 0; c < num_channels; c++)
            sum += (long double)bars[c * NUM_OUT + k / num_in] * (long double)inputs[c * STEP + k % num_in];
          check_close((double)W[k], (double)sum, tolerance);
        }
      }
}

static void tiles_repeat_and_fold(void **state) {
  (void)state;
  for (size_t width = 1; width <= MAX_WIDTH; width++) {
    size_t length = RPINN_REAL_NAME(rpinn_tile_length)(width);
    Real values[MAX_WIDTH], tile[MAX_TILE], sums[MAX_WIDTH];
    assert_int_equal(length % width, 0);
    assert_int_equal(length % RPINN_REAL_GROUP, 0);
    assert_true(length <= width * RPINN_REAL_GROUP);
    for (size_t u = 0; u < width; u++) values[u] = (Real)(u + 1);
    for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
      const RpinnPointwise *kernels = RPINN_REAL_NAME(rpinn_pointwise)((RpinnIsa)isa);
      if (kernels == NULL) continue;
      kernels->tile_fill(width, length, values, tile);
      for (size_t e = 0; e < length; e++) assert_true(tile[e] == values[e % width]);
      kernels->tile_fold(width, length, tile, sums);
      for (size_t u = 0; u < width; u++) assert_true(sums[u] == values[u] * (Real)(length / width));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_follow_the_formulas),     cmocka_unit_test(instruction_sets_agree_to_the_bit),
      cmocka_unit_test(adam_follows_its_rule),           cmocka_unit_test(gradients_are_finished),
      cmocka_unit_test(outer_sums_follow_their_formula), cmocka_unit_test(tiles_repeat_and_fold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
