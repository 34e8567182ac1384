/* All that a draw says about the world, as one vector:
 *
 *   [ quantities of `predict:` at its points | held-out terms at their points | unknowns, constrained | noise that is not known ] */
#ifndef RPINN_PREDICT_DRAW_OUTPUTS_H
#define RPINN_PREDICT_DRAW_OUTPUTS_H

#include "posterior.h"

typedef struct RpinnDrawOutputs {
  size_t num_values;     /* of the whole vector */
  size_t num_quantities; /* each with num_points values, first in the vector */
  size_t num_points;
  size_t num_tests;
  size_t *test_terms;  /* [num_tests] which terms of the problem are held out */
  size_t *test_starts; /* [num_tests] where their values begin */
  size_t unknown_start;
  size_t num_scalars; /* unknowns, then noises, from there on */
} RpinnDrawOutputs;

/* Lives in the posterior's arena. */
RpinnStatus rpinn_draw_outputs_plan(RpinnContext *context, RpinnPosterior *posterior,
                                    RpinnDrawOutputs *outputs);
/* values [num_values] of the draw theta, by the posterior that they were planned for or by one that shares it. */
RpinnStatus rpinn_draw_outputs_evaluate(RpinnContext *context, const RpinnDrawOutputs *outputs,
                                        RpinnPosterior *posterior, const double *theta, double *values);
/* The name of a scalar: that of the unknown, or noise_<term>. */
const char *rpinn_draw_outputs_scalar(const RpinnPosterior *posterior, size_t scalar);
/* The name of value number `index`: that of a scalar, or of a quantity or held-out term with the number of its point in brackets. */
void rpinn_draw_outputs_name(const RpinnDrawOutputs *outputs, const RpinnPosterior *posterior, size_t index,
                             char *text, size_t size);
/* Its truth, where that is a number. */
bool rpinn_draw_outputs_scalar_truth(const RpinnPosterior *posterior, size_t scalar, double *value);
/* theta [N], then the noise [K] that it was drawn with. The unknowns and noises among the same values, however the others are made. */
void rpinn_draw_outputs_unknowns(const RpinnDrawOutputs *outputs, const RpinnPosterior *posterior,
                                 const double *theta, double *values);

#endif
