/* Our side of the comparison of NUTS with other libraries: poisson-linear with Nf=32 on the backend `cpu` in float,
 * full trees of a fixed depth, a fixed step, the unit metric.
 *
 *   bench_nuts energy
 *       -log p at the start of chain 0, which is the theta of `bench_member export poisson-linear Nf=32`.
 *   bench_nuts time SECONDS CHAINS DEPTH STEP
 *       Every thread runs a chain of its own. Prints two times per leapfrog: what the clock says, divided by the
 *       leapfrogs of all chains together, and what the threads computed, divided by leapfrogs and threads. They are
 *       the same on a quiet machine; the second does not count what other programs take. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpinn/nuts.h"
#include "rpinn/posterior.h"

enum { MAX_CHAINS = 64, MANY_DRAWS = 1000000 };

typedef struct Chain {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnPosteriorMember member;
  RpinnObjective objective;
  RpinnLogDensity density;
  RpinnNuts *nuts;
  double *start; /* [N] */
  pthread_t thread;
  double seconds;
  size_t steps_per_draw;
  double rate, computing_rate; /* leapfrogs per second of the clock, and of this thread's own time */
  RpinnStatus status;
} Chain;

/* Points into the chain, which must stay where it is. */
static RpinnStatus create_chain(Chain *chain, uint64_t number) {
  RpinnOverride overrides[] = {
      {"backend", "cpu", "bench", true}, {"precision", "float", "bench", true}, {"Nf", "32", "bench", false}};
  RpinnProblemOptions options = {.preset = "paper", .num_overrides = 3, .overrides = overrides};
  chain->context = rpinn_context_create();
  if (!chain->context) return RPINN_ERROR_MEMORY;
  RpinnStatus status = rpinn_problem_load(chain->context, "poisson-linear", &options, &chain->problem);
  if (status == RPINN_OK)
    status = rpinn_posterior_create(chain->context, chain->problem, false, &chain->posterior);
  if (status != RPINN_OK) return status;
  chain->member = (RpinnPosteriorMember){.posterior = chain->posterior, .context = chain->context};
  chain->objective = rpinn_posterior_objective(&chain->member);
  chain->density = rpinn_log_density_of_objective(&chain->objective);
  chain->start = calloc(chain->density.num_parameters, sizeof(double));
  if (!chain->start) return RPINN_ERROR_MEMORY;
  rpinn_posterior_start_glorot(chain->posterior, number, chain->start);
  return RPINN_OK;
}

static RpinnStatus start_nuts(Chain *chain, uint64_t number, unsigned depth, double step) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNutsDraw draw;
  options.num_warmup = 0;
  options.num_draws = MANY_DRAWS;
  options.metric = RPINN_METRIC_UNIT;
  options.max_depth = depth;
  options.first_step = step;
  chain->steps_per_draw = ((size_t)1 << depth) - 1;
  RpinnStatus status = rpinn_nuts_create(chain->context, &chain->density, &options, &chain->nuts);
  if (status == RPINN_OK) status = rpinn_nuts_start(chain->context, chain->nuts, 1, number, chain->start);
  return status == RPINN_OK ? rpinn_nuts_advance(chain->context, chain->nuts, &draw) : status; /* warm */
}

static void destroy_chain(Chain *chain) {
  rpinn_nuts_destroy(chain->nuts);
  rpinn_posterior_destroy(chain->posterior);
  rpinn_problem_destroy(chain->problem);
  rpinn_context_destroy(chain->context);
  free(chain->start);
}

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A tree that ends early has another share of work outside of the leapfrogs and would not be comparable. */
static void *work(void *user) {
  Chain *chain = user;
  RpinnNutsDraw draw;
  size_t count = 0;
  double elapsed, start = now(CLOCK_MONOTONIC), computing = now(CLOCK_THREAD_CPUTIME_ID);
  do {
    chain->status = rpinn_nuts_advance(chain->context, chain->nuts, &draw);
    if (chain->status == RPINN_OK && draw.num_steps != chain->steps_per_draw) {
      fprintf(stderr, "a tree has %zu leapfrogs, expected %zu: take a smaller step\n", draw.num_steps,
              chain->steps_per_draw);
      chain->status = RPINN_ERROR_NUMERIC;
    }
    count += chain->steps_per_draw;
    elapsed = now(CLOCK_MONOTONIC) - start;
  } while (chain->status == RPINN_OK && elapsed < chain->seconds);
  chain->rate = (double)count / elapsed;
  chain->computing_rate = (double)count / (now(CLOCK_THREAD_CPUTIME_ID) - computing);
  return NULL;
}

static RpinnStatus print_energy(Chain *chain) {
  double log_density;
  RpinnStatus status = create_chain(chain, 0);
  if (status == RPINN_OK)
    status = chain->density.evaluate(chain->density.data, chain->start, &log_density, NULL);
  if (status == RPINN_OK) printf("%.17g\n", -log_density);
  return status;
}

static RpinnStatus time_chains(Chain *chains, size_t num_chains, double seconds, unsigned depth,
                               double step) {
  double rate = 0, computing_rate = 0;
  for (size_t k = 0; k < num_chains; k++) {
    RpinnStatus status = create_chain(&chains[k], k);
    if (status == RPINN_OK) status = start_nuts(&chains[k], k, depth, step);
    if (status != RPINN_OK) return status;
    chains[k].seconds = seconds;
  }
  for (size_t k = 0; k < num_chains; k++)
    if (pthread_create(&chains[k].thread, NULL, work, &chains[k]) != 0) {
      fprintf(stderr, "no thread to be had\n");
      exit(EXIT_FAILURE);
    }
  RpinnStatus status = RPINN_OK;
  for (size_t k = 0; k < num_chains; k++) {
    pthread_join(chains[k].thread, NULL);
    if (chains[k].status != RPINN_OK) status = chains[k].status;
    rate += chains[k].rate;
    computing_rate += chains[k].computing_rate;
  }
  if (status == RPINN_OK) printf("%.9g %.9g\n", 1 / rate, 1 / computing_rate);
  return status;
}

int main(int argc, char **argv) {
  static Chain chains[MAX_CHAINS];
  size_t num_chains = argc == 6 ? (size_t)strtoul(argv[3], NULL, 10) : 1;
  RpinnStatus status;
  if (argc == 2 && !strcmp(argv[1], "energy")) {
    status = print_energy(chains);
  } else if (argc == 6 && !strcmp(argv[1], "time") && num_chains > 0 && num_chains <= MAX_CHAINS) {
    status = time_chains(chains, num_chains, strtod(argv[2], NULL), (unsigned)strtoul(argv[4], NULL, 10),
                         strtod(argv[5], NULL));
  } else {
    fprintf(stderr, "usage: %s energy\n       %s time SECONDS CHAINS DEPTH STEP\n", argv[0], argv[0]);
    return EXIT_FAILURE;
  }
  for (size_t k = 0; k < num_chains; k++) {
    if (chains[k].context && rpinn_context_error(chains[k].context)->status != RPINN_OK)
      fprintf(stderr, "%s: %s\n", argv[0], rpinn_context_error(chains[k].context)->message);
    destroy_chain(&chains[k]);
  }
  return status == RPINN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
