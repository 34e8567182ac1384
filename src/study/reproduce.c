/* The paper's tables, figures and claims: run what they ran, and put ours beside theirs. */
#include <stdio.h>
#include <string.h>

#include "folders.h"
#include "reproduce_state.h"
#include "task_shard.h"

/* ---- what is asked for ---- */

static RpinnStatus fail_choice(RpinnContext *context, const char *origin, const char *found,
                               const char *const *choices, size_t count) {
  RpinnText list = {0};
  const char *near = rpinn_nearest_name(found, choices, count);
  for (size_t i = 0; i < count; i++)
    rpinn_text_append(&list, "%s%s", !i ? "" : i + 1 < count ? ", " : " or ", choices[i]);
  rpinn_fail_at(context, (RpinnPlace){.file = origin}, "found '%.60s'; expected %s%s%s%s", found,
                list.bytes ? list.bytes : "", near ? "; did you mean '" : "", near ? near : "",
                near ? "'?" : "");
  rpinn_text_free(&list);
  return RPINN_ERROR_INPUT;
}

static size_t find_choice(const char *found, const char *const *choices, size_t count) {
  size_t k = 0;
  while (k < count && strcmp(found, choices[k]) != 0) k++;
  return k;
}

static RpinnStatus read_methods(RpinnContext *context, RpinnReproduction *reproduction, const char *list) {
  while (list) {
    char name[64];
    size_t length = strcspn(list, ",");
    snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), list);
    size_t k = find_choice(name, rpinn_paper_methods, RPINN_NUM_PAPER_METHODS);
    if (k == RPINN_NUM_PAPER_METHODS)
      return fail_choice(context, "--methods", name, rpinn_paper_methods, RPINN_NUM_PAPER_METHODS);
    if (reproduction->methods[k])
      return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"}, "%s is given twice; expected it once",
                           name);
    reproduction->methods[k] = true;
    list = list[length] ? list + length + 1 : NULL;
  }
  return RPINN_OK;
}

/* Every method that was named must be one of the table's. */
static RpinnStatus check_methods(RpinnContext *context, const RpinnReproduction *reproduction) {
  for (size_t m = 0; reproduction->options->methods && m < RPINN_NUM_PAPER_METHODS; m++) {
    const char *known[RPINN_NUM_PAPER_METHODS];
    size_t count = 0;
    bool has = !reproduction->methods[m];
    for (size_t k = 0; k < RPINN_NUM_PAPER_METHODS; k++) {
      bool found = false;
      for (size_t r = 0; r < reproduction->num_runs && !found; r++) found = reproduction->runs[r].method == k;
      if (found) known[count++] = rpinn_paper_methods[k];
      has = has || (found && k == m);
    }
    if (!has) return fail_choice(context, "--methods", rpinn_paper_methods[m], known, count);
  }
  return RPINN_OK;
}

static RpinnStatus find_entry(RpinnContext *context, const char *name, const RpinnReproduceEntry **entry) {
  const char *names[64];
  size_t count = rpinn_num_reproduce_entries();
  if (count > sizeof names / sizeof names[0]) count = sizeof names / sizeof names[0];
  for (size_t i = 0; i < count; i++) names[i] = rpinn_reproduce_entry(i)->name;
  size_t which = find_choice(name, names, count);
  if (which == count) return fail_choice(context, "rpinn reproduce", name, names, count);
  *entry = rpinn_reproduce_entry(which);
  return RPINN_OK;
}

static RpinnStatus read_options(RpinnContext *context, RpinnReproduction *reproduction) {
  const RpinnReproduceOptions *options = reproduction->options;
  RPINN_TRY(find_entry(context, options->name, &reproduction->entry));
  const RpinnReproduceEntry *entry = reproduction->entry;
  size_t scale = options->scale ? find_choice(options->scale, rpinn_paper_scales, RPINN_NUM_PAPER_SCALES)
                                : RPINN_SCALE_QUICK;
  if (scale == RPINN_NUM_PAPER_SCALES)
    return fail_choice(context, "--scale", options->scale, rpinn_paper_scales, RPINN_NUM_PAPER_SCALES);
  reproduction->scale = (RpinnPaperScale)scale;
  reproduction->has_data = options->data_folder != NULL;
  if (strlen(options->folder) > RPINN_PATH_SIZE / 2 ||
      (options->data_folder && strlen(options->data_folder) > RPINN_PATH_SIZE / 2))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a folder has more than %d characters",
                      RPINN_PATH_SIZE / 2);
  if (!entry->kind->takes_methods && options->methods)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"},
                         "found '%.60s' beside %s; expected none: only tables take it", options->methods,
                         entry->name);
  for (size_t m = 0; !options->methods && m < RPINN_NUM_PAPER_METHODS; m++) reproduction->methods[m] = true;
  RPINN_TRY(read_methods(context, reproduction, options->methods));
  for (size_t k = 0; k < RPINN_MAX_ENTRY_TABLES && entry->tables[k]; k++)
    RPINN_TRY(rpinn_published_parse(context, reproduction->arena, entry->tables[k],
                                    rpinn_published_text(entry->tables[k]), &reproduction->published[k]));
  return RPINN_OK;
}

/* ---- the whole ---- */

RpinnStatus rpinn_reproduction_write_file(RpinnContext *context, const RpinnReproduction *reproduction,
                                          const char *suffix, const RpinnText *text) {
  char name[128];
  snprintf(name, sizeof name, "%s%s", reproduction->entry->name, suffix);
  return text->failed ? rpinn_fail_memory(context)
                      : rpinn_folder_write(context, reproduction->options->folder, name, text);
}

static RpinnStatus write_files(RpinnContext *context, RpinnReproduction *reproduction) {
  RPINN_TRY(rpinn_reproduction_write_file(context, reproduction, ".md", &reproduction->text));
  if (reproduction->csv.length)
    RPINN_TRY(rpinn_reproduction_write_file(context, reproduction, ".csv", &reproduction->csv));
  return rpinn_reproduction_write_file(context, reproduction, ".json", &reproduction->json);
}

/* The parts, then the runs; an interruption is noted and ends it. */
static RpinnStatus make_runs(RpinnContext *context, RpinnReproduction *reproduction) {
  for (size_t i = 0; i < reproduction->num_parts; i++) {
    RPINN_TRY(rpinn_reproduction_make(context, reproduction->parts[i]));
    reproduction->interrupted = reproduction->parts[i]->interrupted;
    if (reproduction->interrupted) return RPINN_OK;
  }
  return rpinn_reproduction_make_runs(context, reproduction);
}

RpinnStatus rpinn_reproduction_make(RpinnContext *context, RpinnReproduction *reproduction) {
  const RpinnReproduceKind *kind = reproduction->entry->kind;
  RPINN_TRY(make_runs(context, reproduction));
  if (reproduction->interrupted || rpinn_task_shard_is_part(&reproduction->options->shard)) return RPINN_OK;
  RPINN_TRY(kind->finish(context, reproduction));
  return write_files(context, reproduction);
}

static RpinnStatus prepare(RpinnContext *context, RpinnReproduction *reproduction) {
  RPINN_TRY(read_options(context, reproduction));
  const RpinnReproduceKind *kind = reproduction->entry->kind;
  RPINN_TRY(kind->plan(context, reproduction));
  RPINN_TRY(check_methods(context, reproduction));
  for (size_t r = 0; kind->shows && r < reproduction->num_runs; r++)
    if (!kind->shows(&reproduction->runs[r])) reproduction->runs[r].reason = "not shown";
  return RPINN_OK;
}

RpinnStatus rpinn_reproduction_begin(RpinnContext *context, const RpinnReproduceOptions *options,
                                     RpinnReproduction **result) {
  RpinnArena *arena = rpinn_arena_create();
  RpinnReproduction *reproduction = arena ? RPINN_ARENA_NEW(arena, RpinnReproduction, 1) : NULL;
  *result = NULL;
  if (!reproduction) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  reproduction->arena = arena;
  reproduction->options = options;
  RpinnStatus status = prepare(context, reproduction);
  if (status == RPINN_OK)
    *result = reproduction;
  else
    rpinn_reproduction_destroy(reproduction);
  return status;
}

RpinnStatus rpinn_reproduce(RpinnContext *context, const RpinnReproduceOptions *options,
                            RpinnReproduction **result) {
  RpinnStatus status = rpinn_reproduction_begin(context, options, result);
  if (status == RPINN_OK) status = rpinn_make_folders(context, options->folder);
  if (status == RPINN_OK && !rpinn_task_shard_follows(&options->shard))
    status = rpinn_reproduction_estimate(context, *result);
  if (status == RPINN_OK && !(*result)->interrupted) status = rpinn_reproduction_make(context, *result);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* backends report no message of their own */
  if (*result) (*result)->options = NULL;
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_reproduction_destroy(*result);
  *result = NULL;
  return status;
}

void rpinn_reproduction_destroy(RpinnReproduction *reproduction) {
  if (!reproduction) return;
  for (size_t i = 0; i < reproduction->num_parts; i++) rpinn_reproduction_destroy(reproduction->parts[i]);
  rpinn_text_free(&reproduction->text);
  rpinn_text_free(&reproduction->csv);
  rpinn_text_free(&reproduction->json);
  rpinn_text_free(&reproduction->outcome);
  rpinn_arena_destroy(reproduction->arena); /* it lives there itself */
}

bool rpinn_reproduction_interrupted(const RpinnReproduction *reproduction) {
  return reproduction->interrupted;
}
const char *rpinn_reproduction_text(const RpinnReproduction *reproduction) {
  return reproduction->text.bytes;
}
const char *rpinn_reproduction_json(const RpinnReproduction *reproduction) {
  return reproduction->json.bytes;
}
