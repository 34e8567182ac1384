/* A choice of scale as others see it: kept in the store, told in summary.json under "prior", and as lines of a table. */
#ifndef RPINN_RESULTS_PRIOR_RECORD_H
#define RPINN_RESULTS_PRIOR_RECORD_H

#include "json_reader.h"
#include "json_writer.h"
#include "prior_choice.h"

/* Where the chosen scale stands among those that were tried. */
typedef enum RpinnScaleEnd { RPINN_SCALE_INSIDE, RPINN_SCALE_SMALLEST, RPINN_SCALE_LARGEST } RpinnScaleEnd;
RpinnScaleEnd rpinn_prior_choice_end(const RpinnPriorChoice *choice);

/* "rule", "tried_at" and "trials" into an open object; and read back from it: false where it is no choice. */
void rpinn_prior_choice_write(const RpinnPriorChoice *choice, RpinnJson *json);
bool rpinn_prior_choice_read(const RpinnJsonValue *object, RpinnPriorChoice *choice);

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
