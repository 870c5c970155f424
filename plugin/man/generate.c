// Prints the manual page railweave-net(7) from the declarations of the parameters.
#include <stdio.h>
#include <string.h>

static void roff(const char *text) {
  if (*text == '.' || *text == '\'') fputs("\\&", stdout);
  for (; *text; text++) {
    if (*text == '-') fputs("\\-", stdout);
    else if (*text == '\\') fputs("\\e", stdout);
    else putchar(*text);
  }
  putchar('\n');
}

static void paragraph(const char *text) {
  puts(".PP");
  roff(text);
}

static void parameter(const char *name, const char *other, const char *kind, const char *value, const char *text) {
  puts(".TP");
  printf(".B ");
  roff(name);
  if (other) {
    printf("(also ");
    printf("%s) ", other);
  }
  roff(text);
  if (strcmp(kind, "TEXT") != 0 && strcmp(value, "-1") == 0) return;
  if (strcmp(value, "\"\"") == 0 ||
      (strcmp(kind, "TEXT") != 0 && strcmp(value, "0") == 0 && strstr(text, "Where unset")))
    return;
  char bare[128];
  size_t quoted = *value == '"';
  snprintf(bare, sizeof(bare), "%.*s", (int)(strlen(value) - 2 * quoted), value + quoted);
  printf("Default: ");
  roff(bare);
}

static void lines(const char *text) {
  puts(".PP\n.nf\n.RS");
  fputs(text, stdout);
  puts(".RE\n.fi");
}

int main(void) {
  puts(".TH RAILWEAVE-NET 7 \"\" railweave \"Network plugin for NCCL and RCCL\"");
  puts(".SH NAME\nrailweave\\-net \\- NCCL and RCCL network plugin, every queue pair on its own path");
  puts(".SH SYNOPSIS");
  lines("NCCL_NET_PLUGIN=railweave LD_LIBRARY_PATH=DIRECTORY mpirun ...\n");
  puts(".SH DESCRIPTION");
  paragraph(
      "A job with NCCL_NET_PLUGIN=railweave runs over RoCEv2 with each queue pair of a connection on its own pair of "
      "addresses, so "
      "that a fabric that steers prefixes carries each over its own uplink. A path that dies costs its share of the "
      "bandwidth; what it did "
      "not deliver is sent again over the others, and it is used again when it is back.");
  paragraph(
      "The plugin exports versions 6 to 12 of NCCL's network interface: NCCL 2.18 and newer, RCCL of ROCm 6.0 and "
      "newer.");
  puts(".SH ENVIRONMENT");
  puts(
      "Variables are read once, when the plugin starts. Those of NCCL\\(aqs own transport mean the same here, where "
      "not said otherwise.");
#define SECTION(title) printf(".SS \"%s\"\n", title);
#define PARAM(field, variable, other, kind, value, text) parameter(variable, other, #kind, #value, text);
#define NOT_USED(variable, why)
#include "params.def"
#undef SECTION
#undef PARAM
#undef NOT_USED
  puts(".SS \"Variables of NCCL\\(aqs own transport that have no effect\"");
#define SECTION(title)
#define PARAM(field, variable, other, kind, value, text)
#define NOT_USED(variable, why) parameter(variable, NULL, "TEXT", "\"\"", why);
#include "params.def"
  puts(".SH FILES");
  puts(".TP\n.I /etc/railweave/host.json");
  roff("What railweave wrote for this server: addresses' colors, leaves, BFD times, traffic class. It need not exist.");
  puts(".SH DIAGNOSTICS");
  roff(
      "Warnings and errors go to NCCL's log (NCCL_DEBUG=WARN; INFO also lists every queue pair with its addresses). "
      "Each names the queue "
      "pair, its path color and addresses, both hosts and devices, and what to look at.");
  puts(".SH SEE ALSO");
  roff("railweave-rdma-ping --help, docs/plugin.md");
  return 0;
}
