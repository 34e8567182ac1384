/* The figures of `rpinn bench --backend cuda`, as they are measured (device_speed.c) and shown (device_speed_table.c). */
#ifndef RPINN_BENCH_DEVICE_SPEED_H
#define RPINN_BENCH_DEVICE_SPEED_H

#include "bench_kind.h"
#include "device_profile.h"
#include "posterior.h"

/* An iteration of Adam for all members of a case, in one precision. */
typedef struct RpinnDeviceCase {
  const char *name, *problem, *setting;
  size_t num_members, num_steps;
  double bars[2]; /* seconds of an iteration, at most: in float, in tf32 */
} RpinnDeviceCase;

enum { RPINN_NUM_DEVICE_CASES = 3, RPINN_MAX_DEVICE_LINES = 2 * RPINN_NUM_DEVICE_CASES };
extern const RpinnDeviceCase rpinn_device_cases[RPINN_NUM_DEVICE_CASES];

typedef struct RpinnDeviceLine {
  const RpinnDeviceCase *of;
  bool is_tf32;
  double work;    /* operations of its products, in an iteration of all members */
  double seconds; /* of an iteration, launches alone; the median … */
  double call;    /* … and with copies to and from the device */
} RpinnDeviceLine;

/* An iteration of Levenberg–Marquardt: a step, the rows where it leads, and the gradient there. */
typedef struct RpinnDeviceStepping {
  size_t num_members;
  double rows, gradient, steps; /* seconds */
  double stages[RPINN_NUM_STAGES];
  double gram_work; /* operations of the Gram matrices, M (M + 1) N each */
} RpinnDeviceStepping;

typedef struct RpinnDevicePrediction {
  size_t num_members, num_points;
  double work, seconds;
} RpinnDevicePrediction;

/* Leapfrogs of NUTS, which have a gradient each. */
typedef struct RpinnDeviceChaining {
  size_t num_chains, num_leapfrogs; /* no chains: the backend makes no transitions of the case */
  double seconds, launches;         /* of all of them, of which so many of launches */
} RpinnDeviceChaining;

typedef struct RpinnDeviceSpeed {
  RpinnBench base;
  size_t repetitions;
  char device[256];
  double peaks[RPINN_NUM_DEVICE_PEAKS]; /* operations per second */
  size_t num_lines;
  RpinnDeviceLine lines[RPINN_MAX_DEVICE_LINES];
  bool has_steps; /* there is a library of products */
  RpinnDeviceStepping stepping;
  RpinnDevicePrediction prediction;
  RpinnDeviceChaining chaining; /* of the first case, in float, as its first line */
} RpinnDeviceSpeed;

/* num_draws of chains that begin at starts [num_chains][N], of as many of them as the backend takes in one call: device_chains.c. */
RpinnStatus rpinn_device_chains_measure(RpinnContext *context, RpinnPosterior *posterior, size_t num_chains,
                                        const double *const *starts, size_t num_draws,
                                        RpinnDeviceChaining *chaining);

double rpinn_device_speed_worst(const RpinnBench *bench);
char *rpinn_device_speed_text(const RpinnBench *bench);
char *rpinn_device_speed_json(const RpinnBench *bench);

#endif
