// The paths of this process: from a NIC here to a NIC of another process, one for each color. All connections between
// two processes share them, so what one finds out of a path holds for all: one of them probes a dead path, and what is
// said of it is said once. Queue pairs without colors are one such path together, dead when none of them lives.
#ifndef RAILWEAVE_PATHS_H
#define RAILWEAVE_PATHS_H

#include "comm.h"

// The path of a queue pair, made where it is new. NULL where the table is full: the queue pair is on its own.
struct rw_path *rw_path_of(const struct rw_comm *c, const struct rw_qp *q);

void rw_path_begins(struct rw_qp *q);                       // its first queue pair is connected
void rw_path_dead(struct rw_comm *c, struct rw_qp *q);      // its queue pair died, and q->reason says of what
bool rw_path_try(struct rw_comm *c, struct rw_qp *q);       // may it be made anew now?
void rw_path_unproven(struct rw_comm *c, struct rw_qp *q);  // that came to nothing
void rw_path_proven(struct rw_comm *c, struct rw_qp *q);    // it carries data again
void rw_path_reason(const struct rw_path *path, char *text, size_t size);  // of its last death
void rw_path_let_go(const struct rw_comm *c);                              // the connection ends

// Says which paths died or came back, one line for each process at the other end. Called by the service thread.
void rw_paths_report(int64_t now_ms);
void rw_paths_gone(uint64_t process);  // what is known of paths to it was no fault of theirs
void rw_paths_forget(void);  // nothing is known any more: the process opens the plugin anew, or was made by fork

#endif
