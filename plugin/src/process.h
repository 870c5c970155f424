// What a process has open: devices, and the threads that look after connections and events.
#ifndef RAILWEAVE_PROCESS_H
#define RAILWEAVE_PROCESS_H

#include "nccl_net_abi.h"

// Opens the devices, once; later calls count. rw_process_close closes them when as often called. Both are thread-safe.
ncclResult_t rw_process_open(void);
void rw_process_close(void);

#endif
