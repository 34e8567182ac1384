/* Threads that run out: pthread_create as the linker puts it in place of the real one, for tests with
 * LINKS "-Wl,--wrap=pthread_create". */
#ifndef RPINN_TESTS_SCARCE_THREADS_H
#define RPINN_TESTS_SCARCE_THREADS_H

#include <errno.h>
#include <pthread.h>

/* Threads that may still be started before pthread_create fails as on a full machine. */
static int threads_left = 1 << 20;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *user) {
  if (threads_left-- <= 0) return EAGAIN;
  return __real_pthread_create(thread, attributes, start, user);
}

#endif
