/* Residual programs at the points of a tile, a thread per point: forward to the result R, what the task makes of it, and back from
 * dE/dR to the bars of the fields' outputs. Rules of each instruction: src/problem/residual_program.h. Rows are formed in double. */
#ifndef RPINN_BACKEND_CUDA_PROGRAM_POINTS_CUH
#define RPINN_BACKEND_CUDA_PROGRAM_POINTS_CUH

#include "expression.h"
#include "layer_pointwise.cuh"

enum { OWN_REGISTERS = 32 }; /* of a thread; longer programs keep theirs in global memory */

RPINN_INLINE float tangent(float x) { return tanf(x); }
RPINN_INLINE double tangent(double x) { return tan(x); }
RPINN_INLINE float logarithm(float x) { return logf(x); }
RPINN_INLINE double logarithm(double x) { return log(x); }
RPINN_INLINE float hyperbolic_sine(float x) { return sinhf(x); }
RPINN_INLINE double hyperbolic_sine(double x) { return sinh(x); }
RPINN_INLINE float hyperbolic_cosine(float x) { return coshf(x); }
RPINN_INLINE double hyperbolic_cosine(double x) { return cosh(x); }
RPINN_INLINE float power(float x, float y) { return powf(x, y); }
RPINN_INLINE double power(double x, double y) { return pow(x, y); }

template <class Real> RPINN_INLINE Real operation_value(int operation, Real a, Real b) {
  switch (operation) {
  case RPINN_OPERATION_NEGATE: return -a;
  case RPINN_OPERATION_SIN: return sine(a);
  case RPINN_OPERATION_COS: return cosine(a);
  case RPINN_OPERATION_TAN: return tangent(a);
  case RPINN_OPERATION_EXP: return exponential(a);
  case RPINN_OPERATION_LOG: return logarithm(a);
  case RPINN_OPERATION_SQRT: return root_of(a);
  case RPINN_OPERATION_TANH: return hyperbolic_tangent(a);
  case RPINN_OPERATION_SINH: return hyperbolic_sine(a);
  case RPINN_OPERATION_COSH: return hyperbolic_cosine(a);
  case RPINN_OPERATION_ABS: return magnitude(a);
  case RPINN_OPERATION_SIGN: return a > 0 ? Real(1) : a < 0 ? Real(-1) : a;
  case RPINN_OPERATION_ADD: return a + b;
  case RPINN_OPERATION_SUBTRACT: return a - b;
  case RPINN_OPERATION_MULTIPLY: return a * b;
  case RPINN_OPERATION_DIVIDE: return a / b;
  case RPINN_OPERATION_POWER: return power(a, b);
  case RPINN_OPERATION_MIN: return a < b ? a : b;
  case RPINN_OPERATION_MAX: return a < b ? b : a;
  case RPINN_OPERATION_LESS: return a < b ? Real(1) : Real(0);
  default: return Real(0);
  }
}

/* w dr/da */
template <class Real> RPINN_INLINE Real slope_a(int operation, Real w, Real r, Real a, Real b) {
  switch (operation) {
  case RPINN_OPERATION_NEGATE: return -w;
  case RPINN_OPERATION_SIN: return w * cosine(a);
  case RPINN_OPERATION_COS: return -w * sine(a);
  case RPINN_OPERATION_TAN: return w * (1 + r * r);
  case RPINN_OPERATION_EXP: return w * r;
  case RPINN_OPERATION_LOG: return w / a;
  case RPINN_OPERATION_SQRT: return w / (2 * r);
  case RPINN_OPERATION_TANH: return w * (1 - r * r);
  case RPINN_OPERATION_SINH: return w * hyperbolic_cosine(a);
  case RPINN_OPERATION_COSH: return w * hyperbolic_sine(a);
  case RPINN_OPERATION_ABS: return a > 0 ? w : a < 0 ? -w : Real(0);
  case RPINN_OPERATION_ADD:
  case RPINN_OPERATION_SUBTRACT: return w;
  case RPINN_OPERATION_MULTIPLY: return w * b;
  case RPINN_OPERATION_DIVIDE: return w / b;
  case RPINN_OPERATION_POWER: return w * b * power(a, b - 1);
  case RPINN_OPERATION_MIN: return a < b ? w : Real(0);
  case RPINN_OPERATION_MAX: return a < b ? Real(0) : w;
  default: return Real(0);
  }
}

/* w dr/db */
template <class Real> RPINN_INLINE Real slope_b(int operation, Real w, Real r, Real a, Real b) {
  switch (operation) {
  case RPINN_OPERATION_ADD: return w;
  case RPINN_OPERATION_SUBTRACT: return -w;
  case RPINN_OPERATION_MULTIPLY: return w * a;
  case RPINN_OPERATION_DIVIDE: return -w * r / b;
  case RPINN_OPERATION_POWER: return r == 0 ? Real(0) : w * r * logarithm(a); /* 0^b */
  case RPINN_OPERATION_MIN: return a < b ? Real(0) : w;
  case RPINN_OPERATION_MAX: return a < b ? w : Real(0);
  default: return Real(0);
  }
}

/* A program at one point. */
template <class Real> struct PointProgram {
  const RpinnDeviceItem *item;
  const RpinnDeviceInstruction *instructions;
  const RpinnDeviceRun *runs; /* [num_fields] of the segment */
  int point;                  /* in the segment */
  int place;                  /* in the item */
  Real *registers, *adjoints; /* with this step */
  int step;
};

template <class Real, bool FAST>
RPINN_INLINE Real argument_value(const Member<Real, FAST> &member, const PointProgram<Real> &program,
                                 const RpinnDeviceArgument &argument) {
  if (argument.kind == RPINN_ARGUMENT_REGISTER) return program.registers[argument.index * program.step];
  if (argument.kind == RPINN_ARGUMENT_FIXED) return ((const Real *)member.work->reals)[argument.index + program.place];
  return (Real)member.work->constants[argument.index];
}

template <class Real, bool FAST> RPINN_INLINE Real program_forward(const Member<Real, FAST> &member, const PointProgram<Real> &program) {
  const RpinnDeviceWork &work = *member.work;
  for (int i = 0; i < program.item->num_instructions; i++) {
    const RpinnDeviceInstruction in = program.instructions[i];
    Real value;
    if (in.operation == RPINN_OPERATION_CHANNEL) {
      const RpinnDeviceRun run = program.runs[in.field];
      const Real *outputs = member.arrays() + work.fields[in.field].outputs + run.first_column + program.point;
      value = (Real)in.shift;
      for (int k = 0; k < in.count; k++)
        value += (Real)work.maps[in.first_map + k].factor * outputs[work.maps[in.first_map + k].channel * run.num_points];
    } else if (in.operation == RPINN_OPERATION_PARAMETER) {
      value = member.theta()[work.unknowns + in.index];
    } else {
      Real a = argument_value(member, program, in.a);
      value = operation_value(in.operation, a, in.num_arguments > 1 ? argument_value(member, program, in.b) : a);
    }
    program.registers[i * program.step] = value;
  }
  return argument_value(member, program, program.item->result);
}

/* From dE/dR = weight to the bars, which are zero, and to unknown_slopes [num_unknowns], likewise. */
template <class Real, bool FAST>
RPINN_INLINE void program_reverse(const Member<Real, FAST> &member, const PointProgram<Real> &program, Real weight,
                                  double *unknown_slopes) {
  const RpinnDeviceWork &work = *member.work;
  int count = program.item->num_instructions;
  if (program.item->result.kind != RPINN_ARGUMENT_REGISTER) return;
  for (int i = 0; i < count; i++) program.adjoints[i * program.step] = 0;
  program.adjoints[program.item->result.index * program.step] = weight;
  for (int i = count - 1; i >= 0; i--) {
    const RpinnDeviceInstruction in = program.instructions[i];
    Real w = program.adjoints[i * program.step], r = program.registers[i * program.step];
    if (in.operation == RPINN_OPERATION_CHANNEL) {
      const RpinnDeviceRun run = program.runs[in.field];
      Real *bars = member.arrays() + work.fields[in.field].bars + run.first_column + program.point;
      for (int k = 0; k < in.count; k++)
        bars[work.maps[in.first_map + k].channel * run.num_points] += (Real)work.maps[in.first_map + k].factor * w;
      continue;
    }
    if (in.operation == RPINN_OPERATION_PARAMETER) {
      unknown_slopes[in.index] += (double)w;
      continue;
    }
    /* Only towards what moves: the slope towards a constant may not exist (log of a negative base). */
    Real a = argument_value(member, program, in.a), b = in.num_arguments > 1 ? argument_value(member, program, in.b) : a;
    if (in.a.kind == RPINN_ARGUMENT_REGISTER)
      program.adjoints[in.a.index * program.step] += slope_a(in.operation, w, r, a, b);
    if (in.num_arguments > 1 && in.b.kind == RPINN_ARGUMENT_REGISTER)
      program.adjoints[in.b.index * program.step] += slope_b(in.operation, w, r, a, b);
  }
}

/* What a row needs of global memory, asked for before the program runs. */
struct RowData {
  double target, scale, offset, weight;
};

template <class Real, bool FAST>
RPINN_INLINE RowData row_data(const Member<Real, FAST> &member, const RpinnDeviceItem &item, int place) {
  RowData data = {0, 0, 0, 0};
  int result = item.first_result + place, row = item.first_row + place;
  if (member.call->task == RPINN_TASK_RESULTS) return data;
  data.target = member.work->targets[result];
  if (item.mix >= 0) {
    data.scale = member.row_scale[item.first_row];
    return data;
  }
  data.scale = member.row_scale[row];
  if (member.offsets) data.offset = member.offsets[row];
  if (member.call->task == RPINN_TASK_GIVEN) data.weight = member.weights[row];
  return data;
}

/* What a task makes of a result R: dE/dR, and whether the way back is wanted. deviations_only: the first of two passes over
 * terms whose rows mix their points. */
template <class Real, bool FAST>
RPINN_INLINE bool point_weight(const Member<Real, FAST> &member, const RpinnDeviceItem &item, const RowData &data, int place, Real R,
                               bool deviations_only, Real &weight) {
  const RpinnDeviceTask task = member.call->task;
  bool wants_gradient = member.call->wants_gradient;
  int result = item.first_result + place;
  if (task == RPINN_TASK_RESULTS) {
    member.results[result] = (double)R + item.late_shift;
    return false;
  }
  double deviation = (double)R - data.target;
  if (item.mix >= 0) {
    if (deviations_only) {
      member.deviations[result] = deviation;
      return false;
    }
    if (task == RPINN_TASK_JACOBIAN) {
      member.results[result] = deviation;
      weight = (Real)data.scale;
      return wants_gradient;
    }
    weight = (Real)member.mixed_weights[result];
    return wants_gradient;
  }
  if (task == RPINN_TASK_GIVEN) {
    weight = (Real)(data.weight * data.scale);
    return true;
  }
  if (task == RPINN_TASK_JACOBIAN) {
    member.results[result] = deviation * data.scale;
    weight = (Real)data.scale;
    return wants_gradient;
  }
  double own = deviation * data.scale - data.offset;
  member.squares[result] = own * own;
  weight = (Real)(own * data.scale);
  return wants_gradient;
}

template <class Real, bool FAST>
RPINN_INLINE void clear_bars(const Member<Real, FAST> &member, const RpinnDeviceRun *runs, int point) {
  const RpinnDeviceWork &work = *member.work;
  for (int f = 0; f < work.num_fields; f++) {
    const RpinnDeviceRun run = runs[f];
    if (!run.num_points) continue;
    const RpinnDeviceShape &shape = work.shapes[run.shape];
    int num_channels = 1 + shape.num_first + shape.num_second;
    Real *bars = member.arrays() + work.fields[f].bars + run.first_column + point;
    for (int c = 0; c < num_channels; c++) bars[c * run.num_points] = 0;
  }
}

/* All points of a tile. */
template <class Real, bool FAST>
RPINN_PHASE void program_points(const Member<Real, FAST> &member, const RpinnDeviceTile &tile, bool deviations_only) {
  const Team team = member.team();
  const RpinnDeviceWork &work = *member.work;
  for (int s = 0; s < tile.num_segments; s++) {
    const RpinnDeviceSegment segment = work.segments[tile.first_segment + s];
    const RpinnDeviceItem item = work.items[segment.item];
    const RpinnDeviceRun *runs = work.runs + segment.first_run;
    for (int point = team.thread; point < segment.num_padded; point += team.num_threads) {
      Real own[2 * OWN_REGISTERS];
      bool fits = item.num_instructions <= OWN_REGISTERS;
      PointProgram<Real> program;
      program.item = &item;
      program.instructions = work.instructions + item.first_instruction;
      program.runs = runs;
      program.point = point;
      program.place = segment.first_point + point;
      program.step = fits ? 1 : work.max_points;
      program.registers = fits ? own : member.registers + point;
      program.adjoints = fits ? own + OWN_REGISTERS : member.registers + item.num_instructions * work.max_points + point;
      RowData data = {0, 0, 0, 0};
      if (point < segment.num_points) data = row_data(member, item, program.place);
      clear_bars(member, runs, point);
      if (point >= segment.num_points) continue;
      Real R = program_forward(member, program), weight;
      double *unknown_slopes = member.unknown_slopes + (int64_t)(item.first_result + program.place) * work.num_unknowns;
      if (!deviations_only)
        for (int k = 0; k < work.num_unknowns; k++) unknown_slopes[k] = 0;
      if (point_weight(member, item, data, program.place, R, deviations_only, weight))
        program_reverse(member, program, weight, unknown_slopes);
    }
  }
}

#endif
