# Which build of OpenBLAS is it? Members run on threads of ours and make products at the same time, each on one thread.
# That wants the pthread build: the serial one of Debian has no locks around the memory that products work in (not
# built with USE_LOCKING=1), and some products come out wrong; the OpenMP one has a number of threads for each thread
# that calls it. The loader decides again when a program starts (Debian: update-alternatives), so the library asks, too.
include(CheckCSourceRuns)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::OPENBLAS)
check_c_source_runs("#include <cblas.h>
int main(void) { return openblas_get_parallel() == OPENBLAS_THREAD ? 0 : 1; }" RPINN_OPENBLAS_IS_PTHREAD_BUILD)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT RPINN_OPENBLAS_IS_PTHREAD_BUILD)
  message(NOTICE "rpinn: this OpenBLAS is not the pthread build (Debian: libopenblas-pthread-dev). With the "
                 "serial build runs have one thread; with the OpenMP build set OMP_NUM_THREADS=1.")
endif()
