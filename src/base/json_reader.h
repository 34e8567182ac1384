/* JSON texts, read strictly (RFC 8259): one value, nothing after it, no repeated keys, no comments. Texts
 * must be UTF-8 and hold no NUL. Made for our own summaries and manifests, safe for anybody's bytes. */
#ifndef RPINN_BASE_JSON_READER_H
#define RPINN_BASE_JSON_READER_H

#include "arena.h"
#include "context.h"

enum { RPINN_JSON_MAX_DEPTH = 64, RPINN_JSON_MAX_MEBIBYTES = 64 };

typedef enum RpinnJsonKind {
  RPINN_JSON_NULL,
  RPINN_JSON_BOOLEAN,
  RPINN_JSON_NUMBER,
  RPINN_JSON_TEXT,
  RPINN_JSON_ARRAY,
  RPINN_JSON_OBJECT
} RpinnJsonKind;

typedef struct RpinnJsonValue {
  RpinnJsonKind kind;
  RpinnPlace place;
  bool boolean;
  double number;                /* finite */
  const char *text;             /* TEXT */
  size_t count;                 /* ARRAY, OBJECT */
  struct RpinnJsonValue *first; /* … their items, in the order of the file, linked by next */
  struct RpinnJsonValue *next;
  const char *key; /* of an item of an object, else NULL */
} RpinnJsonValue;

/* All in the arena. file is the name for messages. */
RpinnStatus rpinn_json_parse(RpinnContext *context, RpinnArena *arena, const char *file, const char *bytes,
                             size_t length, const RpinnJsonValue **value);

/* The item of an object; NULL when absent, or when object is NULL or no object. */
const RpinnJsonValue *rpinn_json_find(const RpinnJsonValue *object, const char *key);
/* What rpinn_json_number wrote: null, and a missing value, is NaN; "inf" and "-inf" are infinities. False
 * when the value is of another kind. */
bool rpinn_json_as_number(const RpinnJsonValue *value, double *number);

/* An item that must be there and be of a kind, with a message that names it. */
RpinnStatus rpinn_json_require(RpinnContext *context, const RpinnJsonValue *object, const char *key,
                               RpinnJsonKind kind, const RpinnJsonValue **value);

#endif
