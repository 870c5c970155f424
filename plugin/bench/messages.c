// Sends messages from one end of a connection to the other, both in this process over fake verbs that deliver at once,
// through a net plugin's table: this plugin's, or that of NCCL's own transport (instructions.py counts what each
// costs).
//
//   messages LIBRARY SYMBOL BYTES MESSAGES [GROUP]    GROUP: receives in one request, 1 to 8
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_net_abi.h"

enum { DEPTH = 8, SLOT = 1 << 20 };

static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "messages: %s fails\n", what);
  exit(1);
}

static void say(ncclDebugLogLevel level, unsigned long flags, const char *file, int line, const char *format, ...) {
  va_list args;
  (void)flags, (void)file, (void)line;
  if (level != NCCL_LOG_WARN && !getenv("LOUD")) return;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

int main(int n, char **words) {
  ncclNetCommConfig_t config = {.trafficClass = NCCL_NET_TRAFFIC_CLASS_UNDEF};
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE] = {0};
  void *ctx = NULL, *listening, *out = NULL, *in = NULL, *out_mr, *in_mr, *device_comm = NULL;
  if (n < 5) return 2;
  void *library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  const ncclNet_v12_t *net = library ? dlsym(library, words[2]) : NULL;
  size_t bytes = strtoull(words[3], NULL, 10);
  int messages = atoi(words[4]), group = n > 5 ? atoi(words[5]) : 1, devices = 0;
  must(net != NULL && group >= 1 && group <= 8 && bytes <= SLOT, "the library");
  char *memory = aligned_alloc(4096, 2 * DEPTH * 8 * (size_t)SLOT);
  must(net->init(&ctx, 1, &config, say, NULL) == ncclSuccess, "init");
  must(net->devices(&devices) == ncclSuccess && devices > 0, "devices");
  must(net->listen(ctx, 0, handle, &listening) == ncclSuccess, "listen");
  while (!out || !in) {
    if (!out) must(net->connect(ctx, 0, handle, &out, &device_comm) == ncclSuccess, "connect");
    if (!in) must(net->accept(listening, &in, &device_comm) == ncclSuccess, "accept");
  }
  must(net->regMr(out, memory, DEPTH * 8 * (size_t)SLOT, NCCL_PTR_HOST, &out_mr) == ncclSuccess, "regMr");
  must(
      net->regMr(in, memory + DEPTH * 8 * (size_t)SLOT, DEPTH * 8 * (size_t)SLOT, NCCL_PTR_HOST, &in_mr) == ncclSuccess,
      "regMr");
  for (int sent = 0; sent < messages;) {
    void *sends[DEPTH][8], *recvs[DEPTH];
    for (int d = 0; d < DEPTH; d++) {
      void *data[8], *mrs[8], *handles[8] = {NULL};
      size_t sizes[8];
      int tags[8];
      for (int g = 0; g < group; g++) {
        data[g] = memory + ((size_t)(DEPTH + d) * 8 + (size_t)g) * SLOT;
        sizes[g] = bytes, tags[g] = g, mrs[g] = in_mr;
      }
      for (recvs[d] = NULL; !recvs[d];)
        must(net->irecv(in, group, data, sizes, tags, mrs, handles, &recvs[d]) == ncclSuccess, "irecv");
    }
    for (int d = 0; d < DEPTH; d++)
      for (int g = 0; g < group; g++)
        for (sends[d][g] = NULL; !sends[d][g];)
          must(net->isend(out, memory + ((size_t)d * 8 + (size_t)g) * SLOT, bytes, g, out_mr, NULL, &sends[d][g]) ==
                   ncclSuccess,
               "isend");
    for (int d = 0; d < DEPTH; d++) {
      int done = 0, sizes[8];
      for (; !done;) must(net->test(recvs[d], &done, sizes) == ncclSuccess, "test");
      for (int g = 0; g < group; g++)
        for (done = 0; !done;) must(net->test(sends[d][g], &done, sizes) == ncclSuccess, "test");
    }
    sent += DEPTH * group;
  }
  puts("sent");
  fflush(stdout);
  _Exit(0);  // what ends a connection is not measured
}
