/* posterior.nc: the draws and all that belongs to them as one NetCDF-4 file, in the groups of ArviZ.
 *
 *   posterior                  <field>_parameters (chain, draw, <field>_parameter); each unknown (chain, draw)
 *                              noise_<term> (chain, draw) where it is not known
 *   unconstrained_posterior    unknowns with a transform, before it; log noise
 *   sample_stats               member, and the statistics of the method (chain, draw)
 *   warmup_posterior, warmup_sample_stats   the same of the warmup of chains, where it is kept
 *   log_likelihood             of all measured data: <term> (chain, draw, <term>_point) where one term is measured, measured
 *                              (chain, draw, measured_point) with the coordinate term (measured_point) where several are
 *   tolerance_log_likelihood   each fitted term with exact data (chain, draw, <term>_point), where there are any
 *   log_prior                  log density of the prior: <field>_parameters, unknowns, noises, gaussian terms (chain, draw)
 *   posterior_predictive, tolerance_posterior_predictive
 *                              data as each draw foretells them: the same names, of every keep_every-th draw
 *   predictions                each quantity (chain, draw, …), of every keep_every-th draw; see below
 *                              each held-out term as it is expected (chain, draw, <term>_point), of the same draws
 *   predictions_constant_data  where they are, and <quantity>_truth where it is known; of held-out terms <term>_<coordinate>,
 *                              <term>_observed and, where it is stated, <term>_sigma
 *   observed_data              the measured data, by the name of log_likelihood
 *   constant_data              <term>_<coordinate> and <term>_observed (<term>_point), <term>_sigma (with <term>_point where it differs
 *                              by row), prior_sigma; of a gaussian term, which is
 *                              a prior and no data, <term>_mean (<term>_point) in place of <term>_observed and <term>_sigma; with trainable: output
 *                              <field>_frozen (<field>_frozen_parameter): hidden layers in order, W by rows, then b
 *   constant_data/diagnostics  of chains: <name>_rhat, <name>_ess_bulk, <name>_ess_tail of parameters and quantities
 *
 * Predictions have one dimension per coordinate, the last coordinate first, when the points fill a grid, and the
 * dimension `point` when they do not. A variable whose name is taken by a dimension gets a trailing underscore.
 * Parameters of networks are kept in the precision that the backend computes in; everything else is double.
 *
 * Equal draws give equal bytes: nothing here depends on the time, and a caller keeps times out of the statistics. The
 * draws pass through; memory does not grow with their number. Written beside its place and renamed into it at the end.
 * One thread writes a file; threads may write files of their own at the same time. */
#ifndef RPINN_IO_POSTERIOR_FILE_H
#define RPINN_IO_POSTERIOR_FILE_H

#include "posterior.h"
#include "rpinn/convergence.h"

typedef struct RpinnPosteriorFileOptions {
  const char *method;
  size_t num_chains, num_draws; /* of each chain; all must come */
  size_t num_warmup;            /* draws of the warmup of each chain; 0: none are kept */
  size_t num_statistics;
  const char *const *statistic_names;
  const bool *statistic_is_boolean; /* [num_statistics], or NULL: none is */
  size_t
      keep_every; /* predictions and data foretold of draws 0, keep_every, 2 keep_every, … are kept; 0: of none */
} RpinnPosteriorFileOptions;

typedef struct RpinnPosteriorDraw {
  uint64_t chain, draw;
  uint64_t member;
  double prior_scale;       /* that the draw was made with, where scales are integrated over */
  const double *parameters; /* [N], then [K] logarithms of noise that is not known */
  const double *statistics; /* [num_statistics] */
  const double *
      log_likelihood; /* [M] log p of each datum, term by term; log N(r; 0, 1) of the rows of gaussian terms */
  const double
      *expected; /* [M] what the terms expect, like log_likelihood; may be NULL when they are not kept */
  const double *predictions; /* [num_predicted][num_points]; likewise */
  const double *held_out;    /* what held-out terms expect at their points, term by term; likewise */
} RpinnPosteriorDraw;

typedef struct RpinnPosteriorFile RpinnPosteriorFile;

/* Starts path.part. The posterior must stay until the file is destroyed. */
RpinnStatus rpinn_posterior_file_create(RpinnContext *context, const char *path,
                                        const RpinnPosterior *posterior,
                                        const RpinnPosteriorFileOptions *options, RpinnPosteriorFile **file);
/* The next draw: chain by chain, draws in order from 0. */
RpinnStatus rpinn_posterior_file_add(RpinnContext *context, RpinnPosteriorFile *file,
                                     const RpinnPosteriorDraw *draw);
/* The next draw of the warmup, in the same order; log likelihood and predictions are not looked at. */
RpinnStatus rpinn_posterior_file_add_warmup(RpinnContext *context, RpinnPosteriorFile *file,
                                            const RpinnPosteriorDraw *draw);
/* How far the chains have converged: parameters [N + K], predictions [num_predicted][num_points]. */
RpinnStatus rpinn_posterior_file_add_convergence(RpinnContext *context, RpinnPosteriorFile *file,
                                                 const RpinnConvergence *parameters,
                                                 const RpinnConvergence *predictions);
/* Put the file into its place; an existing one is replaced. Destroy the handle afterwards. */
RpinnStatus rpinn_posterior_file_finish(RpinnContext *context, RpinnPosteriorFile *file);
/* Without finish, or after it failed: path.part is removed. Accepts NULL. */
void rpinn_posterior_file_destroy(RpinnPosteriorFile *file);

#endif
