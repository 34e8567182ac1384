/* Measurements that a random field is conditioned on, from a table of <coordinates>,value and, if known, std. */
#ifndef RPINN_DATA_GIVEN_VALUES_H
#define RPINN_DATA_GIVEN_VALUES_H

#include "csv_table.h"

/* Of the room truth, which not everybody who sees data may see. */
typedef struct RpinnKriging RpinnKriging;
typedef struct RpinnFieldModel RpinnFieldModel;

typedef struct RpinnGivenValues {
  size_t count;
  double *places;              /* [count][num_coordinates] */
  double *values, *deviations; /* [count] */
} RpinnGivenValues;

/* Everything in the arena; names [num_coordinates], one or two of them. Measurements may lie anywhere: a field does not
 * end with a domain. */
RpinnStatus rpinn_given_values_read(RpinnContext *context, RpinnArena *arena, const RpinnCsvTable *table,
                                    size_t num_coordinates, const char *const *names,
                                    RpinnGivenValues *given);
/* What the field is, given them: their variances are the nuggets. The caller destroys it. */
RpinnStatus rpinn_given_values_krige(RpinnContext *context, RpinnArena *arena, const RpinnGivenValues *given,
                                     const RpinnFieldModel *model, RpinnKriging **kriging);

#endif
