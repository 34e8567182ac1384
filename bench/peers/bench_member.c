/* Our side of the comparison with other libraries: members of a problem on the backend `cpu` in float.
 *
 *   bench_member export PROBLEM [NAME=VALUE …]
 *       One member as JSON, complete enough to compute the same energy elsewhere: networks, points, data,
 *       standard deviations, prior, offsets, theta, E, dE/dtheta, and E after num_steps of Adam.
 *   bench_member time SECONDS THREADS PROBLEM [NAME=VALUE …]
 *       Every thread advances a member of its own by Adam. Prints two times per member-iteration: what the
 *       clock says, divided by the iterations of all members together, and what the threads computed,
 *       divided by iterations and threads. They are the same on a quiet machine; the second does not count
 *       what other programs take.
 *
 * Data that the problem does not have count as zeros: speed does not depend on them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer_problem.h"

enum { MAX_THREADS = 64, NUM_STEPS = 100 };

typedef struct Member {
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnPosteriorMember target;
  RpinnObjective objective;
  RpinnAdamRule rule;
  RpinnAdamState state;
  double *offsets, *gradient;
} Member;

static RpinnStatus create_member(RpinnContext *context, const char *problem, int num_arguments,
                                 char **arguments, uint64_t number, Member *member) {
  const RpinnOverride settings[] = {{"backend", "cpu", "bench", true}, {"precision", "float", "bench", true}};
  RPINN_TRY(peer_problem_load(context, problem, "paper", sizeof settings / sizeof settings[0], settings,
                              num_arguments, arguments, &member->problem));
  RPINN_TRY(rpinn_posterior_create(context, member->problem, false, &member->posterior));
  size_t N = rpinn_posterior_num_parameters(member->posterior),
         M = rpinn_posterior_num_rows(member->posterior);
  member->state =
      (RpinnAdamState){calloc(N, sizeof(double)), calloc(N, sizeof(double)), calloc(N, sizeof(double)), 0};
  member->offsets = calloc(M + N, sizeof(double));
  member->gradient = calloc(N, sizeof(double));
  if (!member->state.theta || !member->state.m || !member->state.v || !member->offsets || !member->gradient)
    return rpinn_fail_memory(context);
  rpinn_posterior_start_glorot(member->posterior, number, member->state.theta);
  rpinn_posterior_draw_offsets(member->posterior, number, member->offsets);
  member->target = (RpinnPosteriorMember){.posterior = member->posterior, .offsets = member->offsets};
  member->objective = rpinn_posterior_objective(&member->target);
  member->rule = (RpinnAdamRule){
      .learning_rate = rpinn_problem_setting_number(member->problem, RPINN_SETTING_LEARNING_RATE),
      .decay_rate = rpinn_problem_setting_number(member->problem, RPINN_SETTING_DECAY_RATE),
      .decay_steps = rpinn_problem_setting_number(member->problem, RPINN_SETTING_DECAY_STEPS),
      .beta1 = 0.9,
      .beta2 = 0.999,
      .epsilon = 1e-8};
  return RPINN_OK;
}

static void destroy_member(Member *member) {
  rpinn_posterior_destroy(member->posterior);
  rpinn_problem_destroy(member->problem);
  free(member->state.theta);
  free(member->state.m);
  free(member->state.v);
  free(member->offsets);
  free(member->gradient);
}

static RpinnStatus advance(Member *member, size_t num_steps) {
  double energy;
  return member->objective.adam_advance(member->objective.data, &member->rule, &member->state, num_steps,
                                        &energy);
}

/* ---- export ---- */

static RpinnStatus export_member(RpinnContext *context, Member *member) {
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  size_t N = rpinn_posterior_num_parameters(member->posterior),
         M = rpinn_posterior_num_rows(member->posterior);
  double energy;
  rpinn_json_open(&json, NULL, '{');
  peer_json_model(&json, member->posterior);
  rpinn_json_open(&json, "adam", '{');
  rpinn_json_number(&json, "learning_rate", member->rule.learning_rate);
  rpinn_json_number(&json, "decay_rate", member->rule.decay_rate);
  rpinn_json_number(&json, "decay_steps", member->rule.decay_steps);
  rpinn_json_number(&json, "beta1", member->rule.beta1);
  rpinn_json_number(&json, "beta2", member->rule.beta2);
  rpinn_json_number(&json, "epsilon", member->rule.epsilon);
  rpinn_json_close(&json, '}');
  peer_json_numbers(&json, "offsets", member->offsets, M + N);
  peer_json_numbers(&json, "theta", member->state.theta, N);
  RPINN_TRY(rpinn_posterior_energy(context, member->posterior, member->state.theta, member->offsets, &energy,
                                   member->gradient, NULL));
  rpinn_json_number(&json, "energy", energy);
  peer_json_numbers(&json, "gradient", member->gradient, N);
  RPINN_TRY(advance(member, NUM_STEPS));
  RPINN_TRY(rpinn_posterior_energy(context, member->posterior, member->state.theta, member->offsets, &energy,
                                   NULL, NULL));
  rpinn_json_number(&json, "num_steps", NUM_STEPS);
  rpinn_json_number(&json, "energy_after_steps", energy);
  rpinn_json_close(&json, '}');
  return peer_json_print(context, &json);
}

/* ---- time ---- */

typedef struct Worker {
  Member member;
  pthread_t thread;
  double seconds;
  double rate, computing_rate; /* iterations per second of the clock, and of this thread's own time */
  RpinnStatus status;
} Worker;

static void *work(void *user) {
  Worker *worker = user;
  size_t chunk = rpinn_posterior_num_parameters(worker->member.posterior) > 10000 ? 5 : 100, count = 0;
  double elapsed, start = peer_seconds(CLOCK_MONOTONIC), computing = peer_seconds(CLOCK_THREAD_CPUTIME_ID);
  do {
    worker->status = advance(&worker->member, chunk);
    count += chunk;
    elapsed = peer_seconds(CLOCK_MONOTONIC) - start;
  } while (worker->status == RPINN_OK && elapsed < worker->seconds);
  worker->rate = (double)count / elapsed;
  worker->computing_rate = (double)count / (peer_seconds(CLOCK_THREAD_CPUTIME_ID) - computing);
  return NULL;
}

static RpinnStatus time_members(RpinnContext *context, double seconds, size_t num_threads, int num_arguments,
                                char **arguments) {
  static Worker workers[MAX_THREADS];
  double rate = 0, computing_rate = 0;
  for (size_t k = 0; k < num_threads; k++) {
    RPINN_TRY(create_member(context, arguments[0], num_arguments - 1, arguments + 1, k, &workers[k].member));
    RPINN_TRY(advance(&workers[k].member, 20)); /* warm */
    workers[k].seconds = seconds;
  }
  for (size_t k = 0; k < num_threads; k++)
    if (pthread_create(&workers[k].thread, NULL, work, &workers[k]) != 0)
      return rpinn_fail(context, RPINN_ERROR_MEMORY, "no thread to be had");
  for (size_t k = 0; k < num_threads; k++) {
    pthread_join(workers[k].thread, NULL);
    RPINN_TRY(workers[k].status);
    rate += workers[k].rate;
    computing_rate += workers[k].computing_rate;
    destroy_member(&workers[k].member);
  }
  printf("%.9g %.9g\n", 1 / rate, 1 / computing_rate);
  return RPINN_OK;
}

int main(int argc, char **argv) {
  RpinnContext *context = rpinn_context_create();
  RpinnStatus status;
  if (!context) return EXIT_FAILURE;
  double seconds = argc > 4 ? strtod(argv[2], NULL) : 0;
  size_t num_threads = argc > 4 ? (size_t)strtoul(argv[3], NULL, 10) : 0;
  if (argc > 2 && !strcmp(argv[1], "export")) {
    Member member = {0};
    status = create_member(context, argv[2], argc - 3, argv + 3, 0, &member);
    if (status == RPINN_OK) status = export_member(context, &member);
    destroy_member(&member);
  } else if (argc > 4 && !strcmp(argv[1], "time") && num_threads > 0 && num_threads <= MAX_THREADS) {
    status = time_members(context, seconds, num_threads, argc - 4, argv + 4);
  } else {
    fprintf(stderr,
            "usage: %s export PROBLEM [NAME=VALUE …]\n"
            "       %s time SECONDS THREADS PROBLEM [NAME=VALUE …]\n",
            argv[0], argv[0]);
    status = RPINN_ERROR_INPUT;
  }
  if (status != RPINN_OK) fprintf(stderr, "%s: %s\n", argv[0], rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return status == RPINN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
