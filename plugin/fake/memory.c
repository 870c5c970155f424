// The NIC of this process, and how it moves bytes.
#include "nic.h"

struct fake_nic fake_nic = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((no_sanitize("thread"), noinline)) void fake_copy(void *to, const void *from, size_t n) {
  volatile uint8_t *t = to;
  const volatile uint8_t *f = from;
  size_t i = 0;
  if (((uintptr_t)to % 8) == 0 && ((uintptr_t)from % 8) == 0) {
    volatile uint64_t *t8 = to;
    const volatile uint64_t *f8 = from;
    for (; i + 8 <= n; i += 8) t8[i / 8] = f8[i / 8];
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  for (; i < n; i++) t[i] = f[i];
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

void *fake_memory(uint32_t key, uint64_t address, uint64_t length) {
  const struct fake_mr *mr = key < FAKE_MRS ? (const struct fake_mr *)fake_nic.mrs[key] : NULL;
  if (!mr) return NULL;
  uint64_t start = (uint64_t)(uintptr_t)mr->base.addr;
  if (address < start || length > mr->base.length || address - start > mr->base.length - length) return NULL;
  return mr->memory + (address - start);
}
