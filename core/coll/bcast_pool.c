/* The broadcast pool: a message to many. The root writes it once where all
 * members can read it, and sends them a descriptor; each member copies it out
 * and gives up its claim.
 *
 *   root       free pool blocks? reserved; the bytes; a descriptor to each
 *              none: the bytes themselves to each, as ordinary messages
 *   member     a descriptor: copies, one reader less; the last reader frees
 *              the blocks
 *
 * DESIGN  The pool is for schedules, which must not wait for a flag in shared
 * memory: a member is woken by a message, as ever, whose length says whether it
 * is a descriptor or the bytes. So the root alone decides, when the vertex
 * starts, and nothing is owed if there is no room: calls may be under way in
 * any number, and of any roots. A root has finished when its bytes are in the
 * pool, however late a member comes.
 *
 *   pool_blocks_taken   one bit for each block; the member that sets a bit
 *                       writes to that block
 *   pool_readers        of the run that begins with this block: the members
 *                       that have not read it
 *
 * Where ranks outnumber CPUs messages cost two copies for each member, one of
 * them by the root; this costs one by each, and one more. Elsewhere a tree or a
 * chain shares the work, and the pool is not used.
 *
 * ERRORS  Lengths that differ are found as with messages. A member whose
 * schedule has failed before leaves its run taken: there is less room from then
 * on.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/bcast_pool.h"

#include "coll/bcast.h"
#include "os/pages.h"
#include "os/tuning.h"

enum { RANKS_MIN = 3 };

/* The message that says where the bytes are. Members check it: `complement` is
 * that of `bytes`. */
struct descriptor {
    uint64_t bytes, complement;
    uint64_t first_block; /* the first block of the run */
};

/* One broadcast on this side; it lives as long as the schedule. */
struct publication {
    struct wf_shmcoll *t;
    void *data;
    uint64_t bytes;
    int root;
    struct descriptor descriptor; /* at the root */
    /* at the root: what it sends, the descriptor or the bytes */
    struct wf_sched_deferred_buf what;
    uint64_t got; /* at a member: bytes received into data */
};

static uint32_t count_blocks(uint64_t bytes)
{
    return (uint32_t)((bytes + WF_BCAST_POOL_BLOCK_BYTES - 1) /
                      WF_BCAST_POOL_BLOCK_BYTES);
}

static uint64_t run_bits(uint64_t bytes, uint64_t first)
{
    WF_ASSERT(bytes > 0 && first + count_blocks(bytes) <= WF_BCAST_POOL_BLOCKS);
    return UINT64_MAX >> (WF_BCAST_POOL_BLOCKS - count_blocks(bytes)) << first;
}

static unsigned char *block_address(struct wf_shmcoll *t, uint64_t first)
{
    WF_ASSERT(first < WF_BCAST_POOL_BLOCKS);
    return t->pool + first * WF_BCAST_POOL_BLOCK_BYTES;
}

/* Returns the first run of n free blocks, or -1 if there is none. */
static int find_run(uint64_t taken, uint32_t n)
{
    uint64_t begins = ~taken;

    WF_ASSERT(n > 0 && n <= WF_BCAST_POOL_BLOCKS);
    for (uint32_t i = 1; i < n; i++)
        begins &= ~taken >> i;
    return begins ? __builtin_ctzll(begins) : -1;
}

static int take_run(struct wf_shmcoll_segment *shared, uint64_t bytes)
{
    uint64_t taken = wf_load_relaxed(&shared->pool_blocks_taken);
    int first;

    do {
        first = find_run(taken, count_blocks(bytes));
        if (first < 0)
            return -1;
    } while (!wf_cas_acq_rel(&shared->pool_blocks_taken, &taken,
                             taken | run_bits(bytes, (uint64_t)first)));
    return first;
}

static void free_run(struct wf_shmcoll_segment *shared, uint64_t bytes,
                     uint64_t first)
{
    wf_add_acq_rel(&shared->pool_blocks_taken, -run_bits(bytes, first));
}

/* Takes the pages of a run, before its first use here. False: there is no
 * memory. */
static bool take_pages(struct wf_shmcoll *t, uint64_t bytes, uint64_t first)
{
    uint64_t run = run_bits(bytes, first);

    if (!(run & ~t->pool_pages_taken))
        return true;
    if (!wf_pages_populate(block_address(t, first),
                           count_blocks(bytes) *
                               (size_t)WF_BCAST_POOL_BLOCK_BYTES))
        return false;
    t->pool_pages_taken |= run;
    return true;
}

/* Returns true if all members use the segment: a member that does not would
 * never free its claim. */
static bool all_have_segment(const struct wf_shmcoll *t)
{
    uint32_t out = 0;

    for (int r = 0; r < t->size; r++)
        out |= wf_load_relaxed(&t->shared->members[r].no_shm);
    return out == 0;
}

static int reserve_blocks(struct wf_shmcoll *t, uint64_t bytes)
{
    int first = all_have_segment(t) ? take_run(t->shared, bytes) : -1;

    if (first < 0 || take_pages(t, bytes, (uint64_t)first))
        return first;
    free_run(t->shared, bytes, (uint64_t)first);
    return -1;
}

static int publish_bytes(void *arg)
{
    struct publication *p = arg;
    struct wf_shmcoll *t = p->t;
    int first = reserve_blocks(t, p->bytes);

    if (first < 0) {
        p->what = (struct wf_sched_deferred_buf){p->data, p->bytes};
        return MPI_SUCCESS;
    }
    memcpy(block_address(t, (uint64_t)first), p->data, p->bytes);
    wf_store_relaxed(&t->shared->pool_readers[first], (uint32_t)t->size - 1);
    p->descriptor = (struct descriptor){p->bytes, ~p->bytes, (uint64_t)first};
    p->what =
        (struct wf_sched_deferred_buf){&p->descriptor, sizeof p->descriptor};
    return MPI_SUCCESS;
}

/* Returns true if a received message is a descriptor, of bytes that fit the
 * pool. */
static bool is_descriptor(const struct publication *p,
                          const struct descriptor *note)
{
    return p->got == sizeof *note && note->complement == ~note->bytes &&
           note->bytes - 1 < WF_BCAST_POOL_BYTES &&
           note->first_block < WF_BCAST_POOL_BLOCKS &&
           count_blocks(note->bytes) <=
               WF_BCAST_POOL_BLOCKS - note->first_block;
}

static void release_reader(struct wf_shmcoll *t, const struct descriptor *note)
{
    wf_atomic_u32 *readers = &t->shared->pool_readers[note->first_block];

    /* pairs with take_run: the next writer comes after all readers */
    if (wf_add_acq_rel(readers, UINT32_MAX) == 1)
        free_run(t->shared, note->bytes, note->first_block);
}

static int copy_out(void *arg)
{
    struct publication *p = arg;
    struct descriptor note;

    memcpy(&note, p->data, sizeof note);
    if (!is_descriptor(p, &note))
        return wf_sched_check_length(p->root, p->got, p->bytes);
    if (note.bytes == p->bytes) {
        (void)take_pages(p->t, p->bytes, note.first_block);
        memcpy(p->data, block_address(p->t, note.first_block), p->bytes);
    }
    release_reader(p->t, &note);
    return wf_sched_check_length(p->root, note.bytes, p->bytes);
}

bool wf_bcast_pool_fits(const struct wf_comm *comm, uint64_t bytes)
{
    const struct wf_shmcoll *t = comm->shmcoll;

    return t && t->oversubscribed && !t->one_copy && t->size >= RANKS_MIN &&
           bytes >= WF_BCAST_POOL_MIN && bytes <= WF_BCAST_POOL_BYTES;
}

static struct publication *make_publication(struct wf_sched *s,
                                            const struct wf_comm *comm,
                                            void *data, uint64_t bytes)
{
    struct publication *p = wf_sched_alloc_temp(s, sizeof *p);

    if (p)
        *p = (struct publication){
            .t = comm->shmcoll, .data = data, .bytes = bytes};
    return p;
}

void wf_bcast_pool_put(struct wf_sched *s, const struct wf_comm *comm,
                       void *data, uint64_t bytes, int ready)
{
    struct publication *p = make_publication(s, comm, data, bytes);
    int published;

    if (!p)
        return; /* remembered by the schedule */
    published = wf_sched_call(s, publish_bytes, p);
    wf_sched_after(s, published, ready);
    for (int r = wf_shmcoll_next_rank(p->t, comm->rank); r != comm->rank;
         r = wf_shmcoll_next_rank(p->t, r))
        wf_sched_after(s, wf_sched_send_deferred(s, &p->what, r), published);
}

void wf_bcast_pool_get(struct wf_sched *s, const struct wf_comm *comm,
                       void *data, uint64_t bytes, int root)
{
    struct publication *p = make_publication(s, comm, data, bytes);
    int received;

    if (!p)
        return;
    p->root = root;
    received = wf_sched_recv_deferred(s, data, bytes, &p->got, root);
    wf_sched_after(s, wf_sched_call(s, copy_out, p), received);
}

void wf_bcast_pool_bcast(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    char *data = wf_coll_pack_bcast(s, a, bytes);

    if (!data)
        return;
    if (a->comm->rank == a->root)
        wf_bcast_pool_put(s, a->comm, data, bytes, -1);
    else
        wf_bcast_pool_get(s, a->comm, data, bytes, a->root);
    wf_coll_unpack_bcast(s, a, data, bytes);
}
