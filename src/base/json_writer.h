/* JSON text, written piece by piece. Commas and quotes are the writer's business. */
#ifndef RPINN_BASE_JSON_WRITER_H
#define RPINN_BASE_JSON_WRITER_H

#include "text.h"

typedef struct RpinnJson {
  RpinnText *text;
  bool comma; /* the next item needs one before it */
} RpinnJson;

/* key: NULL inside arrays and for the outermost value. */
void rpinn_json_open(RpinnJson *json, const char *key, char bracket); /* '{' or '[' */
void rpinn_json_close(RpinnJson *json, char bracket);                 /* '}' or ']' */
void rpinn_json_text(RpinnJson *json, const char *key, const char *value);
/* NaN and infinities, which JSON cannot hold, become null and the texts "inf" and "-inf". */
void rpinn_json_number(RpinnJson *json, const char *key, double value);
void rpinn_json_boolean(RpinnJson *json, const char *key, bool value);

#endif
