/* Running a residual program: the forward and reverse meaning of each instruction. */
#include "residual_program.h"

#include <math.h>

double rpinn_residual_program_forward(const RpinnResidualProgram *program, const double *coordinates,
                                      const double *channels, const double *unknowns, double *registers) {
  for (size_t i = 0; i < program->num_instructions; i++) {
    const RpinnInstruction *in = &program->instructions[i];
    switch ((RpinnOperation)in->operation) {
    case RPINN_OPERATION_NUMBER: registers[i] = in->number; break;
    case RPINN_OPERATION_COORDINATE: registers[i] = coordinates[in->index]; break;
    case RPINN_OPERATION_CHANNEL: registers[i] = channels[in->index]; break;
    case RPINN_OPERATION_PARAMETER: registers[i] = unknowns[in->index]; break;
    default: registers[i] = rpinn_operation_value(in->operation, registers[in->a], registers[in->b]);
    }
  }
  return registers[program->num_instructions - 1];
}

/* dr/da of an instruction with result r and arguments a, b. */
static double slope_a(RpinnOperation operation, double r, double a, double b) {
  switch (operation) {
  case RPINN_OPERATION_NEGATE: return -1;
  case RPINN_OPERATION_SIN: return cos(a);
  case RPINN_OPERATION_COS: return -sin(a);
  case RPINN_OPERATION_TAN: return 1 + r * r;
  case RPINN_OPERATION_EXP: return r;
  case RPINN_OPERATION_LOG: return 1 / a;
  case RPINN_OPERATION_SQRT: return 0.5 / r;
  case RPINN_OPERATION_TANH: return 1 - r * r;
  case RPINN_OPERATION_SINH: return cosh(a);
  case RPINN_OPERATION_COSH: return sinh(a);
  case RPINN_OPERATION_ABS: return rpinn_operation_value(RPINN_OPERATION_SIGN, a, 0);
  case RPINN_OPERATION_ADD:
  case RPINN_OPERATION_SUBTRACT: return 1;
  case RPINN_OPERATION_MULTIPLY: return b;
  case RPINN_OPERATION_DIVIDE: return 1 / b;
  case RPINN_OPERATION_POWER: return b * pow(a, b - 1);
  case RPINN_OPERATION_MIN: return a < b ? 1 : 0;
  case RPINN_OPERATION_MAX: return a < b ? 0 : 1;
  default: return 0;
  }
}

/* dr/db. */
static double slope_b(RpinnOperation operation, double r, double a, double b) {
  switch (operation) {
  case RPINN_OPERATION_ADD: return 1;
  case RPINN_OPERATION_SUBTRACT: return -1;
  case RPINN_OPERATION_MULTIPLY: return a;
  case RPINN_OPERATION_DIVIDE: return -r / b;
  case RPINN_OPERATION_POWER: return r == 0 ? 0 : r * log(a); /* 0^b stays 0 near every b > 0 */
  case RPINN_OPERATION_MIN: return a < b ? 0 : 1;
  case RPINN_OPERATION_MAX: return a < b ? 1 : 0;
  default: return 0;
  }
}

void rpinn_residual_program_reverse(const RpinnResidualProgram *program, const double *registers,
                                    double weight, double *adjoints, double *channel_adjoints,
                                    double *unknown_adjoints) {
  size_t count = program->num_instructions;
  for (size_t i = 0; i < count; i++) adjoints[i] = 0;
  for (size_t k = 0; k < program->num_inputs; k++) channel_adjoints[k] = 0;
  adjoints[count - 1] = weight;
  for (size_t i = count; i-- > 0;) {
    const RpinnInstruction *in = &program->instructions[i];
    if (!in->active) continue;
    double w = adjoints[i];
    if (in->operation == RPINN_OPERATION_CHANNEL) {
      channel_adjoints[in->index] += w;
    } else if (in->operation == RPINN_OPERATION_PARAMETER) {
      unknown_adjoints[in->index] += w;
    } else {
      /* Only active arguments: the slope towards a constant one may not exist (log of a negative base). */
      double r = registers[i], a = registers[in->a], b = registers[in->b];
      if (program->instructions[in->a].active) adjoints[in->a] += w * slope_a(in->operation, r, a, b);
      if (rpinn_operation_num_arguments(in->operation) > 1 && program->instructions[in->b].active)
        adjoints[in->b] += w * slope_b(in->operation, r, a, b);
    }
  }
}
