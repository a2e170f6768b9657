/* Processes that nobody launched together: they derive each other's addresses
 * from seeds, and start in any order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <sys/random.h>

#include "conform.h"

enum { MEETINGS = 20, IDLE_TURNS = 2000 };

static const uint64_t second = 1000000000;

/* Let the sides that are opened from now on be of a job without launcher, which
 * no other process has. */
static void begin_seeded(struct world *w, uint64_t start_ns)
{
    check(getrandom(w->job_secret, sizeof w->job_secret, 0) == WEFT_SEED,
          "no random bytes");
    w->seeded = true;
    w->start_ns = start_ns;
}

static void compare_addresses(struct world *w)
{
    weft_core *a, *b;
    uint8_t seed[WEFT_SEED], blob[BLOB];

    begin_seeded(w, 60 * second);
    a = side_open(w, 0, NULL);
    for (uint32_t id = 0; id < SIDES; id++)
        side_derive(a, id);
    for (uint32_t id = 1; id < SIDES; id++)
        check(a->blob_len[id] != a->blob_len[0] ||
                  memcmp(a->blob[id], a->blob[0], a->blob_len[0]) != 0,
              "%u and 0 have the same address", id);
    b = side_open(w, 1, NULL);
    check(a->blob_len[1] == b->blob_len[1] &&
              memcmp(a->blob[1], b->blob[1], b->blob_len[1]) == 0,
          "1 has another address than was derived");
    check(w->plugin->ops->reach(a->ep, a->blob[1], a->blob_len[1], NULL) ==
              WEFT_OK,
          "a derived address cannot be reached");
    make_seed(w, 1, seed);
    for (size_t small = 0; small < a->blob_len[1]; small++) {
        size_t n = small;
        memset(blob, 0xee, sizeof blob);
        check(w->plugin->ops->addr_derive(a->ep, 1, seed, blob, &n) < 0,
              "%zu bytes are no room", small);
        for (size_t i = small; i < sizeof blob; i++)
            check(blob[i] == 0xee, "it wrote past %zu bytes", small);
    }
    pair_close(w);
}

/* Side 0 calls before side 1 exists. */
static void find_late_side(struct world *w)
{
    weft_core *a, *b;
    int rc;

    begin_seeded(w, WAIT_LIMIT * second);
    a = side_open(w, 0, NULL);
    side_derive(a, 1);
    check(side_peer(a, 1), "peer_add() failed");
    struct message *m = message_new(&a->loc[1], 1000, BLOCK, false);
    rc = message_offer(m);
    check(rc == WEFT_OK || rc == WEFT_EAGAIN, "send() answered %d", rc);
    if (rc == WEFT_EAGAIN)
        message_withdraw(m);
    for (int i = 0; i < IDLE_TURNS; i++)
        take_turn(w);
    check(!a->loc[1].downs, "it was given up: %s", a->loc[1].why);
    b = side_open(w, 1, NULL);
    side_derive(b, 0); /* for locate */
    if (rc == WEFT_EAGAIN)
        message_post(message_new(&a->loc[1], 1000, BLOCK, false));
    until(w, is_settled(a, b));
    message_post(message_new(&b->loc[0], 1000, BLOCK, false));
    until(w, is_settled(b, a));
    check(a->loc[1].ups == 1 && b->loc[0].ups == 1, "connected twice");
    pair_close(w);
}

static void give_up_after_limit(struct world *w)
{
    uint64_t begin = now_ns();
    struct message *m;
    weft_core *a;
    int rc;

    begin_seeded(w, second / 2);
    a = side_open(w, 0, NULL);
    side_derive(a, 1);
    check(side_peer(a, 1), "peer_add() failed");
    m = message_new(&a->loc[1], 1000, BLOCK, false);
    rc = message_offer(m);
    if (rc == WEFT_EAGAIN)
        message_withdraw(m);
    until(w, a->loc[1].downs);
    check(now_ns() - begin >= second / 2, "it was given up too early");
    check(a->loc[1].why[0], "no reason is given");
    check(a->loc[1].ups == 0, "peer_up came");
    side_close(a);
}

/* A process that was connected, and has ended, is not waited for. */
static void see_end_of_connected(struct world *w)
{
    weft_core *a, *b;

    begin_seeded(w, 3600 * second);
    a = side_open(w, 0, NULL);
    b = side_open(w, 1, NULL);
    side_derive(a, 1);
    side_derive(b, 0);
    check(side_peer(a, 1), "peer_add() failed");
    message_post(message_new(&a->loc[1], 100, BLOCK, false));
    until(w, is_settled(a, b));
    side_close(b);
    until(w, a->loc[1].downs);
    side_close(a);
}

static void refuse_other_key(struct world *w)
{
    weft_core *a, *b;
    struct message *m;

    begin_seeded(w, 60 * second);
    a = side_open(w, 0, NULL);
    b = side_open(w, 1, "another secret");
    side_derive(a, 1);
    side_derive(b, 0);
    check(side_peer(a, 1), "peer_add() failed");
    m = message_new(&a->loc[1], 1000, BLOCK, false);
    if (message_offer(m) == WEFT_EAGAIN)
        message_withdraw(m);
    until(w, a->loc[1].downs);
    check(b->located == 0 && b->loc[0].got == 0, "a stranger was let in");
    check(a->loc[1].ups == 0, "a stranger was taken for process 1");
    side_close(a);
    side_close(b);
}

/* Otherwise calls for one of them would come to the other. */
static void refuse_second_endpoint(struct world *w)
{
    weft_core *a, *again;
    int rc;

    begin_seeded(w, 60 * second);
    a = side_open(w, 0, NULL);
    again = side_try_open(w, 0, NULL, &rc);
    check(!again, "a second endpoint has the address of the first");
    side_close(a);
    a = side_open(w, 0, NULL);
    side_close(a);
}

/* The same endpoints again and again, each time in two processes that do not
 * wait for each other's start. */
static weft_core *meet_unannounced(struct world *w, uint32_t me)
{
    weft_core *c = side_open(w, me, NULL);

    side_derive(c, !me);
    check(side_peer(c, !me), "peer_add() failed");
    for (unsigned n = chance(&w->seed, 6); n > 0; n--)
        take_turn(w);
    message_post(message_new(&c->loc[!me], 100, BLOCK, true));
    until(w, c->loc[!me].got == 1 && !c->loc[!me].lent);
    return c;
}

static void meet_repeatedly(struct world *w, uint32_t me)
{
    for (int i = 0; i < MEETINGS; i++) {
        weft_core *c = meet_unannounced(w, me);
        char mine = 1, theirs;
        side_leave(c);
        partner_swap(w, &mine, &theirs, 1);
    }
}

static void meet_there(struct world *w)
{
    meet_repeatedly(w, 1);
}

static void meet_between_processes(struct world *w)
{
    begin_seeded(w, WAIT_LIMIT * second);
    partner_start(w, meet_there);
    meet_repeatedly(w, 0);
    partner_end(w);
}

const struct conform_case derive_cases[] = {
    {"the address of an endpoint is the one that others derive",
     compare_addresses, NEED_DERIVE},
    {"a process that starts late is found at its derived address",
     find_late_side, NEED_DERIVE},
    {"a process that never comes is given up when start-up may take no longer",
     give_up_after_limit, NEED_DERIVE},
    {"a process that was connected and ends is not waited for",
     see_end_of_connected, NEED_DERIVE},
    {"who has the address and not the key is refused", refuse_other_key,
     NEED_DERIVE},
    {"two endpoints at a time cannot have one address", refuse_second_endpoint,
     NEED_DERIVE},
    {"processes that derive addresses meet in any order",
     meet_between_processes, NEED_DERIVE},
    {0}};
