// A listening socket and those who called it but have not yet said who they are: all are heard at the same time, so
// that one that is silent, or says half of its greeting, keeps nobody waiting.
#ifndef RAILWEAVE_PENDING_H
#define RAILWEAVE_PENDING_H

#include "link.h"

enum { RW_PENDING = 64, RW_GREETING_MS = 30000 };

struct rw_pending {
  int fd;
  int n;
  struct {
    struct rw_link *link;
    int64_t since_ms;
  } callers[RW_PENDING];  // in the order in which they came
};

// A caller whose first message is whole, else NULL. It is the taker's from then on: type and body are those of
// rw_link_receive. Callers that hang up or say nothing for RW_GREETING_MS are dropped, the oldest where there are too
// many.
struct rw_link *rw_pending_next(struct rw_pending *pending, int64_t now_ms, int *type, struct rw_cursor *body);
void rw_pending_close(struct rw_pending *pending);

#endif
