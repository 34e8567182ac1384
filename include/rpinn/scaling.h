/* `rpinn bench --scaling`: what it costs to have a run made by many ranks, and what that comes to with more of them. */
#ifndef RPINN_SCALING_H
#define RPINN_SCALING_H

#include <stddef.h>

#include "rpinn/ranks.h"
#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was measured with so many ranks of one thread each. NaN: not measured. */
typedef struct RpinnScalingRow {
  double ranks;
  double cores, load;        /* of the machine of rank 0 */
  double latency, bandwidth; /* seconds of a message there, bytes per second: with 2 ranks or more */
  /* Members that cost nothing, few of them and many: seconds until they are served, and until all are in one store; the least of all turns. */
  double few_members, few_served, few_collected;
  double many_members, many_served, many_collected;
  double member_seconds; /* of the processor, of a member that takes about 10 ms */
  /* So many of these for each rank take so many seconds, in the median; shares of that, turn by turn and in the median, that ranks take
   * which make theirs each for itself at the same time, and that rank 0 takes for its own alone. */
  double weak_members, weak_seconds, weak, weak_alone;
  /* So many in all: seconds, and the part of them, times ranks, that rank 0 would take for all of them alone. */
  double strong_members, strong_seconds, strong;
} RpinnScalingRow;

typedef struct RpinnScalingOptions {
  RpinnRanks *ranks; /* those who are measured together; NULL: this process alone */
  double seconds;    /* that a rank computes in one of the runs, > 0 */
  size_t turns;      /* > 0 */
} RpinnScalingOptions;

/* By all ranks. Runs are made in a folder in the working directory, which all ranks must see, and which is removed. Rank 0 has the row. */
RPINN_API RpinnStatus rpinn_scaling_measure(RpinnContext *context, const RpinnScalingOptions *options,
                                            RpinnScalingRow *row);
/* A row as a line of JSON (NULL: out of memory; the caller frees it), and from it: the first line of the text that is one. */
RPINN_API char *rpinn_scaling_row_json(const RpinnScalingRow *row);
RPINN_API RpinnStatus rpinn_scaling_row_read(RpinnContext *context, const char *text, RpinnScalingRow *row);

/* Rows by rising numbers of ranks, and the model that is fitted to them, as a table for people and as JSON. NULL: out of memory; the caller frees it. */
RPINN_API char *rpinn_scaling_text(const RpinnScalingRow *rows, size_t count);
RPINN_API char *rpinn_scaling_json(const RpinnScalingRow *rows, size_t count);
/* The same as a figure. */
RPINN_API char *rpinn_scaling_svg(const RpinnScalingRow *rows, size_t count);
/* Both as scaling.json and scaling.svg in a folder, which is made. */
RPINN_API RpinnStatus rpinn_scaling_write(RpinnContext *context, const char *folder,
                                          const RpinnScalingRow *rows, size_t count);

#ifdef __cplusplus
}
#endif
#endif
