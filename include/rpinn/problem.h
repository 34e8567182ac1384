/* Problems: a YAML file becomes coordinates, fields, quantities and terms. docs/problem-files.md is the
 * manual. */
#ifndef RPINN_PROBLEM_H
#define RPINN_PROBLEM_H

#include "rpinn/settings.h"
#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnProblem RpinnProblem;

/* One constant or setting given from outside the problem file. */
typedef struct RpinnOverride {
  const char *name;
  const char *value;
  const char *origin; /* shown in messages in place of a file name: "--set", "--seed" */
  bool setting_only;  /* from a flag of its own: never a constant of that name */
} RpinnOverride;

/* Bytes that stand in for a file. */
typedef struct RpinnFileInMemory {
  const char *name;
  const char *bytes; /* [length] */
  size_t length;
} RpinnFileInMemory;

/* All pointers are borrowed for the call; NULL and 0 mean "nothing". */
typedef struct RpinnProblemOptions {
  const char *preset;
  size_t num_overrides;
  const RpinnOverride *overrides;
  const char *data_file; /* as --data: points and values of all terms */
  const char *truth;     /* as --truth: YAML in place of the section truth, such as the name of a table */
  /* In place of files of these names, as they are written: the problem itself, and tables that it names. The problem keeps copies. */
  size_t num_files;
  const RpinnFileInMemory *files; /* [num_files] */
} RpinnProblemOptions;

/* name_or_path: a shipped problem ("poisson-linear") or a file, of options->files before all others. */
RPINN_API RpinnStatus rpinn_problem_load(RpinnContext *context, const char *name_or_path,
                                         const RpinnProblemOptions *options, RpinnProblem **problem);
/* From memory; file is the name for messages, and file names inside are relative to its folder. */
RPINN_API RpinnStatus rpinn_problem_parse(RpinnContext *context, const char *file, const char *text,
                                          size_t length, const RpinnProblemOptions *options,
                                          RpinnProblem **problem);
RPINN_API void rpinn_problem_destroy(RpinnProblem *problem);

RPINN_API const char *rpinn_problem_name(const RpinnProblem *problem);
RPINN_API size_t rpinn_problem_num_terms(const RpinnProblem *problem);
RPINN_API const char *rpinn_problem_term_name(const RpinnProblem *problem, size_t term);
RPINN_API size_t rpinn_problem_num_coordinates(const RpinnProblem *problem);
RPINN_API const char *rpinn_problem_coordinate_name(const RpinnProblem *problem, size_t coordinate);
/* The ends of the domain. */
RPINN_API void rpinn_problem_coordinate_range(const RpinnProblem *problem, size_t coordinate, double *low,
                                              double *high);
/* What can be predicted: fields, then quantities, by their names. */
RPINN_API size_t rpinn_problem_num_predictable(const RpinnProblem *problem);
RPINN_API const char *rpinn_problem_predictable_name(const RpinnProblem *problem, size_t index);
/* A setting as text, and as a number (choices: position in the list; NaN for auto). */
RPINN_API const char *rpinn_problem_setting_text(const RpinnProblem *problem, RpinnSetting setting);
RPINN_API double rpinn_problem_setting_number(const RpinnProblem *problem, RpinnSetting setting);
/* Presets of the file. */
RPINN_API size_t rpinn_problem_num_presets(const RpinnProblem *problem);
RPINN_API const char *rpinn_problem_preset_name(const RpinnProblem *problem, size_t preset);

/* The problems that come with the library, sorted by name. */
RPINN_API size_t rpinn_shipped_count(void);
RPINN_API const char *rpinn_shipped_name(size_t index);
RPINN_API const char *rpinn_shipped_text(size_t index);

#ifdef __cplusplus
}
#endif
#endif
