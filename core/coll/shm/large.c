/* Large shared-memory collectives that move data: pieces of the packed blocks
 * go through the staging ring (staging.h), whatever the types. Each is a plan
 * of steps, and the blocks that a member sends and receives.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/large.h"

#include "coll/args.h"
#include "coll/shm/all_to_all.h"
#include "coll/shm/tuning.h"
#include "datatype/move.h"

/* ---- pieces of blocks ---------------------------------------------------- */

static void pack_step(const struct wf_staged_call *g, struct wf_coll_block b,
                      uint32_t step, void *to)
{
    uint64_t n = wf_staging_piece_bytes(g, step, wf_coll_block_bytes(b)),
             first = step * g->piece_bytes;

    if (n && wf_likely(wf_type_is_contiguous(b.type)))
        wf_staging_copy_in(g->t, to, wf_type_data(b.type, b.buf) + first, n);
    else if (n)
        wf_type_pack(b.type, b.buf, b.count, first, to, n);
}

static void unpack_step(const struct wf_staged_call *g, struct wf_coll_block b,
                        uint32_t step, const void *from)
{
    uint64_t n = wf_staging_piece_bytes(g, step, wf_coll_block_bytes(b)),
             first = step * g->piece_bytes;

    if (n && wf_likely(wf_type_is_contiguous(b.type)))
        memcpy(wf_type_data(b.type, b.buf) + first, from, n);
    else if (n)
        wf_type_unpack(b.type, b.buf, b.count, first, from, n);
}

/* Fills a chunk with the pieces for the members whose turn it is, or with the
 * piece for all. */
static int fill_chunk(struct wf_staged_call *g, uint32_t step,
                      unsigned char *to)
{
    uint32_t size = (uint32_t)g->t->size,
             first = step % g->steps_per_round * g->pieces_per_chunk;

    for (uint32_t i = first; i < first + g->pieces_per_chunk && i + 1 < size;
         i++) {
        uint32_t r = ((uint32_t)g->t->rank + 1 + i) % size;

        pack_step(g, g->sent(g->a, (int)r), step / g->steps_per_round, to);
        to += g->piece_bytes;
    }
    return MPI_SUCCESS;
}

static int read_chunk(struct wf_staged_call *g, uint32_t step, int from,
                      const unsigned char *chunk)
{
    uint64_t at =
        wf_shmcoll_part_index(g->t, from, g->t->rank) % g->pieces_per_chunk;

    unpack_step(g, g->received(g->a, from), step / g->steps_per_round,
                chunk + at * g->piece_bytes);
    return MPI_SUCCESS;
}

/* Plans the steps of a call with blocks of up to `most` bytes for `others`
 * other members each, or, if that is 1, for all. A chunk holds the blocks for
 * as many as fit, or a piece of the block for one: copies are as long as they
 * can be, and a reader waits once for what it takes at once. The chunks for all
 * are a round. */
static struct wf_staged_call plan_call(const struct wf_coll_args *a,
                                       uint64_t most, int others)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t lines = most ? (most - 1) / WF_CACHE_LINE + 1 : 1;
    struct wf_staged_call g = {.t = t,
                               .a = a,
                               .bytes = most,
                               .fill_chunk = fill_chunk,
                               .read_chunk = read_chunk};

    g.piece_bytes = lines < t->chunk_bytes / WF_CACHE_LINE
                        ? lines * WF_CACHE_LINE
                        : t->chunk_bytes;
    g.pieces_per_chunk = (uint32_t)(t->chunk_bytes / g.piece_bytes);
    if (g.pieces_per_chunk > (uint32_t)others)
        g.pieces_per_chunk = (uint32_t)others;
    g.steps_per_round =
        ((uint32_t)others + g.pieces_per_chunk - 1) / g.pieces_per_chunk;
    g.step_bytes = g.pieces_per_chunk * (uint32_t)g.piece_bytes;
    g.steps = wf_staging_count_steps(&g, most) * g.steps_per_round;
    return g;
}

/* ---- blocks -------------------------------------------------------------- */

static struct wf_coll_block whole_send_buffer(const struct wf_coll_args *a,
                                              int rank)
{
    (void)rank;
    return wf_shmcoll_sent_block(a);
}

static struct wf_coll_block whole_receive_buffer(const struct wf_coll_args *a,
                                                 int rank)
{
    (void)rank;
    return wf_shmcoll_received_vector(a);
}

/* Copies this member's block to itself. */
static int copy_own_block(const struct wf_staged_call *g)
{
    return wf_shmcoll_copy_own_block(g->sent(g->a, g->t->rank),
                                     g->received(g->a, g->t->rank));
}

/* ---- allgather ----------------------------------------------------------- */

static uint64_t gathered_bytes(const struct wf_staged_call *g, int rank)
{
    return wf_coll_rbytes(g->a, rank);
}

/* Fills a chunk with the own block, and copies that to its place from the
 * program's memory, where it has just been read, if it is packed there: the
 * copy in the chunk may have been made by non-temporal stores. */
static int fill_and_keep_chunk(struct wf_staged_call *g, uint32_t step,
                               unsigned char *to)
{
    struct wf_coll_block sent = wf_shmcoll_sent_block(g->a);
    const void *packed = to;

    if (step == 0 && wf_coll_block_bytes(sent) != gathered_bytes(g, g->t->rank))
        return copy_own_block(g); /* this returns its error */
    pack_step(g, sent, step, to);
    if (wf_type_is_contiguous(sent.type))
        packed = wf_type_data(sent.type, sent.buf) + step * g->piece_bytes;
    unpack_step(g, wf_shmcoll_received_block(g->a, g->t->rank), step, packed);
    return MPI_SUCCESS;
}

static struct wf_coll_block own_received_block(const struct wf_coll_args *a,
                                               int rank)
{
    (void)rank;
    return wf_shmcoll_received_block(a, a->comm->rank);
}

int wf_staging_allgather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    bool in_place = a->sbuf == MPI_IN_PLACE;
    struct wf_staged_call g;
    uint64_t most = 0;

    for (int r = 0; r < a->comm->size; r++)
        if (wf_coll_rbytes(a, r) > most)
            most = wf_coll_rbytes(a, r);
    g = plan_call(a, most, 1);
    g.length_of = gathered_bytes;
    g.sent = in_place ? own_received_block : whole_send_buffer;
    g.received = wf_coll_recv_block;
    if (!in_place)
        g.fill_chunk = fill_and_keep_chunk;
    return wf_staging_run_all_to_all(&g, builder);
}

/* ---- alltoall ------------------------------------------------------------ */

static struct wf_staged_call plan_alltoall(const struct wf_coll_args *a,
                                           uint64_t most)
{
    struct wf_staged_call g = plan_call(a, most, a->comm->size - 1);

    g.sent = wf_coll_send_block;
    g.received = wf_coll_recv_block;
    g.error = copy_own_block(&g);
    return g;
}

int wf_staging_alltoall(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_staged_call g =
        plan_alltoall(a, a->rcount * (uint64_t)a->rtype->size);

    return wf_staging_run_all_to_all(&g, builder);
}

/* ---- alltoallv ----------------------------------------------------------- */

/* Returns the bytes of a member's table of lengths, in its block: the length of
 * the longest part, and the lengths of all parts in their order. */
static uint64_t length_table_bytes(const struct wf_shmcoll *t)
{
    return (uint64_t)t->size * sizeof(uint64_t);
}

void wf_staging_publish_lengths(struct wf_shmcoll *t,
                                const struct wf_coll_args *a)
{
    uint64_t bytes = length_table_bytes(t), n, *longest, *to;

    wf_shmcoll_begin_call(t, bytes);
    to = longest = (void *)wf_shmcoll_data_of(t, t->rank, bytes);
    *longest = 0;
    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        *++to = n = wf_coll_block_bytes(wf_coll_send_block(a, r));
        *longest = n > *longest ? n : *longest;
    }
    wf_shmcoll_publish_flag(t, bytes, WF_SHMCOLL_FLAG_STAGED);
}

/* Returns the table of lengths that a member has published. NULL: its block
 * holds all its parts. */
static const uint64_t *length_table_of(struct wf_shmcoll *t, int r,
                                       uint64_t *total)
{
    uint64_t word = wf_load_relaxed(&wf_shmcoll_line(t, r)->flag);

    *total = wf_shmcoll_bytes_of(word);
    return word & WF_SHMCOLL_FLAG_STAGED
               ? (const void *)wf_shmcoll_data_of(t, r, length_table_bytes(t))
               : NULL;
}

/* Returns the bytes that all members send to each other; *longest becomes the
 * longest part, or a longer one. Returns 0 if a member has gone on, since no
 * other has anything for it (exchange_nothing). */
static uint64_t sum_lengths(struct wf_shmcoll *t, uint64_t *longest)
{
    uint64_t sum = 0, total;

    *longest = 0;
    for (int r = 0; r < t->size; r++) {
        const uint64_t *n = length_table_of(t, r, &total);

        if (!total && t->size > 2)
            return 0;
        for (int i = 1; n && i < t->size; i++)
            sum += n[i];
        if (!n)
            sum += total;
        else
            total = n[0];
        *longest = total > *longest ? total : *longest;
    }
    return sum;
}

/* Checks that all members send as much as this one expects. */
static int check_lengths(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS;
    uint64_t got;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        uint64_t bytes = wf_coll_block_bytes(wf_coll_recv_block(a, r));
        const uint64_t *n = length_table_of(t, r, &got);

        if (n)
            got = n[1 + wf_shmcoll_part_index(t, r, t->rank)];
        else if (t->size == 2)
            return wf_shmcoll_report_other_count(r);
        else
            wf_shmcoll_find_part(t, r, bytes, &got);
        wf_shmcoll_keep_first_error(&rc,
                                    wf_shmcoll_check_length(r, got, bytes));
    }
    return rc;
}

/* Returns true if it is worth synchronizing all members in each step. Each part
 * takes the room of the longest, so there should not be many that are far
 * shorter: messages take only what they need. And three or four members have
 * few others to wait for. */
static bool is_staging_worthwhile(struct wf_shmcoll *t, uint64_t *longest)
{
    uint64_t pairs = (uint64_t)t->size * (uint64_t)(t->size - 1),
             sum = sum_lengths(t, longest);

    return sum && sum >= *longest / WF_SHMCOLL_VARIED_SHORT * pairs &&
           (*longest >= WF_SHMCOLL_VARIED_FEW_MIN ||
            t->size > WF_SHMCOLL_VARIED_FEW || t->size == 2);
}

int wf_staging_alltoallv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    struct wf_staged_call g;
    uint64_t longest;

    if (!is_staging_worthwhile(t, &longest))
        return wf_shmcoll_run_schedule(t, builder, a);
    g = plan_alltoall(a, longest);
    wf_shmcoll_keep_first_error(&g.error, check_lengths(t, a));
    return wf_staging_run_synchronized(&g, builder);
}

/* ---- with a root --------------------------------------------------------- */

int wf_staging_bcast(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_staged_call g =
        plan_call(a, a->rcount * (uint64_t)a->rtype->size, 1);

    g.sent = g.received = whole_receive_buffer;
    return wf_staging_run_from_root(&g, builder);
}

int wf_staging_scatter(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    bool root = wf_shmcoll_is_root(a);
    struct wf_staged_call g =
        plan_call(a,
                  root ? a->scount * (uint64_t)a->stype->size
                       : a->rcount * (uint64_t)a->rtype->size,
                  a->comm->size - 1);

    g.sent = wf_coll_send_block;
    g.received = whole_receive_buffer;
    if (root && a->rbuf != MPI_IN_PLACE)
        g.error = copy_own_block(&g);
    return wf_staging_run_from_root(&g, builder);
}

int wf_staging_gather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    bool root = wf_shmcoll_is_root(a);
    struct wf_staged_call g =
        plan_call(a,
                  root ? a->rcount * (uint64_t)a->rtype->size
                       : a->scount * (uint64_t)a->stype->size,
                  1);
    int rc;

    g.sent = whole_send_buffer;
    g.received = wf_coll_recv_block;
    if (root && a->sbuf != MPI_IN_PLACE)
        g.error = copy_own_block(&g);
    rc = wf_staging_run_to_root(&g, builder);
    return g.error ? g.error : rc;
}
