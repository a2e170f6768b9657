/* Hosts of a job and their slots: what --host, --hostfile and --nodes say.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_HOSTS_H
#define WF_MPIRUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

struct host {
    char *name;
    int slots;
    bool here; /* it is this one */
};

struct host_list {
    struct host *all; /* in the order in which they were named */
    int count;
    bool elsewhere; /* one of them is not this one: they are the nodes */
};

/* Does this name or address mean this host? */
bool wf_host_is_here(const char *name, size_t len);
/* So many ranks more may be there; false: no memory. */
bool wf_host_add(struct host_list *, const char *name, size_t n, int slots);
int wf_host_slots(const struct host_list *); /* of all */
/* Processes of the first `hosts` hosts, of so many in all: they fill the slots
 * in the order of the hosts; more processes than slots are spread by the numbers
 * of slots. */
int wf_host_first(const struct host_list *, int hosts, int processes);

#endif
