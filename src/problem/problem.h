/* A problem in memory. Everything lives in its arena and pool; the file that made it is not needed any more.
 */
#ifndef RPINN_PROBLEM_PROBLEM_H
#define RPINN_PROBLEM_PROBLEM_H

#include "arena.h"
#include "expression_parser.h"
#include "network.h"
#include "residual_program.h"
#include "rpinn/problem.h"
#include "settings_values.h"

enum {
  RPINN_MAX_FIELDS = 64,
  RPINN_MAX_TERMS = 1024,
  RPINN_MAX_NAMES = 4096,      /* constants, quantities, unknowns: each */
  RPINN_MAX_POINTS = 100000000 /* of one term */
};

typedef struct RpinnCoordinate {
  const char *name;
  double low, high;
} RpinnCoordinate;

/* What a name is measured in, for labels only. */
typedef struct RpinnUnit {
  const char *name, *text;
} RpinnUnit;

/* A name that stands for an expression, resolved when first used; state finds cycles. */
typedef struct RpinnNamedExpression {
  const char *name;
  const char *text;
  RpinnPlace place; /* of the text's first character */
  RpinnExpression expression;
  size_t num_uses; /* times that an expression named it */
  enum { RPINN_UNRESOLVED, RPINN_BEING_RESOLVED, RPINN_RESOLVED } state;
} RpinnNamedExpression;

/* The words of shapes and rules, in the order of rpinn/choices.h. */
extern const char *const rpinn_prior_shape_names[2];
extern const char *const rpinn_scale_rule_names[2];

/* The prior on the parameters of a network. GIVEN: the scale is a number, else the data choose it, see prior_choice.h. */
typedef struct RpinnPriorSpec {
  bool has_shape, has_scale;
  RpinnPriorShape shape;
  RpinnScaleRule rule; /* where it has a scale */
  double scale;        /* GIVEN; infinity: no prior */
  bool has_factor;     /* of a field: … */
  double factor;       /* … its scale is this times that of the problem */
  RpinnPlace place;    /* of the scale, or of the factor where there is none */
} RpinnPriorSpec;

/* What the data say of scales: points of rising scale; posterior/scale_curve.h has what they mean. */
enum { RPINN_MAX_SCALE_TRIALS = 16 };
typedef struct RpinnScaleCurve {
  size_t count;
  double scale[RPINN_MAX_SCALE_TRIALS], log_density[RPINN_MAX_SCALE_TRIALS];
} RpinnScaleCurve;

typedef struct RpinnField {
  const char *name;
  RpinnPlace place;
  RpinnNetwork network; /* laid out; frozen layers are drawn by the posterior */
  bool scales_inputs, scales_output;
  bool finds_output;              /* the output is mapped to what is measured of the field, see posterior.c */
  double scaled_low, scaled_high; /* scale_inputs: the domain is mapped onto this interval */
  double output_low, output_high; /* scale_output: outputs -1 … 1 are mapped onto this interval */
  RpinnPriorSpec prior;           /* where it differs from that of the problem */
} RpinnField;

typedef enum RpinnTransform { RPINN_TRANSFORM_NONE, RPINN_TRANSFORM_LOG } RpinnTransform;

typedef struct RpinnUnknown {
  const char *name;
  RpinnPlace place;
  RpinnTransform transform;
  double start;                 /* constrained */
  double prior_mean, prior_std; /* of the transformed value */
  RpinnExpression expression;   /* the constrained value */
} RpinnUnknown;

typedef enum RpinnSampling {
  RPINN_POINTS_GRID,            /* counts per axis, ends included */
  RPINN_POINTS_LATIN_HYPERCUBE, /* count */
  RPINN_POINTS_SOBOL,           /* count */
  RPINN_POINTS_UNIFORM,         /* count */
  RPINN_POINTS_LISTED,          /* list */
  RPINN_POINTS_CELLS,           /* count of the truth's cells drawn without repetition; 0: all, in order */
  RPINN_POINTS_SAME_AS,         /* term */
  RPINN_POINTS_CSV,             /* file */
  RPINN_POINTS_OF_DATA          /* where the term's data file has them */
} RpinnSampling;

typedef enum RpinnRegion { RPINN_REGION_INSIDE, RPINN_REGION_SIDE, RPINN_REGION_BOUNDARY } RpinnRegion;

typedef struct RpinnPointSpec {
  RpinnPlace place;
  RpinnSampling sampling;
  RpinnRegion region;
  size_t side_coordinate;
  bool side_high;                       /* the upper end of that coordinate */
  size_t counts[RPINN_MAX_COORDINATES]; /* GRID: per axis; others: counts[0] */
  size_t num_listed;
  double *listed; /* [num_listed][num_coordinates] */
  size_t term;    /* SAME_AS */
  const char *file;
} RpinnPointSpec;

typedef enum RpinnDataSource {
  RPINN_DATA_EXPRESSION, /* of coordinates and constants */
  RPINN_DATA_TRUTH,
  RPINN_DATA_CSV,
  RPINN_DATA_GAUSSIAN /* none: a prior of what is expected */
} RpinnDataSource;

/* A Gaussian random field in one or two coordinates. */
enum { RPINN_LAW_MAX_AXES = 2 };

typedef struct RpinnFieldLaw {
  size_t correlation;                /* RpinnCorrelation of covariance.h */
  double length[RPINN_LAW_MAX_AXES]; /* per coordinate */
  double mean, variance;
} RpinnFieldLaw;

/* The prior of a term with `gaussian:`. */
typedef struct RpinnGaussianSpec {
  RpinnFieldLaw law;
  const char *given; /* CSV of measurements that the field is conditioned on, or NULL */
  RpinnPlace given_place;
} RpinnGaussianSpec;

/* Noise that the data are to tell: eta = log s has a normal prior. */
typedef struct RpinnUnknownNoise {
  bool present, has_prior;
  double start;                 /* 0: from the spread of the data */
  double truth;                 /* of data that are made; 0: none */
  double prior_mean, prior_std; /* of eta, with has_prior */
  RpinnPlace place;
} RpinnUnknownNoise;

typedef struct RpinnTerm {
  const char *name;
  RpinnPlace place;
  RpinnNamedExpression expect;
  RpinnPointSpec at;
  RpinnDataSource source;
  RpinnNamedExpression data;  /* EXPRESSION: its text; CSV: text is the path */
  bool has_noise, has_weight; /* has_noise: a number for all rows */
  double noise, weight;
  RpinnNamedExpression row_noise; /* of coordinates, where it differs by row; else its text is NULL */
  RpinnUnknownNoise unknown_noise;
  RpinnPlace noise_place, weight_place;
  bool perturb; /* noise is added to the data that are made; default: to those of the truth */
  bool is_test;
  RpinnGaussianSpec gaussian; /* GAUSSIAN */
} RpinnTerm;

/* Rows of a term in place of those that the file describes: data drawn from the prior, or those that a fold leaves. */
typedef struct RpinnReplacedRows {
  bool is_measured; /* the values count as read from a file; else as what the file describes */
  size_t count;
  const double *x;      /* [count][num_coordinates] */
  const double *values; /* [count]; of a gaussian term the mean of its prior, and NULL: as it is */
  const double *noise;  /* [count] as a column of a file; NULL: as the term has it */
} RpinnReplacedRows;

/* A random field that the truth draws, and steady flow that it solves: columns of its own. */
enum { RPINN_MADE_MAX_AXES = RPINN_LAW_MAX_AXES, RPINN_MADE_NUM_SIDES = 4 };

typedef struct RpinnDrawnFieldSpec {
  bool present;
  RpinnPlace place;
  const char *name;
  RpinnFieldLaw law;
  bool has_seed; /* else the data's */
  uint64_t seed;
} RpinnDrawnFieldSpec;

typedef struct RpinnWellSpec {
  double x[RPINN_MADE_MAX_AXES];
  double rate;
} RpinnWellSpec;

typedef struct RpinnSolvedFlowSpec {
  bool present;
  RpinnPlace place;
  const char *name;                  /* of the head */
  RpinnNamedExpression conductivity; /* of columns, coordinates and constants; parsed with the columns */
  bool has_source;
  RpinnNamedExpression source; /* likewise */
  struct {
    bool present, fixes_head;
    RpinnNamedExpression value;  /* of coordinates and constants */
  } sides[RPINN_MADE_NUM_SIDES]; /* in the order of RpinnFlowSide of finite_volume.h */
  size_t num_wells;
  RpinnWellSpec *wells;
} RpinnSolvedFlowSpec;

typedef struct RpinnTruthSpec {
  bool present;
  RpinnPlace place;
  const char *file;                    /* CSV, or NULL */
  bool has_cells;                      /* a grid of cells is declared */
  size_t cells[RPINN_MAX_COORDINATES]; /* per axis */
  RpinnDrawnFieldSpec field;
  RpinnSolvedFlowSpec flow;
  size_t num_entries;
  RpinnNamedExpression *entries; /* by field, quantity or unknown; parsed with the columns in scope */
} RpinnTruthSpec;

typedef struct RpinnPreset {
  const char *name;
  RpinnPlace place;
  size_t num_values;
  const char **names, **values;
  const char **methods; /* the method that a value is for; NULL: for all */
  RpinnPlace *name_places, *value_places;
} RpinnPreset;

struct RpinnProblem {
  RpinnArena *arena;
  RpinnExpressionPool *pool;
  const char *file;   /* for messages */
  const char *folder; /* what file names are relative to; "" for the current one */
  size_t num_files;
  const RpinnFileInMemory *files; /* [num_files] that stand in for files of these names */
  const char *name;
  RpinnPlace place; /* of its first key: where what is missing is reported */

  size_t num_coordinates;
  RpinnCoordinate coordinates[RPINN_MAX_COORDINATES];
  size_t num_units;
  RpinnUnit *units;
  size_t num_constants;
  RpinnNamedExpression *constants;
  size_t num_fields;
  RpinnField *fields;
  unsigned *field_inputs;
  size_t num_unknowns;
  RpinnUnknown *unknowns;
  size_t num_quantities;
  RpinnNamedExpression *quantities;
  size_t num_terms;
  RpinnTerm *terms;
  RpinnTruthSpec truth;

  bool has_reference_term;
  size_t reference_term;
  double prior_epsilon;
  RpinnPlace prior_place;
  RpinnPriorSpec prior;     /* of all fields, for the likelihood `noise` */
  bool was_chosen;          /* the setting prior_scale is what the data chose before … */
  RpinnScaleRule chosen_by; /* … by this rule */
  bool scales_per_field;    /* every field has a factor that the data choose */
  bool integrates_scale;    /* every member has a scale of its own, drawn from … */
  RpinnScaleCurve curve;    /* … this, once the data have spoken; no points before */

  bool has_predict;
  RpinnPointSpec predict_at;
  size_t num_predicted;
  RpinnNamedExpression *predicted;

  const RpinnReplacedRows *replaced; /* [num_terms], or NULL: the rows are those of the file */
  const char *data_file;             /* --data, or the top-level key; NULL: each term has its own */
  RpinnPlace data_place;
  RpinnSettingsValues settings;
  size_t num_presets;
  RpinnPreset *presets;
  RpinnPreset method_settings; /* what `settings:` says for single methods */

  /* Names for printing expressions, in the order of the arrays above. */
  RpinnExpressionNames names;
};

/* The problem with what parsing, compiling and deriving change of its own: arena, pool of expressions, and how often names
 * are used. All else is borrowed from `problem`, which stays as it is and must outlive the fork. The fork lives in the
 * arena; rpinn_expression_pool_destroy frees its pool. */
RpinnStatus rpinn_problem_fork(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                               RpinnProblem **fork);

/* Which kinds of names an expression may use. */
typedef enum RpinnNameKinds {
  RPINN_NAMES_CONSTANTS = 1,
  RPINN_NAMES_COORDINATES = 2,
  RPINN_NAMES_FIELDS = 4, /* fields, quantities and unknowns */
  RPINN_NAMES_ALL = 7
} RpinnNameKinds;

/* Parse text in the scope of the problem's names. */
RpinnStatus rpinn_problem_expression(RpinnContext *context, RpinnProblem *problem, RpinnNameKinds kinds,
                                     const char *text, RpinnPlace place, RpinnExpression *expression);
/* The same with names of one's own that come first: extra_resolve returns false for a name that it does not
 * know. */
typedef bool (*RpinnExtraNames)(void *user, const char *name, RpinnExpression *expression);
RpinnStatus rpinn_problem_expression_with(RpinnContext *context, RpinnProblem *problem, RpinnNameKinds kinds,
                                          RpinnExtraNames extra, void *user, const char *text,
                                          RpinnPlace place, RpinnExpression *expression);

enum { RPINN_MAX_UNIT = 40, RPINN_LABEL_SIZE = 320 };
/* A name with its unit, for axes: "u [K]", or "u" where no unit is given. Returns label. */
const char *rpinn_problem_label(const RpinnProblem *problem, const char *name, char label[RPINN_LABEL_SIZE]);

/* A file name of the problem file, relative to its folder; one that is in memory stays as it is. In the arena; NULL: no memory. */
const char *rpinn_problem_path(RpinnProblem *problem, const char *file);
/* What stands in for the file of this name; NULL: nothing does. */
const RpinnFileInMemory *rpinn_problem_file_in_memory(const RpinnProblem *problem, const char *name);
/* Keep copies of files [count], for as long as the problem lives. */
RpinnStatus rpinn_problem_keep_files(RpinnContext *context, RpinnProblem *problem, size_t count,
                                     const RpinnFileInMemory *files);

/* The problem with its settings as a problem file. File names are replaced by those given (NULL: written as
 * they are), so that a copy of the data beside the text makes it complete. */
typedef struct RpinnProblemFiles {
  const char *data, *truth, *predict;
  const char *prefix; /* of names of files of gaussian terms; NULL: none */
  bool truth_is_made; /* the file of the truth holds what field and flow of the truth came to */
  bool has_priors;    /* files of gaussian terms are called <term>_given.csv and <term>_points.csv */
  bool only_fixed; /* what decides the draws: neither units nor settings that may change when a run goes on */
} RpinnProblemFiles;
RpinnStatus rpinn_problem_write(RpinnContext *context, const RpinnProblem *problem,
                                const RpinnProblemFiles *files, RpinnText *text);

#endif
