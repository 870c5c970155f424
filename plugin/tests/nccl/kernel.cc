// What NCCL's send/recv kernel does, on host memory: each launch is a thread that walks the work of every channel and moves
// chunks through the buffers that NCCL's proxy threads fill and empty (protocol Simple). Other work is refused.
#include <cuda.h>
#include <string.h>
#include <time.h>

#include <atomic>
#include <thread>
#include <vector>

#include "bitops.h"
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

// The next batches of a channel that run together.
void load_batches(const ncclKernelComm& comm, const char* args, Block& b) {
  const ncclDevKernelArgs* a = (const ncclDevKernelArgs*)args;
  const ncclDevWorkBatch* batches = (const ncclDevWorkBatch*)(a + 1);
  b.transfers.clear();
  for (bool more = true; more && b.batch >= 0;) {
    const ncclDevWorkBatch& batch = batches[b.batch];
    if (batch.workType != ncclDevWorkTypeP2p) {
      fprintf(stderr, "kernel: only send and recv are known here, not work of type %d\n", (int)batch.workType);
      abort();
    }
    for (int i = 0; i < 64; i++) {
      if (!(batch.offsetBitset >> i & 1)) continue;
      uint32_t at = batch.offsetBase + i * sizeof(ncclDevWorkP2p);
      const char* work = a->workStorageType == ncclDevWorkStorageTypeArgs ? args + at : (char*)a->workBuf + (at & a->workMask);
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
