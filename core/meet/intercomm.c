/* MPI_Intercomm_create (MPI-5.0 s7.6.2), also of groups that have not met: the
 * leaders may be the only processes that have (s11.10.4: who is connected with
 * one is connected with all that it is connected with).
 *
 *   all         find out that a process does not know another (comm/inter.h)
 *   each group  meets the other as at a port (meet/members.h), but that the
 *               leaders exchange the descriptions by messages
 *
 * The key of the pair is made of random bytes from both leaders; it is as
 * private as their messages are.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "boot/auth_inside.h"
#include "coll/args.h"
#include "comm/derive.h"
#include "comm/inter.h"
#include "core_api.h"
#include "group/comm.h"
#include "meet/members.h"
#include "object/error.h"

/* The first message of each leader. */
struct head {
    uint64_t bytes; /* of the description; 0: there is none */
    unsigned char share[WF_TOKEN];
};

static int swap_bytes(struct wf_instance *home, const struct wf_meeting *m,
                      const void *mine, size_t n, void *theirs, size_t their_n)
{
    const struct wf_bridge *b = m->peers;
    struct wf_agree_scope s = {.bridge = b->comm,
                               .bridge_rank = b->rank,
                               .bridge_tag = b->tag,
                               .bridge_space = b->space,
                               .others = b->others};
    int rc;

    wf_engine_switch(home, b->comm->wf);
    rc = wf_bridge_swap(&s, wf_coll_byte(), mine, n, theirs, their_n);
    wf_engine_switch(b->comm->wf, home);
    return rc;
}

/* Lets the leaders know whether one has failed. rc: what has failed here. */
static int swap_results(struct wf_instance *home, const struct wf_meeting *m,
                        int rc)
{
    struct wf_error_record cause = *wf_error_last();
    char mine = rc != MPI_SUCCESS, theirs = 0;
    int swapped = swap_bytes(home, m, &mine, 1, &theirs, 1);

    if (rc != MPI_SUCCESS)
        return wf_error(rc, "%s", cause.text);
    if (swapped != MPI_SUCCESS)
        return swapped;
    return theirs ? wf_error(MPI_ERR_OTHER, "the remote leader could not meet "
                                            "the group of this process")
                  : MPI_SUCCESS;
}

static int swap_heads(struct wf_instance *home, struct wf_meeting *m)
{
    struct head mine = {.bytes = m->mine_n}, theirs = {0};
    bool random = wf_auth_fill_random(mine.share, WF_TOKEN) == WEFT_OK;
    int rc;

    if (!random)
        mine.bytes = 0;
    rc = swap_bytes(home, m, &mine, sizeof mine, &theirs, sizeof theirs);
    for (int i = 0; i < WF_TOKEN; i++)
        m->key[i] = mine.share[i] ^ theirs.share[i];
    m->theirs_n = (size_t)theirs.bytes;
    explicit_bzero(mine.share, WF_TOKEN);
    explicit_bzero(theirs.share, WF_TOKEN);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!mine.bytes)
        return wf_error(MPI_ERR_OTHER,
                        random ? "this process could not describe its group"
                               : "the system has no random bytes");
    return theirs.bytes ? MPI_SUCCESS
                        : wf_error(MPI_ERR_OTHER, "the remote leader could not "
                                                  "describe its group");
}

/* wf_meeting.exchange. The leaders have the same result. */
static int exchange_by_messages(struct wf_instance *home, struct wf_meeting *m)
{
    int rc = swap_heads(home, m);

    if (rc != MPI_SUCCESS)
        return rc;
    m->theirs = malloc(m->theirs_n);
    rc = swap_results(home, m,
                      m->theirs ? MPI_SUCCESS
                                : wf_error(MPI_ERR_NO_MEM, "no memory for the "
                                                           "remote group"));
    if (rc == MPI_SUCCESS)
        rc = swap_bytes(home, m, m->mine, m->mine_n, m->theirs, m->theirs_n);
    if (rc != MPI_SUCCESS)
        return rc;
    return swap_results(home, m, wf_exchange_adopt(home, m));
}

int wf_mpi_intercomm_create(struct wf_instance *wf, struct wf_comm *local_comm,
                            int local_leader, struct wf_comm *peer_comm,
                            int remote_leader, int tag, MPI_Comm *newintercomm)
{
    struct wf_bridge b = {.leader = local_leader,
                          .comm = peer_comm,
                          .rank = remote_leader,
                          .tag = tag,
                          .space = WF_SPACE_INTERNAL};
    struct wf_meeting m = {.exchange = exchange_by_messages, .peers = &b};
    bool unmet = false;
    int rc;

    *newintercomm = MPI_COMM_NULL;
    if (local_comm->inter)
        return wf_error(MPI_ERR_COMM, "local_comm is an intercommunicator");
    if (peer_comm)
        b.key = (uint64_t)peer_comm->context << 32 | (uint32_t)tag;
    rc = wf_intercomm_create(local_comm, &b, &unmet, newintercomm);
    return unmet ? wf_meet(local_comm, local_leader, &m, newintercomm) : rc;
}
