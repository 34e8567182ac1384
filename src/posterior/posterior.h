/* The posterior in memory. */
#ifndef RPINN_POSTERIOR_POSTERIOR_H
#define RPINN_POSTERIOR_POSTERIOR_H

#include "backend.h"
#include "data_set.h"
#include "json_writer.h"
#include "rpinn/posterior.h"
#include "sigmas.h"

/* The noise of a fitted term that the data are to tell, see unknown_noise.h. */
typedef struct RpinnNoiseLevel {
  const char *name; /* noise_<term> */
  size_t term;      /* among the fitted ones */
  size_t num_rows;
  double spread; /* of the values, or their size where they are alike */
  double start;
  double prior_mean, prior_std; /* of its logarithm */
  double truth;                 /* NaN where it is not known */
} RpinnNoiseLevel;

/* All but arena, backends, plans and the noise that it is at is read while threads work, and shared by those that
 * rpinn_posterior_share has made. */
struct RpinnPosterior {
  RpinnArena *arena;
  bool is_shared;        /* problem, data and what the rest points to belong to another posterior */
  RpinnProblem *problem; /* a fork of the caller's */
  RpinnDataSet *data;
  RpinnSigmas sigmas;
  RpinnEnergyModel model;
  size_t *fitted;                              /* [model.num_terms] which terms of the problem are fitted */
  RpinnNetwork *networks;                      /* [num_fields] the problem's, with frozen layers drawn */
  RpinnTermModel *terms;                       /* [model.num_terms] */
  const RpinnResidualProgram *const *programs; /* [problem->num_terms] of all terms, held-out ones too */
  const RpinnResidualProgram **predictions;    /* [problem->num_predicted] */
  double *row_scale;                           /* [model.num_rows] the model's */
  double *prior_root;                          /* [model.num_parameters] the model's */
  size_t num_noises;                           /* K */
  RpinnNoiseLevel *noises;                     /* [num_noises] in the order of the terms */
  double *eta;                                 /* [num_noises] that it is at */
  uint64_t seed;
  RpinnPrecision precision;
  RpinnBackend *backend;
  RpinnBackend *double_backend; /* for members that need it; NULL until one does */
  RpinnPlannedEvaluation
      *plans; /* [1 + problem->num_terms] predictions, then terms; each made when first asked for */
};

/* For a problem that leaves the backend open (`backend: auto`). */
typedef struct RpinnBackendNeed {
  const char *name;   /* which it is; NULL: it is chosen, and the log says why … */
  size_t num_members; /* … by how many are computed at a time; 0: the first of the list, without a word */
} RpinnBackendNeed;
RpinnStatus rpinn_posterior_create_for(RpinnContext *context, const RpinnProblem *problem, bool data_required,
                                       RpinnBackendNeed need, RpinnPosterior **posterior);
/* Does the problem leave the backend open? */
bool rpinn_problem_backend_is_open(const RpinnProblem *problem);
/* The name of the backend that it has. */
const char *rpinn_posterior_backend_name(const RpinnPosterior *posterior);
/* What a term of the problem expects, at its points: values [data->terms[term].points.count]. Held-out terms too. */
RpinnStatus rpinn_posterior_evaluate_term(RpinnContext *context, RpinnPosterior *posterior, size_t term,
                                          const double *theta, double *values);
/* s of a row of a fitted term: s_t, or that of its own. */
double rpinn_posterior_row_sigma(const RpinnPosterior *posterior, size_t term, size_t row);
/* 1/s of the parameters of one field's network, within root [model.unknown_start], for its scale. */
void rpinn_posterior_field_roots(const RpinnPosterior *posterior, size_t field, double scale, double *root);
/* 1/s of the network parameters [model.unknown_start] for a scale s_p, of which fields without a scale of their own have their
 * factor. */
void rpinn_posterior_network_roots(const RpinnPosterior *posterior, double scale, double *root);
/* Which rows of the model [model.num_rows] were measured: of terms whose data are the truth's, a file's, or perturbed. The
 * others are tolerances: exact values, and gaussian priors. */
void rpinn_posterior_data_rows(const RpinnPosterior *posterior, bool *is_data);
/* The scale that was chosen for the priors of all fields that have none of their own: s_p from then on, a given number in
 * run.yaml and in the identity of a run. factors [num_fields]: those of the fields; NULL: as they are.
 * curve: what scales are drawn from, where they are integrated over. For the posterior and those that share it, while no thread works. */
RpinnStatus rpinn_posterior_choose_prior_scale(RpinnContext *context, RpinnPosterior *posterior,
                                               RpinnScaleRule chosen_by, double scale,
                                               const RpinnScaleCurve *curve, const double *factors);
/* The scale of a member's prior: s_p, or a draw from the curve where scales are integrated over. */
double rpinn_posterior_member_scale(const RpinnPosterior *posterior, uint64_t member);
/* That which it is made with: of a narrower prior where it is to be continued under a wide one. */
double rpinn_posterior_start_scale(const RpinnPosterior *posterior, uint64_t member);
/* Where scales are integrated over, let the energy have the prior of this scale from now on. Such a posterior has roots of its own,
 * also where it shares the rest. */
void rpinn_posterior_take_scale(RpinnPosterior *posterior, double scale);

/* "sigmas": {"terms": {name: s_t, …}, "prior": s_p}, as in summary.json; null for one that the data have yet to choose. */
void rpinn_posterior_json_sigmas(const RpinnPosterior *posterior, RpinnJson *json);

/* As rpinn_posterior_save, under other names. */
typedef struct RpinnSavedNames {
  const char *folder;
  const char *file;   /* the problem's: run.yaml */
  const char *prefix; /* of names of files beside it */
  const char *head;   /* a comment that the file begins with, or "" */
} RpinnSavedNames;
RpinnStatus rpinn_posterior_save_as(RpinnContext *context, const RpinnPosterior *posterior,
                                    const RpinnSavedNames *names);

/* Does run.yaml name a table of the truth where the problem draws and solves one? With data from a file the next reader
 * draws no field: it needs the one of these data. */
bool rpinn_posterior_saves_made_truth(const RpinnPosterior *posterior);

/* Where a search before the first draw starts: its offsets [M+N], standard normal, and theta [N] = mean + offset / root, a draw
 * from the prior of these roots [N]; theta may be NULL. */
void rpinn_posterior_start_search(const RpinnPosterior *posterior, uint64_t start, const double *root,
                                  double *offsets, double *theta);

/* What makes its backend slow on this machine and can be mended, as a line; empty where nothing does. */
RpinnStatus rpinn_posterior_advise(RpinnContext *context, const RpinnPosterior *posterior, RpinnText *line);
/* What the bits of the posterior's backend depend on beside the problem, as a line of a run's identity; nothing for most backends. */
RpinnStatus rpinn_posterior_identify_backend(RpinnContext *context, const RpinnPosterior *posterior,
                                             RpinnText *text);

#endif
