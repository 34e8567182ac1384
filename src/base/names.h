/* Lists of names: does one occur twice? */
#ifndef RPINN_BASE_NAMES_H
#define RPINN_BASE_NAMES_H

#include <stdbool.h>

#include "context.h"

typedef struct RpinnRepeat {
  bool found;
  size_t first, second; /* names[first] equals names[second]; no repeat ends before second */
} RpinnRepeat;

/* The first name of the list that was there before. Takes count log count steps: lists may come from hostile
 * files. */
RpinnStatus rpinn_names_find_repeat(RpinnContext *context, const char *const *names, size_t count,
                                    RpinnRepeat *repeat);

#endif
