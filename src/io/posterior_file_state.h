/* posterior.nc while it is written: what its groups have in common, and which file writes which of them. */
#ifndef RPINN_IO_POSTERIOR_FILE_STATE_H
#define RPINN_IO_POSTERIOR_FILE_STATE_H

#include "draw_variable.h"
#include "posterior_file.h"

/* Parameters and statistics of draws, in a pair of groups: posterior and sample_stats, or those of the warmup. */
typedef struct RpinnDrawSet {
  size_t num_draws, num_added;   /* of each chain; in all */
  RpinnDrawVariable *fields;     /* [num_fields] */
  RpinnDrawVariable *unknowns;   /* [num_unknowns] */
  RpinnDrawVariable *noises;     /* [num_noises] */
  RpinnDrawVariable member;      /* its number */
  RpinnDrawVariable *statistics; /* [num_statistics] */
} RpinnDrawSet;

/* Where predictions lie: their dimensions, slowest first, and the place of each point there. */
typedef struct RpinnPredictionAxes {
  size_t num_axes;
  const char *names[RPINN_DRAW_MAX_AXES];
  const double *places[RPINN_DRAW_MAX_AXES]; /* NULL: numbered from 0 */
  size_t counts[RPINN_DRAW_MAX_AXES];
  const size_t *slots;    /* [num_points]; NULL: in order */
  double *sorted_numbers; /* [num_points] */
} RpinnPredictionAxes;

/* Variables of log_prior; those of what has no prior are not defined. */
typedef struct RpinnLogPrior {
  RpinnDrawVariable *fields;   /* [num_fields] */
  RpinnDrawVariable *unknowns; /* [num_unknowns] */
  RpinnDrawVariable *noises;   /* [num_noises] */
  RpinnDrawVariable *terms;    /* [model.num_terms] gaussian ones */
  double *log_scales;          /* [model.num_terms] sum_j -log sqrt(l_j) of their directions */
  double *root;                /* [model.unknown_start] room for 1/s of the network parameters of a draw */
} RpinnLogPrior;

/* A number of each datum in each draw: of measured terms in one variable, which is what leave-one-out is over, of tolerances in one
 * for each term. */
typedef struct RpinnDatumVariables {
  RpinnDrawVariable measured;    /* not defined where nothing is measured */
  RpinnDrawVariable *tolerances; /* [model.num_terms] where they are */
} RpinnDatumVariables;

struct RpinnPosteriorFile {
  RpinnArena *arena;
  const RpinnPosterior *posterior;
  RpinnNetcdf netcdf;
  size_t num_chains, num_statistics;
  size_t keep_every, num_kept; /* predictions of each chain */
  RpinnDrawSet draws, warmup;
  RpinnDrawVariable *unconstrained; /* [num_unknowns + num_noises] where they have a transform */
  RpinnLogPrior log_prior;
  size_t num_measured;                            /* data of all measured terms */
  double *measured;                               /* [num_measured] room for numbers of theirs */
  RpinnDatumVariables log_likelihood, predictive; /* the latter not defined where none are kept */
  RpinnDrawVariable *predictions;                 /* [num_predicted]; NULL: none are kept */
  RpinnDrawVariable *held_out; /* [problem->num_terms] where they are held out; NULL: none are kept */
  RpinnPredictionAxes axes;
};

/* Of the parameters of networks. */
static inline nc_type rpinn_posterior_file_real(const RpinnPosterior *posterior) {
  return posterior->precision == RPINN_PRECISION_DOUBLE ? NC_DOUBLE : NC_FLOAT;
}
/* No less than the bytes that the file will have, and little more. */
size_t rpinn_posterior_file_largest_size(const RpinnPosteriorFile *file);
/* A group of draws 0, step, 2 step, … */
RpinnStatus rpinn_posterior_file_define_group(RpinnContext *context, RpinnPosteriorFile *file,
                                              const char *name, size_t num_draws, size_t step,
                                              RpinnDrawGroup *group);

/* posterior, unconstrained_posterior, sample_stats, and those of the warmup */
RpinnStatus rpinn_posterior_file_define_draws(RpinnContext *context, RpinnPosteriorFile *file,
                                              const RpinnPosteriorFileOptions *options);
/* Parameters and statistics of the next draw of the set. */
RpinnStatus rpinn_posterior_file_add_draw(RpinnContext *context, RpinnPosteriorFile *file, RpinnDrawSet *set,
                                          const RpinnPosteriorDraw *added);

/* A gaussian term is a prior: it has points, but no data and no likelihood. */
static inline bool rpinn_posterior_file_has_data(const RpinnPosterior *posterior, size_t term) {
  return !posterior->terms[term].mix;
}
/* How many data are measured; room for numbers of theirs. Before the groups are defined. */
RpinnStatus rpinn_posterior_file_count_measured(RpinnContext *context, RpinnPosteriorFile *file);
/* The group `name` of measured data, and tolerance_<name> where there are tolerances. */
RpinnStatus rpinn_posterior_file_define_data_groups(RpinnContext *context, RpinnPosteriorFile *file,
                                                    const char *name, size_t num_draws, size_t step,
                                                    RpinnDatumVariables *variables);
/* The row of the next draw: values [M], term by term. */
RpinnStatus rpinn_posterior_file_add_data(RpinnContext *context, RpinnPosteriorFile *file,
                                          RpinnDatumVariables *variables, const double *values);

/* log_prior */
RpinnStatus rpinn_posterior_file_define_log_prior(RpinnContext *context, RpinnPosteriorFile *file);
RpinnStatus rpinn_posterior_file_add_log_prior(RpinnContext *context, RpinnPosteriorFile *file,
                                               const RpinnPosteriorDraw *added);
/* posterior_predictive, where it is kept */
RpinnStatus rpinn_posterior_file_define_predictive(RpinnContext *context, RpinnPosteriorFile *file);
RpinnStatus rpinn_posterior_file_add_predictive(RpinnContext *context, RpinnPosteriorFile *file,
                                                const RpinnPosteriorDraw *added);
/* observed_data, constant_data */
RpinnStatus rpinn_posterior_file_write_data(RpinnContext *context, RpinnPosteriorFile *file);

/* predictions, where they are kept, and predictions_constant_data; values [num_predicted][num_points] */
RpinnStatus rpinn_posterior_file_define_predictions(RpinnContext *context, RpinnPosteriorFile *file);
RpinnStatus rpinn_posterior_file_add_predictions(RpinnContext *context, RpinnPosteriorFile *file,
                                                 const double *values);
/* Held-out terms among them. */
bool rpinn_posterior_file_holds_out(const RpinnPosterior *posterior, size_t term);
size_t rpinn_posterior_file_num_held_out(const RpinnPosterior *posterior);
RpinnStatus rpinn_posterior_file_define_held_out(RpinnContext *context, RpinnPosteriorFile *file,
                                                 const RpinnDrawGroup *group);
RpinnStatus rpinn_posterior_file_add_held_out(RpinnContext *context, RpinnPosteriorFile *file,
                                              const double *values);
RpinnStatus rpinn_posterior_file_write_held_out(RpinnContext *context, const RpinnPosteriorFile *file,
                                                int group);
/* The dimensions of predictions in a group. */
RpinnStatus rpinn_posterior_file_define_axes(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                             int axes[RPINN_DRAW_MAX_AXES]);
/* values [num_points] in the order of the file, until the next call. */
const double *rpinn_posterior_file_arrange(const RpinnPosteriorFile *file, const double *values);

#endif
