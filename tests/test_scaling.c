/* The model of rpinn bench --scaling: what was put in is found, and what it says of more ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "scaling_model.h"

/* A row as ranks would be measured that keep to the model, with c = 10 ms. */
static RpinnScalingRow make_row(const RpinnScalingModel *model, double ranks) {
  RpinnScalingRow row = {.ranks = ranks, .cores = 2, .load = 0.5, .latency = 2e-5, .bandwidth = 1e9};
  if (ranks < 2) row.latency = row.bandwidth = (double)NAN;
  double start = model->start + model->start_per_rank * ranks;
  row.few_members = 100;
  row.many_members = 1000;
  row.few_served = start + 100 * model->serve;
  row.few_collected = row.few_served + 100 * model->collect;
  row.many_served = start + 1000 * model->serve;
  row.many_collected = row.many_served + 1000 * model->collect;
  row.member_seconds = 0.01;
  row.weak_members = 50;
  row.weak_seconds = 0.625;
  row.weak = 0.96;
  row.weak_alone = 0.8;
  row.strong_members = 100;
  row.strong_seconds = 1.25 / ranks;
  row.strong = 0.7;
  return row;
}

static const RpinnScalingModel truth = {
    .start = 0.02, .start_per_rank = 0.001, .serve = 1e-4, .collect = 2e-5};

static void what_was_put_in_is_found(void **state) {
  (void)state;
  RpinnScalingRow rows[] = {make_row(&truth, 1), make_row(&truth, 2), make_row(&truth, 4)};
  RpinnScalingModel found = rpinn_scaling_fit(rows, 3);
  check_close(found.serve, truth.serve, 1e-12);
  check_close(found.collect, truth.collect, 1e-12);
  check_close(found.start, truth.start, 1e-9);
  check_close(found.start_per_rank, truth.start_per_rank, 1e-9);
  check_close(rpinn_scaling_served(&rows[0]), 1e4, 1e-6);
  RpinnScalingModel of_one = rpinn_scaling_fit(rows, 1); /* through one point: no slope */
  check_close(of_one.start_per_rank, 0, 0);
  check_close(of_one.start, 0.021, 1e-9);
  rows[2].latency = 0.003; /* no rank is told at less than the cost of a message */
  check_close(rpinn_scaling_fit(rows, 3).start_per_rank, 0.003, 0);
}

/* Few ranks wait for their members, many of them for rank 0. */
static void ranks_wait_for_the_slower(void **state) {
  (void)state;
  /* 16 ranks: 0.02 + 0.016 + max(100 * 0.01, 1600 * 1e-4) + 0.01 + 1600 * 2e-5 */
  check_close(rpinn_scaling_seconds(&truth, 16, 100, 0.01), 1.078, 1e-12);
  /* 1024 ranks: 0.02 + 1.024 + max(1, 10.24) + 0.01 + 2.048 */
  check_close(rpinn_scaling_seconds(&truth, 1024, 100, 0.01), 13.342, 1e-12);
  check_close(rpinn_scaling_efficiency(&truth, 1024, 100, 0.01), 1 / 13.342, 1e-12);
  /* one rank has no others to wait for */
  check_close(rpinn_scaling_seconds(&truth, 1, 100, 0.01), 0.02 + 0.001 + 1 + 100 * 2e-5, 1e-12);
}

static void rows_travel_as_text(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnScalingRow row = make_row(&truth, 2), found;
  row.latency = (double)NAN;
  char *line = rpinn_scaling_row_json(&row), noise[4096];
  snprintf(noise, sizeof noise, "a word of the launcher\n%sand another\n", line);
  assert_int_equal(rpinn_scaling_row_read(context, noise, &found), RPINN_OK);
  assert_true(isnan(found.latency));
  check_close(found.strong_seconds, row.strong_seconds, 0);
  check_close(found.many_collected, row.many_collected, 0);
  assert_int_equal(rpinn_scaling_row_read(context, "mpirun: not found", &found), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "found 'mpirun: not found'"));
  assert_int_equal(rpinn_scaling_row_read(context, "{\"ranks\": 2}", &found), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "has no number 'cores'"));
  free(line);
  rpinn_context_destroy(context);
}

static void the_table_has_what_was_measured_and_what_follows(void **state) {
  (void)state;
  RpinnScalingRow rows[] = {make_row(&truth, 1), make_row(&truth, 2)};
  char *text = rpinn_scaling_text(rows, 2), *json = rpinn_scaling_json(rows, 2),
       *svg = rpinn_scaling_svg(rows, 2);
  /* ranks, weak, beside one alone, model, strong, served, latency, bandwidth, load: 0.5 s beside 0.5 + 0.001 + 0.01 + 0.001 */
  assert_non_null(strstr(text,
                         "\n     2       96.0%       80.0%       97.8%       70.0%       10000        20.0"
                         "        1000     0.5\n"));
  assert_non_null(strstr(text, "a  = 100.0 us"));
  assert_non_null(strstr(text, "7.5%")); /* 1024 ranks with members of 10 ms */
  assert_non_null(strstr(json, "\"serve\": "));
  assert_non_null(strstr(svg, "<svg xmlns="));
  assert_non_null(strstr(svg, "efficiency of weak scaling"));
  free(text);
  free(json);
  free(svg);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_put_in_is_found),
                                     cmocka_unit_test(ranks_wait_for_the_slower),
                                     cmocka_unit_test(rows_travel_as_text),
                                     cmocka_unit_test(the_table_has_what_was_measured_and_what_follows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
