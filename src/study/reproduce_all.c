/* Every entry in one folder, one after the other, and an index of what came out. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "folders.h"
#include "json_writer.h"
#include "reproduce_studies.h"

/* The entries as parts, each with options of its own: one estimate for all of them comes first. */
static RpinnStatus plan(RpinnContext *context, RpinnReproduction *reproduction) {
  size_t count = rpinn_num_reproduce_entries();
  RpinnReproduceOptions *options = RPINN_ARENA_NEW(reproduction->arena, RpinnReproduceOptions, count);
  reproduction->parts = RPINN_ARENA_NEW(reproduction->arena, RpinnReproduction *, count);
  if (!options || !reproduction->parts) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) {
    if (rpinn_reproduce_entry(i) == reproduction->entry) continue;
    options[i] = *reproduction->options;
    options[i].name = rpinn_reproduce_entry(i)->name;
    RPINN_TRY(rpinn_reproduction_begin(context, &options[i], &reproduction->parts[reproduction->num_parts]));
    reproduction->parts[reproduction->num_parts]->whole = reproduction;
    reproduction->num_parts++;
  }
  return RPINN_OK;
}

static const char *outcome_of(const RpinnReproduction *part) {
  return part->outcome.bytes ? part->outcome.bytes : part->entry->kind->is_figure ? "a figure" : "done";
}

/* The files of an entry that are there, beside NAME.md. */
static void append_files(const RpinnReproduction *part, RpinnText *text) {
  static const char *const suffixes[] = {".svg", ".pdf", ".png", ".csv", ".json"};
  size_t count = 0;
  for (size_t k = 0; k < sizeof suffixes / sizeof suffixes[0]; k++) {
    char path[RPINN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s%s", part->options->folder, part->entry->name, suffixes[k]);
    if (access(path, F_OK) == 0)
      rpinn_text_append(text, "%s[%s](%s%s)", count++ ? ", " : "", suffixes[k] + 1, part->entry->name,
                        suffixes[k]);
  }
}

static size_t count_all(const RpinnReproduction *reproduction, RpinnAgreement verdict) {
  size_t count = 0;
  for (size_t i = 0; i < reproduction->num_parts; i++)
    count += rpinn_reproduction_count(reproduction->parts[i], verdict);
  return count;
}

static void write_text(const RpinnReproduction *reproduction, RpinnText *text) {
  rpinn_study_append_title(text, reproduction);
  rpinn_text_append(text, "| name | what it is | outcome | files |\n|---|---|---|---|\n");
  for (size_t i = 0; i < reproduction->num_parts; i++) {
    const RpinnReproduction *part = reproduction->parts[i];
    rpinn_text_append(text, "| [%s](%s.md) | %s | %s | ", part->entry->name, part->entry->name,
                      part->entry->description, outcome_of(part));
    append_files(part, text);
    rpinn_text_append(text, " |\n");
  }
  if (reproduction->scale == RPINN_SCALE_QUICK || !reproduction->has_data)
    rpinn_text_append(text, "\nTables are not judged at the scale quick, nor with synthetic data.\n");
  else
    rpinn_text_append(
        text,
        "\nIn all tables together %zu figures agree with the re-run, %zu differ, %zu are reported only.\n",
        count_all(reproduction, RPINN_AGREEMENT_AGREES), count_all(reproduction, RPINN_AGREEMENT_DIFFERS),
        count_all(reproduction, RPINN_AGREEMENT_REPORTED));
}

/* The pages of the figures but for their titles, so that one page shows the whole paper. */
static void write_figures(const RpinnReproduction *reproduction, RpinnText *text) {
  for (size_t i = 0; i < reproduction->num_parts; i++) {
    const RpinnReproduction *part = reproduction->parts[i];
    const char *body =
        part->entry->kind->is_figure && part->text.bytes ? strstr(part->text.bytes, "\n\n") : NULL;
    if (body) rpinn_text_append(text, "\n## %s%s", part->entry->name, body);
  }
}

static void write_csv(const RpinnReproduction *reproduction, RpinnText *csv) {
  rpinn_text_append(csv, "name,agree,differ,reported_only,outcome\n");
  for (size_t i = 0; i < reproduction->num_parts; i++) {
    const RpinnReproduction *part = reproduction->parts[i];
    rpinn_text_append(csv, "%s,%zu,%zu,%zu,\"%s\"\n", part->entry->name,
                      rpinn_reproduction_count(part, RPINN_AGREEMENT_AGREES),
                      rpinn_reproduction_count(part, RPINN_AGREEMENT_DIFFERS),
                      rpinn_reproduction_count(part, RPINN_AGREEMENT_REPORTED), outcome_of(part));
  }
}

static void json_counts(const RpinnReproduction *reproduction, RpinnJson *json) {
  bool is_all = reproduction->num_parts > 0;
  static const struct {
    const char *key;
    RpinnAgreement verdict;
  } counts[] = {{"agree", RPINN_AGREEMENT_AGREES},
                {"differ", RPINN_AGREEMENT_DIFFERS},
                {"reported_only", RPINN_AGREEMENT_REPORTED}};
  for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
    rpinn_json_number(json, counts[k].key,
                      (double)(is_all ? count_all(reproduction, counts[k].verdict)
                                      : rpinn_reproduction_count(reproduction, counts[k].verdict)));
}

static void write_json(const RpinnReproduction *reproduction, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "name", reproduction->entry->name);
  rpinn_json_text(&json, "scale", rpinn_paper_scales[reproduction->scale]);
  rpinn_json_text(&json, "data", reproduction->has_data ? "published" : "synthetic");
  json_counts(reproduction, &json);
  rpinn_json_open(&json, "entries", '[');
  for (size_t i = 0; i < reproduction->num_parts; i++) {
    const RpinnReproduction *part = reproduction->parts[i];
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "name", part->entry->name);
    rpinn_json_text(&json, "outcome", outcome_of(part));
    json_counts(part, &json);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  (void)context;
  write_text(reproduction, &reproduction->text);
  write_figures(reproduction, &reproduction->text);
  write_csv(reproduction, &reproduction->csv);
  write_json(reproduction, &reproduction->json);
  return RPINN_OK;
}

const RpinnReproduceKind rpinn_everything = {.plan = plan, .finish = finish};
