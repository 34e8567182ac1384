#include "program_pass.h"

#include <math.h>
#include <string.h>
#if defined(RPINN_REAL_FLOAT)
#define RPINN_MATH(function) RPINN_JOIN(function, f)
#else
#define RPINN_MATH(function) function
#endif

static size_t padded(size_t count) {
  return (count + RPINN_REAL_GROUP - 1) / RPINN_REAL_GROUP * RPINN_REAL_GROUP;
}

size_t RPINN_REAL_NAME(rpinn_program_pass_scratch)(const RpinnResidualProgram *program, size_t num_points) {
  return 2 * program->num_instructions * padded(num_points);
}

/* r [count] = operation(a, b) */
static void apply(RpinnOperation operation, size_t count, const Real *a, const Real *b, Real *r) {
  switch (operation) {
  case RPINN_OPERATION_NEGATE:
    for (size_t p = 0; p < count; p++) r[p] = -a[p];
    break;
  case RPINN_OPERATION_SIN:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(sin)(a[p]);
    break;
  case RPINN_OPERATION_COS:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(cos)(a[p]);
    break;
  case RPINN_OPERATION_TAN:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(tan)(a[p]);
    break;
  case RPINN_OPERATION_EXP:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(exp)(a[p]);
    break;
  case RPINN_OPERATION_LOG:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(log)(a[p]);
    break;
  case RPINN_OPERATION_SQRT:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(sqrt)(a[p]);
    break;
  case RPINN_OPERATION_TANH:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(tanh)(a[p]);
    break;
  case RPINN_OPERATION_SINH:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(sinh)(a[p]);
    break;
  case RPINN_OPERATION_COSH:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(cosh)(a[p]);
    break;
  case RPINN_OPERATION_ABS:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(fabs)(a[p]);
    break;
  case RPINN_OPERATION_SIGN:
    for (size_t p = 0; p < count; p++) r[p] = a[p] > 0 ? 1 : a[p] < 0 ? -1 : a[p];
    break;
  case RPINN_OPERATION_ADD:
    for (size_t p = 0; p < count; p++) r[p] = a[p] + b[p];
    break;
  case RPINN_OPERATION_SUBTRACT:
    for (size_t p = 0; p < count; p++) r[p] = a[p] - b[p];
    break;
  case RPINN_OPERATION_MULTIPLY:
    for (size_t p = 0; p < count; p++) r[p] = a[p] * b[p];
    break;
  case RPINN_OPERATION_DIVIDE:
    for (size_t p = 0; p < count; p++) r[p] = a[p] / b[p];
    break;
  case RPINN_OPERATION_POWER:
    for (size_t p = 0; p < count; p++) r[p] = RPINN_MATH(pow)(a[p], b[p]);
    break;
  case RPINN_OPERATION_MIN:
    for (size_t p = 0; p < count; p++) r[p] = a[p] < b[p] ? a[p] : b[p];
    break;
  case RPINN_OPERATION_MAX:
    for (size_t p = 0; p < count; p++) r[p] = a[p] < b[p] ? b[p] : a[p];
    break;
  case RPINN_OPERATION_LESS:
    for (size_t p = 0; p < count; p++) r[p] = a[p] < b[p] ? 1 : 0;
    break;
  default: break;
  }
}

/* Registers that theta does not move, in double and rounded once. */
static void fill_fixed(const RpinnResidualProgram *program, size_t num_points, const double *points,
                       size_t num_coordinates, Real **registers, double *scratch) {
  for (size_t p = 0; p < num_points; p++)
    for (size_t i = 0; i < program->num_instructions; i++) {
      const RpinnInstruction *in = &program->instructions[i];
      if (in->active) continue;
      if (in->operation == RPINN_OPERATION_NUMBER)
        scratch[i] = in->number;
      else if (in->operation == RPINN_OPERATION_COORDINATE)
        scratch[i] = points[p * num_coordinates + in->index];
      else
        scratch[i] = rpinn_operation_value(in->operation, scratch[in->a], scratch[in->b]);
      registers[i][p] = (Real)scratch[i];
    }
}

bool RPINN_REAL_NAME(rpinn_program_pass_make)(RpinnArena *arena, const RpinnResidualProgram *program,
                                              size_t num_points, const double *points, size_t num_coordinates,
                                              Real *scratch, RpinnProgramPass *pass) {
  size_t count = program->num_instructions, stride = padded(num_points);
  *pass = (RpinnProgramPass){.program = program,
                             .num_points = num_points,
                             .registers = RPINN_ARENA_NEW(arena, Real *, count),
                             .adjoints = RPINN_ARENA_NEW(arena, Real *, count)};
  double *values = RPINN_ARENA_NEW(arena, double, count);
  if (!pass->registers || !pass->adjoints || !values) return false;
  for (size_t i = 0; i < count; i++) {
    bool active = program->instructions[i].active;
    pass->registers[i] = active ? scratch + 2 * i * stride : RPINN_ARENA_NEW(arena, Real, stride);
    pass->adjoints[i] = active ? scratch + (2 * i + 1) * stride : NULL;
    if (!pass->registers[i]) return false;
  }
  fill_fixed(program, num_points, points, num_coordinates, pass->registers, values);
  return true;
}

const Real *RPINN_REAL_NAME(rpinn_program_pass_forward)(RpinnProgramPass *pass, const Real *unknowns) {
  const RpinnResidualProgram *program = pass->program;
  for (size_t i = 0; i < program->num_instructions; i++) {
    const RpinnInstruction *in = &program->instructions[i];
    Real *r = pass->registers[i];
    if (!in->active || in->operation == RPINN_OPERATION_CHANNEL) continue;
    if (in->operation == RPINN_OPERATION_PARAMETER)
      for (size_t p = 0; p < pass->num_points; p++) r[p] = unknowns[in->index];
    else
      apply(in->operation, pass->num_points, pass->registers[in->a], pass->registers[in->b], r);
  }
  return pass->registers[program->num_instructions - 1];
}

/* abar [count] += w dr/da */
static void add_slope_a(RpinnOperation operation, size_t count, const Real *w, const Real *r, const Real *a,
                        const Real *b, Real *abar) {
  switch (operation) {
  case RPINN_OPERATION_NEGATE:
    for (size_t p = 0; p < count; p++) abar[p] -= w[p];
    break;
  case RPINN_OPERATION_SIN:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * RPINN_MATH(cos)(a[p]);
    break;
  case RPINN_OPERATION_COS:
    for (size_t p = 0; p < count; p++) abar[p] -= w[p] * RPINN_MATH(sin)(a[p]);
    break;
  case RPINN_OPERATION_TAN:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * (1 + r[p] * r[p]);
    break;
  case RPINN_OPERATION_EXP:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * r[p];
    break;
  case RPINN_OPERATION_LOG:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] / a[p];
    break;
  case RPINN_OPERATION_SQRT:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] / (2 * r[p]);
    break;
  case RPINN_OPERATION_TANH:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * (1 - r[p] * r[p]);
    break;
  case RPINN_OPERATION_SINH:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * RPINN_MATH(cosh)(a[p]);
    break;
  case RPINN_OPERATION_COSH:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * RPINN_MATH(sinh)(a[p]);
    break;
  case RPINN_OPERATION_ABS:
    for (size_t p = 0; p < count; p++) abar[p] += a[p] > 0 ? w[p] : a[p] < 0 ? -w[p] : 0;
    break;
  case RPINN_OPERATION_ADD:
  case RPINN_OPERATION_SUBTRACT:
    for (size_t p = 0; p < count; p++) abar[p] += w[p];
    break;
  case RPINN_OPERATION_MULTIPLY:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * b[p];
    break;
  case RPINN_OPERATION_DIVIDE:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] / b[p];
    break;
  case RPINN_OPERATION_POWER:
    for (size_t p = 0; p < count; p++) abar[p] += w[p] * b[p] * RPINN_MATH(pow)(a[p], b[p] - 1);
    break;
  case RPINN_OPERATION_MIN:
    for (size_t p = 0; p < count; p++) abar[p] += a[p] < b[p] ? w[p] : 0;
    break;
  case RPINN_OPERATION_MAX:
    for (size_t p = 0; p < count; p++) abar[p] += a[p] < b[p] ? 0 : w[p];
    break;
  default: break;
  }
}

/* bbar [count] += w dr/db */
static void add_slope_b(RpinnOperation operation, size_t count, const Real *w, const Real *r, const Real *a,
                        const Real *b, Real *bbar) {
  switch (operation) {
  case RPINN_OPERATION_ADD:
    for (size_t p = 0; p < count; p++) bbar[p] += w[p];
    break;
  case RPINN_OPERATION_SUBTRACT:
    for (size_t p = 0; p < count; p++) bbar[p] -= w[p];
    break;
  case RPINN_OPERATION_MULTIPLY:
    for (size_t p = 0; p < count; p++) bbar[p] += w[p] * a[p];
    break;
  case RPINN_OPERATION_DIVIDE:
    for (size_t p = 0; p < count; p++) bbar[p] -= w[p] * r[p] / b[p];
    break;
  case RPINN_OPERATION_POWER:
    for (size_t p = 0; p < count; p++)
      bbar[p] += r[p] == 0 ? 0 : w[p] * r[p] * RPINN_MATH(log)(a[p]); /* 0^b */
    break;
  case RPINN_OPERATION_MIN:
    for (size_t p = 0; p < count; p++) bbar[p] += a[p] < b[p] ? 0 : w[p];
    break;
  case RPINN_OPERATION_MAX:
    for (size_t p = 0; p < count; p++) bbar[p] += a[p] < b[p] ? w[p] : 0;
    break;
  default: break;
  }
}

void RPINN_REAL_NAME(rpinn_program_pass_reverse)(RpinnProgramPass *pass, const Real *weights,
                                                 double *unknown_sums, Real *per_point) {
  const RpinnResidualProgram *program = pass->program;
  size_t count = pass->num_points, last = program->num_instructions - 1;
  for (size_t i = 0; i <= last; i++)
    if (pass->adjoints[i]) memset(pass->adjoints[i], 0, count * sizeof(Real));
  if (pass->adjoints[last]) memcpy(pass->adjoints[last], weights, count * sizeof(Real));
  for (size_t i = last + 1; i-- > 0;) {
    const RpinnInstruction *in = &program->instructions[i];
    const Real *w = pass->adjoints[i], *r = pass->registers[i];
    if (!in->active || in->operation == RPINN_OPERATION_CHANNEL) continue;
    if (in->operation == RPINN_OPERATION_PARAMETER) {
      for (size_t p = 0; per_point && p < count; p++) per_point[in->index * count + p] += w[p];
      for (size_t p = 0; !per_point && p < count; p++) unknown_sums[in->index] += (double)w[p];
      continue;
    }
    const Real *a = pass->registers[in->a], *b = pass->registers[in->b];
    if (pass->adjoints[in->a]) add_slope_a(in->operation, count, w, r, a, b, pass->adjoints[in->a]);
    bool two = rpinn_operation_num_arguments(in->operation) > 1;
    if (two && pass->adjoints[in->b]) add_slope_b(in->operation, count, w, r, a, b, pass->adjoints[in->b]);
  }
}
