/* What our programs beside other libraries share: a problem with constants from the command line, and its model as JSON. */
#ifndef RPINN_BENCH_PEER_PROBLEM_H
#define RPINN_BENCH_PEER_PROBLEM_H

#include <time.h>

#include "json_writer.h"
#include "posterior.h"

/* Constants NAME=VALUE [num_constants] of a command line, after settings [num_settings] of the program itself; preset may be
 * NULL. The caller destroys the problem. */
RpinnStatus peer_problem_load(RpinnContext *context, const char *name, const char *preset,
                              size_t num_settings, const RpinnOverride *settings, int num_constants,
                              char **constants, RpinnProblem **problem);

void peer_json_numbers(RpinnJson *json, const char *key, const double *values, size_t count);
/* Keys of the object that is open: name, networks, points, data, standard deviations and prior. Rows of a term have one standard
 * deviation. */
void peer_json_model(RpinnJson *json, const RpinnPosterior *posterior);
/* Prints what was written, and frees it. */
RpinnStatus peer_json_print(RpinnContext *context, RpinnJson *json);

double peer_seconds(clockid_t clock);

#endif
