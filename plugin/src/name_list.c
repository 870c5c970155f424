#include "name_list.h"

#include <stdlib.h>
#include <string.h>

bool rw_name_list_holds(const char *list, const char *name, int port) {
  bool exclude = *list == '^';
  if (exclude) list++;
  bool exact = *list == '=';
  if (exact) list++;
  if (!*list) return true;
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, ","), text = strcspn(at, ":,");
    int wanted = text < length ? atoi(at + text + 1) : -1;
    bool matches =
        strncmp(at, name, text) == 0 && (!exact || name[text] == 0) && (port == 0 || wanted < 0 || wanted == port);
    if (matches && text > 0) return !exclude;
    at += length + (at[length] == ',');
  }
  return exclude;
}
