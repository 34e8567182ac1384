#include "product_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static RpinnProductLibrary loaded;
static bool is_complete;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The newest first, where the system looks for libraries, and where CUDA is usually installed. */
static void *open_library(void) {
  static const char *const names[] = {"libcublas.so.13",
                                      "libcublas.so.12",
                                      "libcublas.so.11",
                                      "/usr/local/cuda/lib64/libcublas.so.13",
                                      "/usr/local/cuda/lib64/libcublas.so.12",
                                      "/usr/local/cuda/lib64/libcublas.so.11"};
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  return library;
}

/* C has no cast from an object to a function. */
static bool find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found;
}

static void load(void) {
  RpinnProductLibrary *own = &loaded;
  int parts[3] = {0};
  own->library = open_library();
  if (!own->library) return;
  is_complete = find(own->library, "cublasCreate_v2", &own->create) &&
                find(own->library, "cublasDestroy_v2", &own->destroy) &&
                find(own->library, "cublasSetStream_v2", &own->set_stream) &&
                find(own->library, "cublasSetWorkspace_v2", &own->set_workspace) &&
                find(own->library, "cublasGetProperty", &own->get_property) &&
                find(own->library, "cublasGetStatusString", &own->status_text) &&
                find(own->library, "cublasDgemmStridedBatched", &own->multiply);
  for (int i = 0; i < 3 && is_complete; i++) is_complete = own->get_property(i, &parts[i]) == 0;
  own->version = parts[0] * 10000 + parts[1] * 100 + parts[2];
}

const RpinnProductLibrary *rpinn_product_library(void) {
  pthread_once(&once, load);
  return is_complete ? &loaded : NULL;
}

/* cuBLAS goes by columns: C^T = B A^T, in which a matrix by rows is its own transpose. */
int rpinn_product_library_multiply(const RpinnProductLibrary *library, void *handle,
                                   const RpinnDeviceMultiply *multiply) {
  enum { PLAIN, TRANSPOSED };
  const double one = 1, zero = 0;
  return library->multiply(handle, multiply->is_plain ? PLAIN : TRANSPOSED, PLAIN, (int)multiply->columns,
                           (int)multiply->rows, (int)multiply->depth, &one, multiply->b,
                           (int)multiply->b_stride, multiply->b_step, multiply->a, (int)multiply->a_stride,
                           multiply->a_step, &zero, multiply->c, (int)multiply->c_stride, multiply->c_step,
                           (int)multiply->batch);
}
