// A reader for JSON files of our own: values in one array, strings unescaped in place.
#ifndef RAILWEAVE_JSON_H
#define RAILWEAVE_JSON_H

#include <stddef.h>

enum rw_json_kind { RW_JSON_NULL, RW_JSON_BOOL, RW_JSON_NUMBER, RW_JSON_TEXT, RW_JSON_LIST, RW_JSON_OBJECT };

struct rw_json {
  enum rw_json_kind kind;
  const char *key;  // NULL in a list
  const char *text;
  double number;  // of a bool 0 or 1
  struct rw_json *child, *next;
};

// Parses text, which it changes and which must outlive the result. NULL where it is not JSON or nested deeper than 32.
struct rw_json *rw_json_parse(char *text);
void rw_json_free(struct rw_json *value);

// The member of that name, or NULL; value may be NULL.
const struct rw_json *rw_json_get(const struct rw_json *value, const char *key);
const char *rw_json_text(const struct rw_json *value, const char *key);  // "" where there is none
double rw_json_number(const struct rw_json *value, const char *key, double missing);

#endif
