/* Draws in blocks: their order, what is computed of which, and ends that somebody wants. */
#include "check.h"

#include "draw_blocks.h"
#include "run_record.h"
#include "temporary_folder.h"

enum { NUM_MEMBERS = 9001, NUM_THREADS = 3 }; /* more than two blocks */

typedef struct Visit {
  RpinnContext *context;
  RpinnRun run;
  RpinnPosterior first;
  RpinnPosterior *posteriors[NUM_THREADS];
  size_t workers[NUM_THREADS]; /* draws that each thread has computed */
  uint64_t next;               /* member to be taken */
  uint64_t stop_after;         /* members to be taken before somebody wants an end */
  uint64_t refuse;             /* the member that look refuses */
} Visit;

static bool is_failed(uint64_t index) {
  return index % 7 == 3;
}
static double parameter_of(uint64_t index) {
  return 0.5 + (double)index;
}

static void require(RpinnContext *context, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
}

/* Members with two parameters, a statistic and a trace; some have failed. */
static void fill_store(RpinnContext *context, RpinnMemberStore *store) {
  for (uint64_t index = 0; index < NUM_MEMBERS; index++) {
    const double parameters[] = {parameter_of(index), -1}, statistic = 3 * (double)index;
    const double trace[] = {0, (double)index};
    RpinnStoredMember member = {.index = index,
                                .failed = is_failed(index),
                                .num_parameters = is_failed(index) ? 0 : 2,
                                .parameters = parameters,
                                .num_statistics = 1,
                                .statistics = &statistic,
                                .num_trace = 1,
                                .trace = trace,
                                .stop = index % 2 ? "budget" : "gradient_small"};
    require(context, rpinn_member_store_put(context, store, &member));
  }
  require(context, rpinn_member_store_flush(context, store));
}

static RpinnStatus look(void *user, const RpinnVisitedDraw *draw, bool *compute) {
  const Visit *visit = user;
  *compute = !draw->stored->failed;
  return draw->draw == visit->refuse ? rpinn_fail(visit->context, RPINN_ERROR_INPUT, "refused") : RPINN_OK;
}

static void *worker(void *user, size_t thread) {
  return &((Visit *)user)->workers[thread];
}

static RpinnStatus compute(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                           double *values) {
  size_t *count = worker;
  (void)context;
  ++*count;
  assert_false(draw->stored->failed);
  values[0] = 2 * draw->stored->parameters[0];
  values[1] = draw->stored->parameters[1];
  return RPINN_OK;
}

static RpinnStatus take(void *user, const RpinnVisitedDraw *draw, const double *values) {
  Visit *visit = user;
  uint64_t index = visit->next++;
  const RpinnStoredMember *stored = draw->stored;
  assert_int_equal(draw->draw, index);
  assert_int_equal(stored->index, index);
  assert_int_equal(stored->failed, is_failed(index));
  check_close(stored->statistics[0], 3 * (double)index, 0);
  assert_int_equal(stored->num_trace, 1);
  check_close(stored->trace[1], (double)index, 0);
  assert_string_equal(stored->stop, index % 2 ? "budget" : "gradient_small");
  if (is_failed(index)) {
    assert_null(values);
    return RPINN_OK;
  }
  check_close(stored->parameters[0], parameter_of(index), 0);
  check_close(values[0], 2 * parameter_of(index), 0);
  check_close(values[1], -1, 0);
  return RPINN_OK;
}

static bool wants_an_end(void *user) {
  const Visit *visit = user;
  return visit->next >= visit->stop_after;
}

static void open_visit(Visit *visit) {
  *visit = (Visit){.context = rpinn_context_create(), .stop_after = UINT64_MAX, .refuse = UINT64_MAX};
  remove_tree("blocks.db");
  require(visit->context, rpinn_member_store_open(visit->context, "blocks.db", "blocks", &visit->run.store));
  fill_store(visit->context, visit->run.store);
  visit->first.model.num_parameters = 2;
  visit->posteriors[0] = &visit->first;
  visit->run.posteriors = visit->posteriors;
  visit->run.plan = (RpinnDrawPlan){.num_chains = 1, .num_draws = NUM_MEMBERS};
}

static RpinnStatus perform(Visit *visit, size_t num_threads) {
  RpinnDrawBlocks blocks = {.run = &visit->run,
                            .num_values = 2,
                            .user = visit,
                            .look = look,
                            .worker = worker,
                            .compute = compute,
                            .take = take};
  visit->run.num_posteriors = num_threads;
  visit->next = 0;
  memset(visit->workers, 0, sizeof visit->workers);
  return rpinn_draw_blocks_visit(visit->context, &blocks);
}

static void draws_come_in_order_with_their_values(void **state) {
  Visit visit;
  (void)state;
  open_visit(&visit);
  for (size_t threads = 1; threads <= NUM_THREADS; threads += NUM_THREADS - 1) {
    require(visit.context, perform(&visit, threads));
    assert_int_equal(visit.next, NUM_MEMBERS);
    size_t computed = 0, expected = 0;
    for (size_t i = 0; i < NUM_THREADS; i++) computed += visit.workers[i];
    for (uint64_t index = 0; index < NUM_MEMBERS; index++) expected += !is_failed(index);
    assert_int_equal(computed, expected); /* each once */
  }
  /* Fewer draws than the store has, and fewer than threads. */
  visit.run.plan.num_draws = 2;
  require(visit.context, perform(&visit, NUM_THREADS));
  assert_int_equal(visit.next, 2);
  rpinn_member_store_close(visit.run.store);
  rpinn_context_destroy(visit.context);
}

static void an_end_and_a_refusal_are_handed_on(void **state) {
  Visit visit;
  (void)state;
  open_visit(&visit);
  rpinn_context_set_interrupted(visit.context, wants_an_end, &visit);
  visit.stop_after = 1; /* after the first block */
  assert_int_equal(perform(&visit, NUM_THREADS), RPINN_ERROR_INTERRUPTED);
  assert_in_range(visit.next, 1, NUM_MEMBERS - 1);
  rpinn_context_set_interrupted(visit.context, NULL, NULL);
  visit.run.wants_end = wants_an_end; /* so may whoever has the run made */
  visit.run.user = &visit;
  assert_int_equal(perform(&visit, NUM_THREADS), RPINN_ERROR_INTERRUPTED);
  assert_in_range(visit.next, 1, NUM_MEMBERS - 1);
  visit.stop_after = UINT64_MAX;
  visit.refuse = 5000;
  assert_int_equal(perform(&visit, NUM_THREADS), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(visit.context)->message, "refused");
  assert_in_range(visit.next, 1, 5000); /* nothing from there on */
  rpinn_member_store_close(visit.run.store);
  rpinn_context_destroy(visit.context);
}

/* One bit of the number that member `index` has as its parameter. */
static void damage(RpinnContext *context, RpinnRun *run, uint64_t index) {
  enum { MOST_BYTES = 8 << 20 };
  double number = parameter_of(index);
  unsigned char *bytes = malloc(MOST_BYTES);
  rpinn_member_store_close(run->store);
  FILE *file = fopen("blocks.db", "r+b");
  assert_true(bytes && file);
  size_t place = 0, size = fread(bytes, 1, MOST_BYTES, file);
  while (place + sizeof number <= size && memcmp(bytes + place, &number, sizeof number) != 0) place++;
  assert_true(place + sizeof number <= size);
  bytes[place] ^= 1;
  assert_int_equal(fseek(file, (long)place, SEEK_SET), 0);
  assert_int_equal(fwrite(bytes + place, 1, 1, file), 1);
  fclose(file);
  free(bytes);
  require(context, rpinn_member_store_open(context, "blocks.db", "blocks", &run->store));
}

/* What stands before a damaged draw is handed on, and it is named, whether it is computed or refused. */
static void damaged_draws_are_found(void **state) {
  static const char message[] = "'blocks.db' is damaged: member 4200 has a wrong checksum";
  Visit visit;
  (void)state;
  open_visit(&visit);
  damage(visit.context, &visit.run, 4200);
  for (size_t threads = 1; threads <= NUM_THREADS; threads += NUM_THREADS - 1) {
    assert_int_equal(perform(&visit, threads), RPINN_ERROR_INPUT);
    assert_string_equal(rpinn_context_error(visit.context)->message, message);
    assert_int_equal(visit.next, 4200);
    rpinn_context_clear_error(visit.context);
  }
  visit.refuse = 4200;
  assert_int_equal(perform(&visit, NUM_THREADS), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(visit.context)->message, message);
  rpinn_member_store_close(visit.run.store);
  rpinn_context_destroy(visit.context);
}

typedef struct Chosen {
  size_t count;
  uint64_t indices[8];
} Chosen;

static RpinnStatus choose(void *user, const RpinnVisitedDraw *draw) {
  Chosen *chosen = user;
  assert_int_equal(draw->draw, draw->stored->index);
  check_close(draw->stored->parameters[0], parameter_of(draw->draw), 0);
  assert_true(chosen->count < 8);
  chosen->indices[chosen->count++] = draw->draw;
  return RPINN_OK;
}

/* Members 3, 10, 17, … have failed: the k-th of the others is k + (k + 3) / 6. */
static void some_draws_are_chosen_among_those_that_did_not_fail(void **state) {
  Visit visit;
  Chosen all = {0}, few = {0};
  (void)state;
  open_visit(&visit);
  require(visit.context, rpinn_draw_store_visit_some(visit.context, visit.run.store, &visit.run.plan, 1000, 5,
                                                     choose, &all));
  assert_int_equal(all.count, 5);
  for (uint64_t k = 0; k < 5; k++) assert_int_equal(all.indices[k], 1000 * k + (1000 * k + 3) / 6);
  visit.run.plan.num_draws = 10; /* 0, 1, 2, 4, 5, 6, 7, 8, 9 */
  require(visit.context,
          rpinn_draw_store_visit_some(visit.context, visit.run.store, &visit.run.plan, 3, 8, choose, &few));
  assert_int_equal(few.count, 3);
  assert_true(few.indices[0] == 0 && few.indices[1] == 4 && few.indices[2] == 7);
  rpinn_member_store_close(visit.run.store);
  rpinn_context_destroy(visit.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(draws_come_in_order_with_their_values),
                                     cmocka_unit_test(an_end_and_a_refusal_are_handed_on),
                                     cmocka_unit_test(damaged_draws_are_found),
                                     cmocka_unit_test(some_draws_are_chosen_among_those_that_did_not_fail)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
