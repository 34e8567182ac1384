/* A verdict as text, as JSON, and read again. */
#include <stdio.h>
#include <string.h>

#include "verdict.h"

static const char *const words[] = {
    [RPINN_VERDICT_GOOD] = "good", [RPINN_VERDICT_FAIR] = "fair", [RPINN_VERDICT_BAD] = "bad"};
static const char *const severities[] = {
    [RPINN_SEVERITY_NOTE] = "note", [RPINN_SEVERITY_CAUTION] = "caution", [RPINN_SEVERITY_BAD] = "bad"};

const char *rpinn_verdict_word_name(RpinnVerdictWord word) {
  return words[word];
}
const char *rpinn_severity_name(RpinnSeverity severity) {
  return severities[severity];
}

void rpinn_verdict_text(const RpinnVerdict *verdict, RpinnText *text) {
  rpinn_text_append(text, "verdict: %s\n", words[verdict->word]);
  for (size_t i = 0; i < verdict->num_findings; i++)
    rpinn_text_append(text, "  %s (%s): %s\n", severities[verdict->findings[i].severity],
                      verdict->findings[i].id, verdict->findings[i].sentence);
}

void rpinn_verdict_json(const RpinnVerdict *verdict, RpinnJson *json) {
  rpinn_json_open(json, "verdict", '{');
  rpinn_json_text(json, "word", words[verdict->word]);
  rpinn_json_open(json, "findings", '[');
  for (size_t i = 0; i < verdict->num_findings; i++) {
    rpinn_json_open(json, NULL, '{');
    rpinn_json_text(json, "id", verdict->findings[i].id);
    rpinn_json_text(json, "severity", severities[verdict->findings[i].severity]);
    rpinn_json_text(json, "sentence", verdict->findings[i].sentence);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
  rpinn_json_close(json, '}');
}

/* ---- reading ---- */

static const char *text_of(const RpinnJsonValue *object, const char *key) {
  const RpinnJsonValue *value = rpinn_json_find(object, key);
  return value && value->kind == RPINN_JSON_TEXT ? value->text : NULL;
}

/* The place of a text among names; count: it is none of them. */
static size_t place_of(const char *text, const char *const *names, size_t count) {
  size_t place = 0;
  while (place < count && (!text || strcmp(text, names[place]) != 0)) place++;
  return place;
}

static bool read_finding(const RpinnJsonValue *object, RpinnFinding *finding) {
  const char *id = text_of(object, "id"), *sentence = text_of(object, "sentence");
  size_t severity = place_of(text_of(object, "severity"), severities, 3);
  if (!id || !sentence || severity == 3) return false;
  finding->severity = (RpinnSeverity)severity;
  snprintf(finding->id, sizeof finding->id, "%s", id);
  snprintf(finding->sentence, sizeof finding->sentence, "%s", sentence);
  return true;
}

bool rpinn_verdict_read(const RpinnJsonValue *object, RpinnVerdict *verdict) {
  const RpinnJsonValue *findings = rpinn_json_find(object, "findings");
  size_t word = place_of(text_of(object, "word"), words, 3);
  if (word == 3 || !findings || findings->kind != RPINN_JSON_ARRAY || findings->count > RPINN_MAX_FINDINGS)
    return false;
  verdict->word = (RpinnVerdictWord)word;
  verdict->num_findings = 0;
  for (const RpinnJsonValue *item = findings->first; item; item = item->next)
    if (!read_finding(item, &verdict->findings[verdict->num_findings++])) return false;
  return true;
}
