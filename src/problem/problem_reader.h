/* Typed values out of the YAML tree, each with a message that says where, what was found and what was
 * expected. */
#ifndef RPINN_PROBLEM_PROBLEM_READER_H
#define RPINN_PROBLEM_PROBLEM_READER_H

#include "problem.h"
#include "yaml_tree.h"

typedef struct RpinnReader {
  RpinnContext *context;
  RpinnProblem *problem;
} RpinnReader;

/* Where a scalar's text starts (behind its quote). Without a column where the text is folded or escaped:
 * columns inside it cannot be counted on. */
RpinnPlace rpinn_reader_text_place(const RpinnYaml *node);
enum { RPINN_WHAT_SIZE = 256 };
/* "the noise of term 'f'": buffer, filled. */
const char *rpinn_reader_what(char buffer[RPINN_WHAT_SIZE], const char *format, const char *name);
/* `what` names the thing in messages: "terms", "the noise of term 'f'". */
RpinnStatus rpinn_reader_mapping(RpinnReader *reader, const RpinnYaml *node, const char *what);
RpinnStatus rpinn_reader_text(RpinnReader *reader, const RpinnYaml *node, const char *what,
                              const char **text);
/* Every key of the mapping must be one of the allowed ones. */
RpinnStatus rpinn_reader_keys(RpinnReader *reader, const RpinnYaml *mapping, const char *what,
                              const char *const *allowed, size_t num_allowed);
RpinnStatus rpinn_reader_required(RpinnReader *reader, const RpinnYaml *mapping, const char *what,
                                  const char *key, const RpinnYaml **value);
/* A constant expression, as a finite number. */
RpinnStatus rpinn_reader_number(RpinnReader *reader, const RpinnYaml *node, const char *what, double *value);
/* … that is a whole number from low to high. */
RpinnStatus rpinn_reader_count(RpinnReader *reader, const RpinnYaml *node, const char *what, size_t low,
                               size_t high, size_t *value);
RpinnStatus rpinn_reader_boolean(RpinnReader *reader, const RpinnYaml *node, const char *what, bool *value);
/* One of the choices; *position is its place in the list. */
RpinnStatus rpinn_reader_choice(RpinnReader *reader, const RpinnYaml *node, const char *what,
                                const char *const *choices, size_t num_choices, size_t *position);
/* [low, high] with low < high and a finite width. */
RpinnStatus rpinn_reader_interval(RpinnReader *reader, const RpinnYaml *node, const char *what, double *low,
                                  double *high);

/* A name for a new thing: valid, not reserved, not taken. */
RpinnStatus rpinn_reader_new_name(RpinnReader *reader, const RpinnYaml *key, const char *kind);
/* A mapping of low to high entries. */
RpinnStatus rpinn_reader_size(RpinnReader *reader, const RpinnYaml *node, const char *section, size_t low,
                              size_t high);
RpinnStatus rpinn_reader_named(RpinnReader *reader, const RpinnYaml *key, const RpinnYaml *value,
                               RpinnNamedExpression *named);

/* A point set (`at:` and `predict:`); extra keys of the mapping are allowed where given. */
RpinnStatus rpinn_reader_points(RpinnReader *reader, const RpinnYaml *node, const char *what,
                                const char *const *extra_keys, size_t num_extra, RpinnPointSpec *points);

/* "; did you mean 'near'?" or nothing. */
RpinnStatus rpinn_reader_fail_unknown(RpinnReader *reader, RpinnPlace place, const char *kind,
                                      const char *name, const char *const *known, size_t num_known);

#endif
