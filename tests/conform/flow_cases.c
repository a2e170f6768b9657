/* Room: who says when there is none, and when there is again.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "conform.h"

enum { LATE = 150, UNREAD = 8, FLOOD = 100000, FLOOD_BYTES = 64 << 20 };

/* Send up to n messages to b, which does not read. True: the plugin had no room
 * for one of them. */
static bool send_many(struct weft_loc *to, uint64_t len, uint64_t n)
{
    while (n-- > 0) {
        struct message *m = message_new(to, len, SEGMENTS, true);
        int rc = message_offer(m);
        if (rc == WEFT_EAGAIN) {
            message_withdraw(m);
            return true;
        }
        check(rc >= 0, "send() failed: %d", rc);
    }
    return false;
}

/* Send until there is no room. False: the plugin takes whatever comes. */
static bool fill_peer(struct weft_loc *to, uint64_t len)
{
    uint64_t most = FLOOD_BYTES / (len + 64);

    return send_many(to, len, most < FLOOD ? most : FLOOD);
}

static void connect_pair(struct world *w, weft_core *a, weft_core *b)
{
    message_post(message_new(side_peer(a, b->id), 1, BLOCK, true));
    until(w, is_settled(a, b));
}

static void wait_for_room(struct world *w)
{
    static const uint32_t lengths[] = {0, 8, 300, 5000, 60000, 400000};
    weft_core *a, *b;
    struct weft_loc *to;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    connect_pair(w, a, b);
    for (int i = 0; i < 6; i++) {
        uint64_t len =
            lengths[i] < a->attr.max_payload ? lengths[i] : a->attr.max_payload;
        int readies = to->readies;
        if (fill_peer(to, len))
            until(w, to->readies > readies);
        until(w, is_settled(a, b));
    }
    pair_close(w);
}

static void wait_for_short_room(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *to;
    int rc = WEFT_EAGAIN, readies;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    for (int i = 0; i < 6 && rc == WEFT_EAGAIN; i++) { /* or never full */
        uint64_t len = i * 323u % (a->attr.max_short + UINT64_C(1));
        readies = to->readies;
        rc = WEFT_DONE;
        for (int n = 0; n < FLOOD && rc == WEFT_DONE; n++)
            rc = message_short(to, len, true, 0);
        if (rc == WEFT_EAGAIN)
            until(w, to->readies > readies);
        until(w, is_settled(a, b));
    }
    pair_close(w);
}

/* Control messages may be tried while there is no room for others. */
static void urgent_while_full(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *to;
    int accepted = 0;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    connect_pair(w, a, b);
    for (int i = 0; i < 50; i++) {
        int readies = to->readies;
        bool full = fill_peer(to, 20000);
        for (int k = 0; k < 3; k++) {
            struct message *m = message_urgent(to);
            int rc = message_offer(m);
            check(rc >= 0 || rc == WEFT_EAGAIN, "send() failed: %d", rc);
            if (rc == WEFT_EAGAIN)
                message_withdraw(m);
            else
                accepted++;
        }
        if (full)
            until(w, to->readies > readies);
        until(w, is_settled(a, b));
        if (!full)
            break; /* it is never full */
    }
    check(to->urgent_sent == (uint64_t)accepted, "%d accepted", accepted);
    pair_close(w);
}

static void leave_while_full(struct world *w)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    connect_pair(w, a, b);
    fill_peer(side_peer(a, b->id),
              300000 < a->attr.max_payload ? 300000 : a->attr.max_payload);
    side_close(a); /* checks that everything lent came back */
    if (a != b)
        side_close(b);
}

/* A process that has seen everything acknowledged may go, however far the other
 * one is; and that one gets everything, also if it has something to say
 * before. */
static void read_after_leave(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *from;
    uint64_t sent;

    pair_open(w, &a, &b);
    connect_pair(w, a, b);
    from = side_peer(b, a->id);
    b->answer = PAUSE;
    for (int i = 0; i < LATE; i++)
        message_post(message_new(side_peer(a, b->id),
                                 i % 9 ? (uint64_t)i * 97 : 40000, BLOCK,
                                 true));
    sent = a->loc[b->id].sent;
    side_leave(a);
    until(w, from->got == sent && !from->sinks) check(
        !from->downs, "%llu of %llu messages, then the peer was down: %s",
        (unsigned long long)from->got, (unsigned long long)sent, from->why);
    side_close(b);
}

/* A process leaves after `before` messages that were read, and a few that were
 * not: they arrive, although what the reader says meanwhile reaches nobody. A
 * transport that wants to hear of them first gets turns on both sides. */
static void leave_unread(struct world *w, int before)
{
    weft_core *a, *b;
    struct weft_loc *from;
    uint64_t sent;

    pair_open(w, &a, &b);
    connect_pair(w, a, b);
    from = side_peer(b, a->id);
    for (int i = 0; i < before; i++)
        message_post(message_new(side_peer(a, b->id), 8, BLOCK, true));
    until(w, is_settled(a, b));
    send_many(side_peer(a, b->id), 8, UNREAD);
    sent = a->loc[b->id].sent;
    w->side[b->id] = NULL;
    for (int i = 0; i < LATE && w->plugin->ops->drain(a->ep) == WEFT_EAGAIN;
         i++)
        take_turn(w);
    w->side[b->id] = b;
    side_leave(a);
    until(w, from->got == sent && !from->sinks) check(
        !from->downs, "%llu of %llu messages, then the peer was down: %s",
        (unsigned long long)from->got, (unsigned long long)sent, from->why);
    side_close(b);
}

static void leave_unread_anywhere(struct world *w)
{
    for (int before = 0; before < 128; before += UNREAD)
        leave_unread(w, before);
}

/* ---- reserving ----------------------------------------------------------- */

/* Do as the core does until the room is there. Returns what refuses it, or
 * 0. */
static int reserve_room(struct world *w, weft_core *a, weft_core *b,
                        uint32_t messages, uint64_t bytes)
{
    struct weft_loc *to = side_peer(a, b->id);
    int rc = WEFT_EAGAIN;

    until(w, rc == 0 || (rc < 0 && rc != WEFT_EAGAIN)) {
        rc = w->plugin->ops->reserve(to->peer, messages, bytes);
        for (int i = 0; i < rc; i++)
            message_post(message_new(to, 0, BLOCK, true));
        if (rc > 0)
            until(w, is_settled(a, b));
    }
    return rc;
}

/* All that was reserved leaves though the peer reads nothing, again and
 * again. */
static void send_reserved(struct world *w)
{
    enum { MESSAGES = 8 };
    static const uint64_t lengths[] = {0, 8, 40, 41, 64, 200};
    weft_core *a, *b;

    pair_open(w, &a, &b);
    check(reserve_room(w, a, b, MESSAGES, 200) == 0, "there is no room for %d "
          "messages of 200 bytes", MESSAGES);
    for (int round = 0; round < 60; round++) {
        check(!send_many(side_peer(a, b->id), lengths[round % 6], MESSAGES),
              "in round %d one had to wait", round);
        until(w, is_settled(a, b));
    }
    pair_close(w);
}

static void refuse_too_much(struct world *w)
{
    weft_core *a, *b;
    int rc;

    pair_open(w, &a, &b);
    rc = reserve_room(w, a, b, UINT32_MAX, 60000);
    check(rc == WEFT_ENOTSUP, "reserve() answered %d", rc);
    connect_pair(w, a, b); /* the pair is as good as before */
    pair_close(w);
}

const struct conform_case flow_cases[] = {
    {"after EAGAIN the sender is told when there is room", wait_for_room, 0},
    {"after EAGAIN from send_short the sender is told when there is room",
     wait_for_short_room, NEED_SHORT},
    {"an urgent message may be tried while there is no room", urgent_while_full,
     0},
    {"who reads late gets everything of a peer that has left", read_after_leave,
     NEED_OTHERS},
    {"what was sent before the end arrives though answers fail",
     leave_unread_anywhere, NEED_OTHERS},
    {"an abrupt end returns every container at once", leave_while_full, 0},
    {"messages that were reserved leave though nobody reads", send_reserved,
     NEED_RESERVE},
    {"more than there is room for is not reserved", refuse_too_much,
     NEED_RESERVE | NEED_OTHERS},
    {0}};
