// The sums of stats.h as JSON and as a Prometheus textfile, written whole or not at all, removed when the process ends;
// what killed processes left is removed by the next one.
#ifndef RAILWEAVE_TELEMETRY_H
#define RAILWEAVE_TELEMETRY_H

struct rw_stats_page;

void rw_telemetry_write(const struct rw_stats_page *page);
void rw_telemetry_remove(void);
void rw_telemetry_remove_stale(void);

#endif
