/* One sweep over the blocks of a work: the fields forward, the programs of the segments, and back. */
#include <string.h>

#include "cpu_engine.h"

void RPINN_REAL_NAME(rpinn_cpu_take_member)(RpinnCpuEngine *engine, const RpinnMemberBatch *batch, size_t k) {
  const RpinnEnergyModel *model = engine->base.model;
  engine->member = rpinn_batch_member(model, batch, k);
  if (engine->member.theta)
    engine->kernels->to_real(model->num_parameters, engine->member.theta, engine->theta);
}

void RPINN_REAL_NAME(rpinn_cpu_set_passes)(RpinnCpuEngine *engine, RpinnFieldPass **passes) {
  for (size_t f = 0; f < engine->base.model->num_fields; f++)
    RPINN_REAL_NAME(rpinn_field_pass_set)(passes[f], engine->theta);
}

void RPINN_REAL_NAME(rpinn_cpu_forward_fields)(RpinnCpuEngine *engine, RpinnFieldPass **passes,
                                               const RpinnBlock *block) {
  for (size_t f = 0; f < engine->base.model->num_fields; f++)
    if (block->num_rows[f])
      engine->outputs[f] = RPINN_REAL_NAME(rpinn_field_pass_forward)(passes[f], block->runs[f],
                                                                     block->num_segments, block->num_rows[f]);
}

void RPINN_REAL_NAME(rpinn_cpu_clear_bars)(RpinnCpuEngine *engine, const RpinnBlock *block) {
  for (size_t f = 0; f < engine->base.model->num_fields; f++) {
    engine->bars[f] = RPINN_REAL_NAME(rpinn_field_pass_bars)(engine->passes[f]);
    memset(engine->bars[f], 0, block->num_rows[f] * sizeof(Real));
  }
}

const Real *RPINN_REAL_NAME(rpinn_cpu_segment_results)(RpinnCpuEngine *engine, const RpinnCpuWork *work,
                                                       const RpinnBlock *block, size_t segment) {
  RPINN_REAL_NAME(rpinn_cpu_work_gather)(work, block, segment, engine->outputs);
  return RPINN_REAL_NAME(rpinn_program_pass_forward)(&work->segments[segment].program,
                                                     engine->theta + engine->base.model->unknown_start);
}

/* The segments of a block whose fields went forward; with a gradient, their part in engine->bars and unknown_sums. */
static void sweep_segments(RpinnCpuEngine *engine, const RpinnBlock *block, RpinnRowFunction rows, void *user,
                           bool has_gradient) {
  const RpinnCpuWork *work = engine->work;
  for (size_t s = block->first_segment; s < block->first_segment + block->num_segments; s++) {
    const Real *results = RPINN_REAL_NAME(rpinn_cpu_segment_results)(engine, work, block, s);
    if (!rows(engine, &work->segments[s], results, user) || !has_gradient) continue;
    RPINN_REAL_NAME(rpinn_program_pass_reverse)
    (&work->segments[s].program, engine->weights, engine->unknown_sums, NULL);
    RPINN_REAL_NAME(rpinn_cpu_work_scatter)(work, block, s, engine->bars);
  }
}

void RPINN_REAL_NAME(rpinn_cpu_sweep)(RpinnCpuEngine *engine, RpinnRowFunction rows, void *user,
                                      Real *gradient) {
  const RpinnEnergyModel *model = engine->base.model;
  RPINN_REAL_NAME(rpinn_cpu_set_passes)(engine, engine->passes);
  memset(engine->unknown_sums, 0, model->num_unknowns * sizeof(double));
  for (size_t b = 0; b < engine->work->num_blocks; b++) {
    const RpinnBlock *block = &engine->work->blocks[b];
    RPINN_REAL_NAME(rpinn_cpu_forward_fields)(engine, engine->passes, block);
    if (gradient) RPINN_REAL_NAME(rpinn_cpu_clear_bars)(engine, block);
    sweep_segments(engine, block, rows, user, gradient != NULL);
    for (size_t f = 0; gradient && f < model->num_fields; f++)
      if (block->num_rows[f]) RPINN_REAL_NAME(rpinn_field_pass_reverse)
    (engine->passes[f], block->runs[f], block->num_segments, block->num_rows[f], gradient);
  }
  if (!gradient) return;
  for (size_t f = 0; f < model->num_fields; f++)
    RPINN_REAL_NAME(rpinn_field_pass_finish)(engine->passes[f], gradient);
  for (size_t k = 0; k < model->num_unknowns; k++)
    gradient[model->unknown_start + k] = (Real)engine->unknown_sums[k];
}

void RPINN_REAL_NAME(rpinn_cpu_evaluate_items)(RpinnCpuEngine *engine, const RpinnCpuWork *work,
                                               RpinnFieldPass **passes, double *values) {
  RPINN_REAL_NAME(rpinn_cpu_set_passes)(engine, passes);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    RPINN_REAL_NAME(rpinn_cpu_forward_fields)(engine, passes, block);
    for (size_t s = block->first_segment; s < block->first_segment + block->num_segments; s++) {
      const RpinnSegment *segment = &work->segments[s];
      const Real *results = RPINN_REAL_NAME(rpinn_cpu_segment_results)(engine, work, block, s);
      for (size_t p = 0; p < segment->num_points; p++)
        values[segment->first_result + p] = (double)results[p] + work->late_shift[segment->item];
    }
  }
}

bool RPINN_REAL_NAME(rpinn_cpu_mixed_weights)(RpinnCpuEngine *engine, const RpinnSegment *segment) {
  const double *weights =
      engine->mixed.weights + engine->mixed.first_point[segment->item] + segment->first_point;
  for (size_t p = 0; p < segment->num_points; p++) engine->weights[p] = (Real)weights[p];
  return true;
}
