/* A team of threads that lives longer than one loop: the caller and its helpers take the tasks 0, 1, … of a
 * loop one by one, and the loop is over when all are done. Which thread gets which task is left to chance, so
 * tasks must not depend on it. */
#ifndef RPINN_BASE_THREAD_TEAM_H
#define RPINN_BASE_THREAD_TEAM_H

#include "context.h"

typedef struct RpinnTeam RpinnTeam;

/* num_threads > 0, the caller's included. */
RpinnStatus rpinn_team_create(RpinnContext *context, size_t num_threads, RpinnTeam **team);
void rpinn_team_destroy(RpinnTeam *team);
/* work(user, thread, task) for every task below num_tasks; thread is below num_threads. */
typedef void (*RpinnTeamWork)(void *user, size_t thread, size_t task);
void rpinn_team_run(RpinnTeam *team, size_t num_tasks, RpinnTeamWork work, void *user);

#endif
