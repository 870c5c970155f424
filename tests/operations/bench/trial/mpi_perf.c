// Collectives of MPI on host memory, in the form of nccl-tests: so that launching, hosts, timeouts and reading meet a real MPI where
// there are no GPUs. What is measured is MPI. The name that it is called by says which: all_reduce_perf, alltoall_perf, all_gather_perf,
// reduce_scatter_perf, sendrecv_perf. Every result is checked. Options: -b -e (bytes) -f (factor) -n -w (iterations), -g -c as given.
// MPI_PERF_STALL=SECONDS: rank 1 stops for so long before the first collective.
#include <libgen.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { ALL_REDUCE, ALL_TO_ALL, ALL_GATHER, REDUCE_SCATTER, SEND_RECV, KINDS };
static const char *const names[KINDS] = {"all_reduce_perf", "alltoall_perf", "all_gather_perf", "reduce_scatter_perf", "sendrecv_perf"};
static int rank, ranks;

// One collective over `count` floats of a rank's share (all-reduce: of all).
static void once(enum kind kind, float *in, float *out, int count) {
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    switch (kind) {
    case ALL_REDUCE: MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
    case ALL_TO_ALL: MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD); break;
    case ALL_GATHER: MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
    default: MPI_Sendrecv(in, count, MPI_FLOAT, next, 0, out, count, MPI_FLOAT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

// Values of this rank that are not what they must be, where every rank gave its number from 1 on.
static long wrong(enum kind kind, const float *out, int count) {
    long bad = 0, all = kind == ALL_TO_ALL || kind == ALL_GATHER ? (long)count * ranks : count;
    for (long i = 0; i < all; i++) {
        float want = (float)(i / (count ? count : 1) + 1);
        if (kind == ALL_REDUCE || kind == REDUCE_SCATTER) want = (float)ranks * (float)(ranks + 1) / 2;
        if (kind == SEND_RECV) want = (float)((rank + ranks - 1) % ranks + 1);
        bad += out[i] != want;
    }
    return bad;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long first = 32 << 20, last = 32 << 20, factor = 2, iterations = 10, warm = 2;
    for (int i = 1; i + 1 < argc; i += 2) {
        long given = atol(argv[i + 1]);
        switch (argv[i][1]) {
        case 'b': first = given; break;
        case 'e': last = given; break;
        case 'f': factor = given; break;
        case 'n': iterations = given; break;
        case 'w': warm = given; break;
        default: break;
        }
    }
    enum kind kind = ALL_REDUCE;
    const char *called = basename(argv[0]);
    for (int i = 0; i < KINDS; i++)
        if (strcmp(called, names[i]) == 0) kind = (enum kind)i;
    if (getenv("MPI_PERF_STALL") && rank == 1) sleep((unsigned)atoi(getenv("MPI_PERF_STALL")));
    // Far more iterations of large messages than a test needs: at most 256 MiB for each size.
    char host[64] = "", (*hosts)[64] = malloc((size_t)ranks * 64);
    gethostname(host, sizeof host - 1);
    if (getenv("MPI_PERF_HOST")) snprintf(host, sizeof host, "%s", getenv("MPI_PERF_HOST"));
    MPI_Gather(host, 64, MPI_CHAR, hosts, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("# Collective test starting: %s\n", called);
        printf("# nThread 1 nGpus 1 minBytes %ld maxBytes %ld step: %ld(factor) warmup iters: %ld iters: %ld agg iters: 1 validation: 1 graph: 0\n#\n",
               first, last, factor, warm, iterations);
        printf("# Using devices\n");
        for (int i = 0; i < ranks; i++)
            printf("#  Rank %2d Group  0 Pid %6d on %10s device  0 [0000:00:00] host memory\n", i, (int)getpid(), hosts[i]);
        printf("#\n#%56s%36s\n", "out-of-place", "in-place");
        printf("#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n");
        printf("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n");
    }
    double sum = 0;
    long rows = 0, outside = 0;
    for (long size = first; size <= last; size *= factor > 1 ? factor : last + 1) {
        int share = kind == ALL_REDUCE || kind == SEND_RECV ? 1 : ranks;
        int count = (int)(size / 4 / share);
        long sized = (long)count * 4 * share;
        size_t room = (size_t)sized + sizeof(float);
        float *in = malloc(room), *out = malloc(room);
        for (size_t i = 0; i < room / sizeof(float); i++) in[i] = (float)(rank + 1);
        long turns = iterations * size > (256 << 20) ? (256 << 20) / size + 1 : iterations;
        for (long i = 0; i < warm && i < turns; i++) once(kind, in, out, count);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (long i = 0; i < turns; i++) once(kind, in, out, count);
        double mine = (MPI_Wtime() - start) / (double)turns, seconds;
        MPI_Allreduce(&mine, &seconds, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        seconds /= ranks;
        long bad = wrong(kind, out, count), all;
        MPI_Allreduce(&bad, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        double alg = (double)sized / seconds / 1e9, part = (double)(ranks - 1) / ranks;
        double bus = alg * (kind == ALL_REDUCE ? 2 * part : kind == SEND_RECV ? 1 : part);
        if (rank == 0) {
            const char *op = kind == ALL_REDUCE || kind == REDUCE_SCATTER ? "sum" : "none";
            printf("%12ld  %12d  %8s  %6s  %6d", sized, count, "float", op, -1);
            for (int i = 0; i < 2; i++) printf("  %7.1f  %6.2f  %6.2f  %5ld", seconds * 1e6, alg, bus, all);
            printf("\n");
            fflush(stdout);
        }
        sum += bus;
        rows++;
        outside += all;
        free(in);
        free(out);
    }
    if (rank == 0) {
        printf("# Out of bounds values : %ld %s\n# Avg bus bandwidth    : %g\n#\n# Collective test concluded: %s\n", outside,
               outside ? "FAILED" : "OK", sum / (double)(rows ? rows : 1), called);
    }
    free(hosts);
    MPI_Finalize();
    return outside != 0;
}
