#include "params.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

struct rw_params rw_params;

static const char *variable(const char *name, const char *other) {
  const char *value = getenv(name);
  if ((!value || !*value) && other) value = getenv(other);
  return value && *value ? value : NULL;
}

static struct range { int least, most; } range = {INT_MIN, INT_MAX};  // of the number that is read next

static bool number(const char *name, const char *other, int *out) {
  struct range within = range;
  range = (struct range){INT_MIN, INT_MAX};
  const char *text = variable(name, other);
  if (!text) return false;
  char *end;
  errno = 0;
  long value = strtol(text, &end, 0);
  if (errno || *end || value > INT_MAX || value < INT_MIN) {
    rw_warn("%s=%s is not a number: ignored", name, text);
    return false;
  }
  if (value < within.least || value > within.most) {
    rw_warn("%s=%ld is not within %d and %d: ignored", name, value, within.least, within.most);
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

static bool is_range(const char *value) {
  char text[64], *end;
  uint8_t address[16];
  if (strlen(value) >= sizeof(text)) return false;
  memcpy(text, value, strlen(value) + 1);
  char *slash = strchr(text, '/');
  if (slash) *slash = 0;
  int most = inet_pton(AF_INET6, text, address) == 1 ? 128 : inet_pton(AF_INET, text, address) == 1 ? 32 : -1;
  if (!slash || most < 0) return most >= 0;
  long bits = strtol(slash + 1, &end, 10);
  return slash[1] && !*end && bits >= 0 && bits <= most;
}

static bool is_bits(const char *value) {
  int first, count, used = 0;
  return sscanf(value, "%d:%d%n", &first, &count, &used) == 2 && !value[used] && first >= 0 && count >= 1 &&
         count <= 30 && first + count <= 128;
}

static bool is_family(const char *value) { return strcmp(value, "AF_INET") == 0 || strcmp(value, "AF_INET6") == 0; }

// Texts that mean nothing are as if they were not set.
static void check_texts(void) {
  static const struct {
    const char *name;
    const char **value;
    bool (*good)(const char *);
    const char *wanted;
  } texts[] = {
      {"NCCL_IB_ADDR_RANGE", &rw_params.addr_range, is_range, "PREFIX/LENGTH, such as fc00::/16"},
      {"NCCL_IB_ADDR_FAMILY", &rw_params.addr_family, is_family, "AF_INET or AF_INET6"},
      {"NCCL_SOCKET_FAMILY", &rw_params.socket_family, is_family, "AF_INET or AF_INET6"},
      {"RAILWEAVE_NET_COLOR_BITS", &rw_params.color_bits, is_bits, "FIRST:COUNT within 128 bits, COUNT up to 30"},
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    if (!**texts[i].value || texts[i].good(*texts[i].value)) continue;
    rw_warn("%s=%s is not %s: ignored", texts[i].name, *texts[i].value, texts[i].wanted);
    *texts[i].value = "";
  }
}

void rw_params_read(void) {
#define SECTION(title)
#define NOT_USED(name, why) \
  if (getenv(name)) rw_info("%s is not used by this plugin: %s", name, why);
#define INT(field, name, other) rw_params.field##_set = number(name, other, &rw_params.field);
#define WITHIN(first, last) range = (struct range){first, last}, INT
#define TEXT(field, name, other) rw_params.field##_set = text(name, other, &rw_params.field);
#define PARAM(field, name, other, kind, value, documentation) \
  rw_params.field = value;                                    \
  kind(field, name, other)
#include "params.def"
#undef PARAM
#undef INT
#undef WITHIN
#undef TEXT
#undef SECTION
#undef NOT_USED
  check_texts();
  rw_log_to_stderr(strcmp(rw_params.log_also, "stderr") == 0);
}
