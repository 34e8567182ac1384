/* --correct nuts: every member is continued as a chain of NUTS until it has forgotten where it began, and the last state of the
 * chain is its draw.
 *
 * A pilot, the first RPINN_PILOT_MEMBERS members, finds what all chains share: metric, step size and length. They are kept in the
 * store and never change, so that what a member becomes depends on nothing else, and further members can join. */
#ifndef RPINN_RESULTS_MEMBER_CORRECTION_H
#define RPINN_RESULTS_MEMBER_CORRECTION_H

#include "json_writer.h"
#include "rpinn/run.h"
#include "verdict.h"

enum {
  RPINN_PILOT_MEMBERS = 16,
  RPINN_SHORTEST_CORRECTION = 16 /* iterations: fewer say too little of whether a start is forgotten */
};

/* Nested R-hat sqrt(1 + B/W) up to which a start is forgotten (rpinn_nested_rhat_of_many): B/W = 0.06, so that what is left of the starts widens
 * deviations by 3 %. Chance alone makes it that large with fewer than some 16 effective draws of each chain. */
#define RPINN_FORGOTTEN_RHAT 1.03

/* What the pilot finds next. */
typedef enum RpinnPilotStage {
  RPINN_PILOT_METRIC,
  RPINN_PILOT_STEP,
  RPINN_PILOT_LENGTH,
  RPINN_PILOT_DONE
} RpinnPilotStage;

typedef struct RpinnMemberCorrection {
  /* ---- of the pilot, kept in the store ---- */
  RpinnPilotStage stage;
  double *
      inverse_metric; /* [D] or [D][D] of D = N + K numbers of a draw; NULL: the unit metric, or no correction */
  double step;
  uint64_t length;    /* iterations of every chain */
  double budget;      /* gradients of a member that the length was sought under */
  double nested_rhat; /* the largest of what was watched … */
  double worst;       /* … and of which number: that among the outputs, or -1: the log density */
  double gradients;   /* of a member: what its chain took in the pilot, in the mean */
  double pilot_gradients, pilot_seconds; /* of all chains of the pilot; seconds summed over threads */
  double num_members;                    /* of the pilot: those that had not failed */
  /* ---- of the draws, found with the results ---- */
  uint64_t num_draws, num_divergent; /* members, and those of them whose chain diverged once or more */
  double divergences, saturations;   /* iterations */
  double acceptance;                 /* mean over the draws */
  double spent_gradients, spent_seconds;
} RpinnMemberCorrection;

/* Does the run continue its members? */
bool rpinn_run_is_corrected(const RpinnRun *run);

/* ---- in the store ---- */

/* The text of pilot_seconds. */
#define RPINN_PILOT_SECONDS_KEY "pilot_seconds"

/* Room for run->correction. */
RpinnStatus rpinn_run_make_correction_room(RpinnContext *context, RpinnRun *run);
/* run->correction, which has room, as the store has it; *found is false where it has none. */
RpinnStatus rpinn_run_find_correction(RpinnContext *context, RpinnRun *run, bool *found);
/* The same of a run that must have it, if it is one that corrects. */
RpinnStatus rpinn_run_load_correction(RpinnContext *context, RpinnRun *run);
/* run->correction as it is kept in the store, under rpinn_correction_state_key when the pilot is done, which is then the same in all shards
 * of a run, and under rpinn_pilot_progress_key until then; without its seconds, which are a text. The caller frees the state. */
RpinnStatus rpinn_run_pack_correction(RpinnContext *context, RpinnRun *run, void **state, size_t *size);

/* ---- for readers ---- */

/* Have chains of its length forgotten where they began? */
bool rpinn_correction_forgets(const RpinnMemberCorrection *correction);
/* What the largest nested R-hat belongs to. */
void rpinn_run_name_worst(const RpinnRun *run, char *text, size_t size);
/* "correction": {…} of summary.json; nothing of a run that does not correct. */
void rpinn_run_correction_json(const RpinnRun *run, RpinnJson *json);
/* Lines of it for people. */
void rpinn_correction_lines(const RpinnJsonValue *correction, RpinnText *table);

#endif
