// Ranks of NCCL's own core as processes, each with a host id of its own: initialize, then send and receive around a ring and
// from all to all, and add up by a ring all-reduce, contents checked, and end. RANKS SECONDS: how long; with a third word "abort" the last rank is killed on the
// way, and the others must hear of it and be able to abort; with
// "tune" all-reduces of many sizes are only planned, and what the tuner said of them is in the log; with "rank K" this is
// rank K alone, the others being on other hosts (NCCL_COMM_ID).
#include <cuda_runtime.h>
#include <nccl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int rank, ranks;
static ncclComm_t comm;

static void must(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, what, ncclGetErrorString(result), ncclGetLastError(comm));
  _exit(1);
}

static unsigned char byte_of(int from, int to, int round, size_t i) {
  return (unsigned char)(from * 31 + to * 17 + round * 7 + i * 13 + (i >> 8));
}

bool rw_kernels_run();  // kernel.cc

static int begun[2];  // a byte from a rank that has sent and received
static double heard;  // when the communicator reported an error

// As cudaStreamSynchronize, but it ends when the communicator has an error.
static bool finish() {
  double begun = now();
  while (true) {
    ncclResult_t result;
    must(ncclCommGetAsyncError(comm, &result), "ncclCommGetAsyncError");
    if (result != ncclSuccess) {
      heard = now();
      return false;
    }
    if (!rw_kernels_run()) return true;
    if (now() - begun > 60) {
      fprintf(stderr, "rank %d: a transfer does not end\n", rank);
      _exit(3);
    }
    usleep(100);
  }
}

// To every rank within distance, from as many.
static bool exchange(int distance, size_t size, int round, unsigned char* out, unsigned char* in) {
  for (int d = 1; d <= distance; d++)
    for (size_t i = 0; i < size; i++) {
      out[d * size + i] = byte_of(rank, (rank + d) % ranks, round, i);
      in[d * size + i] = 0;
    }
  must(ncclGroupStart(), "ncclGroupStart");
  for (int d = 1; d <= distance; d++) {
    must(ncclSend(out + d * size, size, ncclUint8, (rank + d) % ranks, comm, (cudaStream_t)8), "ncclSend");
    must(ncclRecv(in + d * size, size, ncclUint8, (rank + ranks - d) % ranks, comm, (cudaStream_t)8), "ncclRecv");
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  if (!finish()) return false;
  for (int d = 1; d <= distance; d++)
    for (size_t i = 0; i < size; i++)
      if (in[d * size + i] != byte_of((rank + ranks - d) % ranks, rank, round, i)) {
        fprintf(stderr, "rank %d: byte %zu of %zu is wrong\n", rank, i, size);
        _exit(2);
      }
  return true;
}

// A ring all-reduce of sums of int32. The buffers stay: after an error the kernel may still work on them.
static bool add_up(size_t n, int round) {
  static int32_t *mine = new int32_t[1 << 20], *sum = new int32_t[1 << 20];
  for (size_t i = 0; i < n; i++) mine[i] = (int32_t)(rank * 1000003 + round * 7919 + i * 31);
  must(ncclAllReduce(mine, sum, n, ncclInt32, ncclSum, comm, (cudaStream_t)8), "ncclAllReduce");
  if (!finish()) return false;
  for (size_t i = 0; i < n; i++) {
    int32_t wanted = 0;
    for (int r = 0; r < ranks; r++) wanted += (int32_t)(r * 1000003 + round * 7919 + i * 31);
    if (sum[i] == wanted) continue;
    fprintf(stderr, "rank %d: sum %zu of %zu is %d, not %d\n", rank, i, n, sum[i], wanted);
    _exit(2);
  }
  return true;
}

static int plan(const ncclUniqueId& id) {
  must(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
  static char buffer[1 << 20];
  for (size_t size = 1024; size <= 1 << 28; size *= 4) {
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    must(ncclGroupStart(), "ncclGroupStart");
    must(ncclAllReduce(buffer, buffer, size / 4, ncclFloat, ncclSum, comm, (cudaStream_t)8), "ncclAllReduce");
    must(ncclGroupSimulateEnd(&info), "ncclGroupSimulateEnd");
    fprintf(stderr, "RANK %d: all-reduce of %zu bytes estimated at %.1f us\n", rank, size, info.estimatedTime);
  }
  must(ncclCommDestroy(comm), "ncclCommDestroy");
  return 0;
}

static int run(const ncclUniqueId& id, int seconds, bool abort) {
  static const size_t sizes[] = {1, 4097, 131072, 1 << 20, 3000001};
  must(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
  unsigned char *out = new unsigned char[ranks * (4 << 20)], *in = new unsigned char[ranks * (4 << 20)];
  size_t bytes = 0, summed = 0;
  int round = 0, last = -1;
  // Rank 0's clock tells when to end; the others hear it with the data.
  for (double end = now() + seconds; round != last; round++) {
    size_t size = sizes[round % 5];
    int distance = round % 2 ? ranks - 1 : 1;
    if (!exchange(distance, size, round, out, in)) break;
    bytes += distance * size;
    if (round % 3 == 2) {
      if (!add_up(size / 4 + 1, round)) break;
      summed += size / 4 + 1;
    }
    if (round == 3) {
      fprintf(stderr, "RANK %d: first rounds right\n", rank);
      if (write(begun[1], "r", 1) != 1) return 1;
    }
    if (round % 10 == 9) {
      // A round of 1 byte: whether to go on, around the ring from rank 0.
      unsigned char go = rank == 0 && now() < end;
      if (rank) must(ncclRecv(in, 1, ncclUint8, rank - 1, comm, (cudaStream_t)8), "ncclRecv");
      if (rank && !finish()) break;
      if (rank) go = in[0];
      out[0] = go;
      if (rank + 1 < ranks) must(ncclSend(out, 1, ncclUint8, rank + 1, comm, (cudaStream_t)8), "ncclSend");
      if (!finish()) break;
      if (!go) last = round + 1;
    }
  }
  if (abort != (heard > 0)) {
    fprintf(stderr, "rank %d: %s\n", rank, abort ? "no error was reported" : "an error was reported");
    return 1;
  }
  if (abort) must(ncclCommAbort(comm), "ncclCommAbort");
  else must(ncclCommDestroy(comm), "ncclCommDestroy");
  fprintf(stderr, "RANK %d: %d rounds, %zu bytes and %zu sums right, %s\n", rank, round, bytes, summed, abort ? "aborted after the error" : "ended");
  return 0;
}

int main(int n, char** words) {
  int pipes[8][2], status, bad = 0;
  pid_t pids[8];
  if (n < 3) return 2;
  ranks = atoi(words[1]);
  if (n > 4 && strcmp(words[3], "rank") == 0) {
    ncclUniqueId id;
    rank = atoi(words[4]);
    if (pipe(begun)) return 2;
    must(ncclGetUniqueId(&id), "ncclGetUniqueId");
    int result = run(id, atoi(words[2]), false);
    fflush(nullptr);
    _exit(result);
  }
  bool abort = n > 3 && strcmp(words[3], "abort") == 0;
  if (pipe(begun)) return 2;
  for (int i = 0; i < ranks; i++)
    if (pipe(pipes[i])) return 2;
  for (rank = 0; rank < ranks; rank++) {
    pids[rank] = fork();
    if (pids[rank]) continue;
    char text[32];
    snprintf(text, sizeof(text), "host%d", rank);
    setenv("NCCL_HOSTID", text, 1);
    snprintf(text, sizeof(text), "%d", rank);
    setenv("RAILWEAVE_FAKE_HOST", text, 1);
    setenv("RANK", text, 1);
    if (const char* logs = getenv("RANK_LOGS")) {
      char path[512];
      snprintf(path, sizeof(path), "%s.%d.log", logs, rank);
      if (!freopen(path, "w", stderr) || dup2(fileno(stderr), fileno(stdout)) < 0) _exit(1);
      setvbuf(stderr, nullptr, _IOLBF, 0);
      setvbuf(stdout, nullptr, _IOLBF, 0);
    }
    ncclUniqueId id;
    if (rank == 0) {
      must(ncclGetUniqueId(&id), "ncclGetUniqueId");
      for (int i = 1; i < ranks; i++)
        if (write(pipes[i][1], &id, sizeof(id)) < 0) _exit(1);
    } else if (read(pipes[rank][0], &id, sizeof(id)) != sizeof(id)) {
      _exit(1);
    }
    int result = n > 3 && strcmp(words[3], "tune") == 0 ? plan(id) : run(id, atoi(words[2]), abort);
    fflush(nullptr);
    _exit(result);
  }
  if (abort) {
    // Its data has gone around by then.
    char c;
    if (read(begun[0], &c, 1) == 1) usleep(500000);
    kill(pids[ranks - 1], SIGKILL);
  }
  for (int i = 0; i < ranks; i++) {
    waitpid(pids[i], &status, 0);
    bad |= status && !(abort && i == ranks - 1);
  }
  return bad != 0;
}
