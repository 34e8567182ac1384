/* The functions of BLAS by precision, for the large products of the CPU backend; those of layers are in matrix_products.h. */
#ifndef RPINN_BACKEND_CPU_BLAS_H
#define RPINN_BACKEND_CPU_BLAS_H

#include <cblas.h>

#include "real.h"

#if defined(RPINN_REAL_FLOAT)
#define RPINN_BLAS(operation) RPINN_JOIN(cblas_s, operation)
#else
#define RPINN_BLAS(operation) RPINN_JOIN(cblas_d, operation)
#endif

#endif
