/* Problems made from a seed: one to four coordinates, one to three fields of any depth, width and activation, some of fewer inputs, some
 * with hidden layers that are frozen, unknowns, residual programs of random expressions with derivatives of first and second order in and
 * around them, and terms whose rows mix their points. */
#ifndef RPINN_TESTS_RANDOM_PROBLEM_H
#define RPINN_TESTS_RANDOM_PROBLEM_H

#include "check.h"

#include "random_stream.h"
#include "text.h"

typedef struct RandomProblem {
  RpinnStream stream;
  RpinnText text;
  size_t num_coordinates, num_fields, num_unknowns;
} RandomProblem;

static const char *const random_coordinates[] = {"x", "y", "z", "t"};
static const char *const random_fields[] = {"u", "v", "w"};
static const char *const random_unknowns[] = {"a", "b"};

static inline size_t random_below(RandomProblem *problem, size_t bound) {
  return (size_t)rpinn_stream_below(&problem->stream, bound);
}

static inline void random_write(RandomProblem *problem, const char *format, ...) RPINN_PRINTF(2, 3);
static inline void random_write(RandomProblem *problem, const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  rpinn_text_append(&problem->text, "%s", line);
}

static inline const char *random_coordinate(RandomProblem *problem) {
  return random_coordinates[random_below(problem, problem->num_coordinates)];
}

/* ---- expressions, whose values stay of the order of 1 where those of fields do ---- */

static inline void random_leaf(RandomProblem *problem) {
  const char *field = random_fields[random_below(problem, problem->num_fields)];
  switch (random_below(problem, 7)) {
  case 0: random_write(problem, "%s", field); break;
  case 1: random_write(problem, "d(%s, %s)", field, random_coordinate(problem)); break;
  case 2:
  case 3:
    random_write(problem, "0.5*d(%s, %s, %s)", field, random_coordinate(problem), random_coordinate(problem));
    break;
  case 4: random_write(problem, "%s", random_coordinate(problem)); break;
  case 5:
    if (problem->num_unknowns) {
      random_write(problem, "%s", random_unknowns[random_below(problem, problem->num_unknowns)]);
      break;
    } /* fall through */
  default: random_write(problem, "%.3f", 0.2 + rpinn_stream_uniform(&problem->stream));
  }
}

static inline void random_expression_of(RandomProblem *problem, int depth) {
  static const char *const functions[] = {"sin(",     "cos(", "tanh(", "exp(0.3*", "sqrt(1.5 + 0.5*sin(",
                                          "sinh(0.4*"};
  if (depth == 0) {
    random_leaf(problem);
    return;
  }
  size_t kind = random_below(problem, 6);
  if (kind == 0) { /* a function */
    size_t which = random_below(problem, sizeof functions / sizeof functions[0]);
    random_write(problem, "%s(", functions[which]);
    random_expression_of(problem, depth - 1);
    random_write(problem, which == 4 ? ")))" : "))");
    return;
  }
  if (kind == 1) { /* a derivative of something that has a field in it, and no second one */
    const char *field = random_fields[random_below(problem, problem->num_fields)];
    const char *other = random_fields[random_below(problem, problem->num_fields)];
    random_write(problem, "d(exp(0.3*%s)*d(%s, %s), %s)", field, other, random_coordinate(problem),
                 random_coordinate(problem));
    return;
  }
  random_write(problem, "(");
  random_expression_of(problem, depth - 1);
  random_write(problem, kind == 2 ? ")*(" : kind == 3 ? ")/(1.5 + (" : kind == 4 ? ") - (" : ") + (");
  random_expression_of(problem, depth - 1);
  random_write(problem, kind == 3 ? ")^2)" : ")");
}

/* ---- parts of the file ---- */

static inline void random_field_entry(RandomProblem *problem, size_t field) {
  static const char *const activations[] = {"tanh", "tanh", "sine", "softplus", "swish"};
  size_t num_layers = 1 + random_below(problem, 4);
  random_write(problem, "  %s: {network: [", random_fields[field]);
  for (size_t l = 0; l < num_layers; l++)
    random_write(problem, "%s%zu", l ? ", " : "", 3 + random_below(problem, 20));
  random_write(problem, "], activation: %s", activations[random_below(problem, 5)]);
  if (field > 0 && problem->num_coordinates > 1 && random_below(problem, 2))
    random_write(problem, ", inputs: [%s]", random_coordinate(problem));
  if (random_below(problem, 3) == 0) random_write(problem, ", scale_inputs: [-1.5, 1]");
  if (random_below(problem, 4) == 0) random_write(problem, ", scale_output: [2, 3]");
  if (field > 0 && random_below(problem, 5) == 0) random_write(problem, ", trainable: output");
  random_write(problem, "}\n");
}

static inline void random_terms(RandomProblem *problem) {
  size_t num_residuals = 1 + random_below(problem, 2);
  for (size_t t = 0; t < num_residuals; t++) {
    random_write(problem, "  residual%zu: {expect: \"%s*d(%s, %s) + ", t, "0.7",
                 random_fields[t % problem->num_fields], random_coordinates[0]);
    random_expression_of(problem, 2 + (int)random_below(problem, 2));
    random_write(problem, "\", at: {sobol: %zu}, data: 0.1, noise: 0.%zu}\n", 5 + random_below(problem, 30),
                 1 + random_below(problem, 8));
  }
  for (size_t f = 0; f < problem->num_fields; f++)
    random_write(problem, "  value%zu: {expect: %s, at: {latin_hypercube: %zu}, data: 0.3, noise: 0.2}\n", f,
                 random_fields[f], 1 + random_below(problem, 9));
  if (problem->num_coordinates < 3 && random_below(problem, 2)) /* such fields have one or two coordinates */
    random_write(
        problem,
        "  rough: {gaussian: {field: u, covariance: matern32, length: 0.6, variance: 0.7, mean: 0.2}, "
        "at: {latin_hypercube: %zu}}\n",
        3 + random_below(problem, 8));
}

/* The text of the problem of a seed; the caller frees it. */
static inline RpinnText random_problem_text(uint64_t seed) {
  RandomProblem own = {.stream = rpinn_stream(seed, RPINN_PURPOSE_CHECK, 20, 6)}, *problem = &own;
  problem->num_coordinates = 1 + (size_t)seed % 4;
  problem->num_fields = 1 + random_below(problem, 3);
  problem->num_unknowns = random_below(problem, 3);
  random_write(problem, "name: random-%d\ncoordinates: {", (int)seed);
  for (size_t c = 0; c < problem->num_coordinates; c++)
    random_write(problem, "%s%s: [-%.2f, 1]", c ? ", " : "", random_coordinates[c],
                 rpinn_stream_uniform(&problem->stream));
  random_write(problem, "}\nfields:\n");
  for (size_t f = 0; f < problem->num_fields; f++) random_field_entry(problem, f);
  if (problem->num_unknowns) random_write(problem, "unknowns:\n");
  for (size_t k = 0; k < problem->num_unknowns; k++)
    random_write(problem, "  %s: {start: 0.8, transform: %s, prior: {mean: 0, std: 0.5}}\n",
                 random_unknowns[k], random_below(problem, 2) ? "log" : "none");
  random_write(problem, "quantities: {flux: \"");
  random_expression_of(problem, 2);
  random_write(problem, "\"}\nterms:\n");
  random_terms(problem);
  random_write(problem,
               "  use: {expect: \"0.1*(u%s%s%s%s) + 0.1*flux\", at: {sobol: 3}, data: 0, noise: 0.3}\n",
               problem->num_unknowns > 0 ? " + a" : "", problem->num_unknowns > 1 ? " + b" : "",
               problem->num_fields > 1 ? " + v" : "", problem->num_fields > 2 ? " + w" : "");
  random_write(
      problem,
      "prior: {scale: 1}\npredict: {sobol: 11, quantities: [u, flux]}\n"
      "settings: {prior_scale: 1, optimizer: adam, iterations: 10, start: glorot, scale_fields: no}\n");
  assert_false(problem->text.failed);
  return problem->text;
}

#endif
