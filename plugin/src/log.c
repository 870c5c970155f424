#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic(ncclDebugLogger_t) nccl_logger;
static atomic_bool to_stderr;

void rw_log_to(ncclDebugLogger_t logger) { atomic_store(&nccl_logger, logger); }
void rw_log_to_stderr(bool also) { atomic_store(&to_stderr, also); }

void rw_log(ncclDebugLogLevel level, const char *file, int line, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  ncclDebugLogger_t logger = atomic_load(&nccl_logger);
  if (logger) logger(level, NCCL_INIT | NCCL_NET, file, line, "NET/railweave: %s", text);
  if ((!logger && level == NCCL_LOG_WARN) || atomic_load(&to_stderr)) fprintf(stderr, "NET/railweave: %s\n", text);
}
