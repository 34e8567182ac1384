#include "shard_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "folders.h"
#include "identity_difference.h"
#include "method.h"
#include "problem.h"
#include "shard_folders.h"
#include "store_copy.h"

static char *copy(const char *text) {
  size_t size = strlen(text) + 1;
  char *result = malloc(size);
  return result ? memcpy(result, text, size) : NULL;
}

static void close_shard(RpinnOpenShard *shard) {
  rpinn_member_store_close(shard->store);
  rpinn_shard_record_free(&shard->record);
  free(shard->folder);
  *shard = (RpinnOpenShard){0};
}

void rpinn_shard_set_close(RpinnShardSet *set) {
  for (size_t k = 0; set->shards && k <= set->count; k++) close_shard(&set->shards[k]);
  free(set->shards);
  free(set->identity);
  rpinn_problem_destroy(set->problem);
  *set = (RpinnShardSet){0};
}

/* ---- one shard ---- */

/* A session that was killed as it began leaves a store that says nothing. */
static RpinnStatus fail_unbegun(RpinnContext *context, const char *folder) {
  return rpinn_fail_at(
      context, (RpinnPlace){.file = folder},
      "the session that made this folder ended before it had begun a shard; the same command "
      "with --resume begins it, or leave this folder out");
}

static RpinnStatus open_shard(RpinnContext *context, const char *folder, RpinnOpenShard *shard) {
  char path[RPINN_PATH_SIZE];
  struct stat info;
  uint64_t behind_last;
  *shard = (RpinnOpenShard){.folder = copy(folder)};
  if (!shard->folder) return rpinn_fail_memory(context);
  snprintf(path, sizeof path, "%.4000s/checkpoint.db", folder);
  if (stat(path, &info) == 0 && info.st_size == 0) return fail_unbegun(context, folder);
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &shard->store));
  RPINN_TRY(rpinn_member_store_keep_small(context, shard->store));
  RpinnStatus status = rpinn_shard_record_read(context, shard->store, &shard->record);
  if (status == RPINN_ERROR_INPUT)
    snprintf(context->error.file, sizeof context->error.file, "%.500s", folder);
  RPINN_TRY(status);
  if (shard->record.shard.count) return RPINN_OK;
  RPINN_TRY(rpinn_draw_store_longest(context, shard->store, &rpinn_all_members, &behind_last));
  if (!behind_last) return fail_unbegun(context, folder);
  return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                       "this folder holds a whole run; expected a shard, which rpinn run --shard I/N makes");
}

static RpinnStatus check_record(RpinnContext *context, const RpinnOpenShard *first,
                                const RpinnOpenShard *shard) {
  const RpinnShardRecord *is = &shard->record, *expected = &first->record;
  RpinnPlace place = {.file = shard->folder};
  if (is->shard.count != expected->shard.count)
    return rpinn_fail_at(
        context, place, "this is shard %zu/%zu, and %.400s is %zu/%zu; expected shards of one number",
        is->shard.number, is->shard.count, first->folder, expected->shard.number, expected->shard.count);
  if (strcmp(is->version, expected->version) != 0)
    return rpinn_fail_at(context, place,
                         "this shard was made by rpinn %.40s, and %.400s by %.40s; expected one version",
                         is->version, first->folder, expected->version);
  if (strcmp(is->settings, expected->settings) != 0) {
    char list[RPINN_IDENTITY_DIFFERENCE];
    rpinn_identity_difference(is->settings, expected->settings, "it has", "the other", list);
    return rpinn_fail_at(context, place, "this shard was made with other settings than %.200s: %.900s",
                         first->folder, list);
  }
  if (strcmp(is->machine, expected->machine) != 0)
    rpinn_log(
        context, RPINN_LOG_WARNING,
        "%.400s was made on another kind of processor (%.40s) than %.400s (%.40s): draws are as good, but "
        "not bit for bit those of one machine",
        shard->folder, is->machine, first->folder, expected->machine);
  return RPINN_OK;
}

static RpinnStatus check_identity(RpinnContext *context, const RpinnShardSet *set,
                                  const RpinnOpenShard *shard) {
  char *identity, list[RPINN_IDENTITY_DIFFERENCE];
  RpinnStatus status = RPINN_OK;
  RPINN_TRY(rpinn_member_store_get_identity(context, shard->store, &identity));
  if (strcmp(identity, set->identity) != 0) {
    rpinn_identity_difference(identity, set->identity, "it has", "the other", list);
    status = rpinn_fail_at(context, (RpinnPlace){.file = shard->folder},
                           "this is a shard of another run than %.200s: %.1000s",
                           set->shards[set->first].folder, list);
  }
  free(identity);
  return status;
}

static RpinnStatus begin_set(RpinnContext *context, RpinnShardSet *set, const RpinnOpenShard *shard) {
  set->count = shard->record.shard.count;
  set->first = set->latest = shard->record.shard.number;
  set->shards = calloc(set->count + 1, sizeof *set->shards);
  if (!set->shards) return rpinn_fail_memory(context);
  return rpinn_member_store_get_identity(context, shard->store, &set->identity);
}

/* The set has the shard from here on, or it does not belong there. */
static RpinnStatus join(RpinnContext *context, RpinnShardSet *set, const RpinnOpenShard *shard) {
  size_t number = shard->record.shard.number;
  if (!set->shards) RPINN_TRY(begin_set(context, set, shard));
  if (set->shards[set->first].folder) {
    RPINN_TRY(check_record(context, &set->shards[set->first], shard));
    if (set->shards[number].folder)
      return rpinn_fail_shard_twice(context, shard->record.shard, shard->folder, set->shards[number].folder);
    RPINN_TRY(check_identity(context, set, shard));
  }
  set->shards[number] = *shard;
  if (shard->record.samples > set->shards[set->latest].record.samples) set->latest = number;
  return RPINN_OK;
}

/* ---- all of them ---- */

static RpinnStatus load_problem(RpinnContext *context, RpinnShardSet *set) {
  char path[RPINN_PATH_SIZE];
  const RpinnOpenShard *latest = &set->shards[set->latest];
  snprintf(path, sizeof path, "%.4000s/run.yaml", latest->folder);
  RPINN_TRY(rpinn_problem_load(context, path, NULL, &set->problem));
  set->plan = rpinn_problem_plan(set->problem);
  if (set->plan.num_draws == latest->record.samples) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = path},
                       "the shard in this folder was asked for %llu samples; found %llu",
                       (unsigned long long)latest->record.samples, (unsigned long long)set->plan.num_draws);
}

RpinnStatus rpinn_shard_set_open(RpinnContext *context, size_t num_folders, const char *const *folders,
                                 RpinnShardSet *set) {
  *set = (RpinnShardSet){0};
  for (size_t k = 0; k < num_folders; k++) {
    RpinnOpenShard shard;
    RpinnStatus status = open_shard(context, folders[k], &shard);
    if (status == RPINN_OK) status = join(context, set, &shard);
    if (status != RPINN_OK) {
      close_shard(&shard);
      return status;
    }
  }
  return load_problem(context, set);
}

/* ---- gaps ---- */

/* Numbers of members or chains with the same distance between them, as they are found. */
typedef struct Progression {
  RpinnText *text;
  uint64_t step, first, last, count; /* of the progression under way */
  bool has_more;                     /* than the first number is written */
} Progression;

static void end_progression(Progression *list) {
  unsigned long long first = list->first, last = list->last;
  if (!list->count) return;
  const char *comma = list->has_more ? ", " : "";
  if (list->count == 1)
    rpinn_text_append(list->text, "%s%llu", comma, first);
  else if (list->count == 2)
    rpinn_text_append(list->text, "%s%llu, %llu", comma, first, last);
  else if (list->step == 1)
    rpinn_text_append(list->text, "%s%llu to %llu", comma, first, last);
  else
    rpinn_text_append(list->text, "%s%llu to %llu in steps of %llu", comma, first, last,
                      (unsigned long long)list->step);
  list->has_more = true;
  list->count = 0;
}

static void add_number(Progression *list, uint64_t number) {
  if (list->count && number != list->last + list->step) end_progression(list);
  if (!list->count++) list->first = number;
  list->last = number;
}

/* The members or chains of a shard that are not complete, as a list; its draws are counted. */
static RpinnStatus list_gaps(RpinnContext *context, RpinnShardSet *set, size_t number, uint64_t *num_missing,
                             RpinnText *text) {
  RpinnOpenShard *shard = &set->shards[number];
  Progression list = {.text = text, .step = set->count};
  uint64_t num_tasks = rpinn_draw_plan_num_starts(&set->plan),
           wanted = set->plan.has_chains ? set->plan.num_draws : 1;
  *num_missing = 0;
  if (shard->folder &&
      !set->plan.has_chains) { /* to look for each of many members takes longer than to count them */
    RpinnShard share = {number, set->count};
    RPINN_TRY(rpinn_draw_store_count_share(context, shard->store, &set->plan, share, &shard->num_draws));
    if (shard->num_draws == rpinn_shard_size(share, num_tasks)) return RPINN_OK;
    shard->num_draws = 0;
  }
  for (uint64_t task = number - 1; task < num_tasks; task += set->count) {
    uint64_t made = 0;
    if (shard->folder) RPINN_TRY(rpinn_draw_store_count_task(context, shard->store, &set->plan, task, &made));
    shard->num_draws += made;
    if (made >= wanted) continue;
    ++*num_missing;
    add_number(&list, task);
  }
  end_progression(&list);
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

/* Where a further shard may go: beside one that is there. */
static void append_sibling(const RpinnShardSet *set, size_t number, RpinnText *text) {
  const char *folder = set->shards[set->latest].folder, *slash = strrchr(folder, '/');
  size_t length = strlen(folder);
  while (slash && slash > folder && slash == folder + length - 1) { /* at its end */
    length--;
    do slash--;
    while (slash > folder && *slash != '/');
    if (*slash != '/') slash = NULL;
  }
  rpinn_text_append(text, "%.*sshard-%zu-of-%zu", slash ? (int)(slash - folder + 1) : 0, folder, number,
                    set->count);
}

static bool has_learnt(const RpinnOpenShard *shard, char path[RPINN_PATH_SIZE]) {
  FILE *file = NULL;
  snprintf(path, RPINN_PATH_SIZE, "%.4000s/learnt.db", shard->folder ? shard->folder : "");
  if (shard->folder) file = fopen(path, "r");
  if (file) fclose(file);
  return file != NULL;
}

static void append_command(const RpinnShardSet *set, size_t number, RpinnText *text) {
  const RpinnOpenShard *shard = &set->shards[number], *latest = &set->shards[set->latest];
  char path[RPINN_PATH_SIZE];
  rpinn_text_append(text, "rpinn run %s/run.yaml --shard %zu/%zu --out ",
                    shard->folder ? shard->folder : latest->folder, number, set->count);
  if (shard->folder) {
    rpinn_text_append(text, "%s --resume", shard->folder);
    if (shard->record.samples < latest->record.samples)
      rpinn_text_append(text, " --samples %llu", (unsigned long long)latest->record.samples);
    return;
  }
  append_sibling(set, number, text);
  if (has_learnt(&set->shards[0], path) || (set->count && has_learnt(&set->shards[1], path)))
    rpinn_text_append(text, " --learnt %s", path);
}

/* A line of the log holds less than the numbers of all members may take. */
static void log_lines(RpinnContext *context, const char *text) {
  enum { LONGEST = 1500 };
  while (*text) {
    size_t length = strlen(text), cut = length;
    if (length > LONGEST)
      for (cut = LONGEST; cut > 1 && text[cut - 1] != ' ';) cut--;
    rpinn_log(context, RPINN_LOG_INFO, "%.*s", (int)cut, text);
    text += cut;
  }
}

static RpinnStatus tell_gap(RpinnContext *context, RpinnShardSet *set, size_t number) {
  const char *what = set->plan.has_chains ? "chain" : rpinn_problem_method(set->problem)->unit;
  RpinnText gaps = {0}, line = {0};
  uint64_t num_missing;
  RpinnStatus status = list_gaps(context, set, number, &num_missing, &gaps);
  if (status == RPINN_OK && num_missing) {
    set->is_complete = false;
    rpinn_text_append(&line, "shard %zu/%zu %s%s lacks %llu %s%s: %s; ", number, set->count,
                      set->shards[number].folder ? "in " : "is not there, and",
                      set->shards[number].folder ? set->shards[number].folder : "",
                      (unsigned long long)num_missing, what, num_missing == 1 ? "" : "s", gaps.bytes);
    append_command(set, number, &line);
    rpinn_text_append(&line, " makes %s", num_missing == 1 ? "it" : "them");
    status = line.failed ? rpinn_fail_memory(context) : RPINN_OK;
    if (status == RPINN_OK) log_lines(context, line.bytes);
  }
  rpinn_text_free(&gaps);
  rpinn_text_free(&line);
  return status;
}

RpinnStatus rpinn_shard_set_find_gaps(RpinnContext *context, RpinnShardSet *set) {
  set->is_complete = true;
  for (size_t number = 1; number <= set->count; number++) RPINN_TRY(tell_gap(context, set, number));
  return RPINN_OK;
}
