/* Hosts of a job and their slots: what --host, --hostfile and --nodes say.
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
    bool lost;         /* it can be reached no more */
};

struct host_list {
    struct host *all; /* by ascending node */
    int count;
};

/* hosts.c: so many ranks more may be there; false: no memory. Names of this host
 * are one host. */
bool wf_host_add(struct host_list *, const char *name, size_t n, int slots);
/* One more, whatever it is called. NULL: no memory. */
struct host *wf_host_append(struct host_list *, const char *name, size_t n);
/* NULL: the list has none of this number. */
struct host *wf_host_of_node(const struct host_list *, int node);
int wf_host_slots(const struct host_list *); /* of all */
bool wf_host_elsewhere(const struct host_list *); /* is one not here? */
/* Processes of the first `hosts` hosts, of so many in all: they fill the slots
 * in the order of the hosts; more processes than slots are spread by the numbers
 * of slots. */
int wf_host_first(const struct host_list *, int hosts, int processes);

/* local_host.c: does this name or address mean this host? */
bool wf_host_is_here(const char *name, size_t len);

#endif
