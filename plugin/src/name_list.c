#include "name_list.h"

#include <stdlib.h>
#include <string.h>

// A field of an entry by its place behind the name, -1 where it is not there or no number.
static int field(const char *entry, size_t length, int place) {
  const char *at = entry, *end = entry + length;
  for (int i = 0; i < place && at; i++) at = memchr(at + (i > 0), ':', (size_t)(end - at) - (i > 0));
  return at && at + 1 < end && at[1] >= '0' && at[1] <= '9' ? atoi(at + 1) : -1;
}

static const char *start(const char *list, bool *exclude, bool *exact) {
  *exclude = *list == '^';
  if (*exclude) list++;
  *exact = *list == '=';
  return *exact ? list + 1 : list;
}

// The entry that names it, NULL where none does.
static const char *entry_of(const char *list, bool exact, const char *name, int port, size_t *length) {
  for (const char *at = list; *at; at += *length + (at[*length] == ',')) {
    *length = strcspn(at, ",");
    size_t text = strcspn(at, ":,");
    int wanted = field(at, *length, 1);
    if (text > 0 && strncmp(at, name, text) == 0 && (!exact || name[text] == 0) &&
        (port == 0 || wanted < 0 || wanted == port))
      return at;
  }
  return NULL;
}

bool rw_name_list_holds(const char *list, const char *name, int port) {
  bool exclude, exact;
  size_t length;
  list = start(list, &exclude, &exact);
  if (!*list) return true;
  return (entry_of(list, exact, name, port, &length) != NULL) != exclude;
}

void rw_name_list_place(const char *list, const char *name, int port, int *rail, int *plane) {
  bool exclude, exact;
  size_t length;
  list = start(list, &exclude, &exact);
  const char *entry = exclude ? NULL : entry_of(list, exact, name, port, &length);
  *rail = entry ? field(entry, length, 2) : -1;
  *plane = entry ? field(entry, length, 3) : -1;
}
