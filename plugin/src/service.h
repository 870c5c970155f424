// One thread per process looks after connections that NCCL is not using, and writes telemetry.
#ifndef RAILWEAVE_SERVICE_H
#define RAILWEAVE_SERVICE_H

struct rw_comm;

void rw_service_start(void);
void rw_service_stop(void);
void rw_service_forget(void);  // in a child of fork
void rw_service_add(struct rw_comm *c);
void rw_service_remove(struct rw_comm *c);

#endif
