/* Names of the parameters of a target: as a user gave them, or theta[0], theta[1], … */
#ifndef RPINN_BASE_PARAMETER_NAMES_H
#define RPINN_BASE_PARAMETER_NAMES_H

#include "context.h"

typedef struct RpinnParameterNames RpinnParameterNames;

/* given [count] is copied; NULL: none are given. A name that is NULL or empty, or that two parameters share, is
 * RPINN_ERROR_INPUT. */
RpinnStatus rpinn_parameter_names_create(RpinnContext *context, size_t count, const char *const *given,
                                         RpinnParameterNames **names);
void rpinn_parameter_names_destroy(RpinnParameterNames *names);
const char *rpinn_parameter_name(const RpinnParameterNames *names, size_t parameter);

#endif
