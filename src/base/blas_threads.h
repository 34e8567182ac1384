/* The one place that decides about BLAS in this process: how many threads it has, which is one, and that there is
 * memory for its products.
 *
 * Members, chains and particles are what runs in parallel. Inside one, OpenBLAS must not share a product over
 * threads of its own: it cuts sums by how many there are, and then the bits depend on them. */
#ifndef RPINN_BASE_BLAS_THREADS_H
#define RPINN_BASE_BLAS_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "rpinn/status.h"

/* Before any product: rpinn_context_create calls it, and all who compute have a context. The setting is one for
 * the process, so this has its effect on all users of OpenBLAS in it. */
void rpinn_blas_use_one_thread(void);

/* May several threads make products at the same time? Not with a serial build of OpenBLAS: Debian's has no locks
 * around the memory that products work in, and then some of them come out wrong. */
bool rpinn_blas_is_shareable(void);

/* What OpenBLAS calls the kind of processor that it chose its products for: where it is another, products have other bits. */
const char *rpinn_blas_core_name(void);

/* Take the memory that the products of so many threads work in, unless it is taken. Where there is none OpenBLAS
 * would ask for it again and again and never return: those who are about to make large products ask here before. */
RpinnStatus rpinn_blas_reserve(RpinnContext *context, size_t num_threads);

#endif
