// Two hosts, one process on each: both send to and receive from the other through the plugin for some seconds, every
// byte checked. Over real verbs, where the harness's fake hosts do not reach. Writes what it got every half second.
//
//   pair PLUGIN SECONDS                waits for the other
//   pair PLUGIN SECONDS ADDRESS        connects to it
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net_api.h"

enum { PORT = 7777, DEPTH = 4, LARGEST = 1 << 20 };

static struct net net;
static double started;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say(ncclDebugLogLevel level, unsigned long flags, const char *file, int line, const char *format, ...) {
  va_list args;
  (void)flags, (void)file, (void)line;
  if (level > NCCL_LOG_INFO) return;
  printf("%6.2f ", started > 0 ? now() - started : 0);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
  fflush(stdout);
}

#define MUST(call)                           \
  do {                                       \
    ncclResult_t result = (call);            \
    if (result == ncclSuccess) break;        \
    printf("%s: error %d\n", #call, result); \
    exit(1);                                 \
  } while (0)

static int meet(const char *address) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  if (address) {
    inet_pton(AF_INET, address, &a.sin_addr);
    for (int tries = 0; connect(fd, (struct sockaddr *)&a, sizeof(a)); tries++) {
      if (tries == 600) exit(1);
      close(fd);
      usleep(100000);
      fd = socket(AF_INET, SOCK_STREAM, 0);
    }
    return fd;
  }
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1)) exit(1);
  int other = accept(fd, NULL, NULL);
  close(fd);
  return other;
}

static size_t size_of(int i) { return i % 3 == 2 ? (size_t)(i % 1000) : (size_t)LARGEST - (size_t)(i % 777); }
static uint64_t word(int i, size_t k) { return (uint64_t)i * 0x9e3779b97f4a7c15u + k; }

int main(int n, char **words) {
  unsigned char mine[NCCL_NET_HANDLE_MAXSIZE], other[NCCL_NET_HANDLE_MAXSIZE];
  void *listening, *send_comm = NULL, *recv_comm = NULL, *out_mr, *in_mr;
  if (n < 3) return 2;
  void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (!library || !net_open(&net, library, 12)) {
    puts(library ? "no table" : dlerror());
    return 2;
  }
  MUST(net.init(&net, say, NULL));
  int fd = meet(n > 3 ? words[3] : NULL);
  MUST(net.listen(&net, 0, mine, &listening));
  if (send(fd, mine, sizeof(mine), 0) != sizeof(mine) || recv(fd, other, sizeof(other), MSG_WAITALL) != sizeof(other))
    return 2;
  while (!send_comm || !recv_comm) {
    if (!send_comm) MUST(net.connect(&net, 0, other, &send_comm));
    if (!recv_comm) MUST(net.accept(&net, listening, &recv_comm));
  }
  uint64_t *out = aligned_alloc(4096, (size_t)DEPTH * LARGEST), *in = aligned_alloc(4096, (size_t)DEPTH * LARGEST);
  MUST(net.reg(&net, send_comm, out, (size_t)DEPTH * LARGEST, NCCL_PTR_HOST, &out_mr));
  MUST(net.reg(&net, recv_comm, in, (size_t)DEPTH * LARGEST, NCCL_PTR_HOST, &in_mr));
  void *sends[DEPTH] = {NULL}, *recvs[DEPTH] = {NULL};
  int sent = 0, sends_done = 0, posted = 0, received = 0;
  double next = 0.5, bytes = 0, seconds = atof(words[2]);
  started = now();
  // The number of messages must be the same at both ends: the connecting side says when it has sent its last.
  bool last_said = false;
  int last = -1;
  while (last < 0 || sends_done < last || received < last) {
    void *request = NULL;
    int done, size;
    if (!last_said && n > 3 && now() - started > seconds) {
      last = sent + DEPTH;
      if (send(fd, &last, sizeof(last), 0) != sizeof(last)) return 2;
      last_said = true;
    }
    if (n == 3 && last < 0 && recv(fd, &last, sizeof(last), MSG_DONTWAIT) != sizeof(last)) last = -1;
    if (sent - sends_done < DEPTH && (last < 0 || sent < last) && (n > 3 || sent < received + DEPTH)) {
      uint64_t *at = out + (size_t)(sent % DEPTH) * LARGEST / 8;
      size_t bytes_out = size_of(sent);
      for (size_t k = 0; k < bytes_out / 8; k++) at[k] = word(sent, k);
      MUST(net.isend(&net, send_comm, at, bytes_out, 0, out_mr, NULL, &request));
      if (request) sends[sent++ % DEPTH] = request;
    }
    if (posted - received < DEPTH && (last < 0 || posted < last)) {
      void *at = in + (size_t)(posted % DEPTH) * LARGEST / 8;
      size_t room = LARGEST;
      int tag = 0;
      request = NULL;
      MUST(net.irecv(&net, recv_comm, 1, &at, &room, &tag, &in_mr, &request));
      if (request) recvs[posted++ % DEPTH] = request;
    }
    while (sends_done < sent) {
      MUST(net.test(sends[sends_done % DEPTH], &done, &size));
      if (!done) break;
      sends_done++;
    }
    while (received < posted) {
      MUST(net.test(recvs[received % DEPTH], &done, &size));
      if (!done) break;
      const uint64_t *at = in + (size_t)(received % DEPTH) * LARGEST / 8;
      if ((size_t)size != size_of(received)) return printf("message %d: %d bytes\n", received, size), 1;
      for (size_t k = 0; k < (size_t)size / 8; k++)
        if (at[k] != word(received, k)) return printf("message %d is wrong at %zu\n", received, k * 8), 1;
      bytes += size;
      received++;
    }
    if (now() - started >= next) {
      printf("%6.2f rate %.2f MB/s\n", now() - started, bytes / 5e5);
      fflush(stdout);
      bytes = 0;
      next += 0.5;
    }
  }
  printf("%d messages sent, %d received, all right\n", sends_done, received);
  net.deregMr(send_comm, out_mr), net.deregMr(recv_comm, in_mr);
  net.closeSend(send_comm), net.closeRecv(recv_comm), net.closeListen(listening);
  MUST(net.finalize(&net));
  return 0;
}
