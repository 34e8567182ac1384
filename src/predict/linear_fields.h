/* Predictions of a posterior that was linearised at theta*: fields and their derivatives are linear in theta - theta*
 * (network_tangent.h), and what a program makes of them is computed from these, so that exp(y) stays positive. Points are
 * taken in blocks: memory does not grow with their number. Used by one thread at a time. */
#ifndef RPINN_PREDICT_LINEAR_FIELDS_H
#define RPINN_PREDICT_LINEAR_FIELDS_H

#include "draw_outputs.h"

typedef struct RpinnLinearFields RpinnLinearFields;

/* Borrows the posterior and at [N], theta*. */
RpinnStatus rpinn_linear_fields_create(RpinnContext *context, const RpinnPosterior *posterior,
                                       const double *at, RpinnLinearFields **fields);
void rpinn_linear_fields_destroy(RpinnLinearFields *fields);

/* values [num_programs][num_points] of the draw theta. */
RpinnStatus rpinn_linear_fields_evaluate(RpinnLinearFields *fields, const RpinnEvaluation *evaluation,
                                         const double *theta, double *values);
/* The same for all that a draw says about the world: values [outputs->num_values]. */
RpinnStatus rpinn_linear_fields_outputs(RpinnLinearFields *fields, const RpinnDrawOutputs *outputs,
                                        const double *theta, double *values);
/* The whitened rows [M] of the model, without offsets. */
RpinnStatus rpinn_linear_fields_rows(RpinnLinearFields *fields, const double *theta, double *rows);

#endif
