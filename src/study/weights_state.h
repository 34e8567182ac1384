/* A search for weights in memory.
 *
 * A candidate is one set of values: a point of the grid, what the problem has given, or what a rule without a search gives. What is
 * found of it (looks, folds, runs) is kept in small files by its number, so that it is made once. */
#ifndef RPINN_STUDY_WEIGHTS_STATE_H
#define RPINN_STUDY_WEIGHTS_STATE_H

#include "many_runs.h"
#include "rpinn/weights.h"
#include "run_record.h"
#include "weights_rules.h"

enum {
  RPINN_MAX_SEARCH_AXES = 2,
  RPINN_MAX_AXIS_VALUES = 64,
  RPINN_MAX_WEIGHT_CHOICES = 1 + 2 * RPINN_NUM_WEIGHT_RULES
};

/* What decides the standard deviations of a posterior. */
typedef struct RpinnWeightValues {
  double *weights; /* [num_terms] lambda_t; NaN: the likelihood has none */
  double *noise;   /* [num_terms] what the stated noise is multiplied by */
  double epsilon;  /* NaN: the likelihood has none */
  double prior;    /* s_p; NaN: it follows from the weights */
  double shape;    /* RpinnPriorShape; NaN: the likelihood has one alone */
} RpinnWeightValues;

/* What can be searched: one struct each, in weights_axes.c. */
typedef struct RpinnAxisKind RpinnAxisKind;

typedef struct RpinnSearchAxis {
  const RpinnAxisKind *kind;
  char name[320]; /* weight:b */
  size_t term;    /* num_terms: all of them */
  size_t count;
  double values[RPINN_MAX_AXIS_VALUES]; /* in the order in which they were given */
} RpinnSearchAxis;

/* What the model says of the data, linearised at members, or at the most probable parameters, of a candidate. */
typedef struct RpinnWeightLook {
  double leave_one_out, log_evidence; /* in units of the data; NaN where nothing finite was found */
  double misfit;                      /* mean square of the measured rows */
} RpinnWeightLook;

/* A run against the truth of one quantity. */
typedef struct RpinnQuantityScore {
  double rl2, lpp, coverage, crps; /* coverage: of intervals of 95 % */
} RpinnQuantityScore;

typedef struct RpinnWeightRow {
  double seconds;
  RpinnQuantityScore scores[]; /* [num_quantities] */
} RpinnWeightRow;

typedef struct RpinnWeightCandidate {
  bool is_there;
  size_t same_as; /* the first candidate with these values: what is found of it is found of all */
  double at[RPINN_MAX_SEARCH_AXES]; /* on the axes; NaN: it is no point of the grid */
  RpinnWeightValues values;
  double *sigmas; /* [num_terms] s_t */
  double prior;   /* s_p */
  RpinnWeightLook look;
  double folds;
  const RpinnWeightRow *map, *draws;   /* on the data at hand; NULL: not made */
  const RpinnWeightRow *const *scores; /* [num_data_sets], with fresh noise; NULL: not made */
} RpinnWeightCandidate;

/* What was taken, and by whom. */
typedef struct RpinnWeightChoice {
  char label[80];              /* the rule, and where it looked; or the name of what is given */
  const RpinnWeightRule *rule; /* NULL: given */
  size_t candidate;
  double criterion; /* NaN where it has none */
  size_t num_alike; /* points of the grid that the rule cannot tell from the best, itself among them */
  bool is_at_end[RPINN_MAX_SEARCH_AXES]; /* of an axis: better values may lie beyond */
} RpinnWeightChoice;

struct RpinnWeightSearch {
  const RpinnWeightOptions *options; /* NULL once it is made */
  RpinnArena *arena;
  RpinnRun *base; /* of the problem as it stands, never begun; NULL once all is made */
  size_t num_threads;
  bool at_minimum; /* where looks are taken, as a choice of the prior's scale would be */
  const char *problem;
  RpinnLikelihood likelihood;
  const char *map_method, *draw_method;
  const char *members;
  size_t num_folds;
  size_t **folds; /* [num_terms][points] */
  size_t num_quantities;
  size_t *quantities; /* [num_quantities] among those of predict:, whose truth is known */
  bool *counts;       /* [num_quantities] is it what errors and LPP are of? */
  const char **quantity_names;
  const char **term_names; /* [num_terms] */
  size_t num_terms, num_weighted;
  bool *is_weighted;       /* [num_terms] terms whose weight means something */
  double *factors;         /* [num_fields] of the prior's scale, where the data chose them; else NULL */
  RpinnScaleRule given_by; /* the rule that chose the given scale */
  size_t num_axes;
  RpinnSearchAxis axes[RPINN_MAX_SEARCH_AXES];
  size_t num_rules;
  const RpinnWeightRule *rules[RPINN_NUM_WEIGHT_RULES];
  RpinnText left_out; /* rules that were not asked for and are not possible, a line each */
  size_t num_grid;    /* candidates 0 … num_grid - 1 are the grid, num_grid is what is given */
  size_t num_candidates;
  RpinnWeightCandidate *candidates;
  size_t num_choices;
  RpinnWeightChoice choices[RPINN_MAX_WEIGHT_CHOICES];
  bool interrupted;
  RpinnText text, csv, json, page, yaml;
};

/* weights_options.c: what is asked for, as far as it can be checked before anything is loaded; and where the problem has a say. */
RpinnStatus rpinn_weights_read_options(RpinnContext *context, const RpinnWeightSearch *search);
RpinnStatus rpinn_weights_read_quantities(RpinnContext *context, RpinnWeightSearch *search);
RpinnStatus rpinn_weights_read_members(RpinnContext *context, RpinnWeightSearch *search);
RpinnStatus rpinn_weights_read_rules(RpinnContext *context, RpinnWeightSearch *search);
/* Is any rule that is asked for of this stage? */
bool rpinn_weights_need(const RpinnWeightSearch *search, RpinnWeightStage stage);
/* Does the caller want an end? */
bool rpinn_weights_are_stopped(void *search);

/* weights_axes.c: what is searched, by name before anything is loaded, and then whole … */
RpinnStatus rpinn_weights_check_axes(RpinnContext *context, const RpinnWeightSearch *search);
RpinnStatus rpinn_weights_read_axes(RpinnContext *context, RpinnWeightSearch *search);
bool rpinn_weights_search_epsilon(const RpinnWeightSearch *search);
bool rpinn_axis_is_logarithmic(const RpinnSearchAxis *axis);
/* … a value of an axis in words, for tables … */
void rpinn_axis_write_value(const RpinnSearchAxis *axis, double value, RpinnText *text);
/* … put into a set of values … */
void rpinn_axis_set(const RpinnWeightSearch *search, const RpinnSearchAxis *axis, double value,
                    RpinnWeightValues *values);
/* … found of a candidate, NaN where it lies beside the axis … */
double rpinn_axis_get(const RpinnWeightSearch *search, const RpinnSearchAxis *axis,
                      const RpinnWeightCandidate *candidate);
/* … and all of them as lines to paste into the problem file. */
void rpinn_weights_write_values(const RpinnWeightSearch *search, const RpinnWeightValues *values,
                                RpinnText *yaml);

/* weights_candidates.c: the given values, with the scale of the prior that the data choose where it is not given, and the grid. */
RpinnStatus rpinn_weights_settle_given(RpinnContext *context, RpinnWeightSearch *search);
RpinnStatus rpinn_weights_list_candidates(RpinnContext *context, RpinnWeightSearch *search);
/* A further candidate with given values but for its weights [num_terms]. */
RpinnStatus rpinn_weights_add_candidate(RpinnContext *context, RpinnWeightSearch *search, size_t candidate,
                                        const double *weights);
/* The values of a candidate as those of the problem, whose terms and fields are its own. */
RpinnStatus rpinn_weights_apply(RpinnContext *context, const RpinnWeightSearch *search,
                                const RpinnWeightValues *values, RpinnProblem *problem);

/* weights_problem.c: the problem of a candidate (NULL: as it stands) with one of the methods; data_set NULL: the data at hand. The
 * caller destroys it. */
RpinnStatus rpinn_weights_load(RpinnContext *context, const RpinnWeightSearch *search, const char *method,
                               const RpinnWeightCandidate *candidate, const size_t *data_set,
                               RpinnProblem **problem);
/* Is --samples given? */
bool rpinn_weights_have_samples(const RpinnWeightSearch *search);

/* weights_folder.c: the folder is ours, or becomes so. */
RpinnStatus rpinn_weights_claim_folder(RpinnContext *context, const RpinnWeightSearch *search);

/* weights_files.c: what was found, as small files of numbers in folder/scores; NaN is null. False in *found where there is none. */
RpinnStatus rpinn_weights_read_numbers(RpinnContext *context, const RpinnWeightSearch *search,
                                       const char *name, size_t count, double *numbers, bool *found);
RpinnStatus rpinn_weights_write_numbers(RpinnContext *context, const RpinnWeightSearch *search,
                                        const char *name, size_t count, const double *numbers);

/* weights_balance.c: candidates of the rules without a search. */
RpinnStatus rpinn_weights_balance(RpinnContext *context, RpinnWeightSearch *search);
/* weights_looks.c: leave-one-out, evidence and folds of all candidates, by linearisation. */
RpinnStatus rpinn_weights_look(RpinnContext *context, RpinnWeightSearch *search);
/* The most probable parameters theta [N] of a posterior, from a few draws of its prior. */
RpinnStatus rpinn_weights_find_minimum(RpinnContext *context, RpinnWeightSearch *search,
                                       const RpinnPosterior *posterior, double *theta);
/* weights_folds.c: the log density of each fold's rows given the others, summed, in units of the data. */
RpinnStatus rpinn_weights_foretell_folds(RpinnContext *context, RpinnWeightSearch *search,
                                         const RpinnPosterior *posterior, double *sum);
/* -sum log s_i over the measured rows: turns densities of whitened rows into those of the data. */
double rpinn_weights_log_scale(const RpinnPosterior *posterior, const bool *is_data);
/* weights_runs.c: runs of all candidates on the data at hand; and of choices on fresh data. */
RpinnStatus rpinn_weights_make_runs(RpinnContext *context, RpinnWeightSearch *search, RpinnWeightStage stage);
RpinnStatus rpinn_weights_score_choices(RpinnContext *context, RpinnWeightSearch *search);

/* weights_choose.c */
void rpinn_weights_choose(RpinnWeightSearch *search);
/* The mean over data sets of a score of a quantity, and its standard error: NaN of one data set. */
typedef struct RpinnScoreMean {
  double mean, error;
} RpinnScoreMean;
RpinnScoreMean rpinn_weights_mean(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate,
                                  size_t quantity, size_t offset);

/* weights_tables.c, weights_page.c, weights_figures.c, weights_write.c */
RpinnStatus rpinn_weights_write_tables(RpinnContext *context, RpinnWeightSearch *search);
RpinnStatus rpinn_weights_write_page(RpinnContext *context, const RpinnWeightSearch *search, RpinnText *page);
/* The criterion of a rule over the grid: a curve, or a map. */
void rpinn_weights_draw(const RpinnWeightSearch *search, const RpinnWeightRule *rule, RpinnText *page);
/* Before anything is made: a file that is there must be one of ours. */
RpinnStatus rpinn_weights_check_file(RpinnContext *context, const RpinnWeightSearch *search);
/* The problem with the values of the first choice, as a problem file. */
RpinnStatus rpinn_weights_write_problem(RpinnContext *context, const RpinnWeightSearch *search);

#endif
