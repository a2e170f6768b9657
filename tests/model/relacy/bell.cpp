/* Sleeping and waking over shared memory (plugins/shm/bell.c, ring.h): with the
 * sender's fence, with the sleeper's membarrier, and with the bytes by which
 * many senders say that they have written.
 * CLAIM  A sleeper is woken by what was published; one that looks at bytes only
 * finds all of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

#define shm_likely(x) (x)
#define shm_unlikely(x) (x)
enum { SENDERS = 2, EACH = 2, WEFT_OK = 0, WEFT_EAGAIN = -1 };
enum {
    BARRIER_EXPEDITED = 2,
    SHM_BELL_BYTES = 2,
    SHM_UP = 1,
    SHM_PEER_BUDGET = 8
};
enum {
    SHM_ASLEEP = 1u,
    SHM_MANY = 2u,
    SHM_HELPER_THREAD = 4u,
    SHM_SLEEP_COUNT = 8u
};

struct shm_page {
    atom<uint32_t> mode;
    atom<uint8_t> rang[SHM_BELL_BYTES];
};
struct shm_slot {
    atom<uint64_t> word;
    plain<int> body;
};
struct shm_in {
    struct shm_slot *next;
    uint32_t wrap;
    bool paused;
};
struct weft_ep;
struct weft_peer {
    struct {
        bool fence;
        struct shm_page *page;
    } out;
    struct shm_in in;
    struct weft_ep *ep;
    struct shm_page *page;
    bool fault;
    int state;
    atom<uint32_t> rung; /* several threads may ring */
    uint32_t my_byte;
    futex_word *bell;
    int found;
};
struct weft_ep {
    struct shm_page *page;
    struct weft_peer *live[SENDERS], *busy[1], *byte_owner[SHM_BELL_BYTES];
    uint32_t live_n, busy_n, mode;
    bool registered, barrier, armed, sweep, attend;
    struct {
        atom<uint64_t> rings;
        uint64_t sleeps;
    } stats;
};

static void announce_waiting(weft_ep *) {}
static bool shm_is_helper(weft_ep *) { return false; }
static bool busy_can_move(weft_peer *) { return false; }
static void collect_deadlines(weft_ep *, uint64_t *) {}
static int wf_shm_event(weft_ep *, int *) { return WEFT_OK; }
static void remember_recent(weft_ep *, weft_peer *) {}
static void wf_shm_ring_bell(weft_peer *, uint32_t);
static bool wf_shm_has_arrived(const weft_peer *p);
static void ring(futex_word *bell)
{
    bell->store(1, rl::mo_relaxed, $);
    wf_futex_wake(bell);
}
#define write(bell, one, n) (ring(bell), 0)

//@ plugins/shm/ring.h: shm_fence shm_peer_mode shm_wake_peer
//@ plugins/shm/bell.c: full_barrier set_mode wf_shm_ring_bell
//@ plugins/shm/bell.c: wf_shm_require_bytes
//@ plugins/shm/bell.c: wf_shm_has_arrived has_work wf_shm_arm wf_shm_disarm

/* Takes what arrived from a peer. */
static int wf_shm_receive(weft_peer *p, int budget)
{
    int n = 0;

    for (; n < budget && wf_shm_has_arrived(p); n++, p->in.next++)
        RL_ASSERT(p->in.next->body == ++p->found);
    return n;
}
//@ plugins/shm/progress.c: receive_byte

enum how { FENCE, MEMBARRIER, BYTES };

template <how HOW>
struct bell_rings : rl::test_suite<bell_rings<HOW>, SENDERS + 1> {
    struct shm_page page;
    struct shm_slot slots[SENDERS][EACH + 1];
    struct weft_ep ep;
    struct weft_peer here[SENDERS];  /* at the sleeper's */
    struct weft_peer there[SENDERS]; /* at the senders' */
    futex_word bell;

    static void clear_peer(weft_peer *p)
    {
        memset(&p->out, 0, sizeof p->out);
        memset(&p->in, 0, sizeof p->in);
        p->fault = false;
        p->found = 0;
    }

    void before()
    {
        ep.busy_n = ep.mode = 0;
        ep.armed = ep.sweep = ep.attend = false;
        ep.stats.sleeps = 0;
        ep.page = &page;
        ep.registered = true;
        ep.barrier = HOW != FENCE;
        ep.live_n = SENDERS;
        for (int i = 0; i < SENDERS; i++) {
            clear_peer(&here[i]);
            clear_peer(&there[i]);
            ep.live[i] = ep.byte_owner[i] = &here[i];
            here[i].in.next = slots[i];
            here[i].in.wrap = 1;
            here[i].state = SHM_UP;
            there[i].out.fence = HOW == FENCE;
            there[i].out.page = there[i].page = &page;
            there[i].bell = &bell;
            there[i].my_byte = i;
            there[i].ep = &ep;
        }
    }

    void send(weft_peer *p, struct shm_slot *s, int n)
    {
        s->body = n;
        s->word.store(UINT64_C(1) << 61, rl::mo_release, $);
        shm_wake_peer(p);
    }

    int look()
    {
        int n = 0;

        if (HOW == BYTES && !ep.sweep) {
            for (int i = 0; i < SENDERS; i++)
                if (page.rang[i].load(rl::mo_relaxed, $))
                    n += receive_byte(&ep, i);
            return n;
        }
        ep.sweep = false;
        for (int i = 0; i < SENDERS; i++)
            n += wf_shm_receive(&here[i], SHM_PEER_BUDGET);
        return n;
    }

    void sleep()
    {
        if (wf_shm_arm(&ep, NULL) != WEFT_OK)
            return;
        wf_futex_wait(&bell, 0, NULL);
        bell.store(0, rl::mo_relaxed, $); /* epoll_wait */
        wf_shm_disarm(&ep);
        ep.sweep = true;
    }

    void thread(unsigned me)
    {
        int n = 0;

        if (me < SENDERS) {
            for (int i = 0; i < EACH; i++)
                send(&there[me], &slots[me][i], i + 1);
            return;
        }
        if (HOW == BYTES)
            wf_shm_require_bytes(&ep);
        while ((n += look()) < SENDERS * EACH)
            if (HOW == BYTES)
                rl::yield(1, $);
            else
                sleep();
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(does_hold<bell_rings<FENCE>>() &&
             does_hold<bell_rings<MEMBARRIER>>() &&
             does_hold<bell_rings<BYTES>>());
}
