/* A side operates on memory that another has exposed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

enum {
    ALL = WEFT_ACCESS_READ | WEFT_ACCESS_WRITE | WEFT_ACCESS_ATOMIC,
    ROUNDS = 300, /* atomic operations of each side */
    FLOOD = 64,   /* puts that are under way at a time */
    DEATHS = 12,
    FOREVER = 1 << 30
};

/* An offer of memory, as it travels to the others. */
struct invitation {
    uint64_t base;
    size_t key_len;
    uint8_t key[REGION_KEY];
};

static weft_mr *expose_region(weft_core *owner, const struct region *r,
                              struct invitation *i)
{
    const weft_ops *o = owner->world->plugin->ops;
    uint32_t access = owner->attr.caps & WEFT_CAP_RMA_ATOMIC
                          ? ALL
                          : ALL & ~(uint32_t)WEFT_ACCESS_ATOMIC;
    weft_mr *mr = NULL;
    int rc = o->mr_expose(owner->ep, r->mem.base, REGION, access, &mr);

    check(rc >= 0, "mr_expose() answered %d", rc);
    i->base = (uintptr_t)r->mem.base;
    i->key_len = owner->attr.rkey_len;
    check(i->key_len <= REGION_KEY, "a key of %zu bytes", i->key_len);
    rc = o->mr_pack(owner->ep, mr, i->key, &i->key_len);
    check(rc >= 0 && i->key_len <= owner->attr.rkey_len,
          "mr_pack() answered %d, %zu bytes", rc, i->key_len);
    return mr;
}

/* False: the pair has ended. */
static bool open_invitation(struct weft_loc *to, const struct invitation *i,
                            weft_rkey **k)
{
    const weft_ops *o = to->core->world->plugin->ops;

    until(to->core->world,
          to->downs || o->rkey_open(to->peer, i->key, i->key_len, k) >= 0);
    return !to->downs;
}

/* ---- single operations --------------------------------------------------- */

static int start_operation(struct operation *o, struct weft_loc *to)
{
    int rc;

    o->rma.size = sizeof o->rma;
    o->to = to;
    o->done = o->lent = false;
    rc = to->core->world->plugin->ops->rma(to->peer, &o->rma);
    check(rc <= WEFT_DONE, "rma() answered %d", rc);
    check(!o->done, "rma_done before rma() returned");
    if (rc == WEFT_OK) {
        o->lent = true;
        to->lent++;
    } else {
        o->done = true;
        o->status = rc < 0 ? rc : WEFT_OK;
    }
    return rc;
}

/* Starts it, again while there is no room. Returns its status. */
static int run_operation(struct operation *o, struct weft_loc *to)
{
    struct world *w = to->core->world;

    until(w, to->downs || start_operation(o, to) != WEFT_EAGAIN);
    until(w, o->done || to->downs);
    return o->done ? o->status : WEFT_ELINK;
}

static int flush_peer(struct weft_loc *to)
{
    struct operation o = {.rma.kind = WEFT_RMA_FLUSH};

    check(start_operation(&o, to) != WEFT_EAGAIN, "a flush found no room");
    until(to->core->world, o.done);
    return o.status;
}

static int move_bytes(struct weft_loc *to, uint32_t kind, weft_rkey *k,
                      uint64_t at, void *buf, size_t n)
{
    struct operation o = {
        .rma = {.kind = kind, .one = {buf, n}, .raddr = at, .rkey = k}};

    return run_operation(&o, to);
}

static uint64_t change_word(struct weft_loc *to, uint32_t kind, weft_rkey *k,
                            uint64_t at, uint32_t width, uint64_t operand,
                            uint64_t compare)
{
    struct operation o = {.rma = {.kind = kind,
                                  .raddr = at,
                                  .rkey = k,
                                  .width = width,
                                  .operand = operand,
                                  .compare = compare}};
    int status = run_operation(&o, to);

    check(status == WEFT_OK, "atomic operation %u ended with %d", kind, status);
    return width == 4 ? (uint32_t)o.rma.result : o.rma.result;
}

/* ---- put and get --------------------------------------------------------- */

struct meeting {
    weft_core *owner, *user;
    struct weft_loc *to;
    struct region memory;
    struct invitation invitation;
    weft_mr *mr;
    weft_rkey *key;
};

static void begin_meeting(struct world *w, struct meeting *m)
{
    meet_both(w, &m->owner, &m->user);
    m->to = &m->user->loc[m->owner->id];
    m->memory = region_new(m->owner);
    m->mr = expose_region(m->owner, &m->memory, &m->invitation);
    check(open_invitation(m->to, &m->invitation, &m->key), "the pair ended");
}

static void end_meeting(struct world *w, struct meeting *m)
{
    w->plugin->ops->rkey_close(m->to->peer, m->key);
    w->plugin->ops->mr_dereg(m->owner->ep, m->mr);
    region_free(m->owner, &m->memory);
    pair_close(w);
}

static void put_and_get(struct world *w)
{
    uint8_t *own = malloc(REGION + 16), *seen;
    struct meeting m;

    begin_meeting(w, &m);
    seen = m.memory.mem.base;
    for (uint64_t len = 1, n = 0; len < REGION - 64; len = len * 5 + 3, n++) {
        uint64_t at = chance(&w->seed, 64) + 1, off = n % 16;
        uint8_t *from = own + off, before = seen[at - 1],
                after = seen[at + len];

        for (uint64_t i = 0; i < len; i++)
            from[i] = (uint8_t)(i * 3 + len);
        check(move_bytes(m.to, WEFT_RMA_PUT, m.key, m.invitation.base + at,
                         from, len) == WEFT_OK,
              "a put of %llu bytes failed", (unsigned long long)len);
        check(flush_peer(m.to) == WEFT_OK, "flush failed");
        check(memcmp(seen + at, from, len) == 0, "put of %llu bytes",
              (unsigned long long)len);
        check(seen[at - 1] == before && seen[at + len] == after,
              "a put wrote more than it should");
        memset(from, 0, len);
        check(move_bytes(m.to, WEFT_RMA_GET, m.key, m.invitation.base + at,
                         from, len) == WEFT_OK,
              "a get of %llu bytes failed", (unsigned long long)len);
        check(memcmp(seen + at, from, len) == 0, "get of %llu bytes",
              (unsigned long long)len);
    }
    free(own);
    end_meeting(w, &m);
}

/* ---- flush --------------------------------------------------------------- */

static uint8_t *watched_byte;
static int watched_messages;

static void look_at_byte(struct weft_loc *from, uint64_t number)
{
    (void)from, (void)number;
    watched_messages++;
    check(*watched_byte == (uint8_t)watched_messages,
          "a message that was sent after a flush came before the put");
}

/* Many puts under way; the flush ends after all of them. */
static void flush_many(struct world *w)
{
    static struct operation o[FLOOD];
    uint64_t values[FLOOD];
    struct meeting m;

    begin_meeting(w, &m);
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < FLOOD; i++) {
            values[i] = (uint64_t)(round * FLOOD + i);
            o[i].rma = (weft_rma){.kind = WEFT_RMA_PUT,
                                  .one = {&values[i], 8},
                                  .raddr = m.invitation.base + 8 * (size_t)i,
                                  .rkey = m.key};
            until(w, start_operation(&o[i], m.to) != WEFT_EAGAIN);
        }
        check(flush_peer(m.to) == WEFT_OK, "flush failed");
        for (int i = 0; i < FLOOD; i++)
            check(o[i].done && o[i].status == WEFT_OK,
                  "put %d was not over when the flush was", i);
        check(memcmp(m.memory.mem.base, values, sizeof values) == 0,
              "what was put is not there after the flush");
    }
    end_meeting(w, &m);
}

static void flush_then_send(struct world *w)
{
    struct meeting m;

    begin_meeting(w, &m);
    watched_byte = (uint8_t *)m.memory.mem.base + 77;
    watched_messages = 0;
    m.owner->on_rx = look_at_byte;
    for (int i = 1; i <= 100; i++) {
        uint8_t value = (uint8_t)i;

        check(move_bytes(m.to, WEFT_RMA_PUT, m.key, m.invitation.base + 77,
                         &value, 1) == WEFT_OK &&
                  flush_peer(m.to) == WEFT_OK,
              "a put failed");
        message_post(message_new(m.to, 8, BLOCK, true));
        until(w, watched_messages == i);
    }
    m.owner->on_rx = NULL;
    end_meeting(w, &m);
}

/* ---- atomic operations --------------------------------------------------- */

static void check_kinds(struct meeting *m, uint32_t width)
{
    uint64_t at = m->invitation.base + 64,
             mask = width == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t have = UINT64_C(0x1234567890abcdef) & mask;
    const struct {
        uint32_t kind;
        uint64_t operand, compare, makes;
    } all[] = {{WEFT_RMA_ADD, 0x1111111111111111, 0, 0},
               {WEFT_RMA_AND, 0xff00ff00ff00ff00, 0, 0},
               {WEFT_RMA_OR, 0x0f0f0f0f0f0f0f0f, 0, 0},
               {WEFT_RMA_XOR, 0xffff0000ffff0000, 0, 0},
               {WEFT_RMA_SWAP, 0xabcdef0123456789, 0, 0},
               {WEFT_RMA_CAS, 42, 0xabcdef0123456789, 0},
               {WEFT_RMA_CAS, 43, 41, 0}};

    memset((char *)m->memory.mem.base + 64 - 8, 0x5a, 24);
    memcpy((char *)m->memory.mem.base + 64, &have, width);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        weft_rma model = {.kind = all[i].kind,
                          .width = width,
                          .operand = all[i].operand,
                          .compare = all[i].compare};
        uint64_t old =
            change_word(m->to, all[i].kind, m->key, at, width,
                        all[i].operand & mask, all[i].compare & mask);
        uint64_t now = 0;

        check(old == have, "operation %u found another number", all[i].kind);
        have = weft_rma_compute(&model, have) & mask;
        memcpy(&now, (char *)m->memory.mem.base + 64, width);
        check(now == have, "operation %u made another number", all[i].kind);
    }
    for (int i = -8; i < 16; i++)
        check((i >= 0 && i < (int)width) ||
                  ((uint8_t *)m->memory.mem.base)[64 + i] == 0x5a,
              "byte %d beside the word was changed", i);
}

static void atomics_compute(struct world *w)
{
    struct meeting m;

    begin_meeting(w, &m);
    check_kinds(&m, 4);
    check_kinds(&m, 8);
    end_meeting(w, &m);
}

/* Sides 1 to 3 and the owner's processor add to one word. */
static void atomics_meet(struct world *w)
{
    struct operation o[SIDES] = {{.lent = false}};
    struct weft_loc *to[SIDES];
    weft_rkey *key[SIDES];
    int left[SIDES], open = SIDES - 1;
    struct invitation invitation;
    weft_core *owner = side_open(w, 0, NULL);
    struct region r = region_new(owner);
    weft_mr *mr = expose_region(owner, &r, &invitation);
    uint64_t *word = r.mem.base, own = 0;

    *word = 0;
    for (int i = 1; i < SIDES; i++) {
        weft_core *c = side_open(w, (uint32_t)i, NULL);

        side_meet(owner, c);
        to[i] = side_peer(c, 0);
        check(to[i] && side_peer(owner, (uint32_t)i), "peer_add() failed");
        message_post(message_new(to[i], 8, BLOCK, true));
        until(w, to[i]->ups > 0 && to[i]->lent == 0);
        check(open_invitation(to[i], &invitation, &key[i]), "the pair ended");
        o[i].done = true;
        left[i] = ROUNDS;
    }
    until(w, open == 0)
    {
        __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
        own++;
        for (int i = 1; i < SIDES; i++) {
            if (left[i] < 0 || !o[i].done)
                continue;
            check(o[i].status == WEFT_OK, "an addition failed");
            if (left[i]-- == 0) {
                open--;
                continue;
            }
            o[i].rma = (weft_rma){.kind = WEFT_RMA_ADD,
                                  .raddr = invitation.base,
                                  .rkey = key[i],
                                  .width = 8,
                                  .operand = 1u << 20};
            if (start_operation(&o[i], to[i]) == WEFT_EAGAIN) {
                left[i]++;
                o[i].status = WEFT_OK;
            }
        }
    }
    check(*word == own + ((uint64_t)(SIDES - 1) * ROUNDS << 20),
          "the sum is %llu", (unsigned long long)*word);
    for (int i = 1; i < SIDES; i++)
        w->plugin->ops->rkey_close(to[i]->peer, key[i]);
    w->plugin->ops->mr_dereg(owner->ep, mr);
    region_free(owner, &r);
    pair_close(w);
}

/* ---- what is refused ----------------------------------------------------- */

static int flush_status(struct weft_loc *to, uint32_t kind, weft_rkey *k,
                        uint64_t at, size_t n)
{
    static uint8_t own[4096];
    struct operation o = {.rma = {.kind = kind, .raddr = at, .rkey = k}};
    int status;

    memset(own, 0x77, sizeof own);
    if (kind > WEFT_RMA_FLUSH)
        o.rma.width = (uint32_t)n;
    else
        o.rma.one = (struct iovec){own, n};
    status = run_operation(&o, to);
    return status < 0 || kind != WEFT_RMA_PUT ? status : flush_peer(to);
}

static void refuse_range(struct world *w)
{
    struct meeting m;
    uint8_t *memory, before[64];

    begin_meeting(w, &m);
    if (m.owner->attr.caps & WEFT_CAP_NO_MR)
        exit(SKIPPED); /* its keys reach everything */
    memory = m.memory.mem.base;
    memcpy(before, memory, sizeof before);
    for (uint32_t kind = WEFT_RMA_PUT; kind <= WEFT_RMA_CAS; kind++) {
        const struct {
            uint64_t at;
            size_t n;
        } wrong[] = {{m.invitation.base + REGION, 8},
                     {m.invitation.base + REGION - 4, 8},
                     {m.invitation.base - 8, 8},
                     {8, 8},
                     {UINT64_MAX - 7, 8}};

        if (kind == WEFT_RMA_FLUSH ||
            (kind > WEFT_RMA_FLUSH &&
             !(m.owner->attr.caps & WEFT_CAP_RMA_ATOMIC)))
            continue;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            int status =
                flush_status(m.to, kind, m.key, wrong[i].at, wrong[i].n);
            check(status == WEFT_EINVAL,
                  "operation %u on range %zu ended with %d", kind, i, status);
        }
    }
    check(memcmp(memory, before, sizeof before) == 0, "memory was changed");
    check(flush_status(m.to, WEFT_RMA_PUT, m.key, m.invitation.base, 8) ==
              WEFT_OK,
          "a right put failed after wrong ones");
    end_meeting(w, &m);
}

/* ---- death --------------------------------------------------------------- */

/* Exposes memory, and lives until it is killed. */
static void live_exposed(struct world *w)
{
    weft_core *c = partner_meet(w, 1);
    struct region r = region_new(c);
    struct invitation mine = {0}, none;
    long no_steps = 0, steps;

    expose_region(c, &r, &mine);
    partner_swap(w, &no_steps, &steps, sizeof steps);
    partner_swap(w, &mine, &none, sizeof mine);
    w->die_in = steps;
    for (;;)
        take_turn(w);
}

/* Every operation on a process that dies comes to an end. */
static void operate_until_death(struct world *w, long steps)
{
    static uint8_t own[200000];
    struct operation o[4] = {
        {.done = true}, {.done = true}, {.done = true}, {.done = true}};
    struct invitation none = {0}, its;
    struct weft_loc *to;
    struct message *m;
    weft_rkey *key;
    long no_steps;
    int n = 0;

    w->seed++;
    partner_start(w, live_exposed);
    to = &partner_meet(w, 0)->loc[1];
    partner_swap(w, &steps, &no_steps, sizeof steps);
    partner_swap(w, &none, &its, sizeof its);
    m = message_new(to, 8, BLOCK, true); /* the pair connects */
    if (message_offer(m) == WEFT_EAGAIN)
        message_withdraw(m);
    if (!open_invitation(to, &its, &key))
        goto end;
    until(w, to->downs)
    {
        if (n >= 200 && w->partner > 0)
            kill(w->partner, SIGKILL);
        for (int i = 0; i < 4 && !to->downs; i++) {
            if (!o[i].done)
                continue;
            o[i].rma = (weft_rma){.kind = (uint32_t)(i < 3 ? i : 0) + 1,
                                  .one = {own, i == 2 ? 0 : sizeof own},
                                  .raddr = its.base,
                                  .rkey = i == 2 ? NULL : key};
            start_operation(&o[i], to);
            n++;
        }
    }
    for (int i = 0; i < 4; i++)
        check(o[i].done, "operation %d has no end", i);
end:
    check(to->status == WEFT_EPEER || to->status == WEFT_ELINK,
          "peer_down came with %d", to->status);
    side_close(to->core);
    if (w->partner > 0)
        waitpid(w->partner, NULL, 0);
    w->partner = 0;
    close(w->channel);
}

static void operate_on_the_dying(struct world *w)
{
    for (int i = 0; i < DEATHS; i++)
        operate_until_death(w, i & 1 ? FOREVER
                                     : 40 + (long)chance(&w->seed, 1500));
}

const struct conform_case rma_cases[] = {
    {"what is put is there, and is got, byte for byte", put_and_get, NEED_RMA},
    {"a flush ends after all puts before it", flush_many, NEED_RMA},
    {"a message that is sent after a flush comes after the puts",
     flush_then_send, NEED_RMA},
    {"atomic operations compute, and touch their word only", atomics_compute,
     NEED_RMA_ATOMIC},
    {"atomic operations of several sides and of the owner's processor lose "
     "nothing",
     atomics_meet, NEED_RMA_ATOMIC | NEED_OTHERS},
    {"what a key does not reach is refused, and nothing else breaks",
     refuse_range, NEED_RMA},
    {"operations on a peer that dies come to an end", operate_on_the_dying,
     NEED_RMA | NEED_OTHERS},
    {0}};
