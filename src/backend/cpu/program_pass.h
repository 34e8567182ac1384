/* A residual program over many points at once: every register is an array over the points of a segment.
 *
 * Registers that do not change with theta (numbers, coordinates, functions of coordinates) are computed once;
 * the others share scratch memory with all segments. Rules of each instruction: residual_program.h. */
#ifndef RPINN_BACKEND_CPU_PROGRAM_PASS_H
#define RPINN_BACKEND_CPU_PROGRAM_PASS_H

#include "real.h"
#include "residual_program.h"

typedef struct RpinnProgramPass {
  const RpinnResidualProgram *program;
  size_t num_points;
  Real **registers; /* [num_instructions] arrays [num_points]; a CHANNEL's array is filled by the caller */
  Real **adjoints;  /* [num_instructions] arrays [num_points], NULL where inactive */
} RpinnProgramPass;

/* Number of Reals of scratch that a program needs for num_points. */
size_t RPINN_REAL_NAME(rpinn_program_pass_scratch)(const RpinnResidualProgram *program, size_t num_points);
/* points [num_points][num_coordinates]. Fixed registers live in the arena, the others in scratch. */
bool RPINN_REAL_NAME(rpinn_program_pass_make)(RpinnArena *arena, const RpinnResidualProgram *program,
                                              size_t num_points, const double *points, size_t num_coordinates,
                                              Real *scratch, RpinnProgramPass *pass);

/* The result, [num_points], from channels that the caller has put into their registers. */
const Real *RPINN_REAL_NAME(rpinn_program_pass_forward)(RpinnProgramPass *pass, const Real *unknowns);
/* From weights [num_points] = dE/dR: afterwards the adjoints of CHANNEL instructions are dE/d channel.
 * unknown_sums [num_unknowns] is added to; per_point (may be NULL) gets [num_unknowns][num_points] instead of
 * sums. */
void RPINN_REAL_NAME(rpinn_program_pass_reverse)(RpinnProgramPass *pass, const Real *weights,
                                                 double *unknown_sums, Real *per_point);

#endif
