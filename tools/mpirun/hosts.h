/* A host list holds the hosts of a job and their slots, as --host, --hostfile
 * and --nodes say.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_HOSTS_H
#define WF_MPIRUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

struct link;

struct host {
    char *name;
    int slots;
    int node;          /* its number in the job */
    bool here;         /* we start its ranks ourselves */
    struct link *link; /* the agent behind which it is; NULL: here */
    bool lost;         /* it cannot be reached any more */
};

struct host_list {
    struct host *all; /* by ascending node */
    int count;
};

/* hosts.c: add slots to a host, which is added if it is new; all names of this
 * host count as one. Returns false without memory. */
bool wf_host_add(struct host_list *, const char *name, size_t n, int slots);
/* Append a host, even if its name is in the list already. Returns NULL without
 * memory. */
struct host *wf_host_append(struct host_list *, const char *name, size_t n);
/* Returns the host of this node number, or NULL. */
struct host *wf_host_of_node(const struct host_list *, int node);
int wf_host_slots(const struct host_list *); /* of all */
bool wf_host_elsewhere(const struct host_list *); /* is one not here? */
/* Returns how many of `processes` processes are on the first `hosts` hosts:
 * they fill the slots in the order of the hosts; more processes than slots are
 * spread in proportion to the slots. */
int wf_host_first(const struct host_list *, int hosts, int processes);

/* local_host.c: returns whether this name or address means this host. */
bool wf_host_is_here(const char *name, size_t len);

#endif
