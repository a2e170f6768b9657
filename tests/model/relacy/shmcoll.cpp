/* The flags of a shared-memory collective (core/coll/shm/shmcoll.h, wait.c):
 * lines that are used again, and sleepers; writers fence, or sleepers use
 * membarrier. A block and its pieces, which are used again. The chunks of a
 * large call (staging.c), which are used again, by one writer or by all.
 * CLAIM  A member reads what was published in this call, no member overwrites
 * what another still reads, and a member that sleeps is woken.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { MEMBERS = 2, CALLS = 4, MPI_SUCCESS = 0 };
enum { WF_SHMCOLL_INLINE_BYTES = 1, WF_SHMCOLL_LINES_MAX = 2 };
enum { WF_SHMCOLL_CHUNKS_MIN = 3 };
struct wf_comm {
    void *wf;
    int peers;
    bool shmcoll_usable;
    uint32_t context;
};
struct weft_loc {
    bool failed;
    int rank;
};
struct wf_flag_wait {
    struct weft_loc *loc;
};
typedef void wf_source_object;
enum { WEFT_OK, WEFT_EAGAIN, WF_SOURCE_REGISTERED = 1, WF_SOURCE_ARMED };
struct wf_event_source {
    int state;
};
//@ core/coll/shm/shmcoll.h: WF_SHMCOLL_FLAG_SCHEDULE WF_SHMCOLL_FLAG_STAGED
//@ core/coll/shm/shmcoll.h: wf_shmcoll_line{data} wf_shmcoll_member
struct wf_shmcoll_segment {
    struct wf_shmcoll_member members[MEMBERS];
};
//@ core/coll/shm/shmcoll.h: wf_shmcoll_places wf_shmcoll

static futex_word *bells;
static struct weft_loc locations[MEMBERS];
static int wf_group_proc(int, int rank) { return rank; }
static struct weft_loc *wf_location(void *, int rank)
{
    return &locations[rank];
}
/* Sends a message that says nothing. */
static void wf_credit_return(struct weft_loc *loc)
{
    futex_word *bell = &bells[loc - locations];

    bell->store(1, rl::mo_relaxed, $);
    wf_futex_wake(bell);
}
static void wf_shmcoll_wake_sleepers(struct wf_shmcoll *);
static void wf_shmcoll_wait_all_completed(struct wf_shmcoll *, uint32_t);
static int wf_shmcoll_wait_word(struct wf_shmcoll *, int, const wf_atomic_u64 *,
                                uint64_t, uint64_t *);
//@ core/coll/shm/shmcoll.h: wf_shmcoll_line() wf_shmcoll_notify_sleepers
static void wf_race_note_store(uint32_t) {}
static void wf_race_note_load(uint32_t) {}
//@ core/coll/shm/shmcoll.h: wf_shmcoll_store_word wf_shmcoll_load_word
//@ core/coll/shm/shmcoll.h: wf_shmcoll_take_place
//@ core/coll/shm/shmcoll.h: wf_shmcoll_begin_call wf_shmcoll_store_flag
//@ core/coll/shm/shmcoll.h: wf_shmcoll_publish_flag wf_shmcoll_complete_call
//@ core/coll/shm/shmcoll.h: wf_shmcoll_is_reached wf_shmcoll_wait_flag
static bool wf_comm_is_dead(const struct wf_comm *) { return false; }
//@ core/coll/shm/wait.c: member_wait is_reached is_member_lost
//@ core/coll/shm/wait.c: is_wait_over arm_wakeup disarm_wakeup

/* As a wait of progress does it: the flag is armed, a last look, sleep. */
static int wait_with_progress(struct member_wait *w)
{
    futex_word *bell = &bells[w->t->rank];

    struct wf_event_source source = {WF_SOURCE_REGISTERED};

    w->source = &source;
    w->wait.loc = wf_location(NULL, w->rank);
    while (!is_wait_over(w)) {
        (void)arm_wakeup(w, NULL);
        source.state = WF_SOURCE_ARMED;
        if (is_wait_over(w))
            break;
        wf_futex_wait(bell, 0, NULL);
        bell->store(0, rl::mo_relaxed, $);
    }
    if (source.state == WF_SOURCE_ARMED)
        disarm_wakeup(w);
    return MPI_SUCCESS;
}
enum { WF_SHMCOLL_POLLS = 1 };
/* Nobody dies here, so no wait ends early. */
static int report_lost_member(const struct member_wait *) { return 1; }
static void leave_segments(struct wf_shmcoll *) {}
//@ core/coll/shm/wait.c: wait_for_word wf_shmcoll_wait_word
//@ core/coll/shm/wait.c: wf_shmcoll_wait_all_completed wf_shmcoll_wake_sleepers

static void init_member(struct wf_shmcoll *t, struct wf_comm *comm,
                        struct wf_shmcoll_segment *shared, int rank)
{
    memset(t, 0, sizeof *t);
    t->comm = comm;
    t->shared = shared;
    t->size = MEMBERS;
    t->rank = rank;
    t->writers_fence = true;
}

template <bool FENCE>
struct members_meet : rl::test_suite<members_meet<FENCE>, MEMBERS> {
    struct wf_shmcoll_segment shared;
    struct wf_shmcoll colls[MEMBERS];
    struct wf_comm comm;
    futex_word bell[MEMBERS];

    void before()
    {
        bells = bell;
        comm.shmcoll_usable = true;
        for (int i = 0; i < MEMBERS; i++) {
            init_member(&colls[i], &comm, &shared, i);
            colls[i].places.lines = WF_SHMCOLL_LINES_MAX;
            colls[i].writers_fence = FENCE;
        }
    }

    /* Member 1 tells its number; member 0 answers in every second call. */
    void call(struct wf_shmcoll *t, int n)
    {
        uint64_t word;

        wf_shmcoll_begin_call(t, 1);
        if (t->rank == 1 || n % 2) {
            wf_shmcoll_line(t, t->rank)->data[0] = 10 * n + t->rank;
            wf_shmcoll_publish_flag(t, 1, 0);
        }
        if (t->rank == 0 || n % 2) {
            RL_ASSERT(!wf_shmcoll_wait_flag(t, 1 - t->rank, &word));
            RL_ASSERT(word == ((uint64_t)n << 32 | 1));
            RL_ASSERT(wf_shmcoll_line(t, 1 - t->rank)->data[0] ==
                      10 * n + 1 - t->rank);
        }
        wf_shmcoll_complete_call(t);
    }

    void thread(unsigned me)
    {
        for (int n = 1; n <= CALLS; n++)
            call(&colls[me], n);
    }
};

/* ---- a block and its pieces ---------------------------------------------- */

/* Member 1 contributes the block or a piece of it, as many as there are lines;
 * member 0 reads. */
struct blocks_pass : rl::test_suite<blocks_pass, MEMBERS> {
    enum { PIECE = 2, WHOLE = 4, PIECES = WHOLE / PIECE, BLOCK_CALLS = 6 };

    struct wf_shmcoll_segment shared;
    struct wf_shmcoll colls[MEMBERS];
    struct wf_comm comm;
    futex_word bell[MEMBERS];
    plain<int> pieces[PIECES];

    void before()
    {
        bells = bell;
        comm.shmcoll_usable = true;
        for (int i = 0; i < MEMBERS; i++) {
            init_member(&colls[i], &comm, &shared, i);
            colls[i].places.piece_bytes = PIECE;
            colls[i].places.lines = PIECES;
            colls[i].places.blocks = 1;
        }
    }

    void contribute(struct wf_shmcoll *t, uint64_t bytes)
    {
        wf_shmcoll_begin_call(t, bytes);
        for (unsigned i = 0; i < PIECES; i++)
            if (bytes == WHOLE || i == t->call % PIECES)
                pieces[i] = t->call;
        wf_shmcoll_publish_flag(t, bytes, 0);
    }

    void read(struct wf_shmcoll *t, uint64_t bytes)
    {
        uint64_t word;

        t->call++;
        RL_ASSERT(!wf_shmcoll_wait_flag(t, 1, &word));
        for (unsigned i = 0; i < PIECES; i++)
            if (bytes == WHOLE || i == t->call % PIECES)
                RL_ASSERT(pieces[i] == (int)t->call);
    }

    void thread(unsigned me)
    {
        for (int n = 1; n <= BLOCK_CALLS; n++) {
            uint64_t bytes = n == 3 ? WHOLE : PIECE;

            if (me)
                contribute(&colls[me], bytes);
            else
                read(&colls[me], bytes);
            wf_shmcoll_complete_call(&colls[me]);
        }
    }
};

/* ---- chunks -------------------------------------------------------------- */

struct wf_coll_args {
    int root;
};
struct wf_staged_call;
struct wf_coll_block {
    void *buf;
};
enum { STEPS = 5, FIRST = 1, CHUNKS = MEMBERS * WF_SHMCOLL_CHUNKS_MIN };
static int report_failed_member(int) { return 1; }
static bool wf_staging_has_piece(const struct wf_staged_call *, uint32_t, int,
                                 int)
{
    return true;
}
//@ core/coll/shm/contribution.h: wf_shmcoll_next_rank
//@ core/coll/shm/staging.h: wf_staged_call wf_staging_advance_ring
//@ core/coll/shm/staging.h: wf_staging_chunk_of
//@ core/coll/shm/staging.c: FAILED flag_of wf_staging_publish_chunks
//@ core/coll/shm/staging.c: publish_consumed
//@ core/coll/shm/staging.c: wait_count
//@ core/coll/shm/staging.c: wf_staging_wait_chunks publish_chunk read_chunks
//@ core/coll/shm/staging.c: run_one_step advance_ring
//@ core/coll/shm/staging.c: run_steps
//@ core/coll/shm/staging.c: count_chunks root_chunk wait_for_readers
//@ core/coll/shm/staging.c: write_from_root read_from_root

static unsigned char stage[CHUNKS]; /* their addresses */
static plain<int> *chunks;

static int put(struct wf_staged_call *g, uint32_t step, unsigned char *to)
{
    chunks[to - stage] = 10 * step + g->t->rank;
    return MPI_SUCCESS;
}

static int take(struct wf_staged_call *, uint32_t step, int from,
                const unsigned char *piece)
{
    RL_ASSERT(chunks[piece - stage] == 10 * (int)step + from);
    return MPI_SUCCESS;
}

template <bool ALL>
struct pieces_pass : rl::test_suite<pieces_pass<ALL>, MEMBERS> {
    struct wf_shmcoll_segment shared;
    struct wf_shmcoll colls[MEMBERS];
    struct wf_comm comm;
    futex_word bell[MEMBERS];
    plain<int> chunk[CHUNKS];

    void before()
    {
        bells = bell;
        comm.shmcoll_usable = true;
        chunks = chunk;
        for (int i = 0; i < MEMBERS; i++) {
            init_member(&colls[i], &comm, &shared, i);
            colls[i].staging = stage;
            colls[i].chunk_bytes = 1;
            colls[i].chunk_count = WF_SHMCOLL_CHUNKS_MIN;
            colls[i].ring_bytes = 1;
            colls[i].call = 1;
        }
    }

    void thread(unsigned me)
    {
        struct wf_coll_args args = {0};
        struct wf_staged_call g = wf_staged_call();

        g.t = &colls[me];
        g.a = &args;
        g.steps = ALL ? STEPS : CHUNKS + 2;
        g.step_bytes = 1;
        g.fill_chunk = put;
        g.read_chunk = take;
        wf_staging_advance_ring(g.t, g.step_bytes);
        RL_ASSERT((ALL       ? run_steps(&g)
                   : me == 0 ? write_from_root(&g, FIRST)
                             : read_from_root(&g, FIRST)) == MPI_SUCCESS);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(does_hold<members_meet<true>>() &&
             does_hold<members_meet<false>>() && does_hold<blocks_pass>() &&
             does_hold<pieces_pass<true>>() && does_hold<pieces_pass<false>>());
}
