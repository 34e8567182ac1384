/* What `rpinn bench --backend cuda` makes of its figures: shares of peaks, and how far bars are met. */
#include "check.h"

#include "arena.h"
#include "device_speed.h"
#include "json_reader.h"

/* Round figures: Adam in 2 ms where 3.6 are allowed, in tf32 in 3.6 where 1.8 are, and a step in 0.5 s where 0.4 are. */
static RpinnDeviceSpeed make_figures(void) {
  const RpinnDeviceCase *darcy = &rpinn_device_cases[2];
  RpinnDeviceSpeed speed = {
      .base = {&rpinn_device_speed_kind},
      .repetitions = 3,
      .device = "a GPU",
      .peaks = {[RPINN_PEAK_FLOAT] = 60e12,
                [RPINN_PEAK_DOUBLE] = 30e12,
                [RPINN_PEAK_TENSOR_TF32] = 300e12,
                [RPINN_PEAK_TENSOR_DOUBLE] = 64e12},
      .num_lines = 2,
      .lines = {{darcy, false, 0.06e12, 2e-3, 4e-3}, {darcy, true, 0.06e12, 3.6e-3, 4e-3}},
      .has_steps = true,
      .stepping = {.num_members = 500, .rows = 0.05, .gradient = 0.05, .steps = 0.4},
      .prediction = {100, 1000, 0.6e12, 0.1},
      .chaining = {512, 300000, 2, 1.5}};
  speed.stepping.gram_work = 3.2e12;
  speed.stepping.stages[RPINN_STAGE_GRAM] = 0.1;
  return speed;
}

static void shares_are_of_the_peak_that_counts(void **state) {
  (void)state;
  RpinnDeviceSpeed speed = make_figures();
  char *text = rpinn_bench_text(&speed.base);
  assert_non_null(text);
  assert_non_null(
      strstr(text, "FP32 60.0, FP64 30.0, TF32 tensor cores 300.0, FP64 tensor cores 64.0 TFLOP/s"));
  /* 0.06 TFLOP in 2 ms are 30 TFLOP/s, half of FP32; in 3.6 ms 16.7, of TF32 5.6 %. Copies: 2 of 4 ms, 0.4 of 4. */
  assert_non_null(strstr(text, "float       500    2.0000      30.0    50.0%     3.600     50.0%"));
  assert_non_null(strstr(text, "tf32        500    3.6000      16.7     5.6%     1.800     10.0%"));
  assert_non_null(strstr(text, "Gram matrix                       100.00    20.0%"));
  assert_non_null(
      strstr(text, "500.00 ms (bar 400); Gram matrices 32.0 TFLOP/s, 50.0 % of FP64 tensor cores"));
  /* 300000 leapfrogs in 2 s, where Adam has 500 gradients in 2 ms */
  assert_non_null(strstr(text,
                         "512 chains, 0.15 million leapfrogs per second, 60.0 % of Adam's gradients (bar 60 "
                         "%); 75.0 % of the time in launches"));
  assert_non_null(strstr(text, "100 members at 1000 points in 100.00 ms, 10.0 % of FP32"));
  free(text);
}

static void the_worst_bar_counts(void **state) {
  (void)state;
  RpinnDeviceSpeed speed = make_figures();
  check_relative(rpinn_bench_worst(&speed.base), 0.5, 1e-12); /* tf32 */
  speed.num_lines = 1;
  check_relative(rpinn_bench_worst(&speed.base), 0.8, 1e-12); /* a step */
  speed.has_steps = false;
  check_relative(rpinn_bench_worst(&speed.base), 1, 1e-12); /* chains */
  speed.chaining.num_chains = 0;
  check_relative(rpinn_bench_worst(&speed.base), 1.8, 1e-12); /* Adam */
  char *text = rpinn_bench_text(&speed.base);
  assert_non_null(strstr(text, "no cuBLAS"));
  free(text);
}

static void programs_read_the_same(void **state) {
  (void)state;
  RpinnDeviceSpeed speed = make_figures();
  RpinnArena *arena = rpinn_arena_create();
  RpinnContext *context = rpinn_context_create();
  char *text = rpinn_bench_json(&speed.base);
  const RpinnJsonValue *page, *steps;
  double number;
  assert_true(text && arena && context);
  assert_int_equal(rpinn_json_parse(context, arena, "bench", text, strlen(text), &page), RPINN_OK);
  assert_true(rpinn_json_as_number(rpinn_json_find(rpinn_json_find(page, "nuts"), "share_of_adam"), &number));
  check_relative(number, 0.6, 1e-12);
  steps = rpinn_json_find(page, "lm_iteration");
  assert_non_null(steps);
  assert_true(rpinn_json_as_number(rpinn_json_find(steps, "seconds"), &number));
  check_relative(number, 0.5, 1e-12);
  assert_true(
      rpinn_json_as_number(rpinn_json_find(rpinn_json_find(steps, "stages"), "Gram matrix"), &number));
  check_relative(number, 0.1, 1e-12);
  assert_true(rpinn_json_as_number(rpinn_json_find(page, "worst_share_of_bar"), &number));
  check_relative(number, 0.5, 1e-12);
  free(text);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

/* A name that is none, and a machine without a GPU. */
static void backends_without_a_benchmark_are_refused(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnBench *bench;
  char line[512];
  assert_int_equal(rpinn_bench_create(context, &(RpinnBenchOptions){.backend = "plain"}, &bench),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "there is no benchmark of backend 'plain'; expected cpu or cuda");
  assert_null(bench);
  rpinn_context_clear_error(context);
  RpinnStatus absent = rpinn_backend_describe(context, "cuda", line, sizeof line);
  if (absent == RPINN_OK) {
    print_message("skipped: there is a GPU, %s\n", line);
  } else {
    rpinn_context_clear_error(context);
    assert_int_equal(rpinn_bench_create(context, &(RpinnBenchOptions){.backend = "cuda"}, &bench), absent);
    assert_non_null(strstr(rpinn_context_error(context)->message, "backend cuda: "));
    assert_null(bench);
  }
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_are_of_the_peak_that_counts), cmocka_unit_test(the_worst_bar_counts),
      cmocka_unit_test(programs_read_the_same), cmocka_unit_test(backends_without_a_benchmark_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
