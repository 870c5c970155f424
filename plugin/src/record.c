#include "record.h"

#include "wire.h"

static uint32_t checksum(const uint8_t *data, int n) {
  uint32_t hash = 0x811c9dc5u;
  while (n--) hash = (hash ^ *data++) * 0x01000193u;
  return hash;
}

void rw_record_encode(const struct rw_record_fields *f, struct rw_record *record) {
  uint8_t bytes[RW_RECORD_BYTES] = {0};
  struct rw_cursor c = {.at = bytes + 4, .end = bytes + sizeof(bytes)};
  rw_put32(&c, f->sequence);
  rw_put32(&c, f->echo);
  rw_put32(&c, f->epoch);
  rw_put32(&c, f->arrived);
  rw_put32(&c, f->qpn);
  rw_put32(&c, f->psn);
  rw_put32(&c, f->ece_vendor);
  rw_put32(&c, f->ece_options);
  rw_put8(&c, f->kind);
  rw_put8(&c, (uint8_t)(f->wants_echo | f->port_down << 1));
  rw_put(&c, f->gid, sizeof(f->gid));
  struct rw_cursor front = {.at = bytes, .end = bytes + 4};
  rw_put32(&front, checksum(bytes + 4, RW_RECORD_BYTES - 4));
  memcpy(record->bytes, bytes, sizeof(bytes));
}

bool rw_record_decode(const struct rw_record *record, struct rw_record_fields *f) {
  uint8_t bytes[RW_RECORD_BYTES];
  memcpy(bytes, record->bytes, sizeof(bytes));
  struct rw_cursor c = {.at = bytes, .end = bytes + sizeof(bytes)};
  if (rw_get32(&c) != checksum(bytes + 4, RW_RECORD_BYTES - 4)) return false;
  f->sequence = rw_get32(&c);
  f->echo = rw_get32(&c);
  f->epoch = rw_get32(&c);
  f->arrived = rw_get32(&c);
  f->qpn = rw_get32(&c);
  f->psn = rw_get32(&c);
  f->ece_vendor = rw_get32(&c);
  f->ece_options = rw_get32(&c);
  f->kind = rw_get8(&c);
  uint8_t flags = rw_get8(&c);
  f->wants_echo = flags & 1;
  f->port_down = flags >> 1 & 1;
  rw_get(&c, f->gid, sizeof(f->gid));
  return f->kind <= RW_SAYS_LIVE;
}
