// Real NCCL over the plugin on one GPU: two processes that NCCL takes for two servers add vectors up by all-reduce;
// every element is checked. run.sh sets the environment. NCCL and the CUDA runtime are loaded by name, so no headers
// are needed.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, ROUNDS = 20, LARGEST = 1 << 22, FLOAT32 = 7, SUM = 0, TO_DEVICE = 1, TO_HOST = 2 };

typedef struct {
  char bytes[128];
} unique_id;

#define NCCL(X)                                                                                       \
  X(int, ncclGetUniqueId, (unique_id *))                                                              \
  X(int, ncclCommInitRank, (void **comm, int n, unique_id id, int rank))                              \
  X(int, ncclAllReduce, (const void *, void *, size_t n, int type, int op, void *comm, void *stream)) \
  X(int, ncclCommDestroy, (void *comm))                                                               \
  X(const char *, ncclGetErrorString, (int))
#define CUDA(X)                                           \
  X(int, cudaSetDevice, (int))                            \
  X(int, cudaMalloc, (void **, size_t))                   \
  X(int, cudaMemcpy, (void *, const void *, size_t, int)) \
  X(int, cudaStreamCreate, (void **))                     \
  X(int, cudaStreamSynchronize, (void *))

#define DECLARE(result, name, arguments) static result(*name) arguments;
NCCL(DECLARE)
CUDA(DECLARE)

static void load(void *library, const char *name, void *function) {
  void *found = library ? dlsym(library, name) : NULL;
  if (!found) {
    fprintf(stderr, "no %s: %s\n", name, library ? "not in the library" : dlerror());
    exit(2);
  }
  memcpy(function, &found, sizeof(found));
}

#define MUST(call)                               \
  do {                                           \
    int error = (call);                          \
    if (error) {                                 \
      fprintf(stderr, "%s: %d\n", #call, error); \
      exit(1);                                   \
    }                                            \
  } while (0)

static int rank_main(int rank, int from, int to) {
  char host[16];
  unique_id id;
  void *comm, *stream, *in, *out;
  snprintf(host, sizeof(host), "fake%d", rank);
  setenv("NCCL_HOSTID", host, 1);  // else NCCL refuses two ranks on one GPU
  snprintf(host, sizeof(host), "%d", rank);
  setenv("RAILWEAVE_FAKE_HOST", host, 1);
  void *nccl = dlopen("libnccl.so.2", RTLD_NOW);
#define LOAD_NCCL(result, name, arguments) load(nccl, #name, &name);
  NCCL(LOAD_NCCL)
  void *cuda = dlopen(getenv("CUDART") ? getenv("CUDART") : "libcudart.so.12", RTLD_NOW);
#define LOAD_CUDA(result, name, arguments) load(cuda, #name, &name);
  CUDA(LOAD_CUDA)
  MUST(cudaSetDevice(0));
  if (rank == 0) {
    MUST(ncclGetUniqueId(&id));
    if (write(to, &id, sizeof(id)) != sizeof(id)) return 2;
  } else if (read(from, &id, sizeof(id)) != sizeof(id)) {
    return 2;
  }
  MUST(ncclCommInitRank(&comm, RANKS, id, rank));
  MUST(cudaStreamCreate(&stream));
  MUST(cudaMalloc(&in, LARGEST * sizeof(float)));
  MUST(cudaMalloc(&out, LARGEST * sizeof(float)));
  float *values = malloc(LARGEST * sizeof(float));
  for (int round = 0; round < ROUNDS; round++) {
    size_t n = round % 2 ? (size_t)LARGEST >> (round / 2) : (size_t)(1 + 977 * round);
    for (size_t i = 0; i < n; i++) values[i] = (float)((i * 7 + (size_t)round) % 1000 + (size_t)rank);
    MUST(cudaMemcpy(in, values, n * sizeof(float), TO_DEVICE));
    MUST(ncclAllReduce(in, out, n, FLOAT32, SUM, comm, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemcpy(values, out, n * sizeof(float), TO_HOST));
    for (size_t i = 0; i < n; i++)
      if (values[i] != (float)(2 * ((i * 7 + (size_t)round) % 1000) + 1))
        return printf("rank %d round %d: element %zu is %g\n", rank, round, i, (double)values[i]), 1;
  }
  MUST(ncclCommDestroy(comm));
  printf("rank %d: %d all-reduces, every element right\n", rank, ROUNDS);
  return 0;
}

int main(void) {
  int pipes[2], failed = 0, status;
  if (pipe(pipes)) return 2;
  for (int rank = 0; rank < RANKS; rank++)
    if (fork() == 0) exit(rank_main(rank, pipes[0], pipes[1]));
  for (int rank = 0; rank < RANKS; rank++) failed |= wait(&status) < 0 || status;
  return failed != 0;
}
