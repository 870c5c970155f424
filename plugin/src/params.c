#include "params.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

struct rw_params rw_params;

static const char *variable(const char *name, const char *other) {
  const char *value = getenv(name);
  if ((!value || !*value) && other) value = getenv(other);
  return value && *value ? value : NULL;
}

static bool number(const char *name, const char *other, int *out) {
  const char *text = variable(name, other);
  if (!text) return false;
  char *end;
  errno = 0;
  long value = strtol(text, &end, 0);
  if (errno || *end || value > INT_MAX || value < INT_MIN) {
    rw_warn("%s=%s is not a number: ignored", name, text);
    return false;
  }
  *out = (int)value;
  return true;
}

static bool text(const char *name, const char *other, const char **out) {
  const char *value = variable(name, other);
  if (!value) return false;
  *out = value;
  return true;
}

void rw_params_read(void) {
#define SECTION(title)
#define NOT_USED(name, why) \
  if (getenv(name)) rw_info("%s is not used by this plugin: %s", name, why);
#define INT(field, name, other) rw_params.field##_set = number(name, other, &rw_params.field);
#define TEXT(field, name, other) rw_params.field##_set = text(name, other, &rw_params.field);
#define PARAM(field, name, other, kind, value, documentation) \
  rw_params.field = value;                                    \
  kind(field, name, other)
#include "params.def"
#undef PARAM
#undef INT
#undef TEXT
#undef SECTION
#undef NOT_USED
  rw_log_to_stderr(strcmp(rw_params.log_also, "stderr") == 0);
}
