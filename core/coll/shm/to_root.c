/* Shared-memory collectives to a root: reduce, gather, gatherv.
 *
 * A short contribution is written, and its member goes on. A member that wants
 * a schedule or the staging ring says so and waits for the root's line. The
 * root waits for all lines:
 *
 *     none names a way    it reads the contributions
 *     all name one        its line names it, too
 *     else                its line does not; these members fail
 *
 * Of a gatherv only the root knows all counts, so each contribution takes its
 * own way: the line of a long one states that it comes as a message. A
 * contribution of no bytes has no line either.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/all_to_all.h"
#include "coll/shm/fold.h"
#include "coll/shm/large.h"
#include "coll/shm/large_fold.h"
#include "object/error.h"
#include "object/status.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"

/* Each collective has a copy of these, for the functions that it names. */
#define SKELETON inline __attribute__((always_inline))

/* A call to the root, in this member. */
struct call_to_root {
    wf_coll_builder *builder;
    uint64_t bytes;            /* of each contribution */
    uint32_t way;              /* that this member wants, or 0 */
    struct wf_coll_block sent; /* by a member that is not the root */
    uint64_t written;          /* bytes that the root writes to its own block */
    wf_shmcoll_reader *take;   /* at the root */
    wf_shmcoll_collective *large; /* the call through the staging ring */
};

/* Does what wf_shmcoll_agree_on_way does, at the root, and answers those that
 * ask. Lengths that differ make no staged call. */
static SKELETON int agree_at_root(struct wf_shmcoll *t,
                                  const struct call_to_root *c)
{
    int agreed = wf_shmcoll_agree_on_way(t, c->way);
    bool all;

    if (wf_likely(!agreed))
        return agreed;
    if (agreed == WF_SHMCOLL_ALL_STAGED)
        for (int r = 0; r < t->size; r++)
            if (r != t->rank && wf_shmcoll_bytes_of_line(t, r) != c->bytes)
                agreed = WF_SHMCOLL_SOME_STAGED;
    all = agreed == WF_SHMCOLL_ALL_SCHEDULE || agreed == WF_SHMCOLL_ALL_STAGED;
    wf_shmcoll_publish_flag(t, 0, all ? c->way : 0);
    return agreed;
}

static SKELETON int run_at_root(const struct call_to_root *c,
                                const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int agreed, rc;

    wf_shmcoll_begin_call(t, c->written);
    agreed = agree_at_root(t, c);
    if (agreed == WF_SHMCOLL_ALL_SCHEDULE)
        return wf_shmcoll_run_schedule(t, c->builder, a);
    if (agreed == WF_SHMCOLL_ALL_STAGED)
        return c->large(c->builder, a);
    rc = agreed;
    if (wf_unlikely(agreed < 0) &&
        !(rc = wf_shmcoll_check_all_lengths(t, c->bytes)))
        rc = wf_shmcoll_report_mismatch();
    if (wf_likely(!rc))
        rc = c->take(t, a);
    wf_shmcoll_complete_call(t);
    return rc;
}

/* Asks the root, in another member that wants this way, whether all do. */
static SKELETON int ask_root(const struct call_to_root *c,
                             const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t word;
    int rc;

    wf_shmcoll_begin_call(t, 0);
    wf_staging_publish_call(t, c->bytes, c->way);
    rc = wf_shmcoll_wait_flag(t, a->root, &word);
    if (!rc && wf_shmcoll_wants_schedule(word))
        return wf_shmcoll_run_schedule(t, c->builder, a);
    if (!rc && word & WF_SHMCOLL_FLAG_STAGED)
        return c->large(c->builder, a);
    wf_shmcoll_complete_call(t);
    return rc ? rc
              : wf_error(MPI_ERR_TRUNCATE,
                         "this rank contributes %llu bytes, "
                         "another rank a different number",
                         (unsigned long long)c->bytes);
}

static SKELETON int run_to_root(const struct call_to_root *c,
                                const struct wf_coll_args *a)
{
    return wf_shmcoll_is_root(a) ? run_at_root(c, a)
           : c->way              ? ask_root(c, a)
                    : wf_shmcoll_contribute_elements(a->comm->shmcoll, c->sent);
}

/* ---- reduce -------------------------------------------------------------- */

static bool is_plain_reduce(const struct wf_coll_args *a)
{
    return wf_shmcoll_is_root_valid(a) && a->op->commutes &&
           !wf_op_check(a->op, a->rtype, a->comm->wf) &&
           (wf_shmcoll_is_root(a)
                ? a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf
                : a->sbuf != MPI_IN_PLACE);
}

/* Returns true if the root's operand must be in its block: it is where the
 * result goes, or has to be packed. */
static bool is_operand_written(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE || !wf_type_is_contiguous(a->rtype);
}

static int fold_at_root(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    const void *own = wf_type_data(a->rtype, a->sbuf);
    const void *from[WF_SHMCOLL_RANKS_MAX];
    struct wf_shmcoll_fold f = {.a = a,
                                .count = a->rcount,
                                .operands = from,
                                .out = wf_type_data(a->rtype, a->rbuf),
                                .first_rank = a->root};
    int rc = MPI_SUCCESS;

    if (is_operand_written(a)) {
        own = wf_shmcoll_data_of(t, t->rank, bytes);
        rc = wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, t->rank, bytes),
                                      wf_shmcoll_own_operand(a), a->rcount,
                                      a->rtype);
    }
    if (!rc)
        rc = wf_shmcoll_find_operands(t, bytes, own, from);
    return rc ? rc : wf_shmcoll_fold(t, &f);
}

static uint32_t choose_reduce_way(const struct wf_shmcoll *t,
                                  const struct wf_coll_args *a, uint64_t bytes)
{
    if (!a->op->commutes)
        return WF_SHMCOLL_FLAG_SCHEDULE;
    if (bytes <= t->block_bytes)
        return 0;
    return t->size > 2 && wf_staging_can_reduce(a, WF_COLL_REDUCE, bytes)
               ? wf_staging_choose_way(t)
               : WF_SHMCOLL_FLAG_SCHEDULE;
}

int wf_shmcoll_reduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct call_to_root c = {
        .builder = builder,
        .bytes = a->rcount * (uint64_t)a->rtype->size,
        .sent = {(void *)(uintptr_t)a->sbuf, a->rcount, a->rtype},
        .take = fold_at_root,
        .large = wf_staging_reduce};
    int rc = wf_shmcoll_check_args(builder, a, is_plain_reduce(a));

    if (wf_unlikely(rc))
        return rc;
    c.way = choose_reduce_way(a->comm->shmcoll, a, c.bytes);
    c.written = !c.way && is_operand_written(a) ? c.bytes : 0;
    return run_to_root(&c, a);
}

/* ---- gather -------------------------------------------------------------- */

static bool is_plain_gather(const struct wf_coll_args *a)
{
    if (!wf_shmcoll_is_root_valid(a))
        return false;
    if (!wf_shmcoll_is_root(a))
        return a->stype && a->sbuf != MPI_IN_PLACE;
    return a->rtype && a->rbuf != MPI_IN_PLACE &&
           (a->sbuf == MPI_IN_PLACE || (a->stype && a->sbuf != a->rbuf &&
                                        a->sbuf != wf_coll_rblock(a, a->root)));
}

/* Copies the root's own block to its place. */
static int copy_own_block(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE
               ? MPI_SUCCESS
               : wf_shmcoll_copy_own_block(wf_shmcoll_sent_block(a),
                                           wf_coll_recv_block(a, a->root));
}

static int read_all_blocks(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    int rc = copy_own_block(a);

    for (int r = 0; r < t->size; r++)
        if (r != t->rank)
            wf_shmcoll_keep_first_error(
                &rc,
                wf_shmcoll_read_whole(t, r, wf_shmcoll_received_block(a, r)));
    return rc;
}

int wf_shmcoll_gather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    struct call_to_root c = {.builder = builder,
                             .take = read_all_blocks,
                             .large = wf_staging_gather};
    int rc = wf_shmcoll_check_args(builder, a, is_plain_gather(a));

    if (wf_unlikely(rc))
        return rc;
    c.sent = wf_shmcoll_sent_block(a);
    c.bytes = wf_shmcoll_is_root(a) ? a->rcount * (uint64_t)a->rtype->size
                                    : wf_coll_block_bytes(c.sent);
    if (c.bytes > t->block_bytes)
        c.way = t->size > 2 && !t->one_copy ? wf_staging_choose_way(t)
                                            : WF_SHMCOLL_FLAG_SCHEDULE;
    return run_to_root(&c, a);
}

/* ---- gatherv ------------------------------------------------------------- */

/* A gatherv at the root. */
struct gathering {
    struct wf_shmcoll *t;
    const struct wf_coll_args *a;
    int tag;
    int messages; /* messages under way */
    struct wf_req *message[WF_SHMCOLL_RANKS_MAX];
    int from[WF_SHMCOLL_RANKS_MAX];
};

/* Reads the contribution of a rank, or begins to receive its message. */
static int begin_contribution(struct gathering *g, int r)
{
    struct wf_coll_block to = wf_shmcoll_received_block(g->a, r);
    uint64_t word;
    int rc;

    if (wf_coll_block_bytes(to) == 0)
        return MPI_SUCCESS;
    rc = wf_shmcoll_wait_flag(g->t, r, &word);
    if (wf_unlikely(rc))
        return rc;
    if (wf_likely(!wf_shmcoll_wants_schedule(word)))
        return wf_shmcoll_read_whole(g->t, r, to);
    rc = wf_error_class(wf_irecv(g->a->comm, to.buf, to.count, to.type, r,
                                 g->tag, WF_SPACE_COLL,
                                 &g->message[g->messages]));
    if (!rc)
        g->from[g->messages++] = r;
    return rc;
}

static int finish_message(struct gathering *g, int i)
{
    MPI_Status status;
    int rc = wf_error_class(wf_wait(&g->message[i], &status));

    return rc ? rc
              : wf_shmcoll_check_length(g->from[i], wf_status_bytes(&status),
                                        wf_coll_rbytes(g->a, g->from[i]));
}

static int collect_at_root(struct wf_shmcoll *t, const struct wf_coll_args *a,
                           int tag)
{
    struct gathering g; /* the arrays are not initialized */
    int rc;

    g.t = t;
    g.a = a;
    g.tag = tag;
    g.messages = 0;
    wf_shmcoll_begin_without_line(t);
    rc = copy_own_block(a);
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
    return wf_error_class(wf_send(a->comm, a->sbuf, a->scount, a->stype,
                                  a->root, tag, WF_SPACE_COLL));
}

static bool is_plain_gatherv(const struct wf_coll_args *a)
{
    return is_plain_gather(a) &&
           (!wf_shmcoll_is_root(a) ||
            (a->rbuf && a->rcounts.base && a->rdispls.base &&
             wf_shmcoll_sum_counts(a->rcounts, a->comm->size, -1) >= 0));
}

int wf_shmcoll_gatherv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int rc = wf_shmcoll_check_args(builder, a, is_plain_gatherv(a)), tag;
    uint64_t bytes;

    if (wf_unlikely(rc))
        return rc;
    tag = wf_comm_draw_tag(a->comm);
    if (wf_shmcoll_is_root(a))
        return collect_at_root(t, a, tag);
    bytes = a->scount * (uint64_t)a->stype->size;
    if (bytes == 0)
        return wf_shmcoll_skip_call(t, MPI_SUCCESS);
    if (bytes > t->block_bytes)
        return send_message(t, a, tag);
    return wf_shmcoll_contribute_elements(t, wf_shmcoll_sent_block(a));
}
