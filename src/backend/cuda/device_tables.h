/* What kernels read: plain structs for C17 and CUDA C++ alike.
 *
 * Words. An *item* is a program at a list of points (a term, a quantity). Items are cut into *segments*, and segments are
 * gathered into *tiles*: what a block of threads takes through all layers at once. Within a tile each field has an array
 * [unit][column] per layer; a column is one channel (value, a first derivative, an operator of second order) at one point. The
 * columns of a segment are channel by channel, point by point, the points padded to a multiple of four so that four of them
 * are one load. How items are cut depends on the problem and the device's memory, never on members.
 *
 * Parameters of a member lie on the device in a layout of their own: every row of a weight matrix begins at a multiple of four
 * and rows are spread over the banks of shared memory (parameter_layout.h). Numbers of these tables are double; arrays that a
 * kernel streams through are in the precision of the engine ("Real"), and come as void pointers. */
#ifndef RPINN_BACKEND_CUDA_DEVICE_TABLES_H
#define RPINN_BACKEND_CUDA_DEVICE_TABLES_H

#include <stdint.h>

enum {
  RPINN_DEVICE_MAX_FIRST = 4,
  RPINN_DEVICE_MAX_CHANNELS = 16, /* the value, 4 first and 10 second derivatives, and one to spare */
  RPINN_DEVICE_MAX_THREADS = 384
};

/* One layer of a network, places counted in the device's layout. */
typedef struct RpinnDeviceLayer {
  int32_t num_in, num_out;
  int32_t stride;        /* from row to row of W */
  int32_t weights, bias; /* places of W and b */
  int32_t plain;         /* place of W in theta, b behind it; -1: the layer is frozen */
} RpinnDeviceLayer;

typedef struct RpinnDeviceField {
  int32_t activation; /* RpinnActivation */
  int32_t num_inputs;
  int32_t num_hidden;  /* hidden layers, at least one; the output layer follows them */
  int32_t first_layer; /* in the table of layers */
  int32_t output_only; /* hidden layers are frozen */
  int32_t stride;      /* from unit to unit of its arrays */
  int32_t
      arrays; /* place of the first: [num_hidden][units][stride], what a layer keeps; the first one is for passing on */
  int32_t array_size; /* Reals of one array */
  int32_t outputs;    /* place of the network's outputs, and of dE/d outputs, [column] each */
  int32_t bars;
  int32_t
      partial; /* place of the sums of outputs that each warp has: [warps][column], the first two in the place of outputs and bars */
} RpinnDeviceField;

/* The channels of a field in an item: the value, num_first derivatives, num_second operators; see src/backend/cpu/pointwise.h. */
typedef struct RpinnDeviceShape {
  int8_t num_first, num_second;
  int8_t input_of_first[RPINN_DEVICE_MAX_FIRST];
  int32_t hessians; /* place in the table of numbers: [num_second][num_first][num_first] */
  double own[4];    /* the same, where there are not more: two first derivatives, one operator */
} RpinnDeviceShape;

/* A field in a segment. */
typedef struct RpinnDeviceRun {
  int32_t inputs;     /* place in the table of Reals: scaled inputs [input][point] */
  int32_t shape;      /* in the table of shapes */
  int16_t num_points; /* padded to a multiple of four; 0: the field is not used */
  int16_t first_column;
} RpinnDeviceRun;

typedef struct RpinnDeviceSegment {
  int32_t item;
  int32_t first_run;   /* [num_fields] in the table of runs */
  int32_t first_point; /* of the item */
  int16_t num_points, num_padded;
} RpinnDeviceSegment;

typedef struct RpinnDeviceTile {
  int32_t first_segment, num_segments;
  int32_t first_use; /* [num_fields] in the table of uses */
} RpinnDeviceTile;

/* A field in a tile. */
typedef struct RpinnDeviceUse {
  int32_t num_columns; /* a multiple of four; 0: the field is not used */
  int32_t is_first;    /* no tile before it uses the field: sums begin here */
} RpinnDeviceUse;

/* An argument of an instruction: what kind it is, and which. */
enum { RPINN_ARGUMENT_REGISTER, RPINN_ARGUMENT_FIXED, RPINN_ARGUMENT_NUMBER };
typedef struct RpinnDeviceArgument {
  int32_t kind;
  int32_t
      index; /* register; place in the Reals of the item's fixed values [num_points]; place in the constants */
} RpinnDeviceArgument;

/* An instruction whose result moves with theta; instruction i writes register i of these. */
typedef struct RpinnDeviceInstruction {
  int32_t operation; /* RpinnOperation */
  int32_t num_arguments;
  RpinnDeviceArgument a, b;
  int32_t index; /* PARAMETER: which unknown */
  int32_t field, first_map,
      count;    /* CHANNEL: sum of factors times channels of the kernel, in the table of maps */
  double shift; /* CHANNEL: added to it */
} RpinnDeviceInstruction;

typedef struct RpinnDeviceMap {
  int32_t channel;
  double factor;
} RpinnDeviceMap;

typedef struct RpinnDeviceItem {
  int32_t first_instruction, num_instructions;
  RpinnDeviceArgument result;
  int32_t num_points;
  int32_t first_result; /* of its points among the results of all items */
  /* ---- of terms ---- */
  int32_t first_row, num_rows;
  int32_t mix; /* place in the numbers: [num_rows][num_points]; -1: rows are points */
  double
      late_shift; /* added to a result in double, see src/backend/cpu/cpu_work.h; targets have it taken off */
} RpinnDeviceItem;

/* How many outputs a thread has of a product: rows times columns. */
enum { RPINN_TILE_8X8, RPINN_TILE_4X8, RPINN_TILE_4X4 };

/* The work of a member: all items, and where things lie in the memory of a block. All pointers are the device's. */
typedef struct RpinnDeviceWork {
  int32_t num_fields, num_items, num_tiles, num_results;
  int32_t first_mixed_tile; /* tiles from here on are of terms whose rows mix their points */
  int32_t max_hidden;
  int32_t num_parameters;         /* N */
  int32_t num_rows;               /* M */
  int32_t num_unknowns, unknowns; /* and their place in the device's layout */
  int32_t unknown_start;          /* and in theta */
  int32_t layout_size;            /* Reals of a member's parameters in the device's layout */
  /* Tables in one piece, which a block copies to its shared memory where in_shared is true. */
  const void *tables;
  int32_t tables_bytes; /* a multiple of 16 */
  int32_t tables_in_shared;
  const RpinnDeviceField *fields;
  const RpinnDeviceLayer *layers;
  const RpinnDeviceShape *shapes;
  const RpinnDeviceTile *tiles;
  const RpinnDeviceUse *uses;
  const RpinnDeviceSegment *segments;
  const RpinnDeviceRun *runs;
  const RpinnDeviceItem *items;
  const RpinnDeviceInstruction *instructions;
  const RpinnDeviceMap *maps;
  const double *constants;
  /* Tables that stay in global memory. */
  const double *numbers; /* Hessians, and matrices that mix points */
  const double *targets; /* [num_results] of terms */
  const void *reals;     /* scaled inputs and fixed values */
  /* ---- the memory of a block, in Reals ---- */
  int32_t arrays_size;            /* arrays, outputs, bars and partial sums of all fields */
  int32_t registers_size;         /* registers and adjoints of the largest segment's program; global memory */
  int32_t max_points;             /* of any segment, padded */
  int32_t num_threads, lane_bits; /* lanes of a group: 2^lane_bits */
  int32_t forward_tile, backward_tile, gradient_tile;
} RpinnDeviceWork;

/* Where a block keeps the parameters and the arrays of its member: from the fastest to the slowest. */
typedef enum RpinnDevicePlacement {
  RPINN_PLACE_ALL_SHARED,
  RPINN_PLACE_ARRAYS_SHARED,
  RPINN_PLACE_ALL_GLOBAL
} RpinnDevicePlacement;

typedef enum RpinnDeviceTask {
  RPINN_TASK_ENERGY,   /* rows to weights, sums of squares; gradient where asked for */
  RPINN_TASK_ADAM,     /* many iterations */
  RPINN_TASK_GIVEN,    /* gradient of the given weights of rows: J^T w */
  RPINN_TASK_RESULTS,  /* results of items */
  RPINN_TASK_JACOBIAN, /* rows, and the slope of every point */
  RPINN_NUM_TASKS
} RpinnDeviceTask;

/* One iteration of Adam, see src/backend/cpu/pointwise.h. */
typedef struct RpinnDeviceAdamStep {
  double rate, root_scale;
  float near_rate, near_root_scale; /* rounded: nothing waits for them before they are used */
} RpinnDeviceAdamStep;

/* What one launch does, for members 0, 1, …; arrays have one part for each of them. All pointers are the device's. */
typedef struct RpinnDeviceCall {
  RpinnDeviceTask task;
  RpinnDevicePlacement placement;
  int32_t wants_gradient;
  int32_t num_parts;       /* blocks that share the tiles of a member, for slopes of points; else 1 */
  void *theta;             /* Real [layout_size] */
  void *gradient;          /* Real [layout_size] */
  const double *row_scale; /* [M]; with scale_step 0 the same for all members */
  int64_t scale_step;
  const double *offsets; /* [M] of the rows; NULL: none */
  const double *weights; /* [M] of TASK_GIVEN */
  double
      *results; /* [num_results]: of items, or rows of terms (TASK_JACOBIAN: both of points that are mixed) */
  double *squares;   /* [num_results] scratch: squares of rows */
  double *term_sums; /* [num_items] sums of squares */
  double *mixed; /* [3][num_results] scratch of mixed terms: deviations of points, rows, weights of points */
  double *unknown_slopes; /* [num_results][num_unknowns] scratch */
  void *slopes;           /* Real [num_results][N] of TASK_JACOBIAN */
  void *registers;        /* Real [num_parts][registers_size] scratch */
  void *workspace;        /* Real [num_parts][arrays_size], where arrays are not in shared memory */
  /* ---- of Adam ---- */
  void *theta_before;                      /* Real [layout_size] where the last gradient was taken */
  void *m, *v, *prior_scale, *prior_shift; /* Real [layout_size] */
  void *records;           /* Real [layout_size][4] of the fused kernel: m, v, prior_scale, prior_shift */
  const int32_t *step_row; /* [members] which row of steps */
  const RpinnDeviceAdamStep *steps; /* [rows][num_steps] */
  int32_t num_steps;
  /* Blocks of a fused kernel make the iterations of a member in shares, one after the other; 1 for other tasks. */
  int32_t num_shares;
  int32_t *turns; /* [1 + members] blocks that have begun, shares of a member that are done; zero at first */
  double beta1, beta2, epsilon;
} RpinnDeviceCall;

/* What follows a Jacobian of points, in double, for members 0, 1, …: rows and J, and products with J. */
typedef enum RpinnDeviceProductTask {
  RPINN_PRODUCT_ROWS, /* results and slopes of points to rows and J */
  RPINN_PRODUCT_TIMES,
  RPINN_PRODUCT_GRAM
} RpinnDeviceProductTask;

typedef struct RpinnDeviceProduct {
  RpinnDeviceProductTask task;
  const double *row_scale; /* as in RpinnDeviceCall */
  int64_t scale_step;
  const double *results; /* [num_results] */
  const void *slopes;    /* Real [num_results][N]; NULL: rows only */
  double *rows;          /* [M] */
  double *jacobian;      /* [M][N] */
  const double *inputs;  /* [N]: direction of TIMES, scale of GRAM or NULL */
  double *outputs;       /* TIMES [M], GRAM [M][M] */
} RpinnDeviceProduct;

/* What a device can do at most, by loops in registers: X(PEAK, what does it) */
#define RPINN_DEVICE_PEAK_LIST(X)                                                                            \
  X(FLOAT, "FP32")                                                                                           \
  X(DOUBLE, "FP64")                                                                                          \
  X(TENSOR_TF32, "TF32 tensor cores")                                                                        \
  X(TENSOR_DOUBLE, "FP64 tensor cores")

typedef enum RpinnDevicePeak {
#define RPINN_DEVICE_PEAK_ENUM(peak, name) RPINN_PEAK_##peak,
  RPINN_DEVICE_PEAK_LIST(RPINN_DEVICE_PEAK_ENUM)
#undef RPINN_DEVICE_PEAK_ENUM
      RPINN_NUM_DEVICE_PEAKS
} RpinnDevicePeak;

/* Steps of Levenberg–Marquardt in data space, for members 0, 1, …, in double. With m = M + 1 and W = [J; q] A^-1/2, of m rows:
 *
 *   ROOTS   A^-1 to A^-1/2, in place
 *   WEIGH   slopes of points to W, of as many members as W has room for
 *   then the device's library makes G = W W^T, which has J A^-1 q in its last row
 *   SOLVE   (I + J A^-1 J^T) y = r - J A^-1 q, and what y means for points: J^T y = sum of weights times slopes
 *   FINISH  d = -A^-1 (q + J^T y) */
typedef enum RpinnDeviceStepTask {
  RPINN_STEP_ROOTS,
  RPINN_STEP_WEIGH,
  RPINN_STEP_SOLVE,
  RPINN_STEP_FINISH
} RpinnDeviceStepTask;

typedef struct RpinnDeviceStep {
  RpinnDeviceStepTask task;
  int64_t first;           /* WEIGH: member `first` is the first of W */
  const double *row_scale; /* as in RpinnDeviceCall */
  int64_t scale_step;
  const void *slopes; /* Real [num_results][N] */
  double *roots;      /* [N] A^-1, then A^-1/2 */
  const double *pull; /* q [N]; NULL: zero */
  const double *rows; /* r [M]; NULL: only the trace is wanted */
  double *weighed;    /* W [m][weighed_stride], zeros behind its N columns */
  int64_t weighed_stride;
  double *gram; /* G [m][gram_stride], lower triangle */
  int64_t gram_stride;
  double *weights; /* [num_results] of points */
  double *outcome; /* [2] the trace of J A^-1 J^T, and whether it was solved */
  double *step;    /* d [N] */
} RpinnDeviceStep;

/* C = A B^T, or A B, in double and row by row, for `batch` triples that lie a step apart. */
typedef struct RpinnDeviceMultiply {
  int32_t is_plain; /* A B, with B [depth][columns] */
  int32_t is_ahead; /* as in RpinnLaunch */
  int64_t batch;
  int64_t rows, columns, depth; /* A [rows][depth], B [columns][depth], C [rows][columns] */
  const double *a, *b;
  int64_t a_stride, a_step, b_stride, b_step;
  double *c;
  int64_t c_stride, c_step;
} RpinnDeviceMultiply;

#endif
