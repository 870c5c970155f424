// Parameters, read once from the environment. params.def declares them.
#ifndef RAILWEAVE_PARAMS_H
#define RAILWEAVE_PARAMS_H

#include <stdbool.h>

struct rw_params {
#define SECTION(title)
#define NOT_USED(name, why)
#define INT(field) \
  int field;       \
  bool field##_set;
#define WITHIN(least, most) INT
#define TEXT(field)  \
  const char *field; \
  bool field##_set;
#define PARAM(field, variable, other, kind, value, text) kind(field)
#include "params.def"
#undef PARAM
#undef INT
#undef WITHIN
#undef TEXT
#undef SECTION
#undef NOT_USED
};

extern struct rw_params rw_params;

// Reads the environment anew. Values that are not numbers, where numbers are wanted, are left out with a warning.
void rw_params_read(void);

#endif
