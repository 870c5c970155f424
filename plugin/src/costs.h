// What a path costs, as an operator or a watcher of the fabric says in a file while jobs run: a path of cost 4 gets at
// most a quarter of an even share. The file is read again when it changes; without it every path costs 1.
#ifndef RAILWEAVE_COSTS_H
#define RAILWEAVE_COSTS_H

#include <stdint.h>

void rw_costs_look(void);  // the service thread, about once a second: has the file changed?

unsigned rw_costs_generation(void);                      // changes whenever costs do
uint32_t rw_costs_limit(const char *device, int color);  // of RW_UNLIMITED (weights.h)

#endif
