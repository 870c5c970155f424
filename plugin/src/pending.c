#include "pending.h"

#include <string.h>
#include <unistd.h>

static struct rw_link *take(struct rw_pending *p, int i) {
  struct rw_link *link = p->callers[i].link;
  p->n--;
  memmove(&p->callers[i], &p->callers[i + 1], (size_t)(p->n - i) * sizeof(p->callers[0]));
  return link;
}

struct rw_link *rw_pending_next(struct rw_pending *p, int64_t now_ms, int *type, struct rw_cursor *body) {
  for (struct rw_link *link; (link = rw_link_accept(p->fd)) != NULL; p->n++) {
    if (p->n == RW_PENDING) rw_link_close(take(p, 0));
    p->callers[p->n].link = link;
    p->callers[p->n].since_ms = now_ms;
  }
  for (int i = 0; i < p->n; i++) {
    struct rw_link *link = p->callers[i].link;
    *type = rw_link_receive(link, body);
    if (*type) return take(p, i);
    if (link->closed || link->failed || now_ms - p->callers[i].since_ms > RW_GREETING_MS) rw_link_close(take(p, i--));
  }
  return NULL;
}

void rw_pending_close(struct rw_pending *p) {
  while (p->n) rw_link_close(take(p, 0));
  if (p->fd >= 0) close(p->fd);
  p->fd = -1;
}
