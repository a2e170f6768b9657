/* How two processes come together, and part.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "conform.h"

enum { MEETINGS = 50 };

static void pause_between(struct world *w, weft_core *c)
{
    for (unsigned n = chance(&w->seed, 6); n > 0; n--)
        w->plugin->ops->progress(c->ep, BUDGET);
}

static void offer_some(struct weft_loc *to, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct message *m = message_new(to, i * 100, BLOCK, true);
        int rc = message_offer(m);
        check(rc >= 0 || rc == WEFT_EAGAIN, "send() failed: %d", rc);
        if (rc != WEFT_EAGAIN)
            continue;
        message_withdraw(m);
        return;
    }
}

static void cross_calls(struct world *w)
{
    for (int i = 0; i < MEETINGS; i++) {
        weft_core *a, *b;
        pair_open(w, &a, &b);
        side_peer(b, a->id);
        offer_some(&a->loc[1], 1 + chance(&w->seed, 3));
        pause_between(w, a);
        offer_some(&b->loc[0], 1 + chance(&w->seed, 3));
        pause_between(w, b);
        until(w, a->loc[1].ups && b->loc[0].ups);
        message_post(message_new(&a->loc[1], 10, BLOCK, true));
        message_post(message_new(&b->loc[0], 10, BLOCK, true));
        until(w, is_settled(a, b) && is_settled(b, a));
        check(a->loc[1].ups == 1 && b->loc[0].ups == 1,
              "peer_up came %d and %d times", a->loc[1].ups, b->loc[0].ups);
        pair_close(w);
    }
}

/* The same between two processes that start at the same moment. */
static void cross_there(struct world *w)
{
    for (int i = 0; i < MEETINGS; i++) {
        weft_core *c = partner_meet(w, 1);
        char mine = 1, theirs;
        message_post(message_new(&c->loc[0], 100, BLOCK, true));
        until(w, c->loc[0].got == 1 && !c->loc[0].lent);
        side_leave(c);
        partner_swap(w, &mine, &theirs, 1);
    }
}

static void cross_between_processes(struct world *w)
{
    partner_start(w, cross_there);
    for (int i = 0; i < MEETINGS; i++) {
        weft_core *c = partner_meet(w, 0);
        char mine = 1, theirs;
        message_post(message_new(&c->loc[1], 100, BLOCK, true));
        until(w, c->loc[1].got == 1 && !c->loc[1].lent);
        side_leave(c);
        partner_swap(w, &mine, &theirs, 1);
    }
    partner_end(w);
}

static void introduce_caller(struct world *w)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    message_post(message_new(&a->loc[1], 100, BLOCK, false));
    until(w, is_settled(a, b));
    check(b->located == 1, "locate was called %d times", b->located);
    check(a->located == 0, "the caller itself was asked");
    check(b->loc[0].peer, "and the peer was not added");
    message_post(message_new(&b->loc[0], 100, BLOCK, false));
    until(w, is_settled(b, a));
    pair_close(w);
}

/* The end of a call that leads nowhere: the message comes back, peer_down. */
static void check_failed_call(struct world *w, weft_core *a, uint32_t other)
{
    struct weft_loc *to = &a->loc[other];
    struct message *m = message_new(to, 1000, SEGMENTS, false);
    int rc = message_offer(m);

    if (strcmp(w->plugin->name, "thread") == 0)
        exit(SKIPPED); /* it calls nobody: the message is there already */

    if (rc == WEFT_EAGAIN)
        message_withdraw(m);
    until(w, to->downs || rc < WEFT_EAGAIN);
    until(w, to->downs);
    check(rc == WEFT_EAGAIN || to->tx_failed == 1,
          "the message was not returned with an error");
    check(to->ups == 0, "peer_up came");
    m = message_new(to, 10, BLOCK, true);
    to->downs = 0; /* the suite asks once more */
    rc = message_offer(m);
    to->downs = 1;
    check(rc < WEFT_EAGAIN, "send() after peer_down answered %d", rc);
}

static void refuse_caller(struct world *w)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    b->loc[0].unwanted = true;
    check_failed_call(w, a, 1);
    check(b->located > 0 && b->loc[0].got == 0, "b was not asked");
    side_close(a);
    side_close(b);
}

static void refuse_other_key(struct world *w)
{
    weft_core *b = side_open(w, 1, NULL);
    weft_core *stranger = side_open(w, 0, "another secret");
    weft_core *friend = side_open(w, 2, NULL);

    side_meet(stranger, b);
    side_meet(friend, b);
    side_peer(stranger, 1);
    side_peer(friend, 1);
    side_peer(b, 0);
    check_failed_call(w, stranger, 1);
    check(b->loc[0].got == 0 && b->loc[0].ups == 0 && b->located == 0,
          "the stranger was let in");
    message_post(message_new(&friend->loc[1], 100, BLOCK, false));
    until(w, is_settled(friend, b));
    side_close(stranger);
    pair_close(w);
}

/* The address says 1, but process 3 answers there. */
static void refuse_other_process(struct world *w)
{
    weft_core *a = side_open(w, 0, NULL), *c = side_open(w, 3, NULL);

    memcpy(a->blob[1], c->blob[3], BLOB);
    a->blob_len[1] = c->blob_len[3];
    memcpy(c->blob[0], a->blob[0], BLOB);
    c->blob_len[0] = a->blob_len[0];
    side_peer(a, 1);
    check_failed_call(w, a, 1);
    check(c->loc[0].got == 0, "a message for 1 came to 3");
    side_close(a);
    side_close(c);
}

static void call_nobody(struct world *w)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    side_close(b);
    check_failed_call(w, a, 1);
    side_close(a);
}

static void connect_early(struct world *w)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    check(w->plugin->ops->connect(a->loc[1].peer) >= 0, "connect() failed");
    until(w, a->loc[1].ups && b->loc[0].ups);
    message_post(message_new(&a->loc[1], 100, BLOCK, false));
    until(w, is_settled(a, b));
    check(a->loc[1].ups == 1 && b->loc[0].ups == 1, "connected twice");
    pair_close(w);
}

/* ---- parting ------------------------------------------------------------- */

enum { LAST_WORDS = 300 };

static uint64_t length_of_last_word(const weft_core *c, int i)
{
    uint64_t len = (uint64_t)i * i * 17 % 200000;

    return len < c->attr.max_payload ? len : c->attr.max_payload;
}

static void talk_and_leave(struct world *w)
{
    weft_core *c = partner_meet(w, 1);

    for (int i = 0; i < LAST_WORDS; i++)
        message_post(message_new(&c->loc[0], length_of_last_word(c, i),
                                 SEGMENTS, i & 1));
    until(w, !c->loc[0].lent);
    side_leave(c);
    partner_tell(w);
}

static void check_goodbye(struct world *w)
{
    weft_core *c;
    int idle = 0;

    partner_start(w, talk_and_leave);
    c = partner_meet(w, 0);
    c->mix = true;
    until(w, partner_spoke(w));
    until(w, c->loc[1].got == LAST_WORDS && !c->loc[1].sinks);
    while (idle < 3000) /* the end of the connection is seen */
        idle = take_turn(w) ? 0 : idle + 1;
    check(!c->loc[1].downs, "the goodbye was taken for a failure: %s",
          c->loc[1].why);
    side_leave(c);
    partner_end(w);
}

/* Nothing was said: drain has nothing to wait for. */
static void leave_in_silence(struct world *w)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    check(w->plugin->ops->drain(a->ep) == WEFT_OK, "drain() wants to wait");
    pair_close(w);
}

static void delete_in_peace(struct world *w)
{
    weft_core *a, *b;
    weft_peer *p;

    pair_open(w, &a, &b);
    for (int i = 0; i < 20; i++)
        message_post(message_new(&a->loc[b->id], 20000, SEGMENTS, false));
    until(w, !a->loc[b->id].lent);
    p = a->loc[b->id].peer;
    until(w, w->plugin->ops->peer_del(p, 0) != WEFT_EAGAIN);
    a->loc[b->id].peer = NULL;
    if (a != b)
        until(w, b->loc[0].got == 20 && !b->loc[0].sinks);
    check(b->loc[a->id].got == 20, "%llu of 20 messages came",
          (unsigned long long)b->loc[a->id].got);
    pair_close(w);
}

/* ---- what is left behind ------------------------------------------------- */

static int count_entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    check(d, "no %s", dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static int check_mapping(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    int n = 0;

    check(f, "no /proc/self/maps");
    while (fgets(line, sizeof line, f))
        n += strstr(line, "weft") != NULL || strstr(line, "(deleted)") != NULL;
    fclose(f);
    return n;
}

static void meet_and_part(struct world *w, bool abrupt)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    message_post(message_new(&a->loc[b->id], 50000, BLOCK, false));
    until(w, is_settled(a, b));
    if (!abrupt)
        pair_close(w);
    for (int i = 0; i < SIDES; i++)
        if (w->side[i])
            side_close(w->side[i]);
}

static void leave_nothing(struct world *w)
{
    for (int i = 0; i < 10; i++)
        meet_and_part(w, i & 1);
    int fds = count_entries("/proc/self/fd"), mapped = check_mapping();
    int threads = count_entries("/proc/self/task");
    size_t bytes = mallinfo2().uordblks;
    for (int i = 0; i < 100; i++)
        meet_and_part(w, i & 1);
    check(count_entries("/proc/self/fd") == fds, "%d descriptors, then %d", fds,
          count_entries("/proc/self/fd"));
    check(count_entries("/proc/self/task") == threads, "%d threads, then %d",
          threads, count_entries("/proc/self/task"));
    check(check_mapping() == mapped, "%d segments, then %d", mapped,
          check_mapping());
    check(mallinfo2().uordblks <= bytes + 8192, "%zu bytes, then %zu", bytes,
          mallinfo2().uordblks);
}

const struct conform_case connect_cases[] = {
    {"of two crossed calls one connection remains, and no message is lost",
     cross_calls, NEED_OTHERS},
    {"calls that cross between processes make one connection",
     cross_between_processes, NEED_OTHERS},
    {"an unknown caller is introduced through locate", introduce_caller,
     NEED_OTHERS},
    {"a caller whom locate refuses is turned away", refuse_caller, NEED_OTHERS},
    {"a process with another key is refused, and others are not disturbed",
     refuse_other_key, NEED_OTHERS},
    {"the right key is not enough: the called must be the one meant",
     refuse_other_process, NEED_OTHERS},
    {"a call to a process that has ended fails", call_nobody, NEED_OTHERS},
    {"a connection can be asked for before the first message", connect_early,
     NEED_OTHERS | NEED_CONNECT},
    {"a goodbye loses nothing and is no failure", check_goodbye, NEED_OTHERS},
    {"an endpoint that never spoke drains at once", leave_in_silence, 0},
    {"deleting a peer in peace loses nothing", delete_in_peace, 0},
    {"closing gives back every descriptor, thread, segment and byte",
     leave_nothing, 0},
    {0}};
