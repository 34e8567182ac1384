#include "thread_team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct Helper {
  RpinnTeam *team;
  size_t thread;
  pthread_t handle;
} Helper;

struct RpinnTeam {
  size_t num_helpers;
  Helper *helpers;
  pthread_mutex_t mutex;
  pthread_cond_t begun, done;
  uint64_t loop;     /* number of the loop at work; helpers wait for the next one */
  size_t num_active; /* helpers that have not finished it */
  bool dismissed;
  /* ---- of the loop ---- */
  RpinnTeamWork work;
  void *user;
  size_t num_tasks;
  atomic_size_t next;
};

static void take_tasks(RpinnTeam *team, size_t thread) {
  size_t task;
  while ((task = atomic_fetch_add(&team->next, 1)) < team->num_tasks) team->work(team->user, thread, task);
}

static void *help(void *user) {
  Helper *helper = user;
  RpinnTeam *team = helper->team;
  pthread_mutex_lock(&team->mutex);
  for (uint64_t seen = 0;;) {
    while (team->loop == seen && !team->dismissed) pthread_cond_wait(&team->begun, &team->mutex);
    if (team->dismissed) break;
    seen = team->loop;
    pthread_mutex_unlock(&team->mutex);
    take_tasks(team, helper->thread);
    pthread_mutex_lock(&team->mutex);
    if (--team->num_active == 0) pthread_cond_signal(&team->done);
  }
  pthread_mutex_unlock(&team->mutex);
  return NULL;
}

void rpinn_team_run(RpinnTeam *team, size_t num_tasks, RpinnTeamWork work, void *user) {
  pthread_mutex_lock(&team->mutex);
  team->work = work;
  team->user = user;
  team->num_tasks = num_tasks;
  atomic_store(&team->next, 0);
  if (num_tasks > 1) { /* not worth waking anybody for one */
    team->loop++;
    team->num_active = team->num_helpers;
    pthread_cond_broadcast(&team->begun);
  }
  pthread_mutex_unlock(&team->mutex);
  take_tasks(team, 0);
  pthread_mutex_lock(&team->mutex);
  while (team->num_active > 0) pthread_cond_wait(&team->done, &team->mutex);
  pthread_mutex_unlock(&team->mutex);
}

RpinnStatus rpinn_team_create(RpinnContext *context, size_t num_threads, RpinnTeam **team) {
  RpinnTeam *created = *team = calloc(1, sizeof *created);
  if (!created) return rpinn_fail_memory(context);
  pthread_mutex_init(&created->mutex, NULL);
  pthread_cond_init(&created->begun, NULL);
  pthread_cond_init(&created->done, NULL);
  created->helpers = calloc(num_threads, sizeof *created->helpers);
  bool failed = !created->helpers;
  for (size_t k = 1; k < num_threads && !failed; k++) {
    Helper *helper = &created->helpers[k - 1];
    *helper = (Helper){.team = created, .thread = k};
    failed = pthread_create(&helper->handle, NULL, help, helper) != 0;
    if (!failed) created->num_helpers++;
  }
  if (!failed) return RPINN_OK;
  *team = NULL;
  bool no_memory = !created->helpers;
  rpinn_team_destroy(created);
  return no_memory ? rpinn_fail_memory(context)
                   : rpinn_fail(context, RPINN_ERROR_MEMORY, "%zu threads could not be started", num_threads);
}

void rpinn_team_destroy(RpinnTeam *team) {
  if (!team) return;
  pthread_mutex_lock(&team->mutex);
  team->dismissed = true;
  pthread_cond_broadcast(&team->begun);
  pthread_mutex_unlock(&team->mutex);
  for (size_t k = 0; k < team->num_helpers; k++) pthread_join(team->helpers[k].handle, NULL);
  pthread_cond_destroy(&team->done);
  pthread_cond_destroy(&team->begun);
  pthread_mutex_destroy(&team->mutex);
  free(team->helpers);
  free(team);
}
