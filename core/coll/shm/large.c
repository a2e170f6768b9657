/* Large shared-memory collectives that move data: pieces of the packed blocks
 * go through the staging ring (staging.h), whatever the types.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/large.h"

#include "coll/args.h"
#include "coll/shm/parts.h"
#include "coll/shm/staging.h"
#include "coll/shm/staging_copy.h"
#include "datatype/move.h"

/* ---- pieces of blocks ---------------------------------------------------- */

static void pack_bytes(struct wf_shmcoll *t, struct wf_coll_block b,
                       uint64_t first, void *to, uint64_t n)
{
    if (wf_likely(wf_type_is_contiguous(b.type)))
        wf_staging_copy_in(t, to, wf_type_data(b.type, b.buf) + first, n);
    else
        wf_type_pack(b.type, b.buf, b.count, first, to, n);
}

static void unpack_bytes(struct wf_coll_block b, uint64_t first,
                         const void *from, uint64_t n)
{
    if (wf_likely(wf_type_is_contiguous(b.type)))
        memcpy(wf_type_data(b.type, b.buf) + first, from, n);
    else
        wf_type_unpack(b.type, b.buf, b.count, first, from, n);
}

static void pack_step(const struct wf_staged_call *g, struct wf_coll_block b,
                      uint32_t step, void *to)
{
    uint64_t n = wf_staging_piece_bytes(g, step, wf_coll_block_bytes(b));

    if (n)
        pack_bytes(g->t, b, step * g->piece_bytes, to, n);
}

static void unpack_step(const struct wf_staged_call *g, struct wf_coll_block b,
                        uint32_t step, const void *from)
{
    uint64_t n = wf_staging_piece_bytes(g, step, wf_coll_block_bytes(b));

    if (n)
        unpack_bytes(b, step * g->piece_bytes, from, n);
}

static struct wf_coll_block vector_block(const struct wf_coll_args *a)
{
    return (struct wf_coll_block){a->rbuf, a->rcount, a->rtype};
}

/* ---- blocks for each other member ---------------------------------------- */

/* Plans the steps of a call with a block for each other member. A chunk holds
 * the blocks for as many members as fit, or a piece of the block for one:
 * copies are as long as they can be, and a reader waits once for what it takes
 * at once. The chunks for all members are a round. */
static void plan_dealt_steps(struct wf_staged_call *g)
{
    uint64_t lines = g->bytes ? (g->bytes - 1) / WF_CACHE_LINE + 1 : 1;
    uint32_t others = (uint32_t)g->t->size - 1;

    g->piece_bytes = lines < g->t->chunk_bytes / WF_CACHE_LINE
                         ? lines * WF_CACHE_LINE
                         : g->t->chunk_bytes;
    g->pieces_per_chunk = (uint32_t)(g->t->chunk_bytes / g->piece_bytes);
    if (g->pieces_per_chunk > others)
        g->pieces_per_chunk = others;
    g->steps_per_round =
        (others + g->pieces_per_chunk - 1) / g->pieces_per_chunk;
    g->step_bytes = g->pieces_per_chunk * (uint32_t)g->piece_bytes;
    g->steps = wf_staging_count_steps(g, g->bytes) * g->steps_per_round;
}

static int fill_dealt_chunk(struct wf_staged_call *g, uint32_t step,
                            unsigned char *to)
{
    struct wf_shmcoll *t = g->t;
    uint32_t first = step % g->steps_per_round * g->pieces_per_chunk;

    for (uint32_t i = first; i < first + g->pieces_per_chunk; i++) {
        uint32_t r = (uint32_t)t->rank + 1 + i;

        if (i + 1 >= (uint32_t)t->size)
            break;
        r = r < (uint32_t)t->size ? r : r - (uint32_t)t->size;
        pack_step(g, wf_coll_send_block(g->a, (int)r),
                  step / g->steps_per_round, to);
        to += g->piece_bytes;
    }
    return MPI_SUCCESS;
}

/* Returns true if that member's chunk of this step has a piece for `to`. */
static bool has_piece_for(const struct wf_staged_call *g, uint32_t step,
                          int from, int to)
{
    return wf_shmcoll_part_index(g->t, from, to) / g->pieces_per_chunk ==
           step % g->steps_per_round;
}

static void read_dealt_piece(struct wf_staged_call *g, uint32_t step, int from,
                             struct wf_coll_block to,
                             const unsigned char *chunk)
{
    uint64_t at =
        wf_shmcoll_part_index(g->t, from, g->t->rank) % g->pieces_per_chunk;

    unpack_step(g, to, step / g->steps_per_round, chunk + at * g->piece_bytes);
}

/* ---- allgather ----------------------------------------------------------- */

static uint64_t gathered_bytes(const struct wf_staged_call *g, int rank)
{
    return wf_coll_rbytes(g->a, rank);
}

static struct wf_coll_block gathered_block(const struct wf_staged_call *g,
                                           int rank)
{
    return (struct wf_coll_block){wf_coll_rblock(g->a, rank),
                                  wf_coll_rcount(g->a, rank), g->a->rtype};
}

/* Returns the packed bytes of a piece that is sent: in the program's memory,
 * where they have just been read, if they are packed there. Their copy may have
 * been made by non-temporal stores. */
static const void *packed_source(const struct wf_staged_call *g,
                                 struct wf_coll_block b, uint32_t step,
                                 const void *copy)
{
    return wf_type_is_contiguous(b.type)
               ? wf_type_data(b.type, b.buf) + step * g->piece_bytes
               : copy;
}

static int fill_own_chunk(struct wf_staged_call *g, uint32_t step,
                          unsigned char *to)
{
    struct wf_coll_block own = gathered_block(g, g->t->rank);
    struct wf_coll_block sent = wf_shmcoll_sent_block(g->a);

    if (g->a->sbuf == MPI_IN_PLACE) {
        pack_step(g, own, step, to);
        return MPI_SUCCESS;
    }
    if (step == 0 && wf_coll_block_bytes(sent) != wf_coll_block_bytes(own))
        return wf_shmcoll_copy_own_block(sent,
                                         own); /* this returns its error */
    pack_step(g, sent, step, to);
    unpack_step(g, own, step, packed_source(g, sent, step, to));
    return MPI_SUCCESS;
}

static int read_block_piece(struct wf_staged_call *g, uint32_t step, int from,
                            const unsigned char *chunk)
{
    unpack_step(g, gathered_block(g, from), step, chunk);
    return MPI_SUCCESS;
}

static struct wf_staged_call init_staging(const struct wf_coll_args *a,
                                          uint64_t bytes)
{
    struct wf_shmcoll *t = a->comm->shmcoll;

    return (struct wf_staged_call){
        .t = t, .a = a, .bytes = bytes, .piece_bytes = t->chunk_bytes};
}

/* Plans steps of one block of `most` bytes, or as much of it as a chunk
 * holds. */
static void plan_equal_steps(struct wf_staged_call *g, uint64_t most)
{
    uint64_t lines = most ? (most - 1) / WF_CACHE_LINE + 1 : 1;

    if (lines < g->piece_bytes / WF_CACHE_LINE)
        g->piece_bytes = lines * WF_CACHE_LINE;
    g->step_bytes = (uint32_t)g->piece_bytes;
    g->steps = wf_staging_count_steps(g, most);
}

int wf_staging_allgather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_staged_call g = init_staging(a, 0);
    uint64_t most = 0;

    for (int r = 0; r < a->comm->size; r++)
        if (gathered_bytes(&g, r) > most)
            most = gathered_bytes(&g, r);
    g.length_of = gathered_bytes;
    plan_equal_steps(&g, most);
    g.fill_chunk = fill_own_chunk;
    g.read_chunk = read_block_piece;
    return wf_staging_run_all_to_all(&g, builder);
}

/* ---- alltoall ------------------------------------------------------------ */

static int fill_chunk_for_all(struct wf_staged_call *g, uint32_t step,
                              unsigned char *to)
{
    int me = g->t->rank, rc = fill_dealt_chunk(g, step, to);

    if (step == 0)
        rc = wf_shmcoll_copy_own_block(wf_coll_send_block(g->a, me),
                                       wf_coll_recv_block(g->a, me));
    return rc;
}

static int read_own_piece(struct wf_staged_call *g, uint32_t step, int from,
                          const unsigned char *chunk)
{
    if (has_piece_for(g, step, from, g->t->rank))
        read_dealt_piece(g, step, from, wf_coll_recv_block(g->a, from), chunk);
    return MPI_SUCCESS;
}

int wf_staging_alltoall(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_staged_call g =
        init_staging(a, a->rcount * (uint64_t)a->rtype->size);

    plan_dealt_steps(&g);
    g.fill_chunk = fill_chunk_for_all;
    g.read_chunk = read_own_piece;
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
static int check_lengths(const struct wf_staged_call *g)
{
    struct wf_shmcoll *t = g->t;
    int rc = MPI_SUCCESS;
    uint64_t got;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        uint64_t bytes = wf_coll_block_bytes(wf_coll_recv_block(g->a, r));
        const uint64_t *n = length_table_of(t, r, &got);

        if (n)
            got = n[1 + wf_shmcoll_part_index(t, r, t->rank)];
        else if (t->size == 2)
            wf_shmcoll_keep_first_error(&rc, wf_staging_count_mismatch(r));
        else
            wf_shmcoll_find_part(t, r, got, bytes, &got);
        wf_shmcoll_keep_first_error(&rc,
                                    wf_shmcoll_check_length(r, got, bytes));
    }
    return rc;
}

static int fill_varied_chunk(struct wf_staged_call *g, uint32_t step,
                             unsigned char *to)
{
    int rc = fill_chunk_for_all(g, step, to);

    if (step == 0)
        wf_shmcoll_keep_first_error(&rc, check_lengths(g));
    return rc;
}

/* Returns true if it is worth synchronizing all members in each step. Each part
 * takes the room of the longest, so there should not be many that are far
 * shorter: messages take only what they need. And three or four members have
 * few others to wait for. */
static bool is_staging_worthwhile(struct wf_shmcoll *t, uint64_t *longest)
{
    enum { EMPTY = 4, FEW = 4, LEAST = 48 << 10 };
    uint64_t pairs = (uint64_t)t->size * (uint64_t)(t->size - 1),
             sum = sum_lengths(t, longest);

    return sum && sum >= *longest / EMPTY * pairs &&
           (*longest >= LEAST || t->size > FEW || t->size == 2);
}

int wf_staging_alltoallv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_staged_call g = init_staging(a, 0);

    if (!is_staging_worthwhile(g.t, &g.bytes))
        return wf_shmcoll_run_schedule(g.t, builder, a);
    plan_dealt_steps(&g);
    g.fill_chunk = fill_varied_chunk;
    g.read_chunk = read_own_piece;
    return wf_staging_run_synchronized(&g, builder);
}

/* ---- bcast and scatter --------------------------------------------------- */

static int fill_vector_chunk(struct wf_staged_call *g, uint32_t step,
                             unsigned char *to)
{
    pack_step(g, vector_block(g->a), step, to);
    return MPI_SUCCESS;
}

static int read_vector_piece(struct wf_staged_call *g, uint32_t step, int from,
                             const unsigned char *chunk)
{
    (void)from;
    unpack_step(g, vector_block(g->a), step, chunk);
    return MPI_SUCCESS;
}

int wf_staging_bcast(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_staged_call g =
        init_staging(a, a->rcount * (uint64_t)a->rtype->size);

    g.steps = wf_staging_count_steps(&g, g.bytes);
    g.fill_chunk = fill_vector_chunk;
    g.read_chunk = read_vector_piece;
    return wf_staging_run_from_root(&g, builder);
}

static int fill_scattered_chunk(struct wf_staged_call *g, uint32_t step,
                                unsigned char *to)
{
    int rc = fill_dealt_chunk(g, step, to);

    if (step > 0 || g->a->rbuf == MPI_IN_PLACE)
        return rc;
    return wf_shmcoll_copy_own_block(wf_coll_send_block(g->a, g->t->rank),
                                     vector_block(g->a));
}

static int read_scattered_piece(struct wf_staged_call *g, uint32_t step,
                                int from, const unsigned char *chunk)
{
    read_dealt_piece(g, step, from, vector_block(g->a), chunk);
    return MPI_SUCCESS;
}

static bool is_scattered_to(const struct wf_staged_call *g, uint32_t step,
                            int rank)
{
    return has_piece_for(g, step, g->a->root, rank);
}

int wf_staging_scatter(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    bool root = wf_shmcoll_is_root(a);
    struct wf_staged_call g =
        init_staging(a, root ? a->scount * (uint64_t)a->stype->size
                             : a->rcount * (uint64_t)a->rtype->size);

    plan_dealt_steps(&g);
    g.fill_chunk = fill_scattered_chunk;
    g.read_chunk = read_scattered_piece;
    g.is_reader = is_scattered_to;
    return wf_staging_run_from_root(&g, builder);
}

/* ---- gather -------------------------------------------------------------- */

static int fill_sent_chunk(struct wf_staged_call *g, uint32_t step,
                           unsigned char *to)
{
    pack_step(g, wf_shmcoll_sent_block(g->a), step, to);
    return MPI_SUCCESS;
}

int wf_staging_gather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    bool root = wf_shmcoll_is_root(a);
    struct wf_staged_call g =
        init_staging(a, root ? a->rcount * (uint64_t)a->rtype->size
                             : a->scount * (uint64_t)a->stype->size);

    plan_equal_steps(&g, g.bytes);
    g.fill_chunk = fill_sent_chunk;
    g.read_chunk = read_block_piece;
    return wf_staging_run_to_root(&g, builder);
}
