/* What computes energies on this machine. */
#ifndef RPINN_BACKENDS_H
#define RPINN_BACKENDS_H

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What this machine has for the backend of a name (a choice of the setting `backend`), for people: its GPU, or that every machine
 * will do. Fails with the reason where it has nothing. Writes at most size bytes with the final NUL. */
RPINN_API RpinnStatus rpinn_backend_describe(RpinnContext *context, const char *name, char *text,
                                             size_t size);

#ifdef __cplusplus
}
#endif

#endif
