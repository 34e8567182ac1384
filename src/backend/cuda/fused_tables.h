/* What the fused kernel reads, beside the programs of device_tables.h: plain structs for C17 and CUDA C++ alike.
 *
 * A *tile* is a fixed number of points that a block takes through all layers at once. In a tile a field has one shape for all
 * points: the value (0), the value and all first derivatives (1), or these and one operator of second order (2). Channels that a
 * point's own program does not ask for have zeros on the way back.
 *
 * Shared memory of a block, in floats: the plane [unit][channel][point] of what comes back; weights of hidden layers [k][room for the
 * units m]; the plane of activations; outputs [field][channel][point]; small parameters; and behind these tables. Products read a
 * row beyond the last of weights and of activations, which is why these two come in this order. */
#ifndef RPINN_BACKEND_CUDA_FUSED_TABLES_H
#define RPINN_BACKEND_CUDA_FUSED_TABLES_H

#include <stdint.h>

enum {
  RPINN_FUSED_MOST_FIRST = 2 /* inputs of a network */,
  RPINN_FUSED_MOST_CHANNELS = 2 + RPINN_FUSED_MOST_FIRST
};

/* Kernels that are compiled, from the one to try first on:
 *
 *   X(NAME, PRODUCTS, FIRSTS, POINTS, GROUPS, THREADS, BLOCKS, WIDTH, HIDDEN, FIELDS)
 *
 * with inputs of a network, points of a tile, groups of units that a layer has at most, threads of a block at most, and blocks of so many that
 * a multiprocessor is to have. PRODUCTS: how products are made and laid out. In FP32 a thread has all units of a group and two points: groups of
 * ten units with room for twelve and six times five entries of a gradient where a block has few threads (TEN), groups of four and four times four
 * entries where it has many (FOUR). With tensor cores (TF32) a warp has 32 units and eight points, and 32 times 16 entries of a gradient.
 * WIDTH, HIDDEN, FIELDS: kernels for networks that all have so many hidden layers of this width, and so many of them, whose blocks have THREADS
 * threads: what the compiler knows is neither read nor counted. 0: for all sizes. */
#define RPINN_FUSED_LIST(X)                                                                                  \
  X(LINE_50, TEN, 1, 36, 5, 96, 4, 50, 2, 1)                                                                 \
  X(LINE, TEN, 1, 36, 5, 384, 1, 0, 0, 0)                                                                    \
  X(PLANE_60, FOUR, 2, 48, 15, 384, 1, 60, 4, 2)                                                             \
  X(PLANE, FOUR, 2, 48, 15, 384, 1, 0, 0, 0)                                                                 \
  X(WIDE, TEN, 2, 40, 8, 256, 1, 0, 0, 0)                                                                    \
  X(LINE_50_TF32, TF32, 1, 40, 2, 320, 2, 50, 2, 1)                                                          \
  X(LINE_TF32, TF32, 1, 40, 2, 320, 2, 0, 0, 0)                                                              \
  X(PLANE_60_TF32, TF32, 2, 40, 2, 320, 1, 60, 4, 2)                                                         \
  X(PLANE_TF32, TF32, 2, 40, 2, 320, 1, 0, 0, 0)

#define RPINN_FUSED_ENUMERATOR(NAME, ...) RPINN_FUSED_##NAME,
typedef enum RpinnFusedKernel {
  RPINN_FUSED_LIST(RPINN_FUSED_ENUMERATOR) RPINN_NUM_FUSED_KERNELS
} RpinnFusedKernel;

/* Y(PRODUCTS, IS_TF32, UNITS, ROOM, SPARE, INNER, ROWS, COLUMNS, IS_SQUARE): units of a group and the room that their weights have, what
 * a row of weights has beside its groups, units of a plane padded to a multiple of INNER, entries of a gradient (of a thread, or of a
 * warp), and whether a warp has four times eight threads' entries rather than those of threads one after the other. */
#define RPINN_FUSED_PRODUCTS_LIST(Y)                                                                         \
  Y(TEN, 0, 10, 12, 0, 10, 6, 5, 0)                                                                          \
  Y(FOUR, 0, 4, 4, 0, 4, 4, 4, 1)                                                                            \
  Y(TF32, 1, 32, 32, 8, 8, 32, 16, 0)

#define RPINN_FUSED_PRODUCTS_ENUMERATORS(NAME, IS_TF32, UNITS, ROOM, SPARE, INNER, ROWS, COLUMNS, IS_SQUARE) \
  RPINN_FUSED_##NAME##_UNITS = UNITS, RPINN_FUSED_##NAME##_ROOM = ROOM, RPINN_FUSED_##NAME##_SPARE = SPARE,  \
  RPINN_FUSED_##NAME##_INNER = INNER, RPINN_FUSED_##NAME##_ROWS = ROWS,                                      \
  RPINN_FUSED_##NAME##_COLUMNS = COLUMNS, RPINN_FUSED_##NAME##_IS_SQUARE = IS_SQUARE,
enum { RPINN_FUSED_PRODUCTS_LIST(RPINN_FUSED_PRODUCTS_ENUMERATORS) RPINN_FUSED_MOST_PLACE = 1 << 20 };
enum { RPINN_FUSED_SQUARE_ROWS = 4, RPINN_FUSED_SQUARE_COLUMNS = 8 }; /* threads of a warp, see above */

/* A layer of a network. Places are in shared memory, but for those of the device's layout (device_tables.h). */
typedef struct RpinnFusedLayer {
  int32_t num_in, num_out;
  int32_t in_groups, out_groups; /* groups of rows that threads take of its inputs and outputs */
  int32_t weights;               /* hidden: [k][m]; first: [input][padded unit]; last: [unit] */
  int32_t bias;
  int32_t padded; /* first layer: from input to input */
  int32_t layout_weights, layout_stride, layout_bias;
} RpinnFusedLayer;

typedef struct RpinnFusedField {
  int32_t num_inputs;
  int32_t num_hidden; /* hidden layers, at least two */
  int32_t first_layer;
  int32_t outputs; /* place in shared memory: [channel][point] */
  int32_t kept;    /* place in the kept numbers of a block */
} RpinnFusedField;

/* A field in a tile. */
typedef struct RpinnFusedUse {
  int32_t shape;             /* -1: the field is not used */
  int32_t inputs;            /* place in the table of inputs: [input][point] */
  int32_t is_first, is_last; /* of the tiles that use the field: sums begin, sums end */
  float hessian[3];          /* of the operator: (0, 0), (0, 1), (1, 1) */
} RpinnFusedUse;

/* A point of a tile: item * RPINN_FUSED_MOST_PLACE + place in the item; -1: none. */
typedef int32_t RpinnFusedPoint;

/* The channels of a field in an item: which of the tile's each of them is. Where the item's program is linear in its channels with
 * factors that are the same at all points, result = shift + sum over fields and the tile's channels of factor times channel. */
typedef struct RpinnFusedChannels {
  int8_t count, from[6], is_linear; /* is_linear: of the item, the same for all its fields */
  float shift;                      /* what the field has of it */
  float factors[RPINN_FUSED_MOST_CHANNELS];
} RpinnFusedChannels;

typedef struct RpinnFusedWork {
  int32_t kernel; /* RpinnFusedKernel */
  int32_t num_tiles, num_threads;
  int32_t shared_size; /* floats of a block */
  int32_t activations; /* place of their plane in shared memory; that of bars is 0 */
  int32_t unknowns;    /* place of the first unknown in shared memory */
  int32_t keeps_last;  /* the last layer's numbers leave the registers: there are several fields */
  int32_t makes_again; /* the activations that the first way back needs are computed again */
  int32_t kept_size;   /* floats that a block keeps in global memory */
  /* Tables in one piece, which a block copies to its shared memory, behind the numbers; programs come behind them. Places of each
   * from the beginning of shared memory, in bytes. */
  const void *tables;
  int32_t tables_bytes, program_bytes; /* multiples of 16 */
  int32_t layers, fields, uses,
      channels; /* RpinnFused…; uses [num_tiles][num_fields], channels [num_items][num_fields] */
  int32_t program_fields, program_runs;         /* RpinnDeviceField, RpinnDeviceRun */
  int32_t items, instructions, maps, constants; /* of the programs */
  /* Tables that stay in global memory. */
  const RpinnFusedPoint *points; /* [num_tiles][points of a tile] */
  const float *inputs;
} RpinnFusedWork;

#endif
