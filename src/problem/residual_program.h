/* The residual program: what a term or a quantity computes at a point, as a flat list of instructions.
 *
 * Instruction i writes register i; its arguments are registers before it; the last one is the result. The
 * inputs are the coordinates of the point, the channels of the fields (derivatives that the networks deliver)
 * and the unknowns. Every instruction has a forward value and a reverse rule, so the program gives the
 * residual R and, from dE/dR, the derivatives with respect to all channels and unknowns.
 *
 *   operation    forward r_i =      reverse: adjoint of a +=        adjoint of b +=      (w = adjoint of r_i)
 *   NUMBER       number
 *   COORDINATE   x[index]
 *   CHANNEL      channel[index]     goes to channel_adjoint[index]
 *   PARAMETER    unknown[index]     goes to unknown_adjoint[index]
 *   NEGATE       -a                 -w
 *   SIN COS TAN  sin a …            w cos a, -w sin a, w (1 + r^2)
 *   EXP LOG SQRT exp a …            w r, w / a, w / (2 r)
 *   TANH         tanh a             w (1 - r^2)
 *   SINH COSH    sinh a …           w cosh a, w sinh a
 *   ABS          |a|                w sign a
 *   SIGN LESS    sign a, [a < b]    0                               0
 *   ADD SUBTRACT a + b, a - b       w                               w, -w
 *   MULTIPLY     a b                w b                             w a
 *   DIVIDE       a / b              w / b                           -w r / b
 *   POWER        a ^ b              w b a^(b-1)                     w r log a (0 where r = 0)
 *   MIN MAX      a < b ? a : b …    w where a is taken              w where b is taken */
#ifndef RPINN_PROBLEM_RESIDUAL_PROGRAM_H
#define RPINN_PROBLEM_RESIDUAL_PROGRAM_H

#include "arena.h"
#include "channels.h"
#include "expression.h"

typedef struct RpinnInstruction {
  uint8_t operation; /* RpinnOperation */
  bool active; /* depends on a channel or an unknown: changes with theta and takes part in the reverse pass */
  uint32_t a, b;  /* registers */
  uint32_t index; /* COORDINATE, CHANNEL, PARAMETER */
  double number;  /* NUMBER */
} RpinnInstruction;

typedef struct RpinnChannelInput {
  uint32_t field;
  uint32_t channel; /* position in RpinnResidualProgram.channels[field] */
} RpinnChannelInput;

typedef struct RpinnResidualProgram {
  size_t num_instructions;
  RpinnInstruction *instructions;
  size_t num_inputs;
  RpinnChannelInput *inputs; /* what CHANNEL instructions index */
  size_t num_fields;
  RpinnChannelSet *channels; /* [num_fields]: what each network must deliver at the points */
} RpinnResidualProgram;

/* Compile an expression. Second derivatives of a field that occur only as a fixed combination (a Laplacian)
 * become one channel; so do first derivatives where no second ones are needed. `owner` ("term 'pde'") and
 * `place` are for the message when a field derivative of third or higher order is left. The program lives in
 * the arena. */
RpinnStatus rpinn_residual_program_compile(RpinnContext *context, RpinnArena *arena,
                                           RpinnExpressionPool *pool, RpinnExpression expression,
                                           size_t num_fields, const RpinnExpressionNames *names,
                                           const char *owner, RpinnPlace place,
                                           RpinnResidualProgram **program);

/* Fill registers [num_instructions] and return the result. channels [num_inputs], unknowns as the
 * instructions index them. */
double rpinn_residual_program_forward(const RpinnResidualProgram *program, const double *coordinates,
                                      const double *channels, const double *unknowns, double *registers);
/* From the registers and w = dE/dR: set channel_adjoints [num_inputs], add to unknown_adjoints. adjoints
 * [num_instructions] is scratch. */
void rpinn_residual_program_reverse(const RpinnResidualProgram *program, const double *registers,
                                    double weight, double *adjoints, double *channel_adjoints,
                                    double *unknown_adjoints);

/* "u", "d(u, x)", "d(u, x, x) + d(u, y, y)": a channel in words. */
void rpinn_channel_print(const RpinnChannel *channel, const char *field, const char *const *coordinates,
                         RpinnText *text);

#endif
