/* A placement is what the command line says about where ranks run, in the words
 * of both launchers that users know.
 *
 *   --map-by   which host, and which part of it, each process gets
 *   --rank-by  how ranks are numbered over these places
 *   --bind-to  to how much around its place a process is bound
 *
 * This header has the policy and its readers; map.c assigns processes to hosts,
 * binding.c assigns processors to them. Only the host itself knows its
 * processors.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_PLACEMENT_H
#define WF_MPIRUN_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "os/hardware.h"

/* A place is a part of a machine to map, rank or bind by. */
enum place {
    PLACE_UNSET,
    PLACE_SLOT,
    PLACE_NODE, /* for --bind-to: the whole host */
    PLACE_PART, /* and the types of enum wf_hardware from here */
    PLACE_PACKAGE = PLACE_PART + WF_HARDWARE_PACKAGE,
    PLACE_NUMA = PLACE_PART + WF_HARDWARE_NUMA,
    PLACE_L3 = PLACE_PART + WF_HARDWARE_L3,
    PLACE_CORE = PLACE_PART + WF_HARDWARE_CORE,
    PLACE_THREAD = PLACE_PART + WF_HARDWARE_THREAD
};

enum binding {
    BIND_DEFAULT,
    BIND_NONE,
    BIND_SHARE, /* an equal share of the cores */
    BIND_PART,  /* placement.bind */
    BIND_LIST
};

enum {
    PLACEMENT_ERROR_MAX = 320,
    PLACEMENT_MADE_MAX = 32,
    PLACEMENT_MOST = WF_CPUS_MAX /* in each place, or of each rank */
};

struct placement {
    enum place map;
    int per;          /* ppr: processes in each; 0: not given */
    int width;        /* processors of each rank (PE=); 0: not given */
    bool by_thread;   /* a hardware thread is a processor */
    enum place rank;
    enum binding binding;
    enum place bind;
    bool overload;    /* ranks may share a processor that they are bound to */
    bool if_supported;
    /* The texts as they were written, for messages and for the agents of other
     * hosts; NULL: not given. */
    const char *map_text, *rank_text, *bind_text, *cpus;
    const char *list; /* in bind_text: what follows "list:" */
    char made_text[PLACEMENT_MADE_MAX]; /* of --npersocket and the like */
    /* Of hosts: */
    int per_node;     /* processes on each; 0: not given */
    bool cyclic;      /* more of them begin at the first host again */
    bool refuse_more; /* than there are slots or processors */
    /* Of mpirun: */
    bool show_map, dry_run;
};


/* Each function reads the value of an option, which must stay. It returns false
 * if the value is refused, and the error says what works. */
bool wf_placement_map(struct placement *, const char *text, char *error);
bool wf_placement_rank(struct placement *, const char *text, char *error);
bool wf_placement_bind(struct placement *, const char *text, char *error);
bool wf_placement_cpus(struct placement *, const char *text, char *error);

/* Returns the name, such as "l3cache". */
const char *wf_place_name(enum place);
static inline bool wf_place_is_part(enum place p)
{
    return p >= PLACE_PART;
}
static inline enum wf_hardware wf_place_type(enum place p)
{
    return (enum wf_hardware)(p - PLACE_PART);
}

#endif
