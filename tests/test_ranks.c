/* Ranks in one process: who gets which task, messages of any size, ends and failures that all hear of, places; and whole runs by threads that
 * take themselves for ranks. tests/cli/mpi.sh does the same by MPI. */
#include "check.h"
#include "run_bench.h"

#include <pthread.h>
#include <stdatomic.h>

#include "launch.h"
#include "left_draws.h"
#include "mock_ranks.h"
#include "rank_handout.h"
#include "saved_states.h"
#include "steady_clock.h"

/* ---- who gets which task ---- */

static void test_every_task_is_given_once(void **state) {
  (void)state;
  enum { TASKS = 5000, RANKS = 3 };
  static uint8_t done[TASKS], given[TASKS];
  size_t threads[RANKS] = {2, 1, 4}, largest = 0, last = 0, num_answers = 0;
  uint64_t reserved[RANKS], tasks[RPINN_HANDOUT_MOST];
  for (size_t k = 0; k < TASKS; k += 7) done[k] = 1;
  RpinnHandout handout = {
      .num_tasks = TASKS, .done = done, .num_ranks = RANKS, .threads = threads, .reserved = reserved};
  rpinn_handout_begin(&handout);
  for (size_t r = 0; !rpinn_handout_is_over(&handout); r = (r + 1) % RANKS, num_answers++) {
    size_t count = rpinn_handout_take(&handout, r, 1, RPINN_HANDOUT_MOST, tasks);
    assert_true(count > 0);
    if (count > largest) largest = count;
    last = count;
    for (size_t k = 0; k < count; k++) assert_int_equal(given[tasks[k]]++, 0);
  }
  for (size_t k = 0; k < TASKS; k++) assert_int_equal(given[k], !done[k]);
  assert_true(largest > 500); /* many at once … */
  assert_int_equal(last, 1);  /* … and one by one towards the end */
  assert_true(num_answers < 100);
}

static void test_late_ranks_find_their_share(void **state) {
  (void)state;
  size_t threads[] = {2, 2, 2};
  uint64_t reserved[3], tasks[RPINN_HANDOUT_MOST];
  RpinnHandout handout = {.num_tasks = 6, .num_ranks = 3, .threads = threads, .reserved = reserved};
  rpinn_handout_begin(&handout);
  assert_int_equal(rpinn_handout_take(&handout, 1, 2, RPINN_HANDOUT_MOST, tasks), 2);
  assert_int_equal(rpinn_handout_take(&handout, 1, 2, RPINN_HANDOUT_MOST, tasks), 0);
  assert_false(rpinn_handout_is_over(&handout));
  assert_int_equal(rpinn_handout_take(&handout, 2, 1, RPINN_HANDOUT_MOST, tasks), 2);
  assert_int_equal(rpinn_handout_take(&handout, 0, 1, RPINN_HANDOUT_MOST, tasks), 2);
  assert_int_equal(tasks[1], 5);
  assert_true(rpinn_handout_is_over(&handout));
  /* Who has all that he needs gets no more of the last ones. */
  handout.num_tasks = 8;
  rpinn_handout_begin(&handout);
  for (size_t r = 0; r < 3; r++)
    assert_int_equal(rpinn_handout_take(&handout, r, 0, RPINN_HANDOUT_MOST, tasks), 2);
  assert_int_equal(rpinn_handout_take(&handout, 0, 0, RPINN_HANDOUT_MOST, tasks), 0);
  assert_int_equal(rpinn_handout_take(&handout, 0, 1, RPINN_HANDOUT_MOST, tasks), 1);
}

/* ---- saved states ---- */

static void test_states_are_taken_once(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnSavedStates *states;
  assert_int_equal(rpinn_saved_states_create(context, &states), RPINN_OK);
  for (uint64_t k = 0; k < 40; k++) {
    uint64_t task = k * 7 % 41, *bytes = malloc(sizeof *bytes);
    *bytes = task;
    assert_int_equal(rpinn_saved_states_put(context, states, task, bytes, sizeof *bytes), RPINN_OK);
  }
  size_t size = 0;
  uint64_t *taken = rpinn_saved_states_take(states, 14, &size);
  assert_non_null(taken);
  assert_int_equal(*taken, 14);
  assert_int_equal(size, sizeof *taken);
  free(taken);
  assert_null(rpinn_saved_states_take(states, 14, &size));
  assert_null(rpinn_saved_states_take(states, 41, &size));
  rpinn_saved_states_destroy(states);
  rpinn_context_destroy(context);
}

/* ---- places ---- */

static void test_processors_are_shared(void **state) {
  (void)state;
  RpinnRankPlace places[4] = {{.node = "a"}, {.node = "a"}, {.node = "a"}, {.node = "b"}};
  for (size_t r = 0; r < 3; r++) places[r].processors[1] = 0xff; /* eight for three of them */
  places[3].processors[1] = 0xf;                                 /* of another machine */
  assert_int_equal(rpinn_rank_place_share(4, places, 0), 2);
  assert_int_equal(rpinn_rank_place_share(4, places, 3), 4);
  places[0].processors[1] = 0xf0; /* bound to four, two of which the others leave alone */
  places[1].processors[1] = places[2].processors[1] = 0x3f;
  assert_int_equal(rpinn_rank_place_share(4, places, 0), 2);
  places[0].processors[1] = 1;
  assert_int_equal(rpinn_rank_place_share(4, places, 0), 1);
  RpinnRankPlace here = rpinn_rank_place_here(), other = here;
  assert_false(rpinn_rank_place_is_gone(&here, &other));
  other.process = 0x3fffffff; /* more than there can be */
  assert_true(rpinn_rank_place_is_gone(&here, &other));
  other.machine++;
  assert_false(rpinn_rank_place_is_gone(&here, &other));
}

/* ---- launchers ---- */

static const char *const variables[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
    "SLURM_NTASKS",         "SLURM_STEP_NUM_TASKS", "RPINN_MPI"};

static RpinnLauncher launcher_of(const char *settings) {
  char text[256];
  for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) unsetenv(variables[k]);
  snprintf(text, sizeof text, "%s", settings);
  for (char *rest, *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *equals = strchr(word, '=');
    *equals = '\0';
    setenv(word, equals + 1, 1);
  }
  RpinnLauncher launcher = rpinn_launcher_find();
  for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) unsetenv(variables[k]);
  return launcher;
}

static void check_launcher(const char *settings, RpinnMpi mpi, size_t rank, size_t size) {
  RpinnLauncher launcher = launcher_of(settings);
  check_true(launcher.mpi == mpi && launcher.launch.rank == rank && launcher.launch.size == size,
             "'%s' is %d, rank %zu of %zu", settings, (int)launcher.mpi, launcher.launch.rank,
             launcher.launch.size);
}

static void test_launchers_are_told_apart(void **state) {
  (void)state;
  check_launcher("", RPINN_MPI_NONE, 0, 1);
  check_launcher("OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 PMIX_RANK=3", RPINN_MPI_OPENMPI, 3, 8);
  check_launcher("PMI_RANK=1 PMI_SIZE=2", RPINN_MPI_MPICH, 1, 2);
  check_launcher("PMIX_RANK=1", RPINN_MPI_OPENMPI, 1, 0);
  check_launcher("PMIX_RANK=1 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=6", RPINN_MPI_OPENMPI, 1, 6);
  check_launcher("SLURM_PROCID=2 SLURM_NTASKS=6 SLURM_STEP_NUM_TASKS=6", RPINN_MPI_NONE, 2, 6);
  check_launcher("SLURM_PROCID=0 SLURM_NTASKS=6", RPINN_MPI_NONE, 0, 1); /* a batch script */
}

/* ---- threads as ranks ---- */

typedef struct Member {
  MockJob *job;
  size_t rank;
  pthread_t thread;
  void (*act)(RpinnContext *context, RpinnRanks *ranks, MockJob *job);
  int code; /* that it ends with … */
  int all;  /* … and that of all */
  char failure[1024];
} Member;

static void *be_rank(void *user) {
  Member *member = user;
  RpinnContext *context = rpinn_context_create();
  RpinnRanks *ranks = mock_ranks_open(context, member->job, member->rank);
  if (ranks) {
    member->act(context, ranks, member->job);
    char message[64];
    snprintf(message, sizeof message, "the disk of rank %zu is full", member->rank);
    member->all = rpinn_ranks_close(ranks, member->code, member->code ? message : NULL, member->failure);
  }
  rpinn_context_destroy(context);
  return NULL;
}

/* All ranks at once; `code` of one of them. */
static void act(size_t size, void (*function)(RpinnContext *context, RpinnRanks *ranks, MockJob *job),
                size_t failing, int code, Member *members, bool *is_aborted) {
  MockJob *job = mock_job_create(size);
  for (size_t r = 0; r < size; r++) {
    members[r] = (Member){.job = job, .rank = r, .act = function, .code = r == failing ? code : 0, .all = -1};
    assert_int_equal(pthread_create(&members[r].thread, NULL, be_rank, &members[r]), 0);
  }
  for (size_t r = 0; r < size; r++) pthread_join(members[r].thread, NULL);
  *is_aborted = mock_job_is_aborted(job);
  mock_job_destroy(job);
}

static atomic_int num_good;

static void talk(RpinnContext *context, RpinnRanks *ranks, MockJob *job) {
  enum { LARGE = 9 << 20 }; /* more than one piece */
  size_t rank = rpinn_ranks_rank(ranks), size = rpinn_ranks_size(ranks);
  double number = rank == 0 ? 1.5 : 0;
  bool good = rpinn_ranks_broadcast(context, ranks, &number, sizeof number) == RPINN_OK && number == 1.5;
  good &= !strcmp(rpinn_ranks_place(ranks, 3)->node, "node1");
  good &= rpinn_ranks_num_processors_of(ranks, 0) == 1 && rpinn_ranks_num_processors_alone(ranks, 0) == 3;
  (void)job;
  if (rank > 0) {
    unsigned char *bytes = malloc(LARGE);
    memset(bytes, (int)rank, LARGE);
    good &= rpinn_ranks_send(context, ranks, 0, RPINN_TAG_BENCH, bytes, rank == 1 ? LARGE : rank) == RPINN_OK;
    good &= rpinn_ranks_send(context, ranks, 0, RPINN_TAG_SHARE, NULL, 0) == RPINN_OK;
    free(bytes);
  }
  for (size_t r = size; rank == 0 && r-- > 1;) {
    RpinnRankMessage message;
    good &= rpinn_ranks_await(context, ranks, (int)r, RPINN_TAG_SHARE, &message) == RPINN_OK;
    good &= message.bytes && message.size == 0 && message.from == r;
    free(message.bytes);
    good &= rpinn_ranks_await(context, ranks, (int)r, RPINN_TAG_ANY, &message) == RPINN_OK;
    good &= message.size == (r == 1 ? LARGE : r) && message.tag == RPINN_TAG_BENCH;
    good &= message.bytes && ((unsigned char *)message.bytes)[message.size - 1] == r;
    free(message.bytes);
  }
  good &= rpinn_ranks_barrier(context, ranks) == RPINN_OK;
  atomic_fetch_add(&num_good, good);
}

static void test_messages_arrive(void **state) {
  (void)state;
  Member members[4];
  bool is_aborted;
  atomic_store(&num_good, 0);
  act(4, talk, 0, 0, members, &is_aborted);
  assert_int_equal(atomic_load(&num_good), 4);
  for (size_t r = 0; r < 4; r++) assert_int_equal(members[r].all, 0);
  assert_false(is_aborted);
}

/* Rank 2 wants an end, of which all hear. */
static void stop(RpinnContext *context, RpinnRanks *ranks, MockJob *job) {
  RpinnRankMessage message;
  (void)job;
  if (rpinn_ranks_rank(ranks) == 2) rpinn_ranks_ask_stop(ranks);
  RpinnStatus status = rpinn_ranks_await(context, ranks, RPINN_ANY_RANK, RPINN_TAG_ANY, &message);
  atomic_fetch_add(&num_good, status == RPINN_OK && !message.bytes && rpinn_ranks_is_stopped(ranks));
}

static void test_all_hear_of_an_end(void **state) {
  (void)state;
  Member members[3];
  bool is_aborted;
  atomic_store(&num_good, 0);
  act(3, stop, 0, 130, members, &is_aborted);
  assert_int_equal(atomic_load(&num_good), 3);
  for (size_t r = 0; r < 3; r++) assert_int_equal(members[r].all, 130); /* that of rank 0 */
  act(3, stop, 1, 130, members, &is_aborted);
  assert_int_equal(members[0].all, 0); /* another one, which was asked to end, has not failed */
}

/* Rank 1 ends with a failure while the others go on. */
static void fail_one(RpinnContext *context, RpinnRanks *ranks, MockJob *job) {
  RpinnRankMessage message;
  (void)job;
  if (rpinn_ranks_rank(ranks) == 1) return;
  RpinnStatus status = RPINN_OK;
  while (status == RPINN_OK)
    status = rpinn_ranks_receive(context, ranks, RPINN_ANY_RANK, RPINN_TAG_ANY, 5, &message);
  atomic_fetch_add(&num_good,
                   status == RPINN_ERROR_IO && strstr(rpinn_context_error(context)->message,
                                                      "rank 1 on node0: the disk of rank 1 is full"));
}

static void test_a_failure_ends_all(void **state) {
  (void)state;
  Member members[3];
  bool is_aborted;
  atomic_store(&num_good, 0);
  act(3, fail_one, 1, 1, members, &is_aborted);
  assert_int_equal(atomic_load(&num_good), 2);
  assert_int_equal(members[0].all, 1);
  check_true(strstr(members[0].failure, "the disk of rank 1 is full") != NULL, "%s", members[0].failure);
  assert_false(is_aborted); /* it has taken its leave */
}

/* Rank 1 cannot save what it has when rank 2 wants an end. */
static void fail_at_end(RpinnContext *context, RpinnRanks *ranks, MockJob *job) {
  RpinnRankMessage message;
  (void)job;
  if (rpinn_ranks_rank(ranks) == 2) rpinn_ranks_ask_stop(ranks);
  rpinn_ranks_await(context, ranks, RPINN_ANY_RANK, RPINN_TAG_ANY, &message);
  if (rpinn_ranks_rank(ranks) == 1) return;
  RpinnStatus status = rpinn_ranks_receive(context, ranks, RPINN_ANY_RANK, RPINN_TAG_ANY, 5, &message);
  atomic_fetch_add(&num_good, status == RPINN_ERROR_IO && strstr(rpinn_context_error(context)->message,
                                                                 "the disk of rank 1 is full") != NULL);
}

static void test_a_failure_at_the_end_is_one(void **state) {
  (void)state;
  Member members[3];
  bool is_aborted;
  atomic_store(&num_good, 0);
  act(3, fail_at_end, 1, 1, members, &is_aborted);
  assert_int_equal(atomic_load(&num_good), 2);
  assert_int_equal(members[0].all, 1);
}

/* Rank 2 gives no sign of life any more. */
static void lose_one(RpinnContext *context, RpinnRanks *ranks, MockJob *job) {
  RpinnRankMessage message;
  RpinnStatus status = RPINN_OK;
  if (rpinn_ranks_rank(ranks) == 2) mock_job_silence(job, 2);
  while (status == RPINN_OK)
    status = rpinn_ranks_receive(context, ranks, RPINN_ANY_RANK, RPINN_TAG_ANY, 5, &message);
  atomic_fetch_add(&num_good, strstr(rpinn_context_error(context)->message,
                                     "rank 2 on node1 has given no sign of life for 2 s") != NULL);
}

static void test_a_silent_rank_is_gone(void **state) {
  (void)state;
  Member members[3];
  bool is_aborted;
  double begun = rpinn_steady_seconds();
  setenv("RPINN_RANK_TIMEOUT", "2", 1);
  atomic_store(&num_good, 0);
  act(3, lose_one, 0, 1, members, &is_aborted);
  unsetenv("RPINN_RANK_TIMEOUT");
  assert_int_equal(atomic_load(&num_good), 3); /* rank 0 tells all */
  assert_int_equal(members[0].all, 1);
  assert_true(is_aborted);
  assert_true(rpinn_steady_seconds() - begun < 20);
}

/* ---- runs ---- */

static const char line[] = "name: line\n"
                           "coordinates: {x: [0, 1]}\n"
                           "fields: {u: {network: [3]}}\n"
                           "terms:\n"
                           "  u: {expect: u, at: {grid: 4}, data: x, noise: 0.1}\n"
                           "predict: {grid: 5, quantities: [u]}\n";
static const RunBench *own_bench;
static const char *own_settings, *own_name;

/* What others said to rank 0 before a run, and is not about it, is there afterwards. */
static bool has_waited(RpinnContext *context, RpinnRanks *ranks) {
  bool has = true;
  for (size_t r = 1; rpinn_ranks_rank(ranks) == 0 && r < rpinn_ranks_size(ranks); r++) {
    RpinnRankMessage message;
    has &= rpinn_ranks_receive(context, ranks, (int)r, RPINN_TAG_BENCH, 5, &message) == RPINN_OK;
    has &= message.bytes != NULL;
    free(message.bytes);
  }
  return has;
}

static void make_run(RpinnContext *context, RpinnRanks *ranks, MockJob *job) {
  RunBench bench = {.context = context, .arena = rpinn_arena_create()};
  RpinnRun *run = NULL;
  (void)job;
  memcpy(bench.folder, own_bench->folder, sizeof bench.folder);
  if (rpinn_ranks_rank(ranks) > 0) rpinn_ranks_send(context, ranks, 0, RPINN_TAG_BENCH, NULL, 0);
  RpinnStatus status =
      run_try(&bench, own_name, line, own_settings, (RpinnRunOptions){.ranks = ranks, .resume = true}, &run);
  if (status != RPINN_OK) print_error("%s\n", run_message(&bench));
  atomic_fetch_add(&num_good, status == RPINN_OK && has_waited(context, ranks));
  rpinn_run_destroy(run);
  rpinn_arena_destroy(bench.arena);
}

static double run_on_ranks(const RunBench *bench, const char *name, size_t size, const char *settings) {
  Member members[MOCK_MAX_RANKS];
  bool is_aborted;
  own_bench = bench;
  own_name = name;
  own_settings = settings;
  atomic_store(&num_good, 0);
  double begun = rpinn_steady_seconds();
  act(size, make_run, 0, 0, members, &is_aborted);
  assert_int_equal(atomic_load(&num_good), size);
  return rpinn_steady_seconds() - begun;
}

static void check_alike(const RunBench *bench, const char *one, const char *other) {
  static const char *const files[] = {"predictions.csv", "summary.csv", "run.yaml"};
  for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
    assert_string_equal(run_read(bench, one, files[k]), run_read(bench, other, files[k]));
  assert_false(run_has(bench, other, "ranks"));
}

static void test_runs_are_those_of_one_process(void **state) {
  const RunBench *bench = *state;
  static const char *const settings[] = {
      "samples=33 optimizer=adam iterations=5 prior_scale=1 threads=1",
      "method=nuts chains=5 samples=8 warmup=8 max_depth=3 prior_scale=1 threads=2",
      "method=laplace samples=12 prior_scale=loo threads=1",
      ("samples=18 optimizer=adam iterations=5 prior_scale=1 threads=1 correct=nuts correct_budget=60 "
       "max_depth=3"),
      "method=map iterations=10 prior_scale=1 threads=1",
      "method=svgd samples=300 iterations=4 prior_scale=1 threads=1", /* in more than one tile */
      "method=svgd samples=6 iterations=9 kernel=functions prior_scale=1 threads=2"};
  for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++) {
    char one[16], many[16];
    snprintf(one, sizeof one, "one%zu", k);
    snprintf(many, sizeof many, "many%zu", k);
    run_make(bench, one, line, settings[k]);
    run_on_ranks(bench, many, 2 + k % 6, settings[k]);
    check_alike(bench, one, many);
  }
  run_on_ranks(bench, "one0", 3, "samples=40 optimizer=adam iterations=5 prior_scale=1 threads=1");
  run_make(bench, "more", line, "samples=40 optimizer=adam iterations=5 prior_scale=1 threads=1");
  check_alike(bench, "more", "one0");
}

/* Draws go by way of a disk of the machine, and nothing is left there. */
static void test_draws_on_disks_of_machines(void **state) {
  const RunBench *bench = *state;
  static const char *const settings[] = {
      "samples=33 optimizer=adam iterations=5 prior_scale=1 threads=1",
      "method=nuts chains=5 samples=8 warmup=8 max_depth=3 prior_scale=1 threads=2"};
  const char *disk = run_path(bench, "disk", NULL);
  setenv("RPINN_SCRATCH_SECONDS", "0", 1); /* each draw at once */
  assert_int_equal(mkdir(disk, 0777), 0);
  for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++) {
    char one[16], many[16], with_disk[RUN_PATH];
    snprintf(one, sizeof one, "one%zu", k);
    snprintf(many, sizeof many, "many%zu", k);
    snprintf(with_disk, sizeof with_disk, "%s scratch=%s", settings[k], disk);
    run_make(bench, one, line, settings[k]);
    run_on_ranks(bench, many, 4, with_disk);
    check_alike(bench, one, many);
  }
  unsetenv("RPINN_SCRATCH_SECONDS");
  assert_int_equal(rmdir(disk), 0); /* it is empty */
}

/* All are asked to end before rank 0 has looked at the run, and the others have left then. */
static void resume_too_late(RpinnContext *context, RpinnRanks *ranks, MockJob *job) {
  RunBench bench = {.context = context, .arena = rpinn_arena_create()};
  RpinnRankMessage message;
  RpinnRun *run = NULL;
  bool is_first = rpinn_ranks_rank(ranks) == 0;
  (void)job;
  memcpy(bench.folder, own_bench->folder, sizeof bench.folder);
  if (is_first) rpinn_ranks_ask_stop(ranks);
  rpinn_ranks_await(context, ranks, RPINN_ANY_RANK, RPINN_TAG_ANY, &message);
  for (size_t r = 1; is_first && r < rpinn_ranks_size(ranks); r++)
    while (!rpinn_ranks_has_left(ranks, r))
      rpinn_ranks_receive(context, ranks, (int)r, RPINN_TAG_ANY, 0.01, &message);
  RpinnStatus status =
      run_try(&bench, own_name, line, own_settings, (RpinnRunOptions){.ranks = ranks, .resume = true}, &run);
  atomic_fetch_add(&num_good, status == (is_first ? RPINN_ERROR_INTERRUPTED : RPINN_OK));
  rpinn_run_destroy(run);
  rpinn_arena_destroy(bench.arena);
}

/* By ranks that have no scratch folder themselves, on two machines; not before those of both could look for it. */
static void test_what_was_left_is_rescued(void **state) {
  const RunBench *bench = *state;
  char path[RPINN_PATH_SIZE];
  Member members[4];
  bool is_aborted;
  run_make(bench, "left", line, "samples=5 optimizer=adam iterations=5 prior_scale=1 threads=1");
  leave_member(bench, "left", path);
  assert_int_equal(access(path, F_OK), 0);
  own_bench = bench;
  own_name = "left";
  own_settings = "samples=20 optimizer=adam iterations=5 prior_scale=1 threads=1";
  atomic_store(&num_good, 0);
  act(4, resume_too_late, 0, 0, members, &is_aborted);
  assert_int_equal(atomic_load(&num_good), 4);
  check_session(bench, "left", "0123abcd");
  run_on_ranks(bench, "left", 4, "samples=20 optimizer=adam iterations=5 prior_scale=1 threads=1");
  const RpinnJsonValue *summary = run_json(bench, "left");
  assert_int_equal((int)json_at(summary, "members/stops/budget")->number, 19);
  assert_int_equal((int)json_at(summary, "members/stops/no_progress")->number, 1);
  assert_int_not_equal(access(path, F_OK), 0);
  check_session(bench, "left", "");
}

/* Members that cost next to nothing: what rank 0 hands out and collects, the results included. */
static void test_many_members_a_second(void **state) {
  const RunBench *bench = *state;
  enum { MEMBERS = 20000 };
  char settings[128];
  snprintf(settings, sizeof settings, "samples=%d optimizer=adam iterations=1 prior_scale=1 threads=1",
           MEMBERS);
  double seconds = run_on_ranks(bench, "quick", 3, settings);
  print_message("%d members by 3 ranks: %.0f a second\n", MEMBERS, MEMBERS / seconds);
  assert_int_equal(run_csv(bench, "quick", "predictions.csv")->num_rows, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_task_is_given_once),    cmocka_unit_test(test_late_ranks_find_their_share),
      cmocka_unit_test(test_states_are_taken_once),       cmocka_unit_test(test_processors_are_shared),
      cmocka_unit_test(test_launchers_are_told_apart),    cmocka_unit_test(test_messages_arrive),
      cmocka_unit_test(test_all_hear_of_an_end),          cmocka_unit_test(test_a_failure_ends_all),
      cmocka_unit_test(test_a_failure_at_the_end_is_one), cmocka_unit_test(test_a_silent_rank_is_gone),
      test_in_folder(test_runs_are_those_of_one_process), test_in_folder(test_draws_on_disks_of_machines),
      test_in_folder(test_what_was_left_is_rescued),      test_in_folder(test_many_members_a_second)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
