/* Threads over members. Each thread owns a target and a workspace and takes the next member that is not done; what it
 * makes goes through a bounded queue to the thread that called, which alone touches files. Which thread makes a member
 * leaves no mark on it. */
#ifndef RPINN_RUN_MEMBER_POOL_H
#define RPINN_RUN_MEMBER_POOL_H

#include "member.h"

/* What a thread hands over. Owned by the pool, valid during the call of the handler. */
typedef struct RpinnPoolEvent {
  uint64_t index;
  bool is_state; /* the state of a member under way, else a finished member */
  size_t state_size;
  void *state;
  RpinnMemberOutcome outcome; /* its pointers lead to copies */
  double seconds;             /* that the member took */
} RpinnPoolEvent;

/* A member that was under way when an earlier run stopped. */
typedef struct RpinnPoolResume {
  uint64_t index;
  void *state;
  size_t state_size;
} RpinnPoolResume;

typedef struct RpinnPoolOptions {
  size_t num_threads;
  const RpinnMemberTarget *targets; /* [num_threads] */
  RpinnMinimizeOptions minimize;    /* its interruption is the pool's */
  uint32_t max_retries;
  uint64_t num_members;
  const uint8_t *done; /* [num_members] 1: made before */
  size_t num_resumes;
  const RpinnPoolResume *resumes;
  double state_interval; /* seconds between saved states of a member */
  double time_limit;     /* seconds after which no member is begun; infinity: none */
  void *user;
  /* A failure stops the pool and is returned. */
  RpinnStatus (*handle)(void *user, const RpinnPoolEvent *event);
  /* Called several times a second; true asks all threads to save their member and stop. */
  bool (*tick)(void *user);
} RpinnPoolOptions;

typedef struct RpinnPoolResult {
  bool interrupted;  /* tick asked for it */
  bool out_of_time;  /* the time limit left members undone */
} RpinnPoolResult;

RpinnStatus rpinn_member_pool_run(RpinnContext *context, const RpinnPoolOptions *options, RpinnPoolResult *result);

#endif
