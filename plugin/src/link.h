// The TCP connection beside the queue pairs: sets them up, carries state when none of them lives, and tells when the
// other end is gone. Nothing blocks.
#ifndef RAILWEAVE_LINK_H
#define RAILWEAVE_LINK_H

#include <netinet/in.h>

#include "nccl_net_abi.h"
#include "wire.h"

union rw_address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

struct rw_link {
  int fd;       // -1: none
  bool closed;  // by the other end
  bool failed;  // broken: reset, or not this protocol
  bool mute;    // nothing can be sent any more; what the other end said before may still be read
  int error;    // of what failed: errno
  size_t in_used, out_used, out_sent;
  uint8_t in[RW_WIRE_HEADER + RW_WIRE_BODY];
  uint8_t out[2 * (RW_WIRE_HEADER + RW_WIRE_BODY)];
};

// A socket that listens on the interface of NCCL_SOCKET_IFNAME, and its address; -1 with the reason logged.
int rw_listen(union rw_address *address);

// A connected or connecting link to address; NULL where out of memory or sockets. rw_link_ready: 1 connected, 0 not
// yet, -1 failed, with errno.
struct rw_link *rw_link_connect(const union rw_address *address);
int rw_link_ready(struct rw_link *link);
struct rw_link *rw_link_accept(int listening);  // NULL where nobody waits
void rw_link_close(struct rw_link *link);

// Starts a message: write its body at the cursor, then rw_link_send. False where the last messages still fill the
// buffer.
bool rw_link_begin(struct rw_link *link, struct rw_cursor *body);
void rw_link_send(struct rw_link *link, enum rw_message type, const struct rw_cursor *body);
void rw_link_flush(struct rw_link *link);

// Type of the next whole message, its body in the cursor, valid until rw_link_next; 0 where there is none yet.
int rw_link_receive(struct rw_link *link, struct rw_cursor *body);
void rw_link_next(struct rw_link *link);

// Says that the end named there has a plugin of another version of the wire.
void rw_complain_of_version(const char *there, unsigned version);
const char *rw_address_text(const union rw_address *address, char *text, size_t size);

#endif
