#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "params.h"

static _Atomic(ncclDebugLogger_t) nccl_logger;

void rw_log_to(ncclDebugLogger_t logger) { atomic_store(&nccl_logger, logger); }

void rw_log(ncclDebugLogLevel level, const char *file, int line, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  ncclDebugLogger_t logger = atomic_load(&nccl_logger);
  if (logger) logger(level, NCCL_INIT | NCCL_NET, file, line, "NET/railweave: %s", text);
  const char *also = rw_params.log_also;
  if ((!logger && level == NCCL_LOG_WARN) || (also && strcmp(also, "stderr") == 0))
    fprintf(stderr, "NET/railweave: %s\n", text);
}
