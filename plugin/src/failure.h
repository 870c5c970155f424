// The end of a connection: said once for each process at the other end and cause, with what to look at, here and to the
// other end. The first failure goes from process to process, so that every end names the one that was its cause.
#ifndef RAILWEAVE_FAILURE_H
#define RAILWEAVE_FAILURE_H

#include "comm.h"

void rw_fail(struct rw_comm *c, ncclResult_t error, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rw_fail_gone(struct rw_comm *c, const char *format, ...) __attribute__((format(printf, 2, 3)));  // its process is
void rw_fail_ended(struct rw_comm *c, const char *how, const char *why);  // by the other end; why "": it does not say
void rw_fail_all_dead(struct rw_comm *c);

// The first failure as the other end is told of it, and what it tells.
void rw_cause_put(struct rw_cursor *b);
void rw_cause_get(struct rw_cursor *b);
void rw_cause_tell(struct rw_comm *c);      // the other end, where it has not been told
bool rw_cause_is(const struct rw_comm *c);  // is it that the other end's process is gone?
void rw_cause_forget(void);                 // the process opens the plugin anew, or was made by fork

#endif
