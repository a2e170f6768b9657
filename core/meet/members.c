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
 * ERRORS  Once the roots have met, each member takes every step, also one that
 * lacks memory, and so do the members of a group of which one may not know
 * whether they have: the agreement at the end tells both groups. Members learn
 * by agreements, which need no memory, not by collectives.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/members.h"

#include <stdlib.h>

#include "comm/agree.h"
#include "comm/derive.h"
#include "comm/inter.h"
#include "group/comm.h"
#include "meet/bridge.h"
#include "object/error.h"
#include "object/error_class.h"
#include "progress/engines.h"
#include "protocol/endpoints_late.h"
#include "report/error.h"
#include "protocol/location.h"
#include "route/card.h"

/* The news of a root, as the words of an agreement to which the others
 * contribute nothing. The first one is 0 if one of them has failed. */
enum {
    HEAD, /* 1; class of the root's error << 1; bytes that come << 32 */
    KEY,
    NEWS = KEY + WF_TOKEN / 8,
    CHUNK = 256 /* words of the other group's description, at a time */
};

/* ---- the members --------------------------------------------------------- */

static void write_news(const struct wf_meeting *m, int rc, uint64_t *news)
{
    news[HEAD] = 1 | (uint64_t)(unsigned)rc << 1 | (uint64_t)m->theirs_n << 32;
    memcpy(news + KEY, m->key, WF_TOKEN);
}

/* Reads the news. Returns the root's class. */
static int read_news(struct wf_meeting *m, const uint64_t *news)
{
    m->theirs_n = (size_t)(news[HEAD] >> 32);
    memcpy(m->key, news + KEY, WF_TOKEN);
    return (int)((uint32_t)news[HEAD] >> 1);
}

/* Tells the group whether its root has met the other one, and the key of the
 * pair. rc: what has failed here. Returns the class of an error. *over: the
 * roots have not met, and all members know it. */
static int spread_news(struct wf_comm *comm, int root, int rc,
                       struct wf_meeting *m, bool *over)
{
    uint64_t news[NEWS], input[NEWS];
    bool is_root = comm->rank == root;
    struct wf_error_record cause = *wf_error_last();
    int failed;

    memset(news, 0xff, sizeof news);
    if (is_root)
        write_news(m, rc, news);
    else if (rc != MPI_SUCCESS)
        news[HEAD] = 0;
    failed = wf_agree_run(comm, news, input, NEWS);
    *over = failed == MPI_SUCCESS && (news[HEAD] & 1) &&
            (uint32_t)news[HEAD] >> 1 != MPI_SUCCESS;
    if (rc != MPI_SUCCESS && cause.text[0])
        wf_error(rc, "%s", cause.text);
    else if (rc != MPI_SUCCESS)
        wf_error(rc, "the call has failed here");
    else if (failed != MPI_SUCCESS)
        rc = wf_error(failed, "the members could not agree to meet a group");
    else if (!(news[HEAD] & 1))
        rc = wf_error(MPI_ERR_NOT_SAME, "another process of the communicator "
                                        "failed in this call");
    else if (!is_root && (rc = read_news(m, news)) != MPI_SUCCESS)
        wf_error(rc, "rank %d, the root, could not meet another group", root);
    explicit_bzero(news, sizeof news);
    explicit_bzero(input, sizeof input);
    return rc;
}

/* Gives the group the description of the other one, in pieces, because a member
 * that lacks memory takes part in all. theirs is malloc'ed. */
static int spread_group(struct wf_comm *comm, int root, struct wf_meeting *m)
{
    uint64_t words[CHUNK], input[CHUNK];
    bool is_root = comm->rank == root;
    int rc = MPI_SUCCESS, failed;

    if (!is_root && !(m->theirs = malloc(m->theirs_n)))
        rc = wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
    for (size_t at = 0; at < m->theirs_n; at += sizeof words) {
        size_t n = m->theirs_n - at;
        if (n > sizeof words)
            n = sizeof words;
        memset(words, 0xff, sizeof words);
        if (is_root)
            memcpy(words, m->theirs + at, n);
        failed = wf_agree_run(comm, words, input, (int)((n + 7) / 8));
        if (rc == MPI_SUCCESS && failed != MPI_SUCCESS)
            rc = wf_error(failed, "the members could not learn of a group");
        if (!is_root && m->theirs)
            memcpy(m->theirs + at, words, n);
    }
    return rc;
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
    struct wf_bridge b = {.leader = root, .key = wf_bridge_id(m->key)};

    if (m->bridge) {
        if (rc == MPI_SUCCESS) {
            wf_engine_switch(wf, home);
            rc = check_root(home, &m->other);
            wf_engine_switch(home, wf);
        }
        b.comm = m->bridge;
        b.rank = 1 - m->bridge->rank;
        b.tag = (int)(b.key & 0x7fffffff);
        b.space = WF_SPACE_GROUP;
        b.others = m->other.group;
    }
    return wf_intercomm_make(comm, &b, m->other.group, rc, newcomm);
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
    if (rc != MPI_SUCCESS)
        wf_exchange_forget(home, m);
    wf_engine_switch(home, wf);
    return rc;
}

int wf_meet(struct wf_comm *comm, int root, struct wf_meeting *m,
            MPI_Comm *newcomm)
{
    struct wf_instance *wf = comm->wf, *home = wf_home(wf);
    int rc = prepare_endpoints(wf);
    bool over;

    *newcomm = MPI_COMM_NULL;
    m->comm = comm;
    m->call = wf_call_name;
    if (rc != MPI_SUCCESS)
        wf_log(wf, WF_LOG_WARN, "%s", wf_error_last()->text);
    rc = wf_describe_group(comm, root, &m->mine, &m->mine_n);
    if (comm->rank == root && (rc == MPI_SUCCESS || m->peers)) {
        int met = run_exchange(comm, m);
        rc = rc == MPI_SUCCESS ? met : rc;
    }
    rc = spread_news(comm, root, rc, m, &over);
    if (rc == MPI_SUCCESS)
        rc = spread_group(comm, root, m);
    if (rc == MPI_SUCCESS && comm->rank != root)
        rc = adopt_here(wf, m);
    if (!over) /* the other group waits, or members of this one */
        rc = make_intercomm(comm, root, m, rc, newcomm);
    wf_engine_switch(wf, home);
    wf_exchange_forget(home, m);
    wf_engine_switch(home, wf);
    free(m->mine);
    free(m->theirs);
    explicit_bzero(m->key, sizeof m->key);
    return rc;
}
