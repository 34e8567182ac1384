/* The activation functions of the CPU backend, in one precision: accuracy against long double, and the same
 * bits for every instruction set, compiler and position. */
#include "check.h"

#include <float.h>

#include "exact_activations.h"
#include "pointwise.h"
#include "random_stream.h"

static const bool is_float = sizeof(Real) == sizeof(float);
static const double unit_roundoff = sizeof(Real) == sizeof(float) ? 0x1p-24 : 0x1p-53;

static const RpinnPointwise *kernels_for(int isa) {
  return RPINN_REAL_NAME(rpinn_pointwise)((RpinnIsa)isa);
}

static const RpinnPointwise *best_kernels(void) {
  return kernels_for(rpinn_isa_best());
}

/* ---- accuracy ---- */

/* The distance between neighbouring Reals around an exact value, not below the smallest normal number's. */
static double ulp_of(long double value) {
  int exponent;
  frexpl(value, &exponent);
  int lowest = is_float ? FLT_MIN_EXP : DBL_MIN_EXP;
  int digits = is_float ? FLT_MANT_DIG : DBL_MANT_DIG;
  return ldexp(1, (value != 0 && exponent > lowest ? exponent : lowest) - digits);
}

typedef struct WorstErrors {
  double value_ulp;      /* of s, in units of its last place */
  double slope_error[4]; /* of s', s'', s''' as a multiple of the unit roundoff, relative to max(1, |z|) */
  double value_at;
} WorstErrors;

enum { CHUNK = 1 << 12 };

static void measure(RpinnActivation activation, const Real *z, WorstErrors *worst) {
  static Real results[4][CHUNK];
  Real *const arrays[4] = {results[0], results[1], results[2], results[3]};
  best_kernels()->activation_evaluate(activation, CHUNK, z, arrays);
  for (size_t i = 0; i < CHUNK; i++) {
    long double s[4];
    exact_activation[activation]((long double)z[i], s);
    double error = (double)fabsl((long double)results[0][i] - s[0]) / ulp_of(s[0]);
    if (!(error <= worst->value_ulp)) {
      worst->value_ulp = error;
      worst->value_at = (double)z[i];
    }
    double scale = fabs((double)z[i]) > 1 ? fabs((double)z[i]) : 1;
    for (int order = 1; order < 4; order++) {
      double absolute = (double)fabsl((long double)results[order][i] - s[order]) / (unit_roundoff * scale);
      if (!(absolute <= worst->slope_error[order])) worst->slope_error[order] = absolute;
    }
  }
}

/* Half of the points with a uniform logarithm over the whole range, half uniform in [-span, span]. */
static WorstErrors worst_errors(RpinnActivation activation, double smallest, double largest, double span) {
  enum { NUM_CHUNKS = 600 };
  static Real z[CHUNK];
  RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_CHECK, activation, 0);
  WorstErrors worst = {0};
  for (int chunk = 0; chunk < NUM_CHUNKS; chunk++) {
    for (size_t i = 0; i < CHUNK; i++) {
      double u = rpinn_stream_uniform(&stream), sign = i % 2 ? 1 : -1;
      double magnitude = chunk % 2 ? span * u : exp(log(smallest) + u * log(largest / smallest));
      z[i] = (Real)(sign * magnitude);
    }
    measure(activation, z, &worst);
  }
  print_message("%s %s: value %.2f ulp (at %.9g); s', s'', s''' within %.2f, %.2f, %.2f roundoffs\n",
                is_float ? "float" : "double", rpinn_activation_names[activation], worst.value_ulp,
                worst.value_at, worst.slope_error[1], worst.slope_error[2], worst.slope_error[3]);
  return worst;
}

/* The bounds that activation_vectors.h states. */
static void check_errors(const WorstErrors *worst, double value_ulp, double slope_error) {
  assert_true(worst->value_ulp <= value_ulp);
  for (int order = 1; order < 4; order++) assert_true(worst->slope_error[order] <= slope_error);
}

static void tanh_is_accurate(void **state) {
  (void)state;
  WorstErrors worst = worst_errors(RPINN_ACTIVATION_TANH, is_float ? 1e-44 : 1e-320, 1e30, 10);
  check_errors(&worst, 2.2, 9);
}

static void sine_is_accurate(void **state) {
  (void)state;
  WorstErrors worst = worst_errors(RPINN_ACTIVATION_SINE, 1e-30, RPINN_SINE_LIMIT, 30);
  check_errors(&worst, 1.6, 3);
}

static void softplus_is_accurate(void **state) {
  (void)state;
  WorstErrors worst = worst_errors(RPINN_ACTIVATION_SOFTPLUS, 1e-30, is_float ? 87 : 708, 20);
  check_errors(&worst, 2.7, 3);
}

static void swish_is_accurate(void **state) {
  (void)state;
  WorstErrors worst = worst_errors(RPINN_ACTIVATION_SWISH, 1e-30, is_float ? 87 : 708, 20);
  check_errors(&worst, 3.3, 3);
}

/* The derivatives above are those of the functions above: central differences in long double. */
static void derivatives_follow_from_values(void **state) {
  (void)state;
  const long double step = 1e-5L;
  for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
    for (long double z = -6; z < 6; z += 0.37L) {
      long double at[4], above[4], below[4];
      exact_activation[activation](z, at);
      exact_activation[activation](z + step, above);
      exact_activation[activation](z - step, below);
      for (int order = 0; order < 3; order++)
        check_close((double)((above[order] - below[order]) / (2 * step)), (double)at[order + 1], 1e-9);
    }
  }
}

static Real evaluate_one(RpinnActivation activation, Real z) {
  Real results[4];
  Real *const arrays[4] = {&results[0], &results[1], &results[2], &results[3]};
  best_kernels()->activation_evaluate(activation, 1, &z, arrays);
  return results[0];
}

static void special_values(void **state) {
  (void)state;
  const Real infinite = (Real)INFINITY, undefined = (Real)NAN;
  for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
    assert_true(isnan(evaluate_one((RpinnActivation)activation, undefined)));
    assert_true(isnan(evaluate_one((RpinnActivation)activation, -undefined)));
  }
  assert_true(evaluate_one(RPINN_ACTIVATION_TANH, infinite) == 1);
  assert_true(evaluate_one(RPINN_ACTIVATION_TANH, -infinite) == -1);
  assert_true(evaluate_one(RPINN_ACTIVATION_TANH, (Real)1e30) == 1);
  assert_false(signbit(evaluate_one(RPINN_ACTIVATION_TANH, 0)));
  assert_true(signbit(evaluate_one(RPINN_ACTIVATION_TANH, -(Real)0)));
  assert_true(isnan(evaluate_one(RPINN_ACTIVATION_SINE, infinite)));
  assert_true(evaluate_one(RPINN_ACTIVATION_SOFTPLUS, infinite) == infinite);
  assert_true(evaluate_one(RPINN_ACTIVATION_SOFTPLUS, -infinite) == 0);
  assert_true(evaluate_one(RPINN_ACTIVATION_SWISH, infinite) == infinite);
  assert_true(evaluate_one(RPINN_ACTIVATION_SWISH, -infinite) == 0);
}

/* ---- the same bits ---- */

enum { NUM_FIXED = 20011 };

/* Inputs that are the same in every build: no function of the C library made them. */
static void fill_fixed_inputs(Real z[NUM_FIXED]) {
  RpinnStream stream = rpinn_stream(12, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t i = 0; i < NUM_FIXED; i++) {
    Real scale = (Real)(1 << (i % 12)) / 64;
    z[i] = (Real)(2 * rpinn_stream_uniform(&stream) - 1) * scale;
  }
}

/* FNV-1a */
static uint64_t checksum(uint64_t sum, const void *bytes, size_t length) {
  for (size_t i = 0; i < length; i++)
    sum = (sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
  return sum;
}

static uint64_t checksum_of_activations(const RpinnPointwise *kernels) {
  static Real z[NUM_FIXED], results[4][NUM_FIXED];
  Real *const arrays[4] = {results[0], results[1], results[2], results[3]};
  uint64_t sum = UINT64_C(14695981039346656037);
  fill_fixed_inputs(z);
  for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
    kernels->activation_evaluate((RpinnActivation)activation, NUM_FIXED, z, arrays);
    sum = checksum(sum, results, sizeof results);
  }
  return sum;
}

/* One number for every instruction set and every compiler. Whoever changes a formula on purpose changes it
 * here. */
static void bits_do_not_depend_on_machine_or_compiler(void **state) {
  (void)state;
  const uint64_t expected = is_float ? UINT64_C(0xb68f6a8caf440227) : UINT64_C(0x00f909afa4237c33);
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    if (kernels_for(isa) == NULL) continue;
    uint64_t found = checksum_of_activations(kernels_for(isa));
    check_true(found == expected, "%s: checksum %016llx", rpinn_isa_name((RpinnIsa)isa),
               (unsigned long long)found);
  }
}

/* Nor on how many neighbours a number has, or at which address it stands. */
static void bits_do_not_depend_on_position(void **state) {
  (void)state;
  enum { SPAN = 40 };
  static Real z[NUM_FIXED], results[4][SPAN];
  Real *const arrays[4] = {results[0] + 1, results[1] + 1, results[2] + 1, results[3] + 1};
  fill_fixed_inputs(z);
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    if (kernels_for(isa) == NULL) continue;
    for (int activation = 0; activation < RPINN_NUM_ACTIVATIONS; activation++) {
      Real alone = evaluate_one((RpinnActivation)activation, z[37]);
      for (size_t first = 5; first <= 37; first++) {
        kernels_for(isa)->activation_evaluate((RpinnActivation)activation, 38 - first, z + first, arrays);
        assert_memory_equal(&arrays[0][37 - first], &alone, sizeof alone);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tanh_is_accurate),
      cmocka_unit_test(sine_is_accurate),
      cmocka_unit_test(softplus_is_accurate),
      cmocka_unit_test(swish_is_accurate),
      cmocka_unit_test(derivatives_follow_from_values),
      cmocka_unit_test(special_values),
      cmocka_unit_test(bits_do_not_depend_on_machine_or_compiler),
      cmocka_unit_test(bits_do_not_depend_on_position),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
