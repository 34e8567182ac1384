/* The methods: what the setting `method` chooses from, and what there is to tell about each. */
#ifndef RPINN_METHODS_H
#define RPINN_METHODS_H

#include <stddef.h>

#include "rpinn/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, optimizer, start, samples, iterations, learning_rate): a row for each method, in the order of the setting, with what
 * `auto` stands for in the settings of those names; iterations "": what its optimizer makes. All else that is known of one are its
 * structs rpinn_method_NAME and rpinn_maker_NAME, each in a file of its own; docs/architecture.md says how to add one. */
#define RPINN_METHOD_LIST(X)                                                                                 \
  X(map, "lm", "prior", "1", "", "1e-3")                                                                     \
  X(rpinn, "lm", "prior", "199", "", "1e-3")                                                                 \
  X(ensemble, "lm", "prior", "199", "", "1e-3")                                                              \
  X(nuts, "lm", "member", "1000", "", "1e-3")                                                                \
  X(svgd, "adam", "prior", "199", "", "1e-3")                                                                \
  X(laplace, "lm", "prior", "999", "", "1e-3")                                                               \
  X(vi, "lm", "member", "999", "20000", "0.05")

/* The choices of the setting, "map|rpinn|…": every name behind a bar, and the first bar left out. */
#define RPINN_METHOD_CHOICE(name, ...) "|" #name
#define RPINN_METHOD_CHOICES           (&("" RPINN_METHOD_LIST(RPINN_METHOD_CHOICE))[1])

typedef struct RpinnMethodDescription {
  const char *title;        /* the name as people write it */
  const char *summary;      /* what it makes, in one line */
  const char *file;         /* that runs of this method have beside those of all runs; NULL: none */
  const char *file_summary; /* what is in it */
} RpinnMethodDescription;

/* The name of a method by its place in the list, and what there is to tell; NULL behind the last one. */
RPINN_API const char *rpinn_method_name(size_t index);
RPINN_API const RpinnMethodDescription *rpinn_method_description(size_t index);

#ifdef __cplusplus
}
#endif
#endif
