#include "json_writer.h"

#include <math.h>

static void append_quoted(RpinnText *text, const char *value) {
  rpinn_text_append(text, "\"");
  for (; *value; value++) {
    unsigned char byte = (unsigned char)*value;
    if (byte == '"' || byte == '\\')
      rpinn_text_append(text, "\\%c", byte);
    else if (byte < 0x20)
      rpinn_text_append(text, "\\u%04x", byte);
    else
      rpinn_text_append_bytes(text, value, 1);
  }
  rpinn_text_append(text, "\"");
}

static void start_item(RpinnJson *json, const char *key) {
  if (json->comma) rpinn_text_append(json->text, ", ");
  json->comma = true;
  if (!key) return;
  append_quoted(json->text, key);
  rpinn_text_append(json->text, ": ");
}

void rpinn_json_open(RpinnJson *json, const char *key, char bracket) {
  start_item(json, key);
  rpinn_text_append(json->text, "%c", bracket);
  json->comma = false;
}

void rpinn_json_close(RpinnJson *json, char bracket) {
  rpinn_text_append(json->text, "%c", bracket);
  json->comma = true;
}

void rpinn_json_text(RpinnJson *json, const char *key, const char *value) {
  start_item(json, key);
  append_quoted(json->text, value);
}

void rpinn_json_number(RpinnJson *json, const char *key, double value) {
  char number[RPINN_NUMBER_TEXT];
  start_item(json, key);
  if (isnan(value))
    rpinn_text_append(json->text, "null");
  else if (isinf(value))
    rpinn_text_append(json->text, value > 0 ? "\"inf\"" : "\"-inf\"");
  else {
    rpinn_number_format(value, number);
    rpinn_text_append(json->text, "%s", number);
  }
}

void rpinn_json_boolean(RpinnJson *json, const char *key, bool value) {
  start_item(json, key);
  rpinn_text_append(json->text, value ? "true" : "false");
}
