// What one end of a connection notices of the other: two processes, one connection, one case.
//
//   peer CASE STATE     CASE: kill, stop (the whole process, its fake NIC as well), dark, hang (NIC answers, threads do
//                       not), slow (nothing is wrong)
//                       STATE of the end that is tested: polls (isend finds no receive), flies (pieces under way),
//                       waits (a receive of which nothing came), half (one of two grouped receives came)
//   peer event N         the asynchronous event N is reported of a queue pair or completion queue
//   peer tcp | stranger | refused | fork
//   peer flush once | ever  the NIC refuses the read of a flush: it is posted again; in the end that is an error
//   peer tuner            both ends have a tuner table in force, but not the same
//   peer close FOLDER    256 connections end within 3 s, telemetry being written to the folder
//   peer crowd            the other process is killed: 64 connections to it end, which is said once
//   peer probes           a path dies under 64 connections: one of them probes it, and all use it when it is back
// Of the plugin's own times, stop and dark have RAILWEAVE_NET_ALL_DEAD_MS=500, hang and slow
// RAILWEAVE_NET_PEER_MS=1500.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric.h"
#include "net_api.h"

enum { BYTES = 4 << 20, WITHIN_MS = 5000, HANG_MS = 1500, ALIVE_MS = 3500 };

static struct net net;
static struct fake_fabric *fabric;
static char file[128];
static bool child, loud;
static int other_end;  // a socket to the other process, for handles and steps
static void *comm, *mr;
static char *memory;
static char last_warning[1024];
static pthread_mutex_t warning_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int dead, back, vain, redialled, warnings;

static double now_ms(void) { return (double)fake_now_ns() / 1e6; }
static void pause_ms(int ms) { usleep((useconds_t)ms * 1000); }

static void say(ncclDebugLogLevel level, unsigned long flags, const char *source, int line, const char *format, ...) {
  char text[1200];
  va_list args;
  (void)flags, (void)source, (void)line;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (loud) fprintf(stderr, "[%d %.1f] %s\n", child, now_ms(), text);
  pthread_mutex_lock(&warning_lock);  // the plugin's threads log as well
  if (level == NCCL_LOG_WARN) snprintf(last_warning, sizeof(last_warning), "%s", text);
  pthread_mutex_unlock(&warning_lock);
  if (level == NCCL_LOG_WARN) warnings++;
  if (strstr(text, " is dead: ")) dead++;
  if (strstr(text, "QP ") && strstr(text, " is back: ")) back++;
  if (strstr(text, ": not yet back: ")) vain++;
  if (strstr(text, "set-up connection is back")) redialled++;
}

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, " (last warning: %s)\n", last_warning);
  if (child) kill(getppid(), SIGTERM);
  _exit(1);
}

#define MUST(call)                                                   \
  do {                                                               \
    ncclResult_t must = (call);                                      \
    if (must != ncclSuccess) fail("%s: error %d", #call, (int)must); \
  } while (0)

static void tell(char c) {
  if (write(other_end, &c, 1) != 1) fail("the other process is gone");
}
static void hear(char wanted) {
  char c;
  if (read(other_end, &c, 1) != 1 || c != wanted) fail("the other process does not say '%c'", wanted);
}

static void start(int host) {
  char text[16];
  int n;
  snprintf(text, sizeof(text), "%d", host);
  setenv("RAILWEAVE_FAKE_HOST", text, 1);
  void *library = dlopen("./libnccl-net-railweave.so", RTLD_NOW | RTLD_LOCAL);
  if (!library || !net_open(&net, library, 12)) fail("no plugin");
  MUST(net.init(&net, say, NULL));
  MUST(net.devices(&n));
}

static void stranger(const unsigned char *handle, const char *says) {
  // The address in a handle, as connect.c writes it.
  struct sockaddr_in a;
  memcpy(&a, handle + 16, sizeof(a));
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (a.sin_family != AF_INET || connect(fd, (struct sockaddr *)&a, sizeof(a))) fail("no listener where expected");
  if (*says && write(fd, says, strlen(says)) < 0) fail("write");
}

static void join(bool sends, bool strangers) {
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  void *listening = NULL;
  memory = aligned_alloc(4096, 2 * BYTES);
  memset(memory, sends ? 7 : 0, 2 * BYTES);
  if (sends) {
    if (read(other_end, handle, sizeof(handle)) != sizeof(handle)) fail("no handle");
    for (; !comm; pause_ms(1)) MUST(net.connect(&net, 0, handle, &comm));
  } else {
    MUST(net.listen(&net, 0, handle, &listening));
    if (strangers) {
      stranger(handle, "");
      stranger(handle, "RWNT");
      void *nobody = NULL;
      for (int i = 0; i < 50; i++, pause_ms(1)) MUST(net.accept(&net, listening, &nobody));
    }
    if (write(other_end, handle, sizeof(handle)) != sizeof(handle)) fail("no handle");
    double begun = now_ms();
    for (; !comm; pause_ms(1)) {
      MUST(net.accept(&net, listening, &comm));
      if (now_ms() - begun > 5000) fail("no connection after 5 s");
    }
    MUST(net.closeListen(listening));
  }
  MUST(net.reg(&net, comm, memory, 2 * BYTES, NCCL_PTR_HOST, &mr));
}

static void *receive(int n) {
  void *data[2] = {memory, memory + BYTES}, *mrs[2] = {mr, mr}, *request = NULL;
  size_t sizes[2] = {BYTES, BYTES};
  int tags[2] = {0, 1};
  for (double begun = now_ms(); !request && now_ms() - begun < WITHIN_MS; pause_ms(1))
    MUST(net.irecv(&net, comm, n, data, sizes, tags, mrs, &request));
  return request;
}

static void *try_send(size_t size, ncclResult_t *result) {
  void *request = NULL;
  *result = net.isend(&net, comm, memory, size, 0, mr, NULL, &request);
  return request;
}

static void *send_one(size_t size) {
  void *request = NULL;
  ncclResult_t result = ncclSuccess;
  for (double begun = now_ms(); !request && now_ms() - begun < WITHIN_MS; pause_ms(1)) {
    request = try_send(size, &result);
    MUST(result);
  }
  if (!request) fail("nothing can be sent");
  return request;
}

static void finish(void *request) {
  int done = 0, sizes[8];
  for (double begun = now_ms(); !done; usleep(50)) {
    MUST(net.test(request, &done, sizes));
    if (now_ms() - begun > 2 * WITHIN_MS) fail("a request does not end");
  }
}

// Milliseconds until the connection reports an error, -1 where it does not within limit.
static double until_error(void *request, int limit) {
  double begun = now_ms();
  for (int done = 0, sizes[8]; now_ms() - begun < limit; usleep(50)) {
    ncclResult_t result = ncclSuccess;
    if (request) result = net.test(request, &done, sizes);
    else if (try_send(64, &result)) fail("a message could be sent that nobody waits for");
    if (result != ncclSuccess) {
      double took = now_ms() - begun;
      pause_ms(50);  // the thread that found it still writes its warning
      pthread_mutex_lock(&warning_lock);
      pthread_mutex_unlock(&warning_lock);
      return took;
    }
    if (request && done) fail("a request is done that cannot be");
  }
  return -1;
}

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

// The other end of a case: brings this end into its state, then waits for what is done to it.
static void play(const char *what, const char *state) {
  void *request = NULL;
  bool receives = is(state, "polls") || is(state, "flies");
  join(!receives, false);
  if (is(what, "hang")) {
    // Its proxy thread owns the connection, and does nothing more.
    request = receives ? receive(1) : send_one(64);
  } else if (is(state, "flies")) {
    request = receive(1);
  } else if (is(state, "half")) {
    finish(send_one(100000));  // a small one would wait for the other
  } else if (is(what, "slow")) {
    finish(receives ? receive(1) : send_one(64));
  }
  tell('r');
  for (;;) {
    int done, sizes[8];
    if (request && is(what, "slow") && net.test(request, &done, sizes)) fail("the slow end got an error");
    pause_ms(10);
  }
}

static int watch(const char *what, const char *state, pid_t other) {
  bool sends = is(state, "polls") || is(state, "flies"), hang = is(what, "hang"), slow = is(what, "slow");
  void *request = NULL;
  if (is(state, "flies")) fake_path_limit(fabric, 1);
  join(sends, false);
  if (sends) {
    if (is(state, "flies")) request = send_one(BYTES);
    else if (hang || slow) finish(send_one(64));
  } else {
    if (hang || slow) finish(receive(1));
    request = receive(is(state, "half") ? 2 : 1);
  }
  hear('r');
  pause_ms(100);
  if (is(what, "kill")) kill(other, SIGKILL);
  if (is(what, "stop")) kill(other, SIGSTOP);
  if (is(what, "dark")) fake_path_down(fabric, 0, 0, 1, 0, -1, UINT64_MAX);
  if (is(what, "event")) atomic_store(&fabric->ports[0][0].event, atoi(state) + 1);
  double took = until_error(request, slow ? ALIVE_MS : 2 * WITHIN_MS);
  if (slow ? took >= 0 : took < 0 || took > WITHIN_MS)
    fail("%s while this end %s: error after %.0f ms", what, state, took);
  if (is(what, "event") && !strstr(last_warning, "reported: ")) fail("the error does not say what was reported");
  if (slow) printf("%s while this end %s: no error\n", what, state);
  else printf("%s while this end %s: error after %.0f ms: %.120s\n", what, state, took, last_warning);
  return 0;
}

// Both ends' TCP connection is cut under way; nothing else is wrong.
static void cut_tcp(void) {
  for (int fd = 3; fd < 1024; fd++) {
    struct sockaddr_storage a;
    socklen_t size = sizeof(a);
    if (getpeername(fd, (struct sockaddr *)&a, &size) == 0 && a.ss_family == AF_INET) shutdown(fd, SHUT_RDWR);
  }
}

static void lose_tcp(bool sends) {
  join(sends, false);
  for (int i = 0; i < 60; i++) {
    finish(sends ? send_one(100000) : receive(1));
    if (i % 20 == 10 && !sends) cut_tcp();
    if (i % 20 == 15 && sends) pause_ms(700);
    if (i == 50 && sends && !redialled) fail("the TCP connection is not made anew");
  }
  if (dead) fail("a queue pair died");
  tell('d');
  hear('d');
  MUST(sends ? net.closeSend(comm) : net.closeRecv(comm));
}

static int fork_and_exit(void) {
  int status;
  join(true, false);
  finish(send_one(64));
  pid_t pid = fork();
  if (pid == 0) exit(0);  // as Python's multiprocessing does
  for (double begun = now_ms(); waitpid(pid, &status, WNOHANG) != pid; pause_ms(1))
    if (now_ms() - begun > WITHIN_MS) {
      kill(pid, SIGKILL);
      fail("a child of fork does not come to an end");
    }
  if (status) fail("the child ends with %d", status);
  finish(send_one(64));
  tell('d');
  MUST(net.closeSend(comm));
  return 0;
}

// The first flush finds the device busy, the second finds it well again; a device that stays busy ends the connection.
static int refuse_flushes(bool for_ever) {
  void *data[1], *mrs[1], *request = NULL;
  int sizes[1] = {64};
  join(false, false);
  data[0] = memory, mrs[0] = mr;
  finish(receive(1));
  atomic_store(&fabric->ports[0][0].refuse_read, for_ever ? -1 : 1);
  for (int i = 0; i < (for_ever ? 1 : 2); i++) {
    MUST(net.iflush(comm, 1, data, sizes, mrs, &request));
    if (!request) fail("no flush");
    if (!for_ever) finish(request);
  }
  if (atomic_load(&fabric->ports[0][0].refuse_read) > 0) fail("no read was refused");
  if (dead) fail("a queue pair died");
  tell('d');
  if (!for_ever) return 0;
  double took = until_error(request, 2 * WITHIN_MS);
  if (took < 0 || took > WITHIN_MS || !strstr(last_warning, "flushes of GPU memory fail on fake0"))
    fail("a device that refuses all flushes: error after %.0f ms", took);
  printf("a device refuses all flushes: error after %.0f ms: %.120s\n", took, last_warning);
  return 0;
}

// NCCL closes connections one after the other.
static void close_many(bool sends) {
  enum { MANY = 256 };
  void *comms[MANY];
  for (int i = 0; i < MANY; i++) {
    comm = NULL;
    join(sends, false);
    comms[i] = comm;
    net.deregMr(comm, mr);
    free(memory);
  }
  tell('d');
  hear('d');
  double begun = now_ms();
  for (int i = 0; i < MANY; i++) MUST(sends ? net.closeSend(comms[i]) : net.closeRecv(comms[i]));
  if (now_ms() - begun > 3000) fail("closing %d connections takes %.1f s", MANY, (now_ms() - begun) / 1e3);
  printf("%d connections closed in %.2f s\n", MANY, (now_ms() - begun) / 1e3);
  tell('e');
  hear('e');
}

static int end_crowd(pid_t other) {
  enum { MANY = 64 };
  void *comms[MANY], *requests[MANY];
  bool ended[MANY] = {false};
  int left = MANY, sizes[8], done;
  for (int i = 0; i < MANY; i++) {
    comm = NULL;
    join(i % 2, false);
    comms[i] = comm;
    requests[i] = i % 2 ? NULL : receive(1);
  }
  hear('d');
  kill(other, SIGKILL);
  double begun = now_ms();
  for (; left && now_ms() - begun < WITHIN_MS; usleep(50))
    for (int i = 0; i < MANY; i++) {
      ncclResult_t result = ncclSuccess;
      comm = comms[i];
      if (ended[i]) continue;
      if (requests[i]) result = net.test(requests[i], &done, sizes);
      else try_send(64, &result);
      ended[i] = result != ncclSuccess;
      left -= ended[i];
    }
  if (left) fail("%d of %d connections have no error", left, MANY);
  if (warnings != 1 || !strstr(last_warning, "is gone")) fail("%d lines, not one", (int)warnings);
  printf("%d connections end, one line says so\n", MANY);
  return 0;
}

// Until so many queue pairs of this end died or came back; the connections are asked meanwhile, as NCCL asks them.
static void wait_until(_Atomic int *count, int wanted, void **comms, int n, int limit) {
  double begun = now_ms();
  while (*count < wanted && now_ms() - begun < limit) {
    for (int i = 0; i < n; i++) {
      ncclResult_t result;
      comm = comms[i];
      try_send(64, &result);
      MUST(result);
    }
    usleep(200);
  }
}

static int probe_once(void) {
  enum { MANY = 64 };
  void *comms[MANY];
  _Atomic int never = 0;
  for (int i = 0; i < MANY; i++) {
    comm = NULL;
    join(true, false);
    comms[i] = comm;
  }
  hear('d');
  fake_path_down(fabric, 0, 0, 1, 0, 1, UINT64_MAX);
  wait_until(&dead, MANY, comms, MANY, 8000);
  if (dead != MANY || back) fail("%d queue pairs died and %d came back, not %d and none", (int)dead, (int)back, MANY);
  wait_until(&never, 1, comms, MANY, 4000);
  if (vain < 1 || vain > 8) fail("the path was probed %d times in 4 s", (int)vain);
  if (warnings != 1) fail("%d lines, not one", (int)warnings);
  fake_path_down(fabric, 0, 0, 1, 0, 1, 0);
  wait_until(&back, MANY, comms, MANY, 8000);
  if (back != MANY) fail("%d queue pairs are back, not %d", (int)back, MANY);
  printf("64 queue pairs die with a path, which is probed %d times in 4 s, and come back\n", (int)vain);
  return 0;
}

static void be_crowd(bool receives) {
  for (int i = 0; i < 64; i++) {
    comm = NULL;
    join(!receives && !(i % 2), false);
  }
  tell('d');
  pause();
}

// A port where nobody listens: repeated calls, spread as NCCL spreads them, then an error.
static void call_in_vain(void) {
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  void *listening;
  MUST(net.listen(&net, 0, handle, &listening));
  MUST(net.closeListen(listening));
  double begun = now_ms();
  ncclResult_t result;
  while ((result = net.connect(&net, 0, handle, &comm)) == ncclSuccess && !comm && now_ms() - begun < WITHIN_MS)
    pause_ms(1);
  if (result == ncclSuccess || now_ms() - begun < 500) fail("error %d after %.0f ms", (int)result, now_ms() - begun);
}

static void set_tuner(void) {
  static char path[160];
  snprintf(path, sizeof(path), "%s.tuner%d", file, child);
  FILE *table = fopen(path, "w");
  fprintf(table,
          "{\"schema\": 1, \"rows\": [{\"collective\": \"all_reduce\", \"max_bytes\": %d, \"algorithm\": \"ring\", ",
          1000 + child);
  fputs("\"protocol\": \"ll\"}]}\n", table);
  fclose(table);
  setenv("RAILWEAVE_NET_TUNER", "1", 1);
  setenv("RAILWEAVE_NET_TUNER_FILE", path, 1);
}

// Neither end may come to think that it has a connection.
static void disagree(bool sends) {
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  void *listening = NULL;
  ncclResult_t result = ncclSuccess;
  if (sends && read(other_end, handle, sizeof(handle)) != sizeof(handle)) fail("no handle");
  if (!sends) MUST(net.listen(&net, 0, handle, &listening));
  if (!sends && write(other_end, handle, sizeof(handle)) != sizeof(handle)) fail("no handle");
  for (double begun = now_ms(); result == ncclSuccess && !comm && now_ms() - begun < WITHIN_MS; pause_ms(1))
    result = sends ? net.connect(&net, 0, handle, &comm) : net.accept(&net, listening, &comm);
  if (result == ncclSuccess || comm || !strstr(last_warning, "tuner table"))
    fail("ranks with different tables are connected");
  unlink(getenv("RAILWEAVE_NET_TUNER_FILE"));
  tell('d');
  hear('d');
}

static int run(const char *what, const char *state, pid_t other) {
  if (is(what, "tcp")) return lose_tcp(true), 0;
  if (is(what, "close")) return close_many(true), net.finalize(&net);
  if (is(what, "refused")) return call_in_vain(), 0;
  if (is(what, "tuner")) return disagree(true), 0;
  if (is(what, "stranger")) return join(false, true), tell('d'), 0;
  if (is(what, "fork")) return fork_and_exit();
  if (is(what, "crowd")) return end_crowd(other);
  if (is(what, "probes")) return probe_once();
  if (is(what, "flush")) return refuse_flushes(is(state, "ever"));
  return watch(what, state, other);
}

static void run_other(const char *what, const char *state) {
  if (is(what, "tcp")) lose_tcp(false);
  else if (is(what, "close")) close_many(false), net.finalize(&net);
  else if (is(what, "refused")) return;
  else if (is(what, "crowd") || is(what, "probes")) be_crowd(is(what, "probes"));
  else if (is(what, "tuner")) disagree(false);
  else if (is(what, "stranger")) join(true, false), hear('d');
  else if (is(what, "flush")) join(true, false), finish(send_one(64)), hear('d'), pause();
  else if (is(what, "fork")) join(false, false), finish(receive(1)), finish(receive(1)), hear('d');
  else play(what, state);
}

int main(int n, char **words) {
  int pair[2], status;
  const char *what = n > 1 ? words[1] : "", *state = n > 2 ? words[2] : "";
  loud = getenv("LOUD") != NULL;
  snprintf(file, sizeof(file), "/tmp/railweave-peer-%d", getpid());
  setenv("RAILWEAVE_FAKE_FABRIC", file, 1);
  setenv("NCCL_IBVERBS_LIB", "./libfakeverbs.so", 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("RAILWEAVE_NET_ANY_NAMESPACE", "1", 1);
  setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1);
  setenv("RAILWEAVE_NET_HOST_FILE", "/nonexistent", 1);
  setenv("RAILWEAVE_NET_SPLIT_BYTES", "1024", 1);
  if (is(what, "refused")) setenv("NCCL_SOCKET_RETRY_CNT", "3", 1);
  if (is(what, "close")) setenv("RAILWEAVE_NET_TELEMETRY", state, 1);
  if (is(what, "stop") || is(what, "dark")) setenv("RAILWEAVE_NET_ALL_DEAD_MS", "500", 1);
  if (is(what, "hang") || is(what, "slow")) setenv("RAILWEAVE_NET_PEER_MS", "1500", 1);
  fabric = fake_fabric_create(file, 2, 1, 4);
  if (!fabric || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 2;
  pid_t other = fork();
  child = other == 0;
  other_end = pair[child];
  close(pair[!child]);
  if (is(what, "tuner")) set_tuner();
  if (child) prctl(PR_SET_PDEATHSIG, SIGKILL);
  start(child);
  if (child) {
    run_other(what, state);
    _exit(0);
  }
  int result = run(what, state, other);
  bool ends = is(what, "close") || is(what, "tuner") || is(what, "refused") || is(what, "tcp") ||
              is(what, "stranger") || is(what, "fork");
  if (!ends) kill(other, SIGKILL);
  waitpid(other, &status, 0);
  unlink(file);
  for (int h = 0; h < 2; h++) {
    char path[160];
    snprintf(path, sizeof(path), "%s.%d", file, h);
    unlink(path);
  }
  if (ends && status) fail("the other process ends with %d", status);
  if (ends) printf("%s: well\n", what);
  fflush(stdout);
  _exit(result);  // the connection is left as it is
}
