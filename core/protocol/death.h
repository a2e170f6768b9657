/* Processes that are known to be lost, and the end of collective operations
 * with them: death.c has the picture.
 *
 * LOCK  the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DEATH_H
#define WF_DEATH_H

#include "group/comm.h"
#include "process/instance.h"
#include "protocol/wire.h"

struct wf_group;

struct wf_engine;
void wf_death_init(struct wf_engine *);
/* Make room for the news that so many more processes are lost, which may come
 * when there is no memory. False: there is none. */
bool wf_deaths_reserve(struct wf_instance *, uint32_t n);
/* Note that process `id` is lost. true: that is new; nothing has been done
 * about it yet. */
bool wf_death_note(struct wf_instance *, uint32_t id);
/* Note the loss of a process of another job that has just been met, if others
 * have told it before, and do what is to be done. */
void wf_deaths_recall(struct wf_instance *, uint32_t id);
/* End the operations that wait for processes noted since the last call, and
 * tell the other processes. */
void wf_deaths_spread(struct wf_instance *);
/* Process a message of type GONE or UNMADE. */
void wf_death_take_message(struct weft_loc *from, const struct wf_wire *);
/* Tell a process that has just connected which ones are lost. */
void wf_deaths_tell_peer(struct weft_loc *);
/* Whether collective operations on the communicator end, because a member of
 * either group is lost, or one could not make the communicator. */
bool wf_comm_has_dead(struct wf_comm *);
/* wf_comm_has_dead with a fast path for a job without losses. */
static inline bool wf_comm_is_dead(struct wf_comm *c)
{
    return wf_unlikely(c->wf->losses) && wf_comm_has_dead(c);
}
/* Tell the other members, which perhaps have made the communicator, that this
 * process could not: a process was lost, or there was no memory. */
void wf_comm_tell_unmade(struct wf_comm *);
/* The origin of a communicator: a number that is the same at all its members,
 * even where they do not agree on its id. It follows from the groups, the
 * origin of the parent and the key of the agreement (comm/context.h), so that a
 * communicator which has the same id later is not taken for it. */
uint64_t wf_comm_make_origin(const struct wf_comm *result,
                             const struct wf_comm *parent, uint64_t key);

bool wf_group_has_dead(struct wf_instance *, const struct wf_group *);
bool wf_proc_is_dead(const struct wf_instance *, uint32_t id);
/* Record WEFT_EPEER for a communicator that wf_comm_is_dead is true of, and
 * return it. */
WF_COLD int wf_comm_record_dead(struct wf_comm *);

#endif
