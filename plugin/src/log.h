// Messages, through NCCL's logger where there is one.
#ifndef RAILWEAVE_LOG_H
#define RAILWEAVE_LOG_H

#include <stdbool.h>

#include "nccl_net_abi.h"

void rw_log_to(ncclDebugLogger_t logger);
void rw_log_to_stderr(bool also);
void rw_log(ncclDebugLogLevel level, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define rw_warn(...) rw_log(NCCL_LOG_WARN, __FILE__, __LINE__, __VA_ARGS__)
#define rw_info(...) rw_log(NCCL_LOG_INFO, __FILE__, __LINE__, __VA_ARGS__)

#endif
