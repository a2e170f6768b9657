/* The other process dies, at any point.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

enum { DEATHS = 25, FOREVER = 1 << 30 };

/* The survivor's part meanwhile. */
enum role { TALKING, LISTENING, ASLEEP };

static void keep_talking(struct weft_loc *l, struct message **held,
                         int *readies)
{
    weft_core *c = l->core;
    uint64_t len = chance(&c->seed, chance(&c->seed, 2) ? 200 : 300000);
    int rc;

    if (len > c->attr.max_payload)
        len = c->attr.max_payload;
    if (!*held)
        *held = message_new(l, len, chance(&c->seed, LAYOUTS), len & 1);
    else if (l->readies == *readies)
        return;
    *readies = l->readies;
    rc = message_offer(*held);
    if (rc != WEFT_EAGAIN)
        *held = NULL;
}

/* Talks until it dies between two steps. */
static void talk_until_death(struct world *w)
{
    weft_core *c = partner_meet(w, 1);
    struct message *held = NULL;
    long none = 0, steps;
    int readies = 0;

    partner_swap(w, &none, &steps, sizeof steps);
    w->die_in = steps;
    c->mix = true;
    for (;;) {
        take_turn(w);
        if (steps % 3 && !c->loc[0].downs)
            keep_talking(&c->loc[0], &held, &readies);
    }
}

/* Sleep as the core does; true when there may be news. */
static void sleep_until_news(weft_core *c, int fd)
{
    uint64_t deadline = 0;
    struct pollfd p = {.events = POLLIN};
    int ms = 20000;

    if (c->world->plugin->ops->arm(c->ep, &deadline) != WEFT_OK)
        return;
    if (deadline) {
        uint64_t now = now_ns();
        ms = deadline <= now ? 0 : (int)((deadline - now) / 1000000 + 1);
    }
    p.fd = fd;
    check(poll(&p, 1, ms > 20000 ? 20000 : ms) > 0 || deadline,
          "nobody woke a sleeper whose peer died");
}

static void check_end(struct world *w, struct weft_loc *l, struct message *held)
{
    int rc;

    check(l->status == WEFT_EPEER || l->status == WEFT_ELINK,
          "peer_down came with %d", l->status);
    if (!held)
        held = message_new(l, 100, BLOCK, true);
    for (int i = 0; i < 100; i++)
        take_turn(w);
    l->downs = 0; /* the suite asks once more */
    rc = message_offer(held);
    check(rc < 0 && rc != WEFT_EAGAIN, "send() after the end answered %d", rc);
    l->downs = 1;
}

static void meet_the_doomed(struct world *w, long steps)
{
    long none;

    w->seed++;
    partner_start(w, talk_until_death);
    partner_meet(w, 0);
    partner_swap(w, &steps, &none, sizeof steps);
}

/* A peer that answers nothing is as good as lost; the core ends the pair. */
static bool is_silent(const struct weft_loc *l)
{
    const uint64_t within = SILENCE_MS * 1000000ull;
    const weft_ops *ops = l->core->world->plugin->ops;
    uint64_t ns;

    if (!l->ups || l->downs || !WEFT_HAS(ops, weft_ops, silent))
        return false;
    ns = ops->silent(l->peer, within);
    return ns != UINT64_MAX && ns >= within;
}

/* The partner kills itself after so many of its steps, or we kill it after so
 * many of ours. */
static void meet_death(struct world *w, long steps, bool killed, enum role role)
{
    int fd = -1;
    struct message *held = NULL;
    struct weft_loc *l;
    int readies = -1;

    meet_the_doomed(w, killed ? FOREVER + steps : steps);
    l = &w->side[0]->loc[1];
    w->side[0]->mix = role != ASLEEP;
    if (role == ASLEEP)
        w->plugin->ops->event(l->core->ep, &fd);
    until(w, l->downs || is_silent(l))
    {
        if (killed && steps-- == 0 && w->partner > 0)
            kill(w->partner, SIGKILL);
        if (role == TALKING || !l->ups)
            keep_talking(l, &held, &readies);
        else if (role == ASLEEP && (!killed || steps < 0))
            sleep_until_news(l->core, fd);
    }
    if (l->downs)
        check_end(w, l, held);
    else if (held)
        message_withdraw(held);
    side_close(l->core);
}

/* It is dead already, or has nothing to live for. */
static void bury_partner(struct world *w)
{
    if (w->partner > 0) {
        kill(w->partner, SIGKILL);
        waitpid(w->partner, NULL, 0);
    }
    w->partner = 0;
    close(w->channel);
}

static void meet_deaths(struct world *w, enum role role)
{
    for (int i = 0; i < DEATHS; i++) {
        meet_death(w, 40 + (long)chance(&w->seed, 1500), i & 1, role);
        bury_partner(w);
    }
}

static void die_while_talking(struct world *w)
{
    meet_deaths(w, TALKING);
}

static void die_while_listening(struct world *w)
{
    meet_deaths(w, LISTENING);
}

static void die_while_asleep(struct world *w)
{
    meet_deaths(w, ASLEEP);
}

const struct conform_case death_cases[] = {
    {"a peer that dies under fire returns everything lent, then is reported",
     die_while_talking, NEED_OTHERS},
    {"the death of a peer is noticed without sending to it",
     die_while_listening, NEED_OTHERS},
    {"the death of a peer wakes a sleeper", die_while_asleep,
     NEED_OTHERS | NEED_EVENT},
    {0}};
