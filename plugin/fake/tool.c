// Makes a fabric for fake devices and changes it while they run, from a shell.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"

static int usage(void) {
  fputs(
      "usage: fake-fabric FILE create HOSTS DEVICES GIDS\n"
      "       fake-fabric FILE path HOST:DEVICE HOST:DEVICE GID|all up|down|MILLISECONDS|delay=MICROSECONDS\n"
      "       fake-fabric FILE port HOST:DEVICE up|down\n"
      "       fake-fabric FILE rate MBYTES_PER_SECOND\n"
      "       fake-fabric FILE spines N\n"
      "       fake-fabric FILE spine HOST:DEVICE HOST:DEVICE PORT   (which one a UDP source port takes)\n"
      "       fake-fabric FILE address HOST:DEVICE GID change|remove|add\n",
      stderr);
  return 2;
}

int main(int n, char **words) {
  int host[2], device[2];
  if (n < 4) return usage();
  const char *verb = words[2];
  struct fake_fabric *f = strcmp(verb, "create") ? fake_fabric_open(words[1])
                          : n == 6 ? fake_fabric_create(words[1], atoi(words[3]), atoi(words[4]), atoi(words[5]))
                                   : NULL;
  if (!f) {
    perror(words[1]);
    return 2;
  }
  if (strcmp(verb, "create") == 0) return 0;
  bool one = sscanf(words[3], "%d:%d", &host[0], &device[0]) == 2;
  if (strcmp(verb, "rate") == 0) {
    fake_path_limit(f, (uint32_t)atoi(words[3]));
  } else if (strcmp(verb, "spines") == 0 && atoi(words[3]) <= FAKE_GIDS) {
    atomic_store(&f->spines, atoi(words[3]));
  } else if (strcmp(verb, "spine") == 0 && one && n == 6 && sscanf(words[4], "%d:%d", &host[1], &device[1]) == 2) {
    int from, to;
    fake_route(f, fake_end(host[0], device[0], 0), fake_end(host[1], device[1], 0), (uint32_t)atoi(words[5]) & 0x3fff,
               &from, &to);
    printf("%d\n", from % FAKE_GIDS);
  } else if (strcmp(verb, "port") == 0 && one && n == 5) {
    fake_port_set(f, host[0], device[0], strcmp(words[4], "up") == 0);
  } else if (strcmp(verb, "path") == 0 && one && n == 7 && sscanf(words[4], "%d:%d", &host[1], &device[1]) == 2) {
    int gid = atoi(words[5]);
    if (strncmp(words[6], "delay=", 6) == 0 && strcmp(words[5], "all")) {
      fake_path_delay(f, fake_end(host[0], device[0], gid), fake_end(host[1], device[1], gid),
                      (uint32_t)atoi(words[6] + 6));
      return 0;
    }
    uint64_t until = strcmp(words[6], "up") == 0     ? 0
                     : strcmp(words[6], "down") == 0 ? UINT64_MAX
                                                     : fake_now_ns() + strtoull(words[6], NULL, 10) * 1000000;
    fake_path_down(f, host[0], device[0], host[1], device[1], strcmp(words[5], "all") ? atoi(words[5]) : -1, until);
  } else if (strcmp(verb, "address") == 0 && one && n == 6) {
    if (strcmp(words[5], "change") == 0) fake_gid_change(f, host[0], device[0], atoi(words[4]));
    else fake_gid_present(f, host[0], device[0], atoi(words[4]), strcmp(words[5], "add") == 0);
  } else {
    return usage();
  }
  return 0;
}
