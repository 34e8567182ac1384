#ifndef RPINN_BENCH_SCALING_ROW_H
#define RPINN_BENCH_SCALING_ROW_H

#include "json_writer.h"
#include "rpinn/scaling.h"

/* The row as an object. */
void rpinn_scaling_row_write(const RpinnScalingRow *row, RpinnJson *json);

#endif
