/* Transitions that the target makes, with all points where it computes them. A chain gives it a key for its random numbers, drawn from its own
 * stream, and has its state back when the transition is complete. */
#include "nuts_trajectory.h"

bool rpinn_trajectory_is_whole(const RpinnTrajectory *trajectory) {
  return trajectory->target.transitions && trajectory->metric->kind != RPINN_METRIC_DENSE;
}

RpinnStatus rpinn_trajectory_borrow(RpinnContext *context, RpinnTrajectory *trajectory) {
  const RpinnBatchLogDensity *target = &trajectory->target;
  if (!rpinn_trajectory_is_whole(trajectory) || !target->lend_vector) return RPINN_OK;
  for (int i = 0; i < 2; i++) RPINN_TRY(target->lend_vector(context, target->data, &trajectory->lent[i]));
  trajectory->current->q = trajectory->lent[0];
  trajectory->current->gradient = trajectory->lent[1];
  return RPINN_OK;
}

void rpinn_trajectory_return(RpinnTrajectory *trajectory) {
  const RpinnBatchLogDensity *target = &trajectory->target;
  for (int i = 0; i < 2; i++)
    if (trajectory->lent[i]) target->return_vector(target->data, trajectory->lent[i]);
}

void rpinn_trajectory_forget(RpinnTrajectory *trajectory) {
  trajectory->transition.ticket = 0;
}

void rpinn_trajectory_set_out_whole(RpinnTrajectory *trajectory, double step, double ignored) {
  RpinnWholeTransition *own = &trajectory->transition;
  uint64_t high = rpinn_stream_word(trajectory->stream);
  if (trajectory->metric_version != trajectory->metric->version) rpinn_trajectory_forget(trajectory);
  trajectory->metric_version = trajectory->metric->version;
  own->step = step;
  own->ignored = ignored;
  own->max_energy_error = trajectory->max_energy_error;
  own->max_depth = trajectory->max_depth;
  own->turns_by_path = trajectory->turns_by_path;
  own->inverse_metric = trajectory->metric->inverse;
  own->key = high << 32 | rpinn_stream_word(trajectory->stream);
  own->theta = trajectory->current->q;
  own->gradient = trajectory->current->gradient;
  own->log_density = trajectory->current->log_density;
  trajectory->request.question = RPINN_QUESTION_TRANSITIONS;
  trajectory->request.transition = own;
}

bool rpinn_trajectory_go_on_whole(RpinnTrajectory *trajectory) {
  return !trajectory->transition.has_finished;
}

RpinnTransition rpinn_trajectory_arrive_whole(RpinnTrajectory *trajectory) {
  const RpinnWholeTransition *own = &trajectory->transition;
  trajectory->current->log_density = own->log_density;
  trajectory->current->energy = own->energy;
  trajectory->num_leapfrogs += own->num_steps;
  return (RpinnTransition){.energy_error = own->energy - own->first_energy,
                           .max_energy_error = own->max_error,
                           .acceptance_rate = own->acceptance_sum / (double)own->num_steps,
                           .tree_depth = own->depth,
                           .num_steps = own->num_steps,
                           .diverging = own->diverging,
                           .reached_max_depth = own->reached_max_depth};
}
