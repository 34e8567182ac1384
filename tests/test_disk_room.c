/* Before HDF5 sees posterior.nc the disk is asked for room: never for less than the file will take, since HDF5 does not
 * survive a full disk, and not for much more. */
#define _GNU_SOURCE /* fallocate */
#include <fcntl.h>
#include <sys/stat.h>

#include "posterior_file.h"
#include "problem_bench.h"
#include "temporary_folder.h"

/* Through the linker's --wrap. */
static size_t most_asked;
int __real_fallocate(int descriptor, int mode, off_t offset, off_t length);
int __wrap_fallocate(int descriptor, int mode, off_t offset, off_t length);

int __wrap_fallocate(int descriptor, int mode, off_t offset, off_t length) {
  if ((size_t)length > most_asked) most_asked = (size_t)length;
  return __real_fallocate(descriptor, mode, offset, length);
}

/* A file of chains of draws for a network of so many parameters; the bytes that it has in the end. */
static size_t write_file(const ProblemBench *bench, size_t num_chains, size_t num_draws, size_t num_warmup) {
  static const char *const names[] = {"loss"};
  const RpinnPosterior *posterior = bench->posterior;
  size_t N = posterior->model.num_parameters, M = posterior->model.num_rows,
         num_values = posterior->data->predict.count * posterior->problem->num_predicted;
  RpinnPosteriorFileOptions options = {.method = "test",
                                       .num_chains = num_chains,
                                       .num_draws = num_draws,
                                       .num_warmup = num_warmup,
                                       .num_statistics = 1,
                                       .statistic_names = names,
                                       .keep_every = 1};
  double *numbers = calloc(N + 2 * M + num_values + 1, sizeof *numbers);
  RpinnPosteriorFile *file;
  most_asked = 0;
  bench_require(bench,
                rpinn_posterior_file_create(bench->context, "posterior.nc", posterior, &options, &file),
                "create");
  for (size_t chain = 0; chain < num_chains; chain++) {
    RpinnPosteriorDraw draw = {.chain = chain,
                               .parameters = numbers,
                               .statistics = numbers,
                               .log_likelihood = numbers,
                               .expected = numbers,
                               .held_out = numbers,
                               .predictions = numbers};
    for (draw.draw = 0; draw.draw < num_warmup; draw.draw++)
      bench_require(bench, rpinn_posterior_file_add_warmup(bench->context, file, &draw), "warmup");
    for (draw.draw = 0; draw.draw < num_draws; draw.draw++)
      bench_require(bench, rpinn_posterior_file_add(bench->context, file, &draw), "draw");
  }
  bench_require(bench, rpinn_posterior_file_finish(bench->context, file), "finish");
  rpinn_posterior_file_destroy(file);
  free(numbers);
  struct stat info;
  assert_int_equal(stat("posterior.nc", &info), 0);
  return (size_t)info.st_size;
}

static ProblemBench open_bench(size_t width, size_t num_data, size_t num_points) {
  char yaml[512];
  snprintf(yaml, sizeof yaml,
           "name: room\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [%zu]}}\n"
           "terms: {a: {expect: u, at: {grid: %zu}, data: 1, noise: 0.1},\n"
           "        held: {expect: u, at: {grid: %zu}, data: 1, noise: 0.1, role: test}}\nprior: "
           "{reference_term: a}\n"
           "predict: {grid: %zu, quantities: [u]}\nsettings: {precision: double}\n",
           width, num_data, num_data, num_points);
  ProblemBench bench = bench_parse(yaml, NULL);
  bench_build(&bench);
  return bench;
}

/* Chunks hold two rows of 60 kB: three draws take two of them, and so do the predictions. */
static void enough_room_is_asked_for(void **state) {
  (void)state;
  static const struct {
    size_t width, num_data, num_points, num_chains, num_draws, num_warmup;
  } cases[] = {{2500, 4, 3, 60, 3, 0}, {2500, 4, 3, 30, 1, 5},    {3, 4, 7500, 60, 3, 0},
               {3, 7500, 3, 60, 3, 0}, {2500, 4, 7500, 40, 5, 3}, {3, 4, 3, 2, 4, 0},
               {3, 4, 3, 1, 20000, 0}, {50, 4, 900, 2, 700, 0}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ProblemBench bench = open_bench(cases[k].width, cases[k].num_data, cases[k].num_points);
    size_t taken = write_file(&bench, cases[k].num_chains, cases[k].num_draws, cases[k].num_warmup);
    print_message("  %zu bytes asked for, %zu taken\n", most_asked, taken);
    check_true(most_asked >= taken, "case %zu: %zu bytes asked for, %zu taken", k, most_asked, taken);
    check_true((double)most_asked < 1.5 * (double)taken + 4e6, "case %zu: %zu bytes asked for, %zu taken", k,
               most_asked, taken);
    bench_close(&bench);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(enough_room_is_asked_for)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
