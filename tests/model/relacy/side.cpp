/* The send side of a peer (core/protocol/send_side.h): lent to threads by
 * whoever is inside the section, claimed by them, and taken back.
 * CLAIM  One thread at a time copies a message, or has the side for the engine,
 * after all that the ones before it wrote there; and no credit is lost.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { WF_OBJECTS = 1, WF_SIDE_SPINS = 1, WF_LANE_ORDER = 0, WEFT_OK = 0 };
enum { WF_SHORT_EAGER = 0, CREDIT = 9, SENDS = 2 };
#define sched_yield() rl::yield(1, $)
#define WEFT_HAS(ops, type, member) true

struct weft_peer {
    plain<int> slots; /* of the ring */
};
typedef int send_words(const void *, uint64_t, weft_peer *, uint64_t, uint64_t);
struct weft_ops {
    send_words *send_words, *send_beside;
};
struct weft_core {
    const struct weft_ops *ops;
};
struct wf_lane {
    struct weft_core *core;
    weft_peer *peer;
    plain<uint64_t> seq;
    send_words *send_words;
};
//@ core/route/location.h: wf_side_state wf_send_side{end}
struct weft_loc {
    struct wf_send_side side;
    struct wf_lane lane[1];
    plain<uint64_t> fastpath_end;
    plain<int64_t> credit;
};
static void wf_location_update_fastpath(struct weft_loc *loc)
{
    loc->fastpath_end = 8;
}
static int64_t wf_eager_credit_left(struct weft_loc *loc, uint64_t n)
{
    return loc->credit - (int64_t)n;
}
void wf_side_take_back_now(struct weft_loc *);
//@ core/protocol/send_side.h: wf_side_is_lent wf_side_take_back
//@ core/protocol/send_side.c: claim_side wf_side_lend wf_side_take_back_now
//@ core/protocol/send_side.c: wf_side_send

static int put_slot(const void *, uint64_t, weft_peer *p, uint64_t, uint64_t)
{
    p->slots++;
    return WEFT_OK;
}

static const struct weft_ops ops = {put_slot, put_slot};

/* Thread 0 is the engine: it sends, lends, takes back. */
struct side_holds : rl::test_suite<side_holds, 3> {
    struct weft_core core;
    weft_peer peer;
    struct weft_loc loc;
    int sent[3];

    void before()
    {
        core.ops = &ops;
        loc.lane[0].core = &core;
        loc.lane[0].peer = &peer;
        loc.lane[0].send_words = put_slot;
        loc.credit = CREDIT;
        loc.fastpath_end = 8;
        sent[0] = sent[1] = sent[2] = 0;
    }

    void send_inside()
    {
        wf_side_take_back(&loc);
        RL_ASSERT(loc.fastpath_end != 0);
        loc.credit = wf_eager_credit_left(&loc, 1);
        loc.lane[0].seq++;
        put_slot(NULL, 0, &peer, 0, 0);
        sent[0]++;
    }

    void thread(unsigned me)
    {
        for (int i = 0; i < SENDS; i++)
            if (me == 0) {
                send_inside();
                wf_side_lend(&loc);
            } else {
                sent[me] += wf_side_send(&loc, NULL, 1, 0, 0);
            }
        if (me == 0)
            send_inside();
    }

    void after()
    {
        int all = sent[0] + sent[1] + sent[2];

        RL_ASSERT(sent[0] == SENDS + 1);
        RL_ASSERT(loc.credit == CREDIT - all && peer.slots == all);
        RL_ASSERT(loc.lane[0].seq == (uint64_t)all);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<side_holds>();
}
