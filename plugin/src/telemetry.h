// Counters of every queue pair, as JSON and as a Prometheus textfile, written whole or not at all.
#ifndef RAILWEAVE_TELEMETRY_H
#define RAILWEAVE_TELEMETRY_H

struct rw_comm;

void rw_telemetry_write(const struct rw_comm *comms);
void rw_telemetry_closed(const struct rw_comm *c);  // keeps the sums of a connection that ends

#endif
