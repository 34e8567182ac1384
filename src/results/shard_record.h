/* A store that holds a shard of a run: what it says of itself, and how far it is. */
#ifndef RPINN_RESULTS_SHARD_RECORD_H
#define RPINN_RESULTS_SHARD_RECORD_H

#include "draw_store.h"
#include "rpinn/run.h"
#include "shard.h"
#include "text.h"

/* Texts of a store whose keys begin so are about the shard; all others, but for the seconds and the session, are about the run. */
#define RPINN_SHARD_KEY          "shard"
#define RPINN_SHARD_SAMPLES_KEY  RPINN_SHARD_KEY "_samples"
#define RPINN_SHARD_SETTINGS_KEY RPINN_SHARD_KEY "_settings"
#define RPINN_SHARD_VERSION_KEY  RPINN_SHARD_KEY "_version"
#define RPINN_SHARD_MACHINE_KEY  RPINN_SHARD_KEY "_machine"
#define RPINN_SECONDS_KEY        "wall_seconds"
/* The last session with a scratch folder, until it has come to its end. */
#define RPINN_SESSION_KEY        "scratch_session"

typedef struct RpinnShardRecord {
  RpinnShard shard; /* count 0: a whole run */
  uint64_t samples; /* members, or draws of each chain, that its last session was asked for */
  char *settings;   /* those that may change when a run goes on and have a say in its results */
  char *version;    /* of rpinn */
  char *machine;    /* kind of processor: bits are the same on the same kind */
} RpinnShardRecord;

/* As this program makes shards of the problem on this machine. */
RpinnStatus rpinn_shard_record_make(RpinnContext *context, const RpinnProblem *problem, RpinnShard shard,
                                    uint64_t samples, RpinnShardRecord *record);
RpinnStatus rpinn_shard_record_read(RpinnContext *context, RpinnMemberStore *store, RpinnShardRecord *record);
void rpinn_shard_record_free(RpinnShardRecord *record);

/* Does the folder hold a shard? A folder without a store, or with one that cannot be read, does not. */
bool rpinn_folder_holds_shard(const char *folder, RpinnShard *shard);
/* Bad input where it does. */
RpinnStatus rpinn_refuse_shard(RpinnContext *context, const char *folder);

/* How far a shard is. */
typedef struct RpinnShardState {
  uint64_t num_tasks;            /* members or chains that it has */
  uint64_t num_draws, num_asked; /* of these */
  bool is_complete; /* … and it has what all shards need, where it is the one that learns this */
  uint64_t num_failed;
  double seconds;
} RpinnShardState;

RpinnStatus rpinn_shard_state_find(RpinnContext *context, RpinnMemberStore *store, const RpinnDrawPlan *plan,
                                   RpinnShard shard, RpinnShardState *state);
/* As lines for people, and as JSON. */
RpinnStatus rpinn_shard_describe(RpinnContext *context, const RpinnProblem *problem,
                                 const RpinnShardRecord *record, const RpinnShardState *state,
                                 RpinnText *table, RpinnText *json);
/* The same of a folder. */
RpinnStatus rpinn_shard_summary(RpinnContext *context, const char *folder, RpinnText *table, RpinnText *json);

#endif
