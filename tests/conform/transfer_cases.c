/* Messages arrive, whatever their size and wherever their payload lies.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "conform.h"

/* Around every limit a plugin is likely to have. */
static const uint32_t sizes[] = {
    0,      1,      7,       8,       24,      39,    40,    41,     63,
    64,     65,     100,     511,     512,     1000,  1024,  4031,   4032,
    4033,   4095,   4096,    4097,    8191,    8192,  8193,  16383,  16384,
    16385,  32767,  32768,   32769,   65535,   65536, 65537, 131072, 262143,
    300000, 524288, 1048575, 1048576, 1048577, BIG};
enum { SIZES = sizeof sizes / sizeof *sizes };

static uint64_t fit_length(const weft_core *c, uint64_t len)
{
    return len < c->attr.max_payload ? len : c->attr.max_payload;
}

static uint64_t any_size(weft_core *c)
{
    switch (chance(&c->seed, 8)) {
    case 0:
        return 0;
    case 1:
    case 2:
    case 3:
        return chance(&c->seed, 64);
    case 4:
    case 5:
        return chance(&c->seed, 9000);
    case 6:
        return fit_length(c, chance(&c->seed, 100000));
    default:
        return fit_length(c,
                          chance(&c->seed, chance(&c->seed, 4) ? 70000 : BIG));
    }
}

/* Every size, every layout, both headers; the receiver answers as set. */
static void all_sizes(struct world *w, enum answer how, bool mix,
                      enum layout layout)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    b->answer = how;
    b->mix = mix;
    for (int i = 0; i < 2 * SIZES; i++) {
        enum layout l = layout == LAYOUTS ? (enum layout)(i % LAYOUTS) : layout;
        message_post(message_new(side_peer(a, b->id),
                                 fit_length(a, sizes[i / 2]), l, i & 1));
        until(w, is_settled(a, b));
    }
    pair_close(w);
}

static void send_blocks(struct world *w)
{
    all_sizes(w, TAKE, false, BLOCK);
}

static void send_segments(struct world *w)
{
    all_sizes(w, TAKE, false, SEGMENTS);
}

static void use_sinks(struct world *w)
{
    all_sizes(w, SINK_ONE, false, LAYOUTS);
}

static void use_pieces(struct world *w)
{
    all_sizes(w, SINK_PIECES, false, LAYOUTS);
}

static void truncate_all(struct world *w)
{
    all_sizes(w, TRUNCATE, false, LAYOUTS);
}

static void skip_all(struct world *w)
{
    all_sizes(w, SKIP_REST, false, LAYOUTS);
}

static void pause_all(struct world *w)
{
    all_sizes(w, PAUSE, false, LAYOUTS);
}

/* Many messages under way, answered in every way. */
static void send_mixture(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *to;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    b->mix = true;
    for (int i = 0; i < 1500; i++) {
        struct message *m =
            chance(&a->seed, 12)
                ? message_new(to, any_size(a), chance(&a->seed, LAYOUTS),
                              chance(&a->seed, 2))
                : message_urgent(to);
        message_post(m);
        if (chance(&a->seed, 4) == 0)
            take_turn(w);
    }
    until(w, is_settled(a, b));
    pair_close(w);
}

/* Copies; needs no more than 24 bytes of a short header. */
static void send_shorts(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *to;
    uint64_t max;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    b->mix = true;
    max = a->attr.max_short < BIG ? a->attr.max_short : BIG;
    for (int i = 0; i < 2 * SIZES + 2; i++) {
        uint64_t len = i < 2 * SIZES ? sizes[i / 2] : max;
        if (len > max)
            continue;
        for (int readies = to->readies, rc = WEFT_EAGAIN; rc != WEFT_DONE;) {
            rc = message_short(to, len, i & 1, 0);
            check(rc == WEFT_DONE || rc == WEFT_EAGAIN, "send_short: %d", rc);
            if (rc == WEFT_EAGAIN)
                until(w, to->readies > readies);
            readies = to->readies;
        }
        if (i % 5 == 0)
            until(w, is_settled(a, b));
    }
    until(w, is_settled(a, b));
    pair_close(w);
}

/* Messages that are held back leave in order: with another send, or with
 * progress. */
static void send_windows(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *to;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    b->mix = true;
    message_post(message_new(to, 1, BLOCK, true));
    for (int window = 1; window <= 100; window++) {
        for (int i = 0; i < window;) {
            int readies = to->readies;
            int rc =
                message_short(to, (uint64_t)(i % 7) * 9, i % 3, WEFT_TX_MORE);
            check(rc >= 0 || rc == WEFT_EAGAIN, "send_short: %d", rc);
            if (rc == WEFT_EAGAIN)
                until(w, to->readies > readies);
            else
                i++;
        }
        if (window % 3 == 0)
            message_post(message_new(to, 20, SEGMENTS, true));
        until(w, is_settled(a, b));
    }
    pair_close(w);
}

/* Words and containers in turn; without room the core keeps the words. */
static void send_words_in_turn(struct world *w)
{
    enum { MESSAGES = 20000 };
    weft_core *a, *b;
    struct weft_loc *to;
    unsigned longest;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    b->mix = true;
    longest = a->attr.max_short < 9000 ? a->attr.max_short : 9000;
    for (int i = 0; i < MESSAGES; i++) {
        int readies = to->readies;
        uint64_t len = chance(&a->seed, chance(&a->seed, 8) ? 40 : longest + 1);
        if (chance(&a->seed, 50) == 0)
            message_post(message_new(to, fit_length(a, len), SEGMENTS, i & 1));
        else if (message_words(to, len) == NO_ROOM)
            until(w, to->readies > readies);
        if (chance(&a->seed, 100) == 0)
            until(w, is_settled(a, b));
    }
    until(w, is_settled(a, b));
    pair_close(w);
}

/* ---- from inside callbacks ----------------------------------------------- */

enum { ROUNDS = 400 };

/* Not waiting for room: a refused answer is posted by the case itself. */
static void send_back(struct weft_loc *from, uint64_t number)
{
    uint64_t len = fit_length(from->core, number * 37 % 20000);
    struct message *m;

    if (from->sent >= ROUNDS)
        return;
    m = message_new(from, len, number % LAYOUTS, number & 2);
    if (message_offer(m) == WEFT_EAGAIN)
        message_withdraw(m);
}

static void follow_up(struct weft_loc *to)
{
    send_back(to, to->sent);
}

static void send_from_rx(struct world *w)
{
    weft_core *a, *b;

    pair_open(w, &a, &b);
    a->on_rx = b->on_rx = send_back;
    a->answer = b->answer = SINK_PIECES;
    while (a->loc[b->id].sent < ROUNDS || b->loc[a->id].sent < ROUNDS) {
        message_post(message_new(side_peer(a, b->id), 8, BLOCK, true));
        until(w, is_settled(a, b) && is_settled(b, a));
    }
    pair_close(w);
}

static void send_from_tx_done(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *to;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    a->on_tx_done = follow_up;
    b->answer = SINK_ONE;
    while (to->sent < ROUNDS) {
        message_post(message_new(to, fit_length(a, 300000), SEGMENTS, false));
        until(w, is_settled(a, b));
    }
    pair_close(w);
}

/* ---- both ways, several peers -------------------------------------------- */

struct post { /* a message that its plugin had no room for */
    struct message *m;
    int readies;
};

static void keep_flowing(struct weft_loc *to, struct post *post, int limit)
{
    if (!post->m && to->sent < (uint64_t)limit)
        post->m = message_new(to, any_size(to->core),
                              chance(&to->core->seed, LAYOUTS),
                              chance(&to->core->seed, 2));
    else if (!post->m || to->readies == post->readies)
        return;
    post->readies = to->readies;
    if (message_offer(post->m) != WEFT_EAGAIN)
        post->m = NULL;
}

static bool all_settled(struct world *w, int limit)
{
    for (int i = 0; i < SIDES; i++)
        for (int k = 0; k < SIDES; k++)
            if (i != k && (w->side[i]->loc[k].sent < (uint64_t)limit ||
                           !is_settled(w->side[i], w->side[k])))
                return false;
    return true;
}

static void talk_to_everyone(struct world *w)
{
    struct post posts[SIDES][SIDES] = {{{0}}};

    w->local_count = 1000; /* more processes than processors */
    for (uint32_t i = 0; i < SIDES; i++) {
        side_open(w, i, NULL)->mix = true;
        for (uint32_t k = 0; k < i; k++)
            side_meet(w->side[i], w->side[k]);
    }
    until(w, all_settled(w, 150))
    {
        for (uint32_t i = 0; i < SIDES; i++)
            for (uint32_t k = 0; k < SIDES; k++)
                if (i != k)
                    keep_flowing(side_peer(w->side[i], k), &posts[i][k], 150);
    }
    pair_close(w);
}

/* ---- two processes ------------------------------------------------------- */

enum { STORM = 1500 };

static void exchange_storm(weft_core *c, uint32_t other)
{
    struct world *w = c->world;
    struct weft_loc *l = side_peer(c, other);
    struct post post = {0};

    c->mix = true;
    until(w, l->sent == STORM && l->got == STORM && !l->lent && !l->sinks &&
                 !post.m)
    {
        check(!l->downs || l->got == STORM, "%u of %u came, then: %s",
              (unsigned)l->got, (unsigned)STORM, l->why);
        keep_flowing(l, &post, STORM);
    }
    side_leave(c);
}

static void storm_there(struct world *w)
{
    exchange_storm(partner_meet(w, 1), 0);
}

static void flood_between_processes(struct world *w)
{
    partner_start(w, storm_there);
    exchange_storm(partner_meet(w, 0), 1);
    partner_end(w);
}

/* ---- a message that somebody polls for ----------------------------------- */

enum wrong {
    RIGHT,
    MASKED,
    OTHER_TYPE,
    OTHER_ENV0,
    OTHER_ENV1,
    TOO_LONG,
    WRONGS
};

/* Ask for the next message of `from`, or for one that differs from it. */
static bool take_next(struct weft_loc *from, uint64_t len, enum wrong wrong)
{
    uint64_t number = (from->got + 1) << 1;
    uint64_t bit = UINT64_C(1) << chance(&from->core->seed, 64);
    bool room = wrong == TOO_LONG && len > 0;
    uint8_t buf[100];
    weft_hdr h;
    weft_want w;
    int rc;

    memset(buf, 0xee, sizeof buf);
    header_make(&h, from->id, number, (uint32_t)len, true);
    w = (weft_want){.size = sizeof w,
                    .h0 = (uint32_t)header_word(&h, 0),
                    .h1 = header_word(&h, 1),
                    .h2 = header_word(&h, 2),
                    .mask = UINT64_MAX,
                    .buf = buf,
                    .room = len - room};
    w.h0 ^= wrong == OTHER_TYPE ? (uint32_t)(bit >> 32) | 1 : 0;
    w.h1 ^= wrong == OTHER_ENV0 ? bit : 0;
    w.h2 ^= wrong == OTHER_ENV1 || wrong == MASKED ? bit : 0;
    w.mask ^= wrong == MASKED ? bit : 0;
    w.h2 &= w.mask;
    rc = from->core->world->plugin->ops->recv_words(from->peer, &w);
    check(rc == WEFT_OK || rc == WEFT_EAGAIN || rc == WEFT_DONE, "%d", rc);
    if (rc == WEFT_DONE) {
        check(wrong <= MASKED || (wrong == TOO_LONG && !room),
              "it took another message than was wanted");
        check(!from->paused, "it read on without rx_resume");
        check(w.room == len && w.h2 == header_word(&h, 2),
              "header or length are others");
        payload_check(buf, from->id, number, 0, len);
        check(buf[len] == 0xee, "it wrote beyond the payload");
        from->got++;
    }
    return rc == WEFT_DONE;
}

static void take_wanted_messages(struct world *w)
{
    enum { MESSAGES = 3000, LONGEST = 60 };
    weft_core *a, *b;
    struct weft_loc *to, *from;
    unsigned seed = 7, taken = 0;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    from = side_peer(b, a->id);
    b->mix = true;
    message_post(message_new(to, 1, BLOCK, true));
    until(w, is_settled(a, b));
    for (unsigned i = 0; i < MESSAGES; i++) {
        uint64_t len = chance(&seed, chance(&seed, 3) ? 12 : LONGEST);
        message_post(message_new(to, len, BLOCK, true));
        for (int k = 0; k < 6 && from->got < to->sent; k++)
            taken += take_next(from, len, (enum wrong)chance(&seed, WRONGS));
        until(w, is_settled(a, b));
    }
    check(taken > MESSAGES / 4, "it took %u messages", taken);
    pair_close(w);
}

/* ---- signs of life ------------------------------------------------------- */

static uint64_t read_traffic(const struct weft_loc *l)
{
    return l->core->world->plugin->ops->traffic(l->peer);
}

static void check_signs(struct world *w)
{
    weft_core *a, *b;
    struct weft_loc *to, *from;

    pair_open(w, &a, &b);
    to = side_peer(a, b->id);
    from = side_peer(b, a->id);
    message_post(message_new(to, 1, BLOCK, true));
    until(w, is_settled(a, b));
    for (int i = 0; i < 20; i++) {
        uint64_t sent = read_traffic(to), came = read_traffic(from);
        message_post(message_new(to, i % 2 ? 1 : 100000, BLOCK, i % 2));
        until(w, is_settled(a, b) && read_traffic(to) != sent &&
                     read_traffic(from) != came);
        check(read_traffic(to) > sent && read_traffic(from) > came,
              "it went back");
    }
    pair_close(w);
}

const struct conform_case transfer_cases[] = {
    {"a payload in one block arrives whole, with its header, at every size",
     send_blocks, 0},
    {"a payload given by its segments alone arrives as one stream",
     send_segments, 0},
    {"a payload lands in the block that the receiver names", use_sinks, 0},
    {"a payload lands in the pieces that the receiver names", use_pieces, 0},
    {"a sink shorter than the message gets its bytes and no more", truncate_all,
     0},
    {"skipping a payload leaves the messages after it whole", skip_all, 0},
    {"a receiver without memory is asked again after rx_resume", pause_all, 0},
    {"many messages under way arrive once and in order", send_mixture, 0},
    {"send_short copies, and reads a short header no further than 24 bytes",
     send_shorts, NEED_SHORT},
    {"what send_short holds back leaves with the next send or progress, in "
     "order",
     send_windows, NEED_SHORT},
    {"send_words copies, and gives back what it has no room for",
     send_words_in_turn, NEED_SEND_WORDS},
    {"recv_words takes the message that is wanted, and no other",
     take_wanted_messages, NEED_RECV_WORDS},
    {"traffic grows with what is confirmed, and with what comes", check_signs,
     NEED_TRAFFIC},
    {"messages may be sent from inside rx", send_from_rx, 0},
    {"messages may be sent from inside tx_done", send_from_tx_done, 0},
    {"four processes talk to each other at once", talk_to_everyone,
     NEED_OTHERS},
    {"two processes flood each other and lose nothing", flood_between_processes,
     NEED_OTHERS},
    {0}};
