// A TCP connection that broke while the process at the other end lives is made anew. Every process listens for that at
// one port; the end that connected calls again and names the connection.
#ifndef RAILWEAVE_REDIAL_H
#define RAILWEAVE_REDIAL_H

#include <stdint.h>

struct rw_comm;

int rw_redial_port(void);                      // of this process, in host order; 0 where it cannot listen
void rw_redial_answer(struct rw_comm *comms);  // the service thread: hands callers' links to their connections
void rw_redial_close(void);
void rw_redial_forget(void);  // in a child of fork

void rw_redial_look(struct rw_comm *c);  // at a connection whose link broke, or that was given a new one

#endif
