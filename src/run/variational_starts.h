/* Where variational inference begins: means, and deviations and factors from the curvature there. */
#ifndef RPINN_RUN_VARIATIONAL_STARTS_H
#define RPINN_RUN_VARIATIONAL_STARTS_H

#include "driver.h"
#include "member.h"

typedef struct RpinnVariationalBeginning {
  double *means, *deviations; /* [count][num_drawn] */
  double *factors;            /* [count][num_drawn][rank], of the precision; NULL: none are wanted */
  size_t rank;
} RpinnVariationalBeginning;

/* Fills the beginning of each start, on all threads. With `start: member` each is an rPINN member of its own, as a chain of nuts
 * has one; with others what these say. The caller may want an end before they are found: driver->interrupted. */
RpinnStatus rpinn_run_variational_starts(RpinnContext *context, RpinnDriver *driver,
                                         const RpinnMemberTarget *targets, size_t count,
                                         const RpinnVariationalBeginning *beginning);

#endif
