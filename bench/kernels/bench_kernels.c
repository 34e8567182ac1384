/* Where an iteration of the backend `cpu` spends its time, kernel by kernel, where no counters of the processor can be read.
 *
 *   bench_kernels [SECONDS]
 *       For the shapes of poisson-linear (N_f=32 and 128) and darcy, in float on one thread: the products of a layer as shares of
 *       the fused multiply-adds that the core does in registers, everything else in nanoseconds for each vector of 64 bytes. Then the products of
 *       layers of other widths. Best of several, by the thread's own clock, each over SECONDS (0.02). */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine_peak.h"
#include "matrix_products.h"
#include "pointwise.h"

enum { ROUNDS = 7, NUM_CHANNELS = 3, MOST = 1 << 16, MOST_TILE = 1024, GROUP = RPINN_REAL_GROUP };

typedef struct Shape {
  const char *name;
  size_t width, num_points; /* of NUM_CHANNELS rows each */
} Shape;

static const Shape shapes[] = {
    {"poisson-linear, Nf=32", 50, 32}, {"poisson-linear, Nf=128", 50, 128}, {"a block of darcy", 60, 92}};

/* Widths that people choose, with so many points. */
static const size_t widths[] = {10, 20, 24, 30, 32, 40, 50, 60, 64, 80, 100};
enum { WIDTH_POINTS = 100 };

/* Whatever a kernel reads and writes. */
typedef struct Work {
  const Shape *shape;
  const RpinnMatrixProducts *products;
  const RpinnPointwise *kernels;
  size_t num_rows;
  Real *arrays[8]; /* [MOST] */
  double *gram;    /* [MOST] */
  RealBits tile_rows[MOST_TILE];
  RpinnJetRun run;
} Work;

typedef struct Kernel {
  const char *name;
  void (*call)(Work *work);
  double (*operations)(const Work *work); /* of products; NULL: vectors are counted */
} Kernel;

static void multiply(Work *work) {
  size_t width = work->shape->width;
  work->products->multiply(work->num_rows, width, width, work->arrays[0], work->arrays[1], work->arrays[2],
                           work->arrays[3]);
}

static void add_gradient(Work *work) {
  size_t width = work->shape->width;
  work->products->add_gradient(work->num_rows, width, width, work->arrays[0], work->arrays[4], false,
                               work->arrays[3]);
}

/* Of num_rows, width and width. */
static double product_operations(const Work *work) {
  double width = (double)work->shape->width;
  return 2 * (double)work->num_rows * width * width;
}

static void add_factored_gram(Work *work) {
  const RpinnFactors factors = {work->shape->width, work->shape->width, work->arrays[0], work->arrays[4]};
  const RpinnFactorRun run = {.num_channels = NUM_CHANNELS, .num_points = work->shape->num_points};
  work->products->add_factored_gram(&factors, &run, &run, 1e-9, run.num_points, work->arrays[3], work->gram);
}

/* Every pair of points once, with all pairs of channels. */
static double gram_operations(const Work *work) {
  double count = (double)work->shape->num_points, width = (double)work->shape->width;
  return count * (count + 1) / 2 * NUM_CHANNELS * NUM_CHANNELS * 2 * (width + width);
}

static void multiply_vector(Work *work) {
  work->products->multiply_vector(work->num_rows, work->shape->width, work->arrays[0], work->arrays[1],
                                  work->arrays[3]);
}

static void transpose(Work *work) {
  size_t width = work->shape->width;
  work->products->transpose(width, width, work->arrays[1], work->arrays[2]);
}

static void hidden_forward(Work *work) {
  work->kernels->hidden_forward(&work->run, work->arrays[5], work->arrays[0], work->arrays[3], NULL);
}

static void hidden_reverse(Work *work) {
  work->kernels->hidden_reverse(&work->run, work->arrays[5], work->arrays[0], work->arrays[4], NULL,
                                work->arrays[0], work->arrays[3], work->arrays[6]);
}

static void last_reverse(Work *work) {
  work->kernels->last_reverse(&work->run, work->arrays[5], work->arrays[0], work->arrays[4], NULL,
                              work->arrays[1], work->arrays[2], work->arrays[3], work->arrays[6],
                              work->arrays[7]);
}

/* One coordinate. */
static RpinnJetInputs inputs_of(const Real *const *coordinate, const Real *const *weights) {
  static const size_t first = 0;
  return (RpinnJetInputs){1, coordinate, weights, &first};
}

static void input_forward(Work *work) {
  const Real *coordinate = work->arrays[0], *weights = work->arrays[1];
  const RpinnJetInputs inputs = inputs_of(&coordinate, &weights);
  work->kernels->input_forward(&work->run, &inputs, work->arrays[5], work->arrays[3], NULL);
}

static void input_reverse(Work *work) {
  const Real *coordinate = work->arrays[0], *weights = work->arrays[1];
  const RpinnJetInputs inputs = inputs_of(&coordinate, &weights);
  work->kernels->input_reverse(&work->run, &inputs, work->arrays[5], work->arrays[4], NULL, work->arrays[3],
                               work->arrays[6], &work->arrays[7]);
}

static void adam_update(Work *work) {
  size_t width = work->shape->width, count = width * width;
  const RpinnAdamStep step = {(Real)0.9, (Real)0.999, (Real)1e-6, 1, (Real)1e-8};
  work->kernels->adam_update(count, &step, work->arrays[0], work->arrays[1], work->arrays[2], work->arrays[3],
                             work->arrays[4], work->arrays[7]);
}

static const Kernel kernels[] = {{"products, forward and back", multiply, product_operations},
                                 {"gradients of weights", add_gradient, product_operations},
                                 {"J D J^T in factors", add_factored_gram, gram_operations},
                                 {"output", multiply_vector, NULL},
                                 {"transposed weights", transpose, NULL},
                                 {"activations, forward", hidden_forward, NULL},
                                 {"activations, back", hidden_reverse, NULL},
                                 {"below the output, back", last_reverse, NULL},
                                 {"first layer, forward", input_forward, NULL},
                                 {"first layer, back", input_reverse, NULL},
                                 {"Adam's rule", adam_update, NULL}};

/* Vectors of 64 bytes that a kernel goes through: of rows, of points, or of weights. */
static double num_vectors(const Kernel *kernel, const Work *work) {
  size_t width = work->shape->width;
  size_t elements = kernel->call == multiply_vector ? work->num_rows * width
                    : kernel->call == transpose || kernel->call == adam_update
                        ? width * width
                        : work->shape->num_points * width;
  return (double)elements / GROUP;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double seconds_of(const Kernel *kernel, Work *work, double seconds) {
  double start = now(), elapsed = 0;
  size_t count = 0;
  do {
    for (int i = 0; i < 20; i++, count++) kernel->call(work);
    elapsed = now() - start;
  } while (elapsed < seconds);
  return elapsed / (double)count;
}

/* Numbers that no kernel makes large: what it writes is read by others. */
static void fill(Work *work) {
  for (size_t k = 0; k < 8; k++)
    for (size_t i = 0; i < MOST; i++) work->arrays[k][i] = (Real)(i % 97) / 970 + (Real)0.01;
}

typedef struct Speed {
  double seconds, peak; /* of a call; operations per second of the core */
} Speed;

static Speed speed_of(const Kernel *kernel, Work *work, double seconds) {
  Speed best = {0};
  for (int round = 0; round < ROUNDS; round++) {
    fill(work);
    double own = seconds_of(kernel, work, seconds),
           rate = rpinn_machine_peak(rpinn_isa_best(), RPINN_PRECISION_FLOAT, 2e-3);
    if (round == 0 || own < best.seconds) best.seconds = own;
    if (rate > best.peak) best.peak = rate;
  }
  return best;
}

static double percent_of_peak(const Kernel *kernel, const Work *work, Speed speed) {
  return 100 * kernel->operations(work) / speed.seconds / speed.peak;
}

static void measure(const Kernel *kernel, Work *work, double seconds) {
  Speed speed = speed_of(kernel, work, seconds);
  printf("  %-28s %9.3f us", kernel->name, speed.seconds * 1e6);
  if (kernel->operations)
    printf("   %5.1f %% of the peak\n", percent_of_peak(kernel, work, speed));
  else
    printf("   %5.2f ns for a vector\n", speed.seconds * 1e9 / num_vectors(kernel, work));
}

static void measure_widths(Work *work, double seconds) {
  printf("%d rows of other widths, in %% of the peak\n  width  products  gradients of weights\n",
         NUM_CHANNELS * WIDTH_POINTS);
  for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
    const Shape shape = {"", widths[k], WIDTH_POINTS};
    work->shape = &shape;
    work->num_rows = NUM_CHANNELS * WIDTH_POINTS;
    printf("  %5zu", shape.width);
    for (int i = 0; i < 2; i++)
      printf("%10.1f", percent_of_peak(&kernels[i], work, speed_of(&kernels[i], work, seconds)));
    printf("\n");
  }
}

static void measure_shape(const Shape *shape, Work *work, double seconds) {
  static const Real hessian[1] = {2};
  work->shape = shape;
  work->num_rows = NUM_CHANNELS * shape->num_points;
  RPINN_REAL_NAME(rpinn_tile_rows)(shape->width, work->tile_rows);
  work->run = (RpinnJetRun){.activation = RPINN_ACTIVATION_TANH,
                            .num_points = shape->num_points,
                            .width = shape->width,
                            .tile_length = RPINN_REAL_NAME(rpinn_tile_length)(shape->width),
                            .rows = work->tile_rows,
                            .num_first = 1,
                            .num_second = 1,
                            .hessians = hessian};
  printf("%s: %zu rows of %zu\n", shape->name, work->num_rows, shape->width);
  for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) measure(&kernels[k], work, seconds);
}

int main(int argc, char **argv) {
  double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.02;
  Work work = {.products = RPINN_REAL_NAME(rpinn_matrix_products)(rpinn_isa_best()),
               .kernels = RPINN_REAL_NAME(rpinn_pointwise)(rpinn_isa_best())};
  bool enough = true;
  for (size_t k = 0; k < 8; k++) {
    work.arrays[k] = aligned_alloc(64, MOST * sizeof(Real));
    enough = enough && work.arrays[k];
  }
  work.gram = calloc(MOST, sizeof(double));
  enough = enough && work.gram;
  for (size_t k = 0; enough && k < sizeof shapes / sizeof shapes[0]; k++)
    measure_shape(&shapes[k], &work, seconds);
  if (enough) measure_widths(&work, seconds);
  for (size_t k = 0; k < 8; k++) free(work.arrays[k]);
  free(work.gram);
  return enough ? 0 : 1;
}
