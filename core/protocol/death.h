/* Processes that are gone, and what becomes of collective operations with them.
 * LOCK  the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DEATH_H
#define WF_DEATH_H

#include "instance.h"
#include "protocol/wire.h"

struct wf_engine;
void wf_death_init(struct wf_engine *);
/* True: that is new. Nothing has been done about it yet. */
bool wf_death_note(struct wf_instance *, uint32_t id);
/* End what waits for what has been noted since the last time, and tell the
 * others. */
void wf_deaths_spread(struct wf_instance *);
/* GONE or UNMADE. */
void wf_death_arrived(struct weft_loc *from, const struct wf_wire *);
/* All that is known, to a process that has just connected. */
void wf_deaths_tell(struct weft_loc *);
/* Has a member been lost, of either group, or does one lack the communicator?
 * Then collective operations end. */
bool wf_comm_has_dead(struct wf_comm *);
static inline bool wf_comm_dead(struct wf_comm *c)
{
    return wf_unlikely(c->wf->losses) && wf_comm_has_dead(c);
}
/* This process was to make the communicator and could not, because a process
 * was lost: the other members, which perhaps have made it, are told. */
void wf_unmade_tell(struct wf_comm *);
/* The origin names a communicator whose ids are not agreed on, the same at all
 * its members. It follows from the groups, the origin of the parent and the key
 * of the agreement (comm/context.h), so ids that come again are not taken for
 * it. */
uint64_t wf_origin(const struct wf_comm *result, const struct wf_comm *parent,
                   uint64_t key);

bool wf_group_has_dead(struct wf_instance *, const struct wf_group *);
bool wf_proc_dead(const struct wf_instance *, uint32_t id);
/* Of a communicator that has: MPI_ERR_PROC_ABORTED, recorded. */
WF_COLD int wf_comm_dead_error(struct wf_comm *);

#endif
