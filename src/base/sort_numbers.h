/* Numbers in ascending order; those that are not a number come last. Takes a fifth of the time of qsort for thousands of them: no
 * branch depends on what they are. room [count]: any. */
#ifndef RPINN_BASE_SORT_NUMBERS_H
#define RPINN_BASE_SORT_NUMBERS_H

#include <stddef.h>

void rpinn_sort_numbers(size_t count, double *values, double *room);

#endif
