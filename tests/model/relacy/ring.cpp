/* The ring of a pair over shared memory (plugins/shm/ring.h, send.c,
 * receive.c): slots tagged with the number of the wrap, and the counts that
 * come back.
 * CLAIM  Messages arrive whole and in order, through the change to the large
 * ring, too; a slot or a cell is written again only when it has been read, and
 * by the receiver only before.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

#define alignas(n)
#define shm_likely(x) (x)
#define shm_unlikely(x) (x)
#define __builtin_prefetch(p) ((void)0)
enum { SHM_LINE = 64, SHM_FIRST_SLOTS = 2, SHM_LARGER = 8, MESSAGES = 16 };
enum { WEFT_ELINK = -1, CELLS = 32, SHM_AHEAD = 0 };
enum { SHM_ROW = 3, SHM_ROW_PAUSES = 12, SHM_LARGE_RING_AFTER = 256 };
//@ plugins/shm/layout.h: SHM_TIMED SHM_LARGE SHM_LEN_MAX shm_way shm_kind
//@ plugins/shm/layout.h: shm_line

typedef void weft_tx, weft_sink;
struct shm_share;
struct shm_page;
struct shm_slot {
    atom<uint64_t> word;
    plain<uint64_t> body;
};
struct shm_bytes { /* of bytes that are watched */
    plain<uint64_t> *base;
    uint32_t size, at, tail;
};
struct shm_choice {
    enum shm_way way;
};
//@ plugins/shm/direction.h: shm_out shm_in shm_read_next shm_write_next
struct weft_ep {
    bool rx_words, oversubscribed;
};
struct weft_peer {
    struct shm_out out;
    struct shm_in in;
    struct {
        uint32_t chunk, slots;
    } geometry;
    struct shm_slot *large;
    bool fault;
    struct weft_ep *ep;
    uint32_t loc_id;
};
static void wf_shm_fault(weft_peer *, int, const char *, uint32_t)
{
    RL_ASSERT(!"a count that cannot be");
}
static struct shm_slot *large_ring_of(weft_peer *p, const struct shm_line *)
{
    return p->large;
}
static struct shm_slot *begin_large(weft_peer *p, const struct shm_line *line)
{
    return large_ring_of(p, line); /* and its pages, which are memory anyway */
}
static void shm_wake_peer(weft_peer *) {} /* bell.cpp */
static void shm_fence() {}
static bool shm_word_is_short(uint64_t) { return true; }
static bool wf_shm_find_free_slot(weft_peer *);
static bool wf_shm_refresh_room(weft_peer *);
static void wf_shm_wrap_out(weft_peer *);
static void wf_shm_wrap_in(weft_peer *);
static void wf_shm_announce_large_ring(weft_peer *);
//@ plugins/shm/layout.h: shm_word shm_word_len
//@ plugins/shm/direction.h: shm_head
//@ plugins/shm/ring.h: shm_used shm_slot_free shm_slot_next shm_store_word
//@ plugins/shm/ring.h: shm_publish_unwoken
//@ plugins/shm/ring.h: shm_accept_count
//@ plugins/shm/send.c: wf_shm_refresh_room wf_shm_find_free_slot
//@ plugins/shm/segment.c: wf_shm_announce_large_ring wf_shm_wrap_out
//@ plugins/shm/segment.c: wf_shm_wrap_in

static int taken_in(weft_peer *, struct shm_slot *, uint64_t);
#define take_short taken_in
#define take_slot taken_in
static void own_slot_line(struct shm_slot *s)
{
    s->body = 0; /* a byte of it */
}
static void pause_polling() {}
//@ plugins/shm/receive.c: return_room advance_slot is_stream end_row_if_sent
//@ plugins/shm/receive.c: wf_shm_receive_slots
#undef take_slot

static int expected;

static struct shm_bytes *payload(struct shm_bytes *cells,
                                 struct shm_bytes *bulk, uint32_t n)
{
    return n / 4 % 2 ? bulk : cells;
}

static int taken_in(weft_peer *p, struct shm_slot *s, uint64_t word)
{
    uint32_t n = shm_word_len(word);
    struct shm_bytes *b = payload(&p->in.cells, &p->in.bulk, n);

    RL_ASSERT((int)n == ++expected);
    RL_ASSERT(s->body == n);
    RL_ASSERT(b->base[b->at % CELLS / 16] == n);
    b->at += 16;
    return 0;
}

struct slots_turn : rl::test_suite<slots_turn, 2> {
    struct weft_peer from, to;
    struct shm_line line;
    struct shm_slot first[SHM_FIRST_SLOTS], large[SHM_LARGER];
    plain<uint64_t> cells[CELLS / 16], bulk[CELLS / 16];

    void before()
    {
        expected = 0;
        memset(&from, 0, sizeof from);
        memset(&to, 0, sizeof to);
        from.out.slots = from.out.next = to.in.slots = to.in.next = first;
        from.out.end = to.in.end = first + SHM_FIRST_SLOTS;
        from.out.mask = to.in.mask = SHM_FIRST_SLOTS - 1;
        from.out.word = shm_word(0, 0, SHM_HEAD, 1);
        to.in.wrap = 1;
        from.out.line = to.in.line = &line;
        from.out.cells.base = to.in.cells.base = cells;
        from.out.bulk.base = to.in.bulk.base = bulk;
        from.out.cells.size = to.in.cells.size = CELLS;
        from.out.bulk.size = to.in.bulk.size = CELLS;
        from.geometry.slots = to.geometry.slots = SHM_LARGER;
        from.geometry.chunk = to.geometry.chunk = 16;
        from.large = to.large = large;
        static struct weft_ep ep = {true};
        from.ep = to.ep = &ep;
    }

    bool fits(struct shm_bytes *b)
    {
        return b->at + 16 - b->tail <= b->size ||
               (wf_shm_refresh_room(&from) && b->at + 16 - b->tail <= b->size);
    }

    void send(uint32_t n)
    {
        struct shm_bytes *b = payload(&from.out.cells, &from.out.bulk, n);

        while (!shm_slot_free(&from) || !fits(b))
            rl::yield(1, $);
        b->base[b->at % CELLS / 16] = n;
        b->at += 16;
        shm_slot_next(&from.out)->body = n;
        shm_publish_unwoken(&from, 0, n, SHM_HEAD);
    }

    void thread(unsigned me)
    {
        if (me == 0)
            for (int n = 1; n <= MESSAGES; n++)
                send(n);
        else
            while (expected < MESSAGES)
                if (wf_shm_receive_slots(&to, 3) == 0)
                    rl::yield(1, $);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<slots_turn>();
}
