/* Gatherv through shared memory: only the root knows all counts, so each
 * contribution takes its own way. A short one is written to its member's line
 * or block; the line of a long one states that it comes as a message. A
 * contribution of no bytes has no line either.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"
#include "coll/shm/contribution.h"
#include "coll/shm/parts.h"
#include "object/status.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"

/* A gatherv at the root. */
struct gathering {
    struct wf_shmcoll *t;
    const struct wf_coll_args *a;
    int tag;
    int messages; /* messages under way */
    struct wf_req *message[WF_SHMCOLL_RANKS_MAX];
    int from[WF_SHMCOLL_RANKS_MAX];
};

static int unpack_line(const struct gathering *g, int r, uint64_t got)
{
    uint64_t bytes = wf_coll_rbytes(g->a, r);
    int rc = wf_shmcoll_check_length(r, got, bytes);

    return rc ? rc
              : wf_shmcoll_unpack_elements(
                    wf_shmcoll_data_of(g->t, r, bytes), wf_coll_rblock(g->a, r),
                    wf_coll_rcount(g->a, r), g->a->rtype);
}

static int begin_message(struct gathering *g, int r)
{
    int rc = wf_irecv(g->a->comm, wf_coll_rblock(g->a, r),
                      wf_coll_rcount(g->a, r), g->a->rtype, r, g->tag,
                      WF_SPACE_COLL, &g->message[g->messages]);

    if (!rc)
        g->from[g->messages++] = r;
    return rc;
}

/* Reads the contribution of a rank, or begins to receive its message. */
static int begin_contribution(struct gathering *g, int r)
{
    uint64_t word;
    int rc;

    if (wf_coll_rbytes(g->a, r) == 0)
        return MPI_SUCCESS;
    rc = wf_shmcoll_wait_flag(g->t, r, &word);
    if (wf_unlikely(rc))
        return rc;
    if (wf_likely(!wf_shmcoll_wants_schedule(word)))
        return unpack_line(g, r, wf_shmcoll_bytes_of(word));
    return begin_message(g, r);
}

static int finish_message(struct gathering *g, int i)
{
    MPI_Status status;
    int r = g->from[i], rc = wf_wait(&g->message[i], &status);

    return rc ? rc
              : wf_shmcoll_check_length(r, wf_status_bytes(&status),
                                        wf_coll_rbytes(g->a, r));
}

static int collect_at_root(struct wf_shmcoll *t, const struct wf_coll_args *a,
                           int tag)
{
    struct gathering g; /* the arrays are not initialized */
    int rc = MPI_SUCCESS;

    g.t = t;
    g.a = a;
    g.tag = tag;
    g.messages = 0;
    wf_shmcoll_begin_without_line(t);
    if (a->sbuf != MPI_IN_PLACE)
        rc = wf_shmcoll_copy_own_block(wf_shmcoll_sent_block(a),
                                       wf_coll_recv_block(a, t->rank));
    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r))
        wf_shmcoll_keep_first_error(&rc, begin_contribution(&g, r));
    wf_shmcoll_complete_call(t);
    for (int i = 0; i < g.messages; i++)
        wf_shmcoll_keep_first_error(&rc, finish_message(&g, i));
    return rc;
}

static int send_message(struct wf_shmcoll *t, const struct wf_coll_args *a,
                        int tag)
{
    wf_shmcoll_begin_call(t, 0);
    wf_shmcoll_store_flag(t, a->scount * (uint64_t)a->stype->size,
                          WF_SHMCOLL_FLAG_SCHEDULE);
    wf_shmcoll_complete_call(t);
    return wf_send(a->comm, a->sbuf, a->scount, a->stype, a->root, tag,
                   WF_SPACE_COLL);
}

/* Returns true if the builder would accept these arguments. */
static bool is_plain_gatherv(const struct wf_coll_args *a)
{
    if (!wf_shmcoll_is_root_valid(a))
        return false;
    if (!wf_shmcoll_is_root(a))
        return a->stype && a->sbuf != MPI_IN_PLACE;
    return a->rtype && a->rbuf && a->rbuf != MPI_IN_PLACE && a->rcounts.base &&
           a->rdispls.base &&
           wf_shmcoll_sum_counts(a->rcounts, a->comm->size, -1) >= 0 &&
           (a->sbuf == MPI_IN_PLACE ||
            (a->stype && a->sbuf != wf_coll_rblock(a, a->root)));
}

int wf_shmcoll_gatherv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes;
    int rc, tag;

    if ((rc = wf_shmcoll_check_unless_plain(builder, a, is_plain_gatherv(a))))
        return rc;
    tag = wf_comm_draw_tag(a->comm);
    if (wf_shmcoll_is_root(a))
        return collect_at_root(t, a, tag);
    bytes = a->scount * (uint64_t)a->stype->size;
    if (bytes == 0)
        return wf_shmcoll_skip_call(t, MPI_SUCCESS);
    if (bytes > t->block_bytes)
        return send_message(t, a, tag);
    return wf_shmcoll_contribute_elements(a, a->sbuf, a->scount, a->stype);
}
