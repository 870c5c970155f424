// Asynchronous events: one thread per verbs context.
#ifndef RAILWEAVE_EVENTS_H
#define RAILWEAVE_EVENTS_H

#include "devices.h"

void rw_events_start(struct rw_device *devices, int n);
void rw_events_stop(void);

#endif
