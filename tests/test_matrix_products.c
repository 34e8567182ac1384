/* The matrix products of the CPU backend, in one precision: shapes of all kinds against sums in long double, nothing written
 * beside the results, and every instruction set with fused multiply-adds to the same bits. */
#include "check.h"

#include "matrix_products.h"
#include "random_stream.h"

enum { MAX_ROWS = 300, MAX_WIDTH = 70, MAX_COLUMNS = RPINN_GRAM_COLUMNS };

static const double unit = sizeof(Real) == sizeof(float) ? 0x1p-24 : 0x1p-53;

typedef struct Shape {
  size_t num_rows, num_in, num_out;
} Shape;

/* Widths around groups and vectors of all instruction sets, and numbers of rows around tiles and pieces. */
static const Shape shapes[] = {{1, 1, 1},    {2, 3, 2},     {7, 5, 8},    {98, 50, 50}, {13, 50, 16},
                               {40, 16, 50}, {33, 60, 60},  {29, 17, 33}, {25, 20, 20}, {24, 18, 19},
                               {31, 64, 70}, {300, 21, 50}, {129, 9, 3},  {12, 2, 66}};
enum { NUM_SHAPES = sizeof shapes / sizeof shapes[0] };

/* Room for a second factor, which is read beyond its end, and for results, which are not to be written there. */
typedef struct Array {
  Real *values;
  size_t count;
} Array;

static const Real sentinel = (Real)12345;

static Array array_create(size_t count) {
  Array array = {malloc((count + RPINN_REAL_GROUP) * sizeof(Real)), count};
  assert_non_null(array.values);
  for (size_t i = 0; i < count + RPINN_REAL_GROUP; i++) array.values[i] = sentinel;
  return array;
}

static Array array_random(RpinnStream *stream, size_t count) {
  Array array = array_create(count);
  for (size_t i = 0; i < count; i++) array.values[i] = (Real)(2 * rpinn_stream_uniform(stream) - 1);
  return array;
}

static void check_end(Array array) {
  for (size_t i = 0; i < RPINN_REAL_GROUP; i++) assert_true(array.values[array.count + i] == sentinel);
}

/* Elements are at most 1 and a sum of n of them is off by at most n unit roundoffs of each partial sum. */
static void check_sum(Real found, long double expected, size_t length) {
  check_close((double)found, (double)expected, unit * (double)(length * length + 4));
}

static bool is_fused(RpinnIsa isa) {
  return isa != RPINN_ISA_PORTABLE;
}

/* The results of all instruction sets go through `compare`; those that are fused equal the first of them. */
typedef struct Fused {
  Array first;
} Fused;

static void check_fused(Fused *fused, RpinnIsa isa, Array found) {
  if (!is_fused(isa)) return;
  if (fused->first.values == NULL) {
    fused->first = array_create(found.count);
    memcpy(fused->first.values, found.values, found.count * sizeof(Real));
  }
  assert_memory_equal(fused->first.values, found.values, found.count * sizeof(Real));
}

/* The same in double; takes over what was found. */
static void keep_fused(double **first, RpinnIsa isa, double *found, size_t count) {
  if (is_fused(isa) && *first) assert_memory_equal(*first, found, count * sizeof *found);
  if (is_fused(isa) && !*first)
    *first = found;
  else
    free(found);
}

/* ---- layers ---- */

static void check_multiply(Shape shape) {
  RpinnStream stream = rpinn_stream(21, RPINN_PURPOSE_CHECK, (uint32_t)shape.num_in, (uint32_t)shape.num_out);
  const size_t rows = shape.num_rows, in = shape.num_in, out = shape.num_out;
  Array a = array_random(&stream, rows * in), weights = array_random(&stream, in * out),
        transposed = array_create(in * out);
  Fused fused = {{0}};
  for (size_t i = 0; i < in; i++)
    for (size_t o = 0; o < out; o++) transposed.values[o * in + i] = weights.values[i * out + o];
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
    if (products == NULL) continue;
    Array c = array_create(rows * out);
    products->multiply(rows, in, out, a.values, weights.values, transposed.values, c.values);
    for (size_t r = 0; r < rows; r++)
      for (size_t o = 0; o < out; o++) {
        long double sum = 0;
        for (size_t i = 0; i < in; i++)
          sum += (long double)a.values[r * in + i] * (long double)weights.values[i * out + o];
        check_sum(c.values[r * out + o], sum, in);
      }
    check_end(c);
    check_fused(&fused, (RpinnIsa)isa, c);
    free(c.values);
  }
  free(a.values);
  free(weights.values);
  free(transposed.values);
  free(fused.first.values);
}

static void check_gradient(Shape shape, bool adds) {
  RpinnStream stream = rpinn_stream(22, RPINN_PURPOSE_CHECK, (uint32_t)shape.num_in, (uint32_t)shape.num_out);
  const size_t rows = shape.num_rows, in = shape.num_in, out = shape.num_out;
  Array bars = array_random(&stream, rows * out), a = array_random(&stream, rows * in),
        before = array_random(&stream, out * in);
  Fused fused = {{0}};
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
    if (products == NULL) continue;
    Array gradient = array_create(out * in);
    memcpy(gradient.values, before.values, out * in * sizeof(Real));
    products->add_gradient(rows, out, in, bars.values, a.values, adds, gradient.values);
    for (size_t o = 0; o < out; o++)
      for (size_t i = 0; i < in; i++) {
        long double sum = adds ? (long double)before.values[o * in + i] : 0;
        for (size_t r = 0; r < rows; r++)
          sum += (long double)bars.values[r * out + o] * (long double)a.values[r * in + i];
        check_sum(gradient.values[o * in + i], sum, rows + 1);
      }
    check_end(gradient);
    check_fused(&fused, (RpinnIsa)isa, gradient);
    free(gradient.values);
  }
  free(bars.values);
  free(a.values);
  free(before.values);
  free(fused.first.values);
}

/* Columns beside whole vectors, 0 to a group less one of them, after none to five vectors, for sums shorter and longer than what a vector takes of
 * such a column, and numbers of rows that tiles do and do not divide. */
static void every_edge_of_a_product_is_that_sum(void **state) {
  static const size_t rows[] = {1, 6, 13, 40}, lengths[] = {3, 24, 61};
  for (size_t groups = 0; groups <= 5; groups++)
    for (size_t left = groups == 0; left < RPINN_REAL_GROUP; left++)
      for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const size_t out = groups * RPINN_REAL_GROUP + left;
        check_multiply((Shape){rows[(left + groups + i) % 4], lengths[i], out});
        check_gradient((Shape){rows[(left + groups + i) % 4], out, lengths[i]}, left % 2 == 0);
      }
  check_multiply((Shape){9, 300, 20}); /* longer than a panel */
  (void)state;
}

/* A row that is no number leaves its neighbours alone, though vectors reach into it. */
static void rows_do_not_reach_into_each_other(void **state) {
  enum { ROWS = 8, IN = 50, OUT = 52, BAD = 5 };
  RpinnStream stream = rpinn_stream(23, RPINN_PURPOSE_CHECK, IN, OUT);
  Array a = array_random(&stream, ROWS * IN), weights = array_random(&stream, IN * OUT),
        transposed = array_random(&stream, IN * OUT), c = array_create(ROWS * OUT), sums = array_create(ROWS);
  for (size_t i = 0; i < IN; i++) a.values[BAD * IN + i] = (Real)NAN;
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
    if (products == NULL) continue;
    products->multiply(ROWS, IN, OUT, a.values, weights.values, transposed.values, c.values);
    products->multiply_vector(ROWS, IN, a.values, weights.values, sums.values);
    for (size_t r = 0; r < ROWS; r++) {
      for (size_t o = 0; o < OUT; o++) assert_true(isnan(c.values[r * OUT + o]) == (r == BAD));
      assert_true(isnan(sums.values[r]) == (r == BAD));
    }
  }
  free(a.values);
  free(weights.values);
  free(transposed.values);
  free(c.values);
  free(sums.values);
  (void)state;
}

static void products_of_layers_are_those_sums(void **state) {
  (void)state;
  for (size_t k = 0; k < NUM_SHAPES; k++) {
    check_multiply(shapes[k]);
    check_gradient(shapes[k], false);
    check_gradient(shapes[k], true);
  }
}

static void outputs_are_scalar_products(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(23, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t rows = 1; rows < 40; rows += 6)
    for (size_t width = 1; width <= MAX_WIDTH; width += 3) {
      Array a = array_random(&stream, rows * width), weights = array_random(&stream, width);
      Fused fused = {{0}};
      for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
        const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
        if (products == NULL) continue;
        Array outputs = array_create(rows);
        products->multiply_vector(rows, width, a.values, weights.values, outputs.values);
        for (size_t r = 0; r < rows; r++) {
          long double sum = 0;
          for (size_t u = 0; u < width; u++)
            sum += (long double)a.values[r * width + u] * (long double)weights.values[u];
          check_sum(outputs.values[r], sum, width);
        }
        check_end(outputs);
        check_fused(&fused, (RpinnIsa)isa, outputs);
        free(outputs.values);
      }
      free(a.values);
      free(weights.values);
      free(fused.first.values);
    }
}

static void transposes_have_rows_for_columns(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(24, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t rows = 1; rows < 45; rows += 2)
    for (size_t columns = 1; columns < 45; columns++) {
      Array from = array_random(&stream, rows * columns);
      for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
        const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
        if (products == NULL) continue;
        Array to = array_create(rows * columns);
        products->transpose(rows, columns, from.values, to.values);
        for (size_t i = 0; i < rows; i++)
          for (size_t j = 0; j < columns; j++)
            assert_true(to.values[j * rows + i] == from.values[i * columns + j]);
        check_end(to);
        free(to.values);
      }
      free(from.values);
    }
}

/* ---- A D A^T ---- */

static void check_gram(size_t rows, size_t columns) {
  RpinnStream stream = rpinn_stream(25, RPINN_PURPOSE_CHECK, (uint32_t)rows, (uint32_t)columns);
  const size_t distance = columns + 3;
  const double before = 7;
  Array a = array_random(&stream, rows * distance), scale = array_random(&stream, columns),
        panel = array_create(RPINN_GRAM_PANEL);
  double *first = NULL;
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
    if (products == NULL) continue;
    double *gram = malloc(rows * rows * sizeof *gram);
    assert_non_null(gram);
    for (size_t i = 0; i < rows * rows; i++) gram[i] = before;
    products->add_gram(rows, columns, a.values, distance, scale.values, panel.values, gram);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < rows; j++) {
        long double sum = before;
        for (size_t k = 0; j <= i && k < columns; k++)
          sum += (long double)a.values[i * distance + k] * (long double)scale.values[k] *
                 (long double)a.values[j * distance + k];
        check_close(gram[i * rows + j], (double)sum, unit * (double)(columns * columns + 30));
      }
    check_end(panel);
    keep_fused(&first, (RpinnIsa)isa, gram, rows * rows);
  }
  free(a.values);
  free(scale.values);
  free(panel.values);
  free(first);
}

static void gram_matrices_are_added_below_the_diagonal(void **state) {
  (void)state;
  check_gram(1, 1);
  check_gram(5, 3);
  check_gram(34, 100);
  check_gram(66, 33);
  check_gram(71, 130);
  check_gram(9, MAX_COLUMNS);
}

/* 512 numbers are added up in this precision, no more: the next 512 begin anew, beside the sum in double. */
static void sums_of_a_gram_matrix_are_short(void **state) {
  (void)state;
  Array a = array_create(MAX_COLUMNS), scale = array_create(MAX_COLUMNS),
        panel = array_create(RPINN_GRAM_PANEL);
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
    double gram = 0;
    if (products == NULL) continue;
    /* half a unit in the last place of 1: lost when added to it */
    for (size_t k = 0; k < MAX_COLUMNS; k++) {
      a.values[k] = 1;
      scale.values[k] = k == 0 ? 1 : (Real)unit;
    }
    products->add_gram(1, MAX_COLUMNS, a.values, MAX_COLUMNS, scale.values, panel.values, &gram);
    assert_true(gram == 1 + 512 * unit);
  }
  free(a.values);
  free(scale.values);
  free(panel.values);
}

/* ---- J in factors ---- */

/* The row of J of a point, [num_out][num_in]. */
static long double *row_of_factors(const RpinnFactors *factors, const RpinnFactorRun *run, size_t point) {
  const size_t num_out = factors->num_out, num_in = factors->num_in;
  long double *row = calloc(num_out * num_in, sizeof *row);
  assert_non_null(row);
  for (size_t c = 0; c < run->num_channels; c++) {
    const size_t at = run->first_row + c * run->num_points + point;
    for (size_t o = 0; o < num_out; o++)
      for (size_t i = 0; i < num_in; i++)
        row[o * num_in + i] +=
            (long double)factors->bars[at * num_out + o] * factors->inputs[at * num_in + i];
  }
  return row;
}

static void check_pair(const RpinnFactors *factors, const RpinnFactorRun *rows, const RpinnFactorRun *columns,
                       size_t num_results, double before, double scale, const double *gram) {
  const size_t count = factors->num_out * factors->num_in;
  const double terms = (double)(rows->num_channels * columns->num_channels * count);
  const bool is_same = rows == columns;
  for (size_t p = 0; p < rows->num_points; p++)
    for (size_t q = 0; q < columns->num_points; q++) {
      long double *row = row_of_factors(factors, rows, p), *column = row_of_factors(factors, columns, q);
      long double sum = 0;
      for (size_t k = 0; (!is_same || q <= p) && k < count; k++) sum += row[k] * column[k];
      check_close(gram[(rows->first_result + p) * num_results + columns->first_result + q],
                  before + scale * (double)sum, 4 * unit * terms * scale + 1e-15);
      free(row);
      free(column);
    }
}

/* Two runs of points, with each other and with themselves; nothing is written elsewhere. */
static void check_factored_gram(size_t num_out, size_t num_in, RpinnFactorRun early, RpinnFactorRun late) {
  RpinnStream stream = rpinn_stream(26, RPINN_PURPOSE_CHECK, (uint32_t)num_out, (uint32_t)num_in);
  const double before = 3, scale = 0.25;
  const size_t most = early.num_channels > late.num_channels ? early.num_channels : late.num_channels;
  early.first_row = 2;
  late.first_row = early.first_row + early.num_channels * early.num_points;
  early.first_result = 1;
  late.first_result = early.first_result + early.num_points;
  const size_t num_rows = late.first_row + late.num_channels * late.num_points;
  const size_t num_results = late.first_result + late.num_points + 1;
  Array bars = array_random(&stream, num_rows * num_out), inputs = array_random(&stream, num_rows * num_in),
        panel = array_create((num_out + num_in) * most * RPINN_REAL_GROUP);
  const RpinnFactors factors = {num_out, num_in, bars.values, inputs.values};
  double *first = NULL;
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
    const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
    if (products == NULL) continue;
    double *gram = malloc(num_results * num_results * sizeof *gram);
    assert_non_null(gram);
    for (size_t i = 0; i < num_results * num_results; i++) gram[i] = before;
    products->add_factored_gram(&factors, &early, &early, scale, num_results, panel.values, gram);
    products->add_factored_gram(&factors, &late, &early, scale, num_results, panel.values, gram);
    products->add_factored_gram(&factors, &late, &late, scale, num_results, panel.values, gram);
    check_pair(&factors, &early, &early, num_results, before, scale, gram);
    check_pair(&factors, &late, &early, num_results, before, scale, gram);
    check_pair(&factors, &late, &late, num_results, before, scale, gram);
    for (size_t i = 0; i < num_results; i++) { /* the first and the last result belong to nobody */
      const size_t others[] = {i, i * num_results, (num_results - 1) * num_results + i,
                               i * num_results + num_results - 1};
      for (size_t k = 0; k < 4; k++) assert_true(gram[others[k]] == before);
    }
    check_end(panel);
    keep_fused(&first, (RpinnIsa)isa, gram, num_results * num_results);
  }
  free(bars.values);
  free(inputs.values);
  free(panel.values);
  free(first);
}

static void factors_have_the_gram_matrix_of_their_products(void **state) {
  (void)state;
  for (size_t c = 1; c <= 6; c++)
    for (size_t d = 1; d <= 6; d++)
      check_factored_gram(5, 3, (RpinnFactorRun){.num_channels = c, .num_points = 7},
                          (RpinnFactorRun){.num_channels = d, .num_points = 18});
  check_factored_gram(20, 17, (RpinnFactorRun){.num_channels = 3, .num_points = 33},
                      (RpinnFactorRun){.num_channels = 1, .num_points = 2});
  check_factored_gram(16, 50, (RpinnFactorRun){.num_channels = 1, .num_points = 1},
                      (RpinnFactorRun){.num_channels = 4, .num_points = 37});
}

static void rows_are_multiplied_with_rows(void **state) {
  (void)state;
  for (size_t s = 0; s < NUM_SHAPES; s++) {
    RpinnStream stream = rpinn_stream(27, RPINN_PURPOSE_CHECK, (uint32_t)s, 0);
    const size_t rows = shapes[s].num_rows, width = shapes[s].num_in;
    Array a = array_random(&stream, rows * width), b = array_random(&stream, rows * width),
          sums = array_create(rows);
    Fused fused = {{0}};
    for (int isa = 0; isa < RPINN_NUM_ISAS; isa++) {
      const RpinnMatrixProducts *products = RPINN_REAL_NAME(rpinn_matrix_products)((RpinnIsa)isa);
      if (products == NULL) continue;
      products->multiply_rows(rows, width, a.values, b.values, sums.values);
      for (size_t r = 0; r < rows; r++) {
        long double sum = 0;
        for (size_t u = 0; u < width; u++)
          sum += (long double)a.values[r * width + u] * (long double)b.values[r * width + u];
        check_sum(sums.values[r], sum, width);
      }
      check_end(sums);
      check_fused(&fused, (RpinnIsa)isa, sums);
    }
    free(a.values);
    free(b.values);
    free(sums.values);
    free(fused.first.values);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_layers_are_those_sums),
      cmocka_unit_test(every_edge_of_a_product_is_that_sum),
      cmocka_unit_test(rows_do_not_reach_into_each_other),
      cmocka_unit_test(outputs_are_scalar_products),
      cmocka_unit_test(transposes_have_rows_for_columns),
      cmocka_unit_test(gram_matrices_are_added_below_the_diagonal),
      cmocka_unit_test(sums_of_a_gram_matrix_are_short),
      cmocka_unit_test(factors_have_the_gram_matrix_of_their_products),
      cmocka_unit_test(rows_are_multiplied_with_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
