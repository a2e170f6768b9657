/* The flags of a shared-memory collective (core/coll/team.h, team_wait.c): lines
 * that are used again, and sleepers; writers fence, or sleepers use membarrier.
 * The chunks of a large call (team_stage.c), which are used again, by one writer
 * or by all.
 * CLAIM  A member reads what was published in this call, no member overwrites
 * what another still reads, and a member that sleeps is woken.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { MEMBERS = 2, CALLS = 4, MPI_SUCCESS = 0 };
enum { WF_TEAM_INLINE = 1, WF_TEAM_LINES_MOST = 2 };
enum { WF_TEAM_CHUNKS = 3, WF_TEAM_MOST = MEMBERS };
struct wf_comm {
    void *wf;
    int peers;
    bool team_usable;
};
struct weft_loc {
    bool failed;
    int rank;
};
struct wf_flag_wait {
    struct wf_flag_wait *next;
    void (*arm)(struct wf_flag_wait *);
    struct weft_loc *loc;
};
//@ core/coll/team.h: WF_TEAM_SCHEDULE WF_TEAM_STAGED
//@ core/coll/team.h: wf_team_line{data} wf_team_rank
struct wf_team_shared {
    wf_atomic_u32 sleepers;
    struct wf_team_rank members[MEMBERS];
};
//@ core/coll/team.h: wf_team

static futex_word *bells;
static struct weft_loc locations[MEMBERS];
static int wf_group_proc(int, int rank) { return rank; }
static struct weft_loc *wf_location(void *, int rank) { return &locations[rank]; }
static void wf_credit_return(struct weft_loc *loc) /* a message that says nothing */
{
    futex_word *bell = &bells[loc - locations];

    bell->store(1, rl::mo_relaxed, $);
    wf_futex_wake(bell);
}
static void wf_team_wake(struct wf_team *);
static void wf_team_room(struct wf_team *, uint32_t);
static int wf_team_await(struct wf_team *, int, const wf_atomic_u64 *, uint64_t,
                         uint64_t *);
//@ core/coll/team.h: wf_team_line() wf_team_ring wf_team_begin wf_team_say
//@ core/coll/team.h: wf_team_publish wf_team_done wf_team_reached wf_team_hear
static bool wf_comm_dead(const struct wf_comm *) { return false; }
//@ core/coll/team_wait.c: member_wait is_reached is_member_lost
//@ core/coll/team_wait.c: is_wait_over arm_wakeup disarm_wakeup

/* As a wait of progress does it: flags are armed, a last look, sleep. */
static int wait_with_progress(struct member_wait *w)
{
    futex_word *bell = &bells[w->t->rank];

    w->wait.loc = wf_location(NULL, w->rank);
    while (!is_wait_over(w)) {
        arm_wakeup(&w->wait);
        if (is_wait_over(w))
            break;
        wf_futex_wait(bell, 0, NULL);
        bell->store(0, rl::mo_relaxed, $);
    }
    disarm_wakeup(w);
    return MPI_SUCCESS;
}
enum { POLLS = 1 };
/* Nobody dies here, so no wait ends early. */
static int report_lost_member(const struct member_wait *) { return 1; }
static void leave_segments(struct wf_team *) {}
//@ core/coll/team_wait.c: wait_for_word wf_team_await wf_team_room wf_team_wake

template <bool FENCE> struct team_meets : rl::test_suite<team_meets<FENCE>, MEMBERS> {
    struct wf_team_shared shared;
    struct wf_team teams[MEMBERS];
    struct wf_comm comm;
    futex_word bell[MEMBERS];

    void before()
    {
        bells = bell;
        comm.team_usable = true;
        for (int i = 0; i < MEMBERS; i++) {
            memset(&teams[i], 0, sizeof teams[i]);
            teams[i].comm = &comm;
            teams[i].shared = &shared;
            teams[i].lines_used = WF_TEAM_LINES_MOST;
            teams[i].size = MEMBERS;
            teams[i].rank = i;
            teams[i].writers_fence = FENCE;
        }
    }

    /* Member 1 tells its number; member 0 answers in every second call. */
    void call(struct wf_team *t, int n)
    {
        uint64_t word;

        wf_team_begin(t, 1);
        if (t->rank == 1 || n % 2) {
            wf_team_line(t, t->rank)->data[0] = 10 * n + t->rank;
            wf_team_publish(t, 1, 0);
        }
        if (t->rank == 0 || n % 2) {
            RL_ASSERT(!wf_team_hear(t, 1 - t->rank, &word));
            RL_ASSERT(word == ((uint64_t)n << 32 | 1));
            RL_ASSERT(wf_team_line(t, 1 - t->rank)->data[0] ==
                      10 * n + 1 - t->rank);
        }
        wf_team_done(t);
    }

    void thread(unsigned me)
    {
        for (int n = 1; n <= CALLS; n++)
            call(&teams[me], n);
    }
};

/* ---- pieces ----------------------------------------------------------------- */

struct wf_coll_args {
    int root;
};
enum wf_team_order { WF_TEAM_ANY_ORDER };
enum { STEPS = 5, CHUNKS = MEMBERS * WF_TEAM_CHUNKS };
static int report_failed_member(int) { return 1; }
//@ core/coll/team_data.h: wf_team_after
//@ core/coll/team_stage.h: wf_staging wf_team_place wf_team_chunk
//@ core/coll/team_stage.c: FAILED flag_of wf_team_say_put publish_consumed
//@ core/coll/team_stage.c: wait_count
//@ core/coll/team_stage.c: wf_team_hear_put publish_chunk read_chunks
//@ core/coll/team_stage.c: run_one_step advance_ring
//@ core/coll/team_stage.c: run_steps
//@ core/coll/team_stage.c: root_chunk reads_step wait_for_readers
//@ core/coll/team_stage.c: write_from_root read_from_root

static unsigned char stage[CHUNKS]; /* their addresses */
static plain<int> *chunks;

static int put(struct wf_staging *g, uint32_t step, unsigned char *to)
{
    chunks[to - stage] = 10 * step + g->t->rank;
    return MPI_SUCCESS;
}

static int take(struct wf_staging *, uint32_t step, int from,
                const unsigned char *piece)
{
    RL_ASSERT(chunks[piece - stage] == 10 * (int)step + from);
    return MPI_SUCCESS;
}

template <bool ALL> struct pieces_pass : rl::test_suite<pieces_pass<ALL>, MEMBERS> {
    struct wf_team_shared shared;
    struct wf_team teams[MEMBERS];
    struct wf_comm comm;
    futex_word bell[MEMBERS];
    plain<int> chunk[CHUNKS];

    void before()
    {
        bells = bell;
        comm.team_usable = true;
        chunks = chunk;
        for (int i = 0; i < MEMBERS; i++) {
            memset(&teams[i], 0, sizeof teams[i]);
            teams[i].comm = &comm;
            teams[i].shared = &shared;
            teams[i].staging = stage;
            teams[i].chunk_bytes = 1;
            teams[i].chunk_count = WF_TEAM_CHUNKS;
            teams[i].ring_bytes = 1;
            teams[i].size = MEMBERS;
            teams[i].rank = i;
            teams[i].call = 1;
            teams[i].writers_fence = true;
        }
    }

    void thread(unsigned me)
    {
        struct wf_coll_args args = {0};
        struct wf_staging g = wf_staging();

        g.t = &teams[me];
        g.a = &args;
        g.steps = ALL ? STEPS : CHUNKS + 2;
        g.step_bytes = 1;
        g.fill_chunk = put;
        g.read_chunk = take;
        wf_team_place(g.t, g.step_bytes);
        RL_ASSERT((ALL ? run_steps : me == 0 ? write_from_root : read_from_root)(&g) ==
                  MPI_SUCCESS);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(holds<team_meets<true>>() && holds<team_meets<false>>() &&
             holds<pieces_pass<true>>() && holds<pieces_pass<false>>());
}
