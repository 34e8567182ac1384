/* Noise that is not known, as a run learnt it before its first draw and keeps it in the store. */
#ifndef RPINN_RESULTS_LEARNT_NOISE_H
#define RPINN_RESULTS_LEARNT_NOISE_H

#include "json_writer.h"
#include "noise_posterior.h"
#include "rpinn/run.h"

typedef struct RpinnRunNoise {
  RpinnNoisePosterior posterior; /* of eta; count 0: all noise is known */
  double *at; /* [N] the most probable parameters with it, for methods that seek them; else the prior mean */
  double num_starts;     /* of the search, or members … */
  double num_at_maximum; /* … and those that ended at its evidence, or next to it; members that converged */
} RpinnRunNoise;

/* Room for run->noise, of a run whose noise is not known. */
RpinnStatus rpinn_run_make_noise_room(RpinnContext *context, RpinnRun *run);
/* run->noise, which has room, as the store has it; *found is false where it has none. */
RpinnStatus rpinn_run_find_noise(RpinnContext *context, RpinnRun *run, bool *found);
/* The same of a run that must have it, where its noise is not known; and let all posteriors be at its mode. */
RpinnStatus rpinn_run_load_noise(RpinnContext *context, RpinnRun *run);
/* run->noise as it is kept in the store under rpinn_noise_state_key; the caller frees the state. */
RpinnStatus rpinn_run_pack_noise(RpinnContext *context, RpinnRun *run, void **state, size_t *size);

/* Let all posteriors be at the mode of their noise. */
void rpinn_run_reset_noise(const RpinnRun *run);
/* Does the model explain nothing of the data of noise k, so that their noise is as large as their spread? */
bool rpinn_run_is_all_noise(const RpinnRun *run, size_t k);
/* "noise": {name: {…}}, as in summary.json; nothing where all noise is known. */
void rpinn_run_noise_json(const RpinnRun *run, RpinnJson *json);

#endif
