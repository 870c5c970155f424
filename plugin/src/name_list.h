// The lists of names of NCCL_IB_HCA and NCCL_SOCKET_IFNAME: "mlx5_0:1,mlx5_1", "^docker,lo", "=eth0".
#ifndef RAILWEAVE_NAME_LIST_H
#define RAILWEAVE_NAME_LIST_H

#include <stdbool.h>

// True where the list is empty or chooses name. An entry is a prefix; '^' in front of the list excludes, '=' (after it,
// or alone) asks for exact names. An entry with :PORT holds for that port only; port 0 stands for none.
bool rw_name_list_holds(const char *list, const char *name, int port);

// Of the entry that chooses name, the numbers behind its port, NAME:PORT:RAIL:PLANE (NCCL 2.30); -1 where there are
// none.
void rw_name_list_place(const char *list, const char *name, int port, int *rail, int *plane);

#endif
