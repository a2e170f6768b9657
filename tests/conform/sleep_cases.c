/* Sleeping: an armed endpoint wakes for whatever comes, and costs nothing
 * until then.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "conform.h"

enum { NAPS = 4000, WAKE_MS = 20000, IDLE_MS = 2000, IDLE_ARMS = 10000 };

/* Arm and sleep; false when progress() must run first. A wake-up that does not
 * come within WAKE_MS is lost: the other side never waits that long. */
static bool take_nap(weft_core *c, int fd)
{
    uint64_t deadline = 0, now;
    struct pollfd p = {.events = POLLIN};
    int ms = WAKE_MS, n;
    int rc = c->world->plugin->ops->arm(c->ep, &deadline);

    check(rc == WEFT_OK || rc == WEFT_EAGAIN, "arm() answered %d", rc);
    if (rc == WEFT_EAGAIN)
        return false;
    now = now_ns();
    if (deadline && deadline < now + WAKE_MS * 1000000ull)
        ms = deadline <= now ? 0 : (int)((deadline - now) / 1000000 + 1);
    p.fd = fd;
    n = poll(&p, 1, ms);
    check(n > 0 || ms < WAKE_MS, "a wake-up was lost");
    if (n > 0 && chance(&c->seed, 8) == 0) {
        n = poll(&p, 1, 0);
        check(n > 0, "the event went away before progress()");
    }
    return true;
}

static int event_of(weft_core *c)
{
    int fd = -1;
    int rc = c->world->plugin->ops->event(c->ep, &fd);

    check(rc >= 0 && fd >= 0, "event() answered %d, descriptor %d", rc, fd);
    return fd;
}

/* Poll a random number of times, so that every window between looking and
 * sleeping is hit; then sleep until it holds. */
#define asleep_until(c, fd, condition)                                         \
    for (unsigned spins_ = chance(&(c)->seed, 30); !(condition);               \
         take_turn((c)->world))                                                \
        if (spins_ > 0)                                                        \
            spins_--;                                                          \
        else                                                                   \
            take_nap(c, fd)

static void burn_time(unsigned n)
{
    for (volatile unsigned i = 0; i < n; i++)
        ;
}

static uint64_t nap_size(weft_core *c)
{
    uint64_t n =
        chance(&c->seed, 10) ? chance(&c->seed, 100) : chance(&c->seed, 200000);

    return n < c->attr.max_payload ? n : c->attr.max_payload;
}

/* The side that has the ball sends; the other sleeps. */
static void play_ball(weft_core *c, uint32_t other)
{
    int fd = event_of(c);
    struct weft_loc *l = &c->loc[other];

    for (unsigned i = 0; i < NAPS; i++) {
        if (i % 2 == c->id) {
            burn_time(chance(&c->seed, 3000));
            message_post(message_new(l, nap_size(c), BLOCK, true));
            asleep_until(c, fd, !l->lent);
        } else {
            /* the ball may have come together with the news that ours did */
            asleep_until(c, fd, l->got > i / 2 && !l->sinks);
        }
    }
    side_leave(c);
}

static void ball_there(struct world *w)
{
    play_ball(partner_meet(w, 1), 0);
}

static void wakes_for_messages(struct world *w)
{
    partner_start(w, ball_there);
    play_ball(partner_meet(w, 0), 1);
    partner_end(w);
}

/* ---- room ---------------------------------------------------------------- */

enum { SACKS = 600 };

static void read_slowly(struct world *w)
{
    weft_core *c = partner_meet(w, 1);
    int fd = event_of(c);
    struct weft_loc *l = &c->loc[0];

    while (l->got < SACKS || l->sinks) {
        burn_time(chance(&c->seed, 100000));
        asleep_until(
            c, fd, (l->got == SACKS && !l->sinks) || chance(&c->seed, 4) == 0);
    }
    side_leave(c);
}

static void wakes_for_room(struct world *w)
{
    weft_core *c;
    int fd;
    struct weft_loc *l;

    partner_start(w, read_slowly);
    c = partner_meet(w, 0);
    fd = event_of(c);
    l = &c->loc[1];
    for (int i = 0; i < SACKS; i++) {
        uint64_t len = i % 3 ? 40 : 100000;
        struct message *m = message_new(
            l, len < c->attr.max_payload ? len : c->attr.max_payload, SEGMENTS,
            true);
        int readies = l->readies;
        while (message_offer(m) == WEFT_EAGAIN) {
            asleep_until(c, fd, l->readies > readies);
            readies = l->readies;
        }
    }
    asleep_until(c, fd, !l->lent);
    side_leave(c);
    partner_end(w);
}

/* ---- callers ------------------------------------------------------------- */

enum { VISITS = 150 };

static void visit_often(struct world *w)
{
    for (int i = 0; i < VISITS; i++) {
        weft_core *c = partner_meet(w, 1);
        int fd = event_of(c);
        burn_time(chance(&c->seed, 100000));
        message_post(message_new(&c->loc[0], 8, BLOCK, true));
        asleep_until(c, fd, !c->loc[0].lent && c->loc[0].got);
        side_leave(c);
    }
}

static void wakes_for_callers(struct world *w)
{
    partner_start(w, visit_often);
    for (int i = 0; i < VISITS; i++) {
        weft_core *c = partner_meet(w, 0);
        int fd = event_of(c);
        asleep_until(c, fd, c->loc[1].got == 1 && !c->loc[1].sinks);
        message_post(message_new(&c->loc[1], 8, BLOCK, true));
        asleep_until(c, fd, !c->loc[1].lent);
        side_leave(c);
    }
    partner_end(w);
}

/* ---- cost ---------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) *
               1000000000u +
           ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
}

/* Let what is still to do be done: arm must say OK in the end. */
static void become_idle(weft_core *c)
{
    uint64_t deadline;
    int i = 0;

    while (c->world->plugin->ops->arm(c->ep, &deadline) == WEFT_EAGAIN) {
        check(++i < IDLE_ARMS, "arm() never lets an idle endpoint sleep");
        take_turn(c->world);
    }
}

static void sit_still(weft_core *c, const char *who)
{
    int fd = event_of(c);
    uint64_t start, cpu, end, used;
    int wakes = 0;

    become_idle(c);
    start = now_ns();
    end = start + IDLE_MS * 1000000ull;
    cpu = cpu_ns();
    for (uint64_t now = start; now < end; now = now_ns(), wakes++) {
        uint64_t deadline = 0;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ms = (int)((end - now) / 1000000 + 1);
        int rc = c->world->plugin->ops->arm(c->ep, &deadline);
        if (rc == WEFT_OK && deadline && deadline < end)
            ms = deadline <= now ? 0 : (int)((deadline - now) / 1000000 + 1);
        if (rc == WEFT_OK)
            poll(&p, 1, ms);
        take_turn(c->world);
    }
    used = cpu_ns() - cpu;
    check(used < IDLE_MS * 25000ull,
          "%s idle for %d ms used %llu us of CPU and "
          "woke %d times",
          who, IDLE_MS, (unsigned long long)used / 1000, wakes);
}

static void sit_there(struct world *w)
{
    weft_core *c = partner_meet(w, 1);
    char mine = 1, theirs;

    message_post(message_new(&c->loc[0], 100, BLOCK, true));
    until(w, c->loc[0].got == 1 && !c->loc[0].lent);
    partner_swap(w, &mine, &theirs, 1);
    sit_still(c, "the called");
    partner_swap(w, &mine, &theirs, 1);
    side_leave(c);
}

static void sleep_connected(struct world *w)
{
    weft_core *c;
    char mine = 1, theirs;

    partner_start(w, sit_there);
    c = partner_meet(w, 0);
    message_post(message_new(&c->loc[1], 100, BLOCK, true));
    until(w, c->loc[1].got == 1 && !c->loc[1].lent);
    partner_swap(w, &mine, &theirs, 1);
    sit_still(c, "the caller");
    partner_swap(w, &mine, &theirs, 1);
    side_leave(c);
    partner_end(w);
}

static void sleep_alone(struct world *w)
{
    weft_core *c = side_open(w, 0, NULL);

    sit_still(c, "an endpoint without peers");
    pair_close(w);
}

const struct conform_case sleep_cases[] = {
    {"a sleeper wakes for every message", wakes_for_messages,
     NEED_OTHERS | NEED_EVENT},
    {"a sleeper wakes when there is room again", wakes_for_room,
     NEED_OTHERS | NEED_EVENT},
    {"a sleeper wakes for a caller", wakes_for_callers,
     NEED_OTHERS | NEED_EVENT},
    {"a connected endpoint that sleeps costs no CPU time", sleep_connected,
     NEED_OTHERS | NEED_EVENT},
    {"an endpoint without peers that sleeps costs no CPU time", sleep_alone,
     NEED_EVENT},
    {0}};
