#include "scaling_model.h"

#include <math.h>

static double slope(double few, double many, double few_seconds, double many_seconds) {
  return fmax((many_seconds - few_seconds) / (many - few), 0);
}

double rpinn_scaling_served(const RpinnScalingRow *row) {
  return 1 / slope(row->few_members, row->many_members, row->few_served, row->many_served);
}

/* Least squares of a line through (ranks, start), with slopes that are no less than 0. */
static void fit_start(const RpinnScalingRow *rows, size_t count, const RpinnScalingModel *model,
                      double *fixed, double *per_rank) {
  double n = (double)count, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t k = 0; k < count; k++) {
    double start = fmax(rows[k].few_collected - rows[k].few_members * (model->serve + model->collect), 0);
    x += rows[k].ranks / n;
    y += start / n;
    xx += rows[k].ranks * rows[k].ranks / n;
    xy += rows[k].ranks * start / n;
  }
  *per_rank = xx > x * x ? fmax((xy - x * y) / (xx - x * x), 0) : 0;
  *fixed = fmax(y - *per_rank * x, 0);
}

RpinnScalingModel rpinn_scaling_fit(const RpinnScalingRow *rows, size_t count) {
  const RpinnScalingRow *most = &rows[count - 1];
  RpinnScalingModel model = {.latency = most->latency, .bandwidth = most->bandwidth};
  model.serve = slope(most->few_members, most->many_members, most->few_served, most->many_served);
  model.collect = slope(most->few_members, most->many_members, most->few_collected - most->few_served,
                        most->many_collected - most->many_served);
  fit_start(rows, count, &model, &model.start, &model.start_per_rank);
  if (most->latency > model.start_per_rank) model.start_per_rank = most->latency; /* a message, no less */
  return model;
}

double rpinn_scaling_seconds(const RpinnScalingModel *model, double ranks, double members_per_rank,
                             double member_seconds) {
  double made = members_per_rank * member_seconds, served = ranks * members_per_rank * model->serve;
  return model->start + model->start_per_rank * ranks + fmax(made, served) +
         (ranks > 1 ? member_seconds : 0) + ranks * members_per_rank * model->collect;
}

double rpinn_scaling_efficiency(const RpinnScalingModel *model, double ranks, double members_per_rank,
                                double member_seconds) {
  return members_per_rank * member_seconds /
         rpinn_scaling_seconds(model, ranks, members_per_rank, member_seconds);
}
