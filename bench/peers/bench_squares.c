/* Our side of the comparison of Levenberg–Marquardt with other libraries: members of rPINN as `rpinn run` makes them by
 * default, on the backend `cpu` in float, with the noise as stated and a prior of the shape fan_in and of a given scale.
 *
 *   bench_squares export MEMBERS SCALE PROBLEM [NAME=VALUE …]
 *       The least squares as JSON, complete enough to compute them elsewhere: networks, points, data, standard deviations,
 *       prior, and for each member its offsets, where it starts, and its energy there in double.
 *   bench_squares minimize THREADS MEMBERS SCALE PROBLEM [NAME=VALUE …]
 *       Minimises the members, which the threads take in turn. Prints a line for each: its number, computing seconds of its
 *       thread, iterations, why it stopped, and the energy where it stopped in double. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "member_slots.h"
#include "peer_problem.h"
#include "run_targets.h"

enum { MAX_THREADS = 64 };

/* The members of one thread. Points into itself: must stay where it is. */
typedef struct Team {
  RpinnContext *context;
  RpinnPosterior *posterior;
  RpinnMemberSlots *slots;
  RpinnDoubleTarget exact;
  double *offsets, *theta; /* [M + N], [N] of the member at work */
  size_t num_rows, num_parameters;
} Team;

/* What became of a member. */
typedef struct Outcome {
  double seconds, energy;
  size_t iterations;
  RpinnStop stop;
} Outcome;

static RpinnStatus load(RpinnContext *context, const char *scale, int num_arguments, char **arguments,
                        RpinnProblem **problem) {
  const RpinnOverride settings[] = {
      {"backend", "cpu", "bench", true},        {"precision", "float", "bench", true},
      {"likelihood", "noise", "bench", true},   {"method", "rpinn", "bench", true},
      {"optimizer", "lm", "bench", true},       {"start", "prior", "bench", true},
      {"prior_shape", "fan_in", "bench", true}, {"prior_scale", scale, "bench", true}};
  return peer_problem_load(context, arguments[0], NULL, sizeof settings / sizeof settings[0], settings,
                           num_arguments - 1, arguments + 1, problem);
}

/* Takes the posterior. */
static RpinnStatus team_open(RpinnContext *context, RpinnPosterior *posterior, Team *team) {
  size_t N = rpinn_posterior_num_parameters(posterior), M = rpinn_posterior_num_rows(posterior);
  *team = (Team){.context = context,
                 .posterior = posterior,
                 .offsets = calloc(M + N, sizeof(double)),
                 .theta = calloc(N, sizeof(double)),
                 .num_rows = M,
                 .num_parameters = N};
  if (!team->offsets || !team->theta) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_member_slots_create(context, posterior, &team->slots));
  return rpinn_double_target_open(context, posterior, &team->exact);
}

static void team_close(Team *team) {
  rpinn_double_target_close(&team->exact);
  rpinn_posterior_destroy(team->posterior);
  free(team->offsets);
  free(team->theta);
}

static void take_member(Team *team, uint64_t member) {
  rpinn_posterior_draw_offsets(team->posterior, member, team->offsets);
  rpinn_posterior_start_prior(team->posterior, team->offsets, team->theta);
}

static RpinnStatus exact_energy(Team *team, const double *theta, double *energy) {
  RpinnEnergyObjective *sum = rpinn_energy_objective_create(&team->exact.squares, team->offsets);
  if (!sum) return rpinn_fail_memory(team->context);
  RpinnObjective objective = rpinn_energy_objective(sum);
  RpinnStatus status = objective.evaluate(objective.data, theta, energy, NULL);
  rpinn_energy_objective_destroy(sum);
  return status;
}

/* ---- export ---- */

static RpinnStatus export_members(Team *team, size_t num_members) {
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  peer_json_model(&json, team->posterior);
  rpinn_json_open(&json, "members", '[');
  for (size_t k = 0; k < num_members; k++) {
    double energy;
    take_member(team, k);
    RPINN_TRY(exact_energy(team, team->theta, &energy));
    rpinn_json_open(&json, NULL, '{');
    peer_json_numbers(&json, "offsets", team->offsets, team->num_rows + team->num_parameters);
    peer_json_numbers(&json, "theta", team->theta, team->num_parameters);
    rpinn_json_number(&json, "energy", energy);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  return peer_json_print(team->context, &json);
}

/* ---- minimize ---- */

static RpinnStatus minimize(Team *team, const RpinnMinimizeOptions *options, uint64_t member,
                            Outcome *outcome) {
  RpinnOptimizer *optimizer = NULL;
  take_member(team, member);
  double start = peer_seconds(CLOCK_THREAD_CPUTIME_ID);
  RPINN_TRY(rpinn_minimize_create(team->context, options, &team->slots->objective, &team->slots->squares, 0,
                                  team->offsets, &optimizer));
  RpinnStatus status = rpinn_optimizer_start(team->context, optimizer, team->theta);
  if (status == RPINN_OK) status = rpinn_optimizer_advance(team->context, optimizer, SIZE_MAX);
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  outcome->seconds = peer_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
  outcome->iterations = optimum.num_iterations;
  outcome->stop = optimum.stop;
  if (status == RPINN_OK) status = exact_energy(team, optimum.best_theta, &outcome->energy);
  rpinn_optimizer_destroy(optimizer);
  return status;
}

typedef struct Worker {
  Team team;
  const RpinnMinimizeOptions *options;
  size_t first, num_workers, num_members;
  Outcome *outcomes; /* [num_members] of all workers */
  pthread_t thread;
  RpinnStatus status;
} Worker;

/* The first member is made twice: once to warm the caches, as other libraries are. */
static void *work(void *user) {
  Worker *worker = user;
  Team *team = &worker->team;
  Outcome warm;
  worker->status = minimize(team, worker->options, worker->first, &warm);
  for (size_t k = worker->first; k < worker->num_members && worker->status == RPINN_OK;
       k += worker->num_workers)
    worker->status = minimize(team, worker->options, k, &worker->outcomes[k]);
  return NULL;
}

/* What went wrong with a worker is told on its own context. */
static RpinnStatus hand_on(RpinnContext *context, const Worker *worker, RpinnStatus status) {
  if (status == RPINN_OK) return RPINN_OK;
  return rpinn_fail(context, status, "%s", rpinn_context_error(worker->team.context)->message);
}

static RpinnStatus open_workers(RpinnContext *context, const RpinnProblem *problem, size_t num_threads,
                                Worker *workers) {
  for (size_t t = 0; t < num_threads; t++) {
    RpinnPosterior *posterior;
    RpinnContext *own = workers[t].team.context = rpinn_context_create();
    if (!own) return rpinn_fail_memory(context);
    RPINN_TRY(t ? rpinn_posterior_share(context, workers[0].team.posterior, &posterior)
                : rpinn_posterior_create(context, problem, true, &posterior));
    RPINN_TRY(hand_on(context, &workers[t], team_open(own, posterior, &workers[t].team)));
  }
  return RPINN_OK;
}

static RpinnStatus run_workers(RpinnContext *context, size_t num_threads, Worker *workers) {
  RpinnStatus status = RPINN_OK;
  for (size_t t = 0; t < num_threads; t++)
    if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0) {
      fprintf(stderr, "no thread to be had\n");
      exit(EXIT_FAILURE);
    }
  for (size_t t = 0; t < num_threads; t++) {
    pthread_join(workers[t].thread, NULL);
    if (status == RPINN_OK) status = hand_on(context, &workers[t], workers[t].status);
  }
  return status;
}

static RpinnStatus minimize_members(RpinnContext *context, const RpinnProblem *problem, size_t num_threads,
                                    size_t num_members) {
  static Worker workers[MAX_THREADS];
  RpinnMinimizeOptions options = rpinn_run_minimize_options(problem);
  Outcome *outcomes = calloc(num_members, sizeof *outcomes);
  if (!outcomes) return rpinn_fail_memory(context);
  RpinnStatus status = open_workers(context, problem, num_threads, workers);
  for (size_t t = 0; t < num_threads; t++) {
    workers[t].options = &options;
    workers[t].first = t;
    workers[t].num_workers = num_threads;
    workers[t].num_members = num_members;
    workers[t].outcomes = outcomes;
  }
  if (status == RPINN_OK) status = run_workers(context, num_threads, workers);
  for (size_t k = 0; k < num_members && status == RPINN_OK; k++)
    printf("%zu %.9g %zu %s %.12g\n", k, outcomes[k].seconds, outcomes[k].iterations,
           rpinn_stop_name(outcomes[k].stop), outcomes[k].energy);
  for (size_t t = num_threads; t-- > 0;) { /* the first owns what the others share */
    team_close(&workers[t].team);
    rpinn_context_destroy(workers[t].team.context);
  }
  free(outcomes);
  return status;
}

static RpinnStatus export_problem(RpinnContext *context, const RpinnProblem *problem, size_t num_members) {
  RpinnPosterior *posterior;
  Team team = {0};
  RPINN_TRY(rpinn_posterior_create(context, problem, true, &posterior));
  RpinnStatus status = team_open(context, posterior, &team);
  if (status == RPINN_OK) status = export_members(&team, num_members);
  team_close(&team);
  return status;
}

static size_t count_of(const char *text) {
  return (size_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv) {
  bool exports = argc > 4 && !strcmp(argv[1], "export"),
       minimizes = argc > 5 && !strcmp(argv[1], "minimize") && count_of(argv[2]) > 0 &&
                   count_of(argv[2]) <= MAX_THREADS && count_of(argv[3]) > 0;
  if (!exports && !minimizes) {
    fprintf(stderr,
            "usage: %s export MEMBERS SCALE PROBLEM [NAME=VALUE …]\n"
            "       %s minimize THREADS MEMBERS SCALE PROBLEM [NAME=VALUE …]\n",
            argv[0], argv[0]);
    return EXIT_FAILURE;
  }
  RpinnContext *context = rpinn_context_create();
  if (!context) return EXIT_FAILURE;
  char **rest = argv + (exports ? 2 : 3); /* MEMBERS SCALE PROBLEM … */
  RpinnProblem *problem = NULL;
  RpinnStatus status = load(context, rest[1], argc - (int)(rest - argv) - 2, rest + 2, &problem);
  if (status == RPINN_OK)
    status = exports ? export_problem(context, problem, count_of(rest[0]))
                     : minimize_members(context, problem, count_of(argv[2]), count_of(rest[0]));
  if (status != RPINN_OK) fprintf(stderr, "%s: %s\n", argv[0], rpinn_context_error(context)->message);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return status == RPINN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
