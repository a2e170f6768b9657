/* Two groups meet: their roots by a link, then all their members.
 *
 *   each member   sends its card to its root
 *   roots         meet, exchange the descriptions of their groups
 *                 (meet/link.h, meet/describe.h), and say that they have them
 *   each root     gives its group the other's description, and the pair's key
 *   all           agree on an intercommunicator, over transports
 *
 * A root makes the other group known before it lets the other root know its
 * own, so that calls of its members are answered.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/members.h"

#include <stdlib.h>

#include "boot/auth_inside.h"
#include "coll/args.h"
#include "comm/derive.h"
#include "comm/inter.h"
#include "core_api.h"
#include "crypto/vendor.h"
#include "group/comm.h"
#include "meet/describe.h"
#include "object/error.h"
#include "object/error_class.h"
#include "progress/engines.h"
#include "protocol/endpoints_late.h"
#include "report/error.h"
#include "protocol/location.h"
#include "route/card.h"

enum { TOKEN_OFFSET = 8, NEWS = 8 + WF_TOKEN };

/* ---- the bridge of the roots --------------------------------------------- */

/* Returns a number that only those who meet know, for the communicator of the
 * two roots and for the agreement. */
static uint64_t make_id(const unsigned char *key)
{
    static const unsigned char label[] = "weft meeting 1";
    unsigned char mac[WF_TOKEN];

    wf_vendor_crypto_auth_hmacsha256(mac, label, sizeof label, key);
    return wf_auth_get_u64(mac);
}

static struct wf_comm *make_bridge_comm(struct wf_instance *home,
                                        uint32_t other, uint64_t id)
{
    uint32_t *procs = malloc(2 * sizeof *procs), context;
    bool first = wf_job_precedes(&home->rank->job, home->rank->id, other);
    struct wf_group *g;

    if (!procs)
        return NULL;
    procs[!first] = home->rank->id;
    procs[first] = other;
    g = wf_group_create(home, 2, procs);
    context = (uint32_t)(id >> 40);
    return g ? wf_comm_create(home, g, NULL, context, context) : NULL;
}

/* Its context id was never taken from the pool. */
static void free_bridge_comm(struct wf_comm *comm)
{
    if (!comm)
        return;
    wf_comm_set_context(comm, WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    wf_comm_put(comm);
}

/* ---- the members --------------------------------------------------------- */

/* Gives the group what its root has learned: the key, and the description of
 * the other group; or the class of its error. *bytes is malloc'ed at the
 * others. */
static int spread_news(struct wf_comm *comm, int root, int rc,
                       struct wf_meeting *m)
{
    unsigned char news[NEWS] = {0};
    struct wf_instance *wf = comm->wf;
    bool is_root = comm->rank == root;
    int sent;

    if (is_root) {
        wf_auth_put_u32(news, (uint32_t)rc);
        wf_auth_put_u32(news + 4, (uint32_t)m->theirs_n);
        memcpy(news + TOKEN_OFFSET, m->key, WF_TOKEN);
    }
    sent = wf_mpi_bcast(wf, news, NEWS, wf_coll_byte(), root, comm);
    if (rc != MPI_SUCCESS || sent != MPI_SUCCESS)
        return rc != MPI_SUCCESS ? rc : sent;
    rc = (int)wf_auth_get_u32(news);
    if (rc != MPI_SUCCESS)
        return wf_error(rc, "rank %d, the root, could not meet another group",
                        root);
    if (!is_root) {
        memcpy(m->key, news + TOKEN_OFFSET, WF_TOKEN);
        m->theirs_n = wf_auth_get_u32(news + 4);
        m->theirs = malloc(m->theirs_n ? m->theirs_n : 1);
        if (!m->theirs) /* the others wait for it: not to be hidden */
            return wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
    }
    explicit_bzero(news, sizeof news);
    return wf_mpi_bcast(wf, m->theirs, (MPI_Count)m->theirs_n, wf_coll_byte(),
                        root, comm);
}

/* Checks that the root of the other group can be reached, and has the same
 * configuration: the cause is clearer here than later. */
static int check_root(struct wf_instance *home, const struct wf_met_group *g)
{
    uint32_t number = wf_group_proc(g->group, g->root);
    struct weft_loc *loc = wf_location(home, number);

    if (!loc)
        return wf_error(MPI_ERR_NO_MEM, "no memory for the other root");
    return wf_error_class(wf_card_fetch(loc));
}

/* Makes the intercommunicator, once the other group is known here, or rc says
 * why it is not. */
static int make_intercomm(struct wf_comm *comm, int root, struct wf_meeting *m,
                          int rc, MPI_Comm *newcomm)
{
    struct wf_instance *wf = comm->wf, *home = wf_home(wf);
    struct wf_bridge b = {.leader = root, .key = make_id(m->key)};
    struct wf_comm *bridge = NULL;

    if (comm->rank == root && rc == MPI_SUCCESS) {
        uint32_t other = wf_group_proc(m->other.group, m->other.root);
        wf_engine_switch(wf, home);
        rc = check_root(home, &m->other);
        bridge = make_bridge_comm(home, other, b.key);
        wf_engine_switch(home, wf);
        if (!bridge) /* nobody else could tell the other group */
            return wf_error(MPI_ERR_NO_MEM, "no memory for a communicator");
        b.comm = bridge;
        b.rank = 1 - bridge->rank;
        b.tag = (int)(b.key & 0x7fffffff);
        b.space = WF_SPACE_GROUP;
        b.others = m->other.group;
    }
    rc = wf_intercomm_make(comm, &b, m->other.group, rc, newcomm);
    wf_engine_switch(wf, home);
    free_bridge_comm(bridge);
    wf_engine_switch(home, wf);
    return rc;
}

static int adopt_here(struct wf_instance *wf, struct wf_meeting *m)
{
    struct wf_instance *home = wf_home(wf);
    int rc;

    wf_engine_switch(wf, home);
    rc = wf_describe_adopt(home, m->theirs, m->theirs_n, m->key, &m->other);
    wf_engine_switch(home, wf);
    return rc;
}

/* Opens the endpoints that a process alone has not opened. */
static int prepare_endpoints(struct wf_instance *wf)
{
    struct wf_instance *home = wf_home(wf);
    int r;

    wf_engine_switch(wf, home);
    r = wf_endpoints_open_late(home);
    wf_engine_switch(home, wf);
    return wf_error_class(r);
}

static int run_exchange(struct wf_comm *comm, struct wf_meeting *m)
{
    struct wf_instance *wf = comm->wf, *home = wf_home(wf);
    int rc;

    wf_engine_switch(wf, home);
    rc = m->exchange(home, m);
    wf_engine_switch(home, wf);
    return rc;
}

int wf_meet(struct wf_comm *comm, int root, struct wf_meeting *m,
            MPI_Comm *newcomm)
{
    struct wf_instance *wf = comm->wf, *home = wf_home(wf);
    int rc = prepare_endpoints(wf), adopted;

    *newcomm = MPI_COMM_NULL;
    m->comm = comm;
    m->call = wf_call_name; /* the collectives below change it */
    if (rc != MPI_SUCCESS)
        wf_log(wf, WF_LOG_WARN, "%s", wf_error_last()->text);
    rc = wf_describe_group(comm, root, &m->mine, &m->mine_n);
    if (rc == MPI_SUCCESS) {
        if (comm->rank == root)
            rc = run_exchange(comm, m);
        rc = spread_news(comm, root, rc, m);
    }
    if (rc == MPI_SUCCESS) {
        adopted = comm->rank == root ? MPI_SUCCESS : adopt_here(wf, m);
        rc = make_intercomm(comm, root, m, adopted, newcomm);
    }
    wf_engine_switch(wf, home);
    wf_met_group_drop(home, &m->other);
    wf_engine_switch(home, wf);
    free(m->mine);
    free(m->theirs);
    explicit_bzero(m->key, sizeof m->key);
    return rc;
}
