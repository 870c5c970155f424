// What NCCL's kernels do for send and receive, and for a ring all-reduce of sums of int32, on host memory: each launch is a
// thread that walks the work of every channel and moves chunks through the buffers that NCCL's proxy threads fill and
// empty (protocol Simple). Other work is refused.
#include <cuda.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "bitops.h"
#include "collectives.h"
#include "comm.h"
#include "device.h"

namespace {

std::atomic<int> running{0};

struct Transfer {
  bool send;
  ncclConnInfo* conn;
  char* user;
  size_t bytes, cursor = 0;
  int chunk;
  uint64_t step;
  bool done = false;
};

struct Block {
  int channel, batch;  // next batch, -1: none
  std::vector<Transfer> transfers;
};

uint64_t load(uint64_t* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }

// One chunk; false where the other side is not ready.
bool advance(Transfer& t) {
  ncclConnInfo* c = t.conn;
  size_t n = t.bytes - t.cursor < (size_t)t.chunk ? t.bytes - t.cursor : (size_t)t.chunk;
  if (t.send ? load(c->head) + NCCL_STEPS < t.step + 1 : load(c->tail) < t.step + 1) return false;
  int slot = t.step % NCCL_STEPS;
  if (t.send && c->connFifo) c->connFifo[slot].size = n;
  bool offset = c->connFifo && __atomic_load_n(&c->connFifo[slot].mode, __ATOMIC_ACQUIRE) == NCCL_MODE_OFFSET;
  char* buffer = c->buffs[NCCL_PROTO_SIMPLE] + (offset ? (size_t)c->connFifo[slot].offset : (size_t)slot * c->stepSize);
  if (t.send) memcpy(buffer, t.user + t.cursor, n);
  else memcpy(t.user + t.cursor, buffer, n);
  t.cursor += n;
  t.step++;
  __atomic_store_n(t.send ? c->tail : c->head, t.step, __ATOMIC_RELEASE);
  if (t.cursor < t.bytes) return true;
  c->step = t.step;
  t.done = true;
  return true;
}

void add_work(const ncclKernelComm& comm, Block& b, const ncclDevWorkP2p& w) {
  int part = (b.channel - w.channelBase) & (w.nP2pChannels - 1);
  for (int send = 0; send < 2; send++) {
    int parts = send ? w.nSendChannels : w.nRecvChannels;
    size_t bytes = send ? w.sendBytes : w.recvBytes, from, to;
    if (part >= parts) continue;
    ncclP2pPartBounds(parts, part, bytes, &from, &to);
    if (w.sendRank == comm.rank) {
      if (send) memcpy((char*)w.recvAddr + from, (char*)w.sendAddr + from, to - from);
      continue;
    }
    if (send ? w.sendProtoLL || w.sendNetReg || w.sendIpcReg : w.recvProtoLL || w.recvNetReg || w.recvIpcReg) {
      fprintf(stderr, "kernel: only the Simple protocol through buffers is known here\n");
      abort();
    }
    ncclDevChannelPeer* peer = comm.channels[b.channel].peers[send ? w.sendRank : w.recvRank];
    Transfer t{};
    t.send = send;
    t.conn = send ? &peer->send[1] : &peer->recv[1];
    t.user = (char*)(send ? w.sendAddr : w.recvAddr) + from;
    t.bytes = to - from;
    t.chunk = u32fp8Decode(send ? w.sendChunkSize_u32fp8 : w.recvChunkSize_u32fp8);
    t.step = t.conn->step;
    b.transfers.push_back(t);
  }
}

// One end of a ring's connections, in slices of ALLREDUCE_SLICESTEPS steps.
struct RingEnd {
  ncclConnInfo* conn;
  bool send;
  uint64_t step;

  RingEnd(ncclConnInfo* c, bool s) : conn(c), send(s) {
    step = (c->step + ALLREDUCE_CHUNKSTEPS - 1) / ALLREDUCE_CHUNKSTEPS * ALLREDUCE_CHUNKSTEPS;
    if (!send) __atomic_store_n(conn->head, step, __ATOMIC_RELEASE);  // what rounding up left out
  }
  bool ready() const {
    uint64_t other = load(send ? conn->head : conn->tail);
    return other + (send ? NCCL_STEPS : 0) >= step + ALLREDUCE_SLICESTEPS;
  }
  int32_t* slot(size_t step_bytes) const {
    return (int32_t*)(conn->buffs[NCCL_PROTO_SIMPLE] + step % NCCL_STEPS * step_bytes);
  }
  void post(size_t bytes) {
    if (send && conn->connFifo) conn->connFifo[step % NCCL_STEPS].size = bytes;
    step += ALLREDUCE_SLICESTEPS;
    __atomic_store_n(send ? conn->tail : conn->head, step, __ATOMIC_RELEASE);
  }
};

struct RingRun {
  const ncclKernelComm& comm;
  RingEnd in, out;
  size_t step_bytes;
  const int32_t* from;
  int32_t* to;

  bool wait(const RingEnd& end) const {
    timespec pause = {0, 20000};
    while (!end.ready()) {
      if (__atomic_load_n(comm.abortFlag, __ATOMIC_RELAXED)) return false;
      nanosleep(&pause, nullptr);
    }
    return true;
  }

  // A chunk: what comes in (if receives), with this rank's own added (if adds), goes to the next (if sends) and into the
  // result (if keeps). False where the communicator is aborted.
  bool chunk(bool receives, bool adds, bool sends, bool keeps, ssize_t offset, ssize_t n) {
    const int slices = ALLREDUCE_CHUNKSTEPS / ALLREDUCE_SLICESTEPS;
    ssize_t slice = (ssize_t)(step_bytes / sizeof(int32_t)) * ALLREDUCE_SLICESTEPS;
    n = std::max<ssize_t>(n, 0);
    slice = std::max((n + 16 * slices - 1) / (16 * slices) * 16, slice / 32);
    for (int i = 0; i < slices; i++) {
      ssize_t begin = std::min<ssize_t>(n, i * slice), count = std::min<ssize_t>(slice, n - begin);
      if ((receives && !wait(in)) || (sends && !wait(out))) return false;
      const int32_t* came = receives ? in.slot(step_bytes) : nullptr;
      for (ssize_t k = 0; k < count; k++) {
        ssize_t at = offset + begin + k;
        int32_t value = !receives ? from[at] : adds ? (int32_t)((uint32_t)came[k] + (uint32_t)from[at]) : came[k];
        if (sends) out.slot(step_bytes)[k] = value;
        if (keeps) to[at] = value;
      }
      if (sends) out.post(count * sizeof(int32_t));
      if (receives) in.post(0);
    }
    return true;
  }
};

// As device/all_reduce.h of NCCL goes around a ring.
void all_reduce(const ncclKernelComm& comm, int channel, ncclDevWorkColl work) {
  ncclDevChannel& c = comm.channels[channel];
  RingRun run = {comm, RingEnd(&c.peers[c.ring.prev]->recv[0], false), RingEnd(&c.peers[c.ring.next]->send[0], true),
                 (size_t)comm.buffSizes[NCCL_PROTO_SIMPLE] / NCCL_STEPS, (const int32_t*)work.sendbuff, (int32_t*)work.recvbuff};
  ssize_t part, count, chunk;
  const int ranks = comm.nRanks;
  ncclCollCbdPart(&work, (uint32_t)channel, NCCL_PROTO_SIMPLE, (int)sizeof(int32_t), (ssize_t*)nullptr, &part, &count, &chunk);
  const ssize_t loop = ranks * chunk;
  for (ssize_t at = 0; at < count; at += loop) {
    ssize_t left = count - at;
    if (left < loop) chunk = ((left + ranks - 1) / ranks + 3) / 4 * 4;
    auto one = [&](int place, bool receives, bool adds, bool sends, bool keeps) {
      ssize_t begin = place % ranks * chunk;
      return run.chunk(receives, adds, sends, keeps, part + at + begin, std::min(chunk, left - begin));
    };
    bool going = one(c.ring.index + ranks - 1, false, false, true, false);
    for (int j = 2; j < ranks && going; j++) going = one(c.ring.index + ranks - j, true, true, true, false);
    going = going && one(c.ring.index, true, true, true, true);
    for (int j = 1; j < ranks - 1 && going; j++) going = one(c.ring.index + ranks - j, true, false, true, true);
    if (!going || !one(c.ring.index + 1, true, false, false, true)) return;
  }
  run.in.conn->step = run.in.step;
  run.out.conn->step = run.out.step;
}

// The next batches of a channel that run together.
void load_batches(const ncclKernelComm& comm, const char* args, Block& b) {
  const ncclDevKernelArgs* a = (const ncclDevKernelArgs*)args;
  const ncclDevWorkBatch* batches = (const ncclDevWorkBatch*)(a + 1);
  b.transfers.clear();
  for (bool more = true; more && b.batch >= 0;) {
    const ncclDevWorkBatch& batch = batches[b.batch];
    bool collective = batch.workType == ncclDevWorkTypeColl;
    if (!collective && batch.workType != ncclDevWorkTypeP2p) {
      fprintf(stderr, "kernel: work of type %d is not known here\n", (int)batch.workType);
      abort();
    }
    for (int i = 0; i < 64; i++) {
      if (!(batch.offsetBitset >> i & 1)) continue;
      uint32_t at = batch.offsetBase + i * (collective ? sizeof(ncclDevWorkColl) : sizeof(ncclDevWorkP2p));
      const char* work = a->workStorageType == ncclDevWorkStorageTypeArgs ? args + at : (char*)a->workBuf + (at & a->workMask);
      if (collective) {
        ncclDevWorkColl coll;
        memcpy(&coll, work, sizeof(coll));
        all_reduce(comm, b.channel, coll);
        continue;
      }
      ncclDevWorkP2p w;
      memcpy(&w, work, sizeof(w));
      add_work(comm, b, w);
    }
    more = batch.nextExtends;
    b.batch = batch.nextJump ? b.batch + batch.nextJump : -1;
  }
}

void run(std::vector<char> args) {
  const ncclDevKernelArgs* a = (const ncclDevKernelArgs*)args.data();
  const ncclKernelComm& comm = *a->comm;
  std::vector<Block> blocks;
  for (int channel = 0; channel < 64; channel++)
    if (a->channelMask >> channel & 1) {
      blocks.push_back(Block{channel, (int)blocks.size(), {}});
      load_batches(comm, args.data(), blocks.back());
    }
  for (bool left = true; left;) {
    bool moved = false;
    left = false;
    for (Block& b : blocks) {
      bool all = true;
      for (Transfer& t : b.transfers) {
        if (!t.done) moved |= advance(t);
        all &= t.done;
      }
      if (all && b.batch >= 0) load_batches(comm, args.data(), b), all = false;
      left |= !all;
    }
    if (__atomic_load_n(comm.abortFlag, __ATOMIC_RELAXED)) break;
    if (!moved) {
      timespec pause = {0, 20000};
      nanosleep(&pause, nullptr);
    }
  }
  running--;
}

}  // namespace

CUresult rw_launch(void* args, size_t bytes) {
  // One after the other, as in a stream.
  static std::thread last;
  std::vector<char> copy((char*)args, (char*)args + bytes);
  running++;
  last = std::thread([copy, before = std::move(last)]() mutable {
    if (before.joinable()) before.join();
    run(copy);
  });
  return CUDA_SUCCESS;
}

bool rw_kernels_run() { return running > 0; }

void rw_wait_for_kernels() {
  timespec pause = {0, 50000};
  while (running) nanosleep(&pause, nullptr);
}
