/* cuBLAS, looked for when it is needed: the program runs without it. Its functions are declared here by hand, so that a build needs
 * nothing of it either; all of them have been the same since CUDA 11. */
#ifndef RPINN_BACKEND_CUDA_PRODUCT_LIBRARY_H
#define RPINN_BACKEND_CUDA_PRODUCT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "device_tables.h"

typedef struct RpinnProductLibrary {
  void *library;
  int version; /* major * 10000 + minor * 100 + patch, as it says itself */
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*set_workspace)(void *handle, void *memory, size_t bytes);
  int (*get_property)(int property, int *value);
  const char *(*status_text)(int status);
  int (*multiply)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const double *alpha,
                  const double *a, int a_stride, long long a_step, const double *b, int b_stride,
                  long long b_step, const double *beta, double *c, int c_stride, long long c_step, int batch);
} RpinnProductLibrary;

/* NULL where it is not found or lacks a function; loaded once, and for as long as the process lives. */
const RpinnProductLibrary *rpinn_product_library(void);

/* Of cuBLAS' statuses: CUBLAS_STATUS_ALLOC_FAILED. */
enum { RPINN_PRODUCTS_LACK_MEMORY = 3 };

/* One product of all that there is in memory of the device; returns cuBLAS' status, 0 where all went well. */
int rpinn_product_library_multiply(const RpinnProductLibrary *library, void *handle,
                                   const RpinnDeviceMultiply *multiply);

#endif
