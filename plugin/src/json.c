#include "json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

static void skip(char **at) {
  while (**at && strchr(" \t\r\n", **at)) ++*at;
}

static bool word(char **at, const char *expected) {
  size_t n = strlen(expected);
  if (strncmp(*at, expected, n)) return false;
  *at += n;
  return true;
}

// Code points from \u escapes become UTF-8; a surrogate pair's halves are written as they are.
static char *put_code(char *out, unsigned code) {
  if (code < 0x80) {
    *out++ = (char)code;
  } else if (code < 0x800) {
    *out++ = (char)(0xc0 | code >> 6);
    *out++ = (char)(0x80 | (code & 0x3f));
  } else {
    *out++ = (char)(0xe0 | code >> 12);
    *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    *out++ = (char)(0x80 | (code & 0x3f));
  }
  return out;
}

static char *string(char **at) {
  if (**at != '"') return NULL;
  char *out = ++*at, *start = out;
  while (**at != '"') {
    char c = *(*at)++;
    if (!c) return NULL;
    if (c != '\\') {
      *out++ = c;
      continue;
    }
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    c = *(*at)++;
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
      *out++ = to[found - from];
    } else if (c == 'u') {
      char digits[5] = {0}, *end;
      for (int i = 0; i < 4 && (*at)[i]; i++) digits[i] = (*at)[i];
      unsigned code = (unsigned)strtoul(digits, &end, 16);
      if (end != digits + 4) return NULL;
      *at += 4;
      out = put_code(out, code);
    } else {
      return NULL;
    }
  }
  ++*at;
  *out = 0;
  return start;
}

static struct rw_json *value(char **at, int depth);

static bool members(struct rw_json *parent, char **at, char closing, int depth) {
  struct rw_json **tail = &parent->child;
  ++*at;
  skip(at);
  if (**at == closing) {
    ++*at;
    return true;
  }
  for (;;) {
    const char *key = NULL;
    skip(at);
    if (closing == '}') {
      key = string(at);
      if (!key) return false;
      skip(at);
      if (*(*at)++ != ':') return false;
    }
    struct rw_json *child = value(at, depth + 1);
    if (!child) return false;
    child->key = key;
    *tail = child;
    tail = &child->next;
    skip(at);
    char c = *(*at)++;
    if (c == closing) return true;
    if (c != ',') return false;
  }
}

static struct rw_json *value(char **at, int depth) {
  struct rw_json *out = depth > DEEPEST ? NULL : calloc(1, sizeof(*out));
  if (!out) return NULL;
  skip(at);
  bool good = true;
  if (**at == '{') {
    out->kind = RW_JSON_OBJECT;
    good = members(out, at, '}', depth);
  } else if (**at == '[') {
    out->kind = RW_JSON_LIST;
    good = members(out, at, ']', depth);
  } else if (**at == '"') {
    out->kind = RW_JSON_TEXT;
    out->text = string(at);
    good = out->text != NULL;
  } else if (word(at, "null")) {
    out->kind = RW_JSON_NULL;
  } else if (word(at, "true") || word(at, "false")) {
    out->kind = RW_JSON_BOOL;
    out->number = (*at)[-2] == 'u';
  } else {
    char *end;
    out->kind = RW_JSON_NUMBER;
    out->number = strtod(*at, &end);
    good = end != *at;
    *at = end;
  }
  if (good) return out;
  rw_json_free(out);
  return NULL;
}

struct rw_json *rw_json_parse(char *text) {
  char *at = text;
  struct rw_json *out = value(&at, 0);
  if (!out) return NULL;
  skip(&at);
  if (!*at) return out;
  rw_json_free(out);
  return NULL;
}

void rw_json_free(struct rw_json *v) {
  while (v) {
    struct rw_json *next = v->next;
    rw_json_free(v->child);
    free(v);
    v = next;
  }
}

const struct rw_json *rw_json_get(const struct rw_json *v, const char *key) {
  if (!v || v->kind != RW_JSON_OBJECT) return NULL;
  for (const struct rw_json *c = v->child; c; c = c->next)
    if (strcmp(c->key, key) == 0) return c;
  return NULL;
}

const char *rw_json_text(const struct rw_json *v, const char *key) {
  const struct rw_json *member = rw_json_get(v, key);
  return member && member->kind == RW_JSON_TEXT ? member->text : "";
}

double rw_json_number(const struct rw_json *v, const char *key, double missing) {
  const struct rw_json *member = rw_json_get(v, key);
  return member && (member->kind == RW_JSON_NUMBER || member->kind == RW_JSON_BOOL) ? member->number : missing;
}
