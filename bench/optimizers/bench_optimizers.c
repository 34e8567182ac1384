/* Adam, L-BFGS and Levenberg–Marquardt from the same starts with the same rPINN offsets: loss against time.
 *
 *   bench_optimizers [--problem NAME] [--optimizer NAME] [--precision NAME] [--members N] [--seconds S]
 *                    [--data FILE.csv]
 *
 * Prints CSV: problem, optimizer, precision, member, iteration, seconds, loss. One line at the start, then
 * one whenever the time has grown by point_spacing, and one at the end, followed by the reason for stopping
 * as a comment. Seconds are computing time of this program's only thread, so that other programs on the
 * machine do not count. `darcy` needs measurements: --data, or
 * $RPINN_REFERENCE_DIR/datasets/darcy_sigma0.1.csv; without either it is left out with a message. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpinn/rpinn.h"

static const double point_spacing = 1.12; /* twenty points per decade */

typedef enum Method { ADAM, LBFGS, LEVENBERG_MARQUARDT } Method;
static const char *const method_names[] = {"adam", "lbfgs", "lm"};

typedef struct Case {
  const char *problem;
  size_t num_members;
  double seconds;     /* for each optimiser and member */
  size_t adam_chunk;  /* Adam looks at its loss that often, which costs it an iteration */
  bool all_in_double; /* or Levenberg–Marquardt alone; in float all of them */
} Case;

/* Ten minutes altogether. */
static const Case cases[] = {
    {"poisson-linear", 5, 2, 50, true}, {"poisson-nonlinear", 5, 2, 50, true}, {"darcy", 2, 60, 25, false}};
enum { NUM_CASES = sizeof cases / sizeof cases[0] };
static const char *const precisions[] = {"float", "double"};

/* NULL and 0: all of them, and the numbers of the case. */
typedef struct Arguments {
  const char *problem, *optimizer, *precision, *data;
  size_t members;
  double seconds;
} Arguments;

static double computing_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct Setup {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  double *theta, *offsets;
} Setup;

static void destroy_setup(Setup *setup) {
  rpinn_posterior_destroy(setup->posterior);
  rpinn_problem_destroy(setup->problem);
  free(setup->theta);
  free(setup->offsets);
}

static RpinnStatus create_setup(RpinnContext *context, const char *problem, const char *precision,
                                const char *data_file, Setup *setup) {
  RpinnOverride overrides[] = {{"backend", "cpu", "bench", true}, {"precision", precision, "bench", true}};
  RpinnProblemOptions options = {
      .preset = "paper", .num_overrides = 2, .overrides = overrides, .data_file = data_file};
  RpinnStatus status = rpinn_problem_load(context, problem, &options, &setup->problem);
  if (status == RPINN_OK) status = rpinn_posterior_create(context, setup->problem, true, &setup->posterior);
  if (status != RPINN_OK) return status;
  size_t N = rpinn_posterior_num_parameters(setup->posterior), M = rpinn_posterior_num_rows(setup->posterior);
  setup->context = context;
  setup->theta = calloc(N, sizeof(double));
  setup->offsets = calloc(M + N, sizeof(double));
  return setup->theta && setup->offsets ? RPINN_OK : RPINN_ERROR_MEMORY;
}

/* Time alone ends a run: no tolerance does, unless nothing is left to gain. */
static RpinnStatus create_optimizer(const Setup *setup, const Case *work, Method method,
                                    const RpinnObjective *objective, const RpinnLeastSquares *squares,
                                    RpinnOptimizer **optimizer) {
  const size_t no_end = SIZE_MAX;
  if (method == ADAM) {
    RpinnAdamOptions options = rpinn_adam_default_options();
    options.stop.max_iterations = no_end;
    options.chunk_iterations = work->adam_chunk;
    options.rule.learning_rate = rpinn_problem_setting_number(setup->problem, RPINN_SETTING_LEARNING_RATE);
    options.rule.decay_rate = rpinn_problem_setting_number(setup->problem, RPINN_SETTING_DECAY_RATE);
    options.rule.decay_steps = rpinn_problem_setting_number(setup->problem, RPINN_SETTING_DECAY_STEPS);
    return rpinn_adam_create(setup->context, objective, &options, optimizer);
  }
  if (method == LBFGS) {
    RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
    options.stop.max_iterations = no_end;
    return rpinn_lbfgs_create(setup->context, objective, &options, optimizer);
  }
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop.max_iterations = no_end;
  return rpinn_levenberg_marquardt_create(setup->context, squares, setup->offsets, &options, optimizer);
}

static RpinnStatus follow(RpinnOptimizer *optimizer, const Setup *setup, const Case *work, const char *label,
                          size_t step) {
  double start = computing_seconds(), elapsed, next = 0;
  RpinnStatus status = rpinn_optimizer_start(setup->context, optimizer, setup->theta);
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  if (status == RPINN_OK) printf("%s,0,0,%.9g\n", label, optimum.loss);
  do {
    if (status == RPINN_OK) status = rpinn_optimizer_advance(setup->context, optimizer, step);
    if (status != RPINN_OK) return status;
    elapsed = computing_seconds() - start;
    optimum = rpinn_optimizer_optimum(optimizer);
    bool last = optimum.stop != RPINN_STOP_RUNNING || elapsed >= work->seconds;
    if (elapsed < next && !last) continue;
    next = elapsed * point_spacing;
    printf("%s,%zu,%.6g,%.9g\n", label, optimum.num_iterations, elapsed, optimum.loss);
    if (last) break;
  } while (true);
  printf("# %s: %s after %zu iterations and %zu evaluations\n", label, rpinn_stop_name(optimum.stop),
         optimum.num_iterations, optimum.num_evaluations);
  fflush(stdout);
  return RPINN_OK;
}

static RpinnStatus run_one(const Setup *setup, const Case *work, const char *precision, Method method,
                           size_t member) {
  RpinnPosteriorMember target = {setup->posterior, setup->offsets, setup->context};
  RpinnObjective objective = rpinn_posterior_objective(&target);
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&target);
  RpinnOptimizer *optimizer = NULL;
  char label[128];
  rpinn_posterior_start_glorot(setup->posterior, member, setup->theta);
  rpinn_posterior_draw_offsets(setup->posterior, member, setup->offsets);
  RpinnStatus status = create_optimizer(setup, work, method, &objective, &squares, &optimizer);
  if (status != RPINN_OK) return status;
  snprintf(label, sizeof label, "%s,%s,%s,%zu", work->problem, method_names[method], precision, member);
  status = follow(optimizer, setup, work, label, method == ADAM ? work->adam_chunk : 1);
  rpinn_optimizer_destroy(optimizer);
  return status;
}

static bool is_wanted(const char *name, const char *wanted) {
  return !wanted || !strcmp(name, wanted);
}

static RpinnStatus run_case(RpinnContext *context, const Case *work, const Arguments *arguments,
                            const char *data_file) {
  RpinnStatus status = RPINN_OK;
  for (size_t p = 0; p < 2 && status == RPINN_OK; p++) {
    Setup setup = {0};
    if (!is_wanted(precisions[p], arguments->precision)) continue;
    status = create_setup(context, work->problem, precisions[p], data_file, &setup);
    for (size_t member = 0; member < work->num_members && status == RPINN_OK; member++)
      for (int method = ADAM; method <= LEVENBERG_MARQUARDT && status == RPINN_OK; method++)
        if (is_wanted(method_names[method], arguments->optimizer) &&
            (p == 0 || work->all_in_double || method == LEVENBERG_MARQUARDT))
          status = run_one(&setup, work, precisions[p], (Method)method, member);
    destroy_setup(&setup);
  }
  return status;
}

static bool read_arguments(int argc, char **argv, Arguments *arguments) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) return false;
    if (!strcmp(argv[i], "--problem"))
      arguments->problem = argv[i + 1];
    else if (!strcmp(argv[i], "--optimizer"))
      arguments->optimizer = argv[i + 1];
    else if (!strcmp(argv[i], "--precision"))
      arguments->precision = argv[i + 1];
    else if (!strcmp(argv[i], "--data"))
      arguments->data = argv[i + 1];
    else if (!strcmp(argv[i], "--members"))
      arguments->members = (size_t)strtoul(argv[i + 1], NULL, 10);
    else if (!strcmp(argv[i], "--seconds"))
      arguments->seconds = strtod(argv[i + 1], NULL);
    else
      return false;
  }
  return true;
}

/* The measurements of darcy; NULL when there are none, "" for problems that need none. */
static const char *find_data(const char *problem, const Arguments *arguments, char *path, size_t size) {
  const char *folder = getenv("RPINN_REFERENCE_DIR");
  if (strcmp(problem, "darcy") != 0) return "";
  if (arguments->data) return arguments->data;
  if (!folder) return NULL;
  snprintf(path, size, "%s/datasets/darcy_sigma0.1.csv", folder);
  return path;
}

int main(int argc, char **argv) {
  Arguments arguments = {0};
  if (!read_arguments(argc, argv, &arguments)) {
    fprintf(stderr,
            "usage: %s [--problem NAME] [--optimizer NAME] [--precision NAME] [--members N] [--seconds S] "
            "[--data FILE.csv]\n",
            argv[0]);
    return EXIT_FAILURE;
  }
  RpinnContext *context = rpinn_context_create();
  RpinnStatus status = context ? RPINN_OK : RPINN_ERROR_MEMORY;
  if (status == RPINN_OK) printf("problem,optimizer,precision,member,iteration,seconds,loss\n");
  for (size_t k = 0; k < NUM_CASES && status == RPINN_OK; k++) {
    char path[4096];
    Case work = cases[k];
    if (!is_wanted(work.problem, arguments.problem)) continue;
    if (arguments.members) work.num_members = arguments.members;
    if (arguments.seconds > 0) work.seconds = arguments.seconds;
    const char *data = find_data(work.problem, &arguments, path, sizeof path);
    if (data)
      status = run_case(context, &work, &arguments, *data ? data : NULL);
    else
      fprintf(stderr, "%s: %s skipped: no --data and RPINN_REFERENCE_DIR is not set\n", argv[0],
              work.problem);
  }
  if (status != RPINN_OK) {
    char message[1024] = "out of memory";
    if (context) rpinn_error_format(rpinn_context_error(context), message, sizeof message);
    fprintf(stderr, "%s: %s\n", argv[0], message);
  }
  rpinn_context_destroy(context);
  return rpinn_status_exit_code(status);
}
