/* Symbol visibility. Every public function is marked RPINN_API; all others stay inside the shared library. */
#ifndef RPINN_EXPORT_H
#define RPINN_EXPORT_H

#if defined(__GNUC__)
#define RPINN_API __attribute__((visibility("default")))
#define RPINN_PRINTF(format_index, first_argument)                                                           \
  __attribute__((format(printf, format_index, first_argument)))
#else
#define RPINN_API
#define RPINN_PRINTF(format_index, first_argument)
#endif

#endif
