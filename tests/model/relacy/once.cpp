/* Words that are stored once and read without a lock: the engines of a rank
 * (core/comm/engines.c), the end of a request (core/protocol/request.h), a
 * follower that is woken (core/progress/sleep.c), references
 * (core/object/handle.h), and the state of an abandoned share in pool.cpp.
 * CLAIM  Who sees the word sees what was written before it; a follower does not
 * sleep on; what nobody refers to is destroyed once, by the last.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

struct wf_engines;
struct wf_waiter;
struct wf_cs {
    bool on, threads;
    unsigned helper_ops, quiescent_ops;
};
struct wf_progress {
    unsigned sleeps;
    bool leader_on_bell;
};
struct wf_rank {
    atom<struct wf_engines *> engines;
};
struct wf_instance {
    struct wf_rank *rank;
    struct wf_cs api;
    struct wf_progress *progress;
};
struct wf_engines {
    struct wf_instance *all[2];
    plain<unsigned> count;
};
struct counted : atom<uint32_t> {
    uint32_t operator++() { return 0; } /* where there is one engine */
    uint32_t operator--() { return 1; }
};
#define wf_refs_atomic (*refs_shared)
static counted *refs_shared;
//@ core/comm/engines.c: publish_engines
//@ core/progress/engines.h: wf_engines()

enum { WF_REQ_DETACHED = 1, WF_REQ_WITH_HELPER = 2, WF_REQ_QUIESCENT = 4 };
enum { WF_BRIEF = 0 };
struct wf_req {
    wf_atomic_u32 done;
    uint32_t flags;
    plain<int> error;
    void (*on_complete)(struct wf_req *);
    struct wf_instance *wf;
};
static void settle_request(struct wf_req *) {}
static void destroy_request(struct wf_req *) {}
static void wf_progress_notify(struct wf_instance *) {}
//@ core/protocol/request.h: wf_req_done
//@ core/protocol/request.c: wf_req_needs_progress wf_req_complete

struct wf_list {
    int unused;
};
struct wf_waiter {
    wf_atomic_u32 awake;
    bool leads;
    void (*call)(struct wf_waiter *);
};
static void wf_progress_wake_leader(struct wf_instance *) {}
static void wf_progress_end_polling(struct wf_instance *) {}
static void wf_cs_enter(struct wf_cs *) {}
static void wf_cs_leave_to_sleep(struct wf_cs *) {}
//@ core/progress/sleep.c: wake_waiter sleep_as_follower
#define uint32_t counted
//@ core/object/handle.h: wf_refs_get wf_refs_put
#undef uint32_t

struct seen_once : rl::test_suite<seen_once, 3> {
    struct wf_rank rank;
    struct wf_instance home, beside;
    struct wf_engines engines;
    struct wf_req request;
    struct wf_waiter follower;
    struct wf_progress progress;
    counted shared, refs;
    plain<int> object; /* used by one, destroyed by the last */
    plain<int> destroyed;

    void before()
    {
        refs_shared = &shared;
        home.rank = beside.rank = &rank;
        engines.all[0] = &home;
        engines.all[1] = &beside;
        home.progress = &progress;
        request.flags = 0;
        request.on_complete = NULL;
        request.wf = &home;
        home.api.on = false;
        home.api.threads = true;
        follower.leads = false;
        follower.call = NULL;
        progress.leader_on_bell = false;
        shared.store(1, rl::mo_relaxed, $);
        refs.store(3, rl::mo_relaxed, $);
    }

    void let_go(unsigned me)
    {
        if (me == 1)
            wf_refs_get(&refs);
        if (me == 0)
            object = 1;
        for (int i = 0; i < (me == 1 ? 2 : 1); i++)
            if (wf_refs_put(&refs)) {
                object = -1; /* the memory is somebody else's */
                RL_ASSERT(destroyed++ == 0);
            }
    }

    void thread(unsigned me)
    {
        if (me == 0) {
            engines.count = 2;
            publish_engines(&home, &engines);
            wf_req_complete(&request, 7);
            wake_waiter(&home, &follower);
        } else if (me == 1) {
            struct wf_engines *all = wf_engines(&home);
            RL_ASSERT(!all || all->count == 2);
            if (wf_req_done(&request))
                RL_ASSERT(request.error == 7);
        } else {
            sleep_as_follower(&home, &follower);
            RL_ASSERT(request.error == 7);
        }
        let_go(me);
    }

    void after() { RL_ASSERT(destroyed == 1); }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<seen_once>();
}
