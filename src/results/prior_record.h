/* The scale of the prior, chosen from the data, as others see it: kept in the store, told in summary.json under "prior", and as
 * lines of a table. */
#ifndef RPINN_RESULTS_PRIOR_RECORD_H
#define RPINN_RESULTS_PRIOR_RECORD_H

#include "json_reader.h"
#include "json_writer.h"
#include "member_store.h"
#include "posterior.h"
#include "scale_trial.h"

/* The factor of one field, chosen with all other scales fixed. */
enum { RPINN_MAX_LINE_TRIALS = 5 };
typedef struct RpinnFieldLine {
  size_t field;
  size_t num_trials, chosen;
  double factors[RPINN_MAX_LINE_TRIALS];         /* rising */
  RpinnScaleTrial trials[RPINN_MAX_LINE_TRIALS]; /* whose scale is that of the field */
} RpinnFieldLine;

typedef struct RpinnPriorChoice {
  RpinnScaleRule rule;
  bool at_minimum; /* trials looked at the most probable parameters, not at members */
  size_t num_trials;
  RpinnScaleTrial trials[RPINN_MAX_SCALE_TRIALS]; /* by rising scale */
  size_t chosen;                                  /* among them */
  size_t num_lines;
  RpinnFieldLine *lines; /* [num_lines] of fields whose factor was chosen then, one after the other */
  double *theta; /* [N] the most probable parameters found at the end; NULL where members were tried */
} RpinnPriorChoice;

/* lines and theta; may be called twice. */
void rpinn_prior_choice_free(RpinnPriorChoice *choice);
/* What the rule counts of a trial; NaN where the linearisation was not finite. */
double rpinn_prior_criterion(const RpinnPriorChoice *choice, size_t trial);

/* Where the chosen scale stands among those that were tried. */
typedef enum RpinnScaleEnd { RPINN_SCALE_INSIDE, RPINN_SCALE_SMALLEST, RPINN_SCALE_LARGEST } RpinnScaleEnd;
RpinnScaleEnd rpinn_prior_choice_end(const RpinnPriorChoice *choice);

/* "rule", "tried_at" and "trials" into an open object; and read back from it: false where it is no choice. */
void rpinn_prior_choice_write(const RpinnPriorChoice *choice, RpinnJson *json);
bool rpinn_prior_choice_read(const RpinnJsonValue *object, RpinnPriorChoice *choice);
/* The choice under this key of the store of a run; none, where no scale was chosen in this folder, or none can be read. */
#define RPINN_PRIOR_CHOICE_KEY "prior_choice"
RpinnStatus rpinn_prior_choice_load(RpinnContext *context, RpinnMemberStore *store, const char *folder,
                                    RpinnPriorChoice *choice);

/* "prior": {"scale", "chosen_by", "fields": {name: {"shape", "scale"}}, "at_end", "tried_at", "trials"} of a posterior whose scale is
 * settled. choice: num_trials is 0 where nothing was chosen, or the curve is not known. */
void rpinn_prior_json(const RpinnPosterior *posterior, const RpinnPriorChoice *choice, RpinnJson *json);

/* The prior and its curve for people, from that object: the chosen scale and its neighbours, or whole. Nothing where the scale
 * was given. */
void rpinn_prior_lines(const RpinnJsonValue *prior, bool whole, RpinnText *table);
/* How the rule chooses: "the smallest scale within one nat of …". */
const char *rpinn_prior_rule_meaning(RpinnScaleRule rule);

/* Heads the column that counts searches: what those of a trial that count have come to. */
const char *rpinn_prior_starts_title(bool at_minimum);

#endif
