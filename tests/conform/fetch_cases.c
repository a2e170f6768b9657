/* A side reads what the other has registered. A plugin may refuse a key, and
 * then the core sends; what it accepts must be right.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "conform.h"

enum { TURNS = 5000, KEY = REGION_KEY };

uint8_t region_pattern(uint64_t i)
{
    return (uint8_t)(i * 7 + (i >> 9));
}

struct region region_new(weft_core *c)
{
    const weft_ops *o = c->world->plugin->ops;
    struct region r = {.mem = {.size = sizeof r.mem, .len = REGION}};
    uint8_t *b;

    r.owned =
        WEFT_HAS(o, weft_ops, mem_alloc) && o->mem_alloc(c->ep, &r.mem) >= 0;
    if (!r.owned)
        r.mem.base = malloc(REGION);
    b = r.mem.base;
    for (uint64_t i = 0; i < REGION; i++)
        b[i] = region_pattern(i);
    return r;
}

void region_free(weft_core *c, struct region *r)
{
    if (r->owned)
        c->world->plugin->ops->mem_free(c->ep, &r->mem);
    else
        free(r->mem.base);
}

/* False: the other side will not read this memory. */
static bool key_open(weft_core *owner, weft_core *reader, struct region *r,
                     weft_rkey **k)
{
    const weft_ops *o = owner->world->plugin->ops;
    weft_peer *p = reader->loc[owner->id].peer;
    uint8_t key[KEY];
    size_t n = owner->attr.rkey_len;
    weft_mr *mr;
    int rc = -1;

    *k = NULL;
    if (owner->attr.caps & WEFT_CAP_NO_MR)
        return true;
    check(n <= KEY, "a key of %zu bytes", n);
    if (o->mr_reg(owner->ep, r->mem.base, REGION, &mr) < 0)
        return false;
    check(o->mr_pack(owner->ep, mr, key, &n) >= 0 && n <= owner->attr.rkey_len,
          "mr_pack() failed or made %zu bytes", n);
    for (int i = 0; rc < 0 && i < TURNS; i++) {
        rc = o->rkey_open(p, key, n, k);
        take_turn(owner->world);
    }
    o->mr_dereg(owner->ep, mr);
    return rc >= 0;
}

/* The reader makes progress alone until it has the bytes. */
static void wait_alone(weft_core *reader, const struct fetch *f)
{
    uint64_t end = now_ns() + WAIT_LIMIT * 1000000000ull;

    while (!f->done) {
        reader->world->plugin->ops->progress(reader->ep, BUDGET);
        check(now_ns() < end, "the target must help, in spite of GET_ALONE");
    }
}

/* Read; false: refused. */
static bool fetch_bytes(weft_core *reader, weft_core *owner, weft_rkey *k,
                        const uint8_t *from, uint8_t *to, uint64_t len)
{
    struct world *w = reader->world;
    struct fetch f = {.get = {.size = sizeof f.get,
                              .one = {to, len},
                              .raddr = (uintptr_t)from,
                              .rkey = k},
                      .started = true};
    int rc = w->plugin->ops->get(reader->loc[owner->id].peer, &f.get);

    if (rc == WEFT_OK && reader->attr.caps & WEFT_CAP_GET_ALONE)
        wait_alone(reader, &f);
    else if (rc == WEFT_OK)
        until(w, f.done);
    check(rc != WEFT_DONE || !f.done, "get_done although get() was done");
    return rc == WEFT_DONE || (rc == WEFT_OK && f.status >= 0);
}

void meet_both(struct world *w, weft_core **a, weft_core **b)
{
    pair_open(w, a, b);
    message_post(message_new(side_peer(*a, (*b)->id), 8, BLOCK, true));
    message_post(message_new(side_peer(*b, (*a)->id), 8, BLOCK, true));
    until(w, is_settled(*a, *b) && is_settled(*b, *a));
}

static void read_some(weft_core *reader, weft_core *owner, weft_rkey *k,
                      struct region *from, uint8_t *to)
{
    for (uint64_t len = 1; len < REGION; len = len * 11 + 5) {
        uint64_t at = chance(&reader->seed, (unsigned)(REGION - len));
        memset(to, 0xee, len + 1);
        if (!fetch_bytes(reader, owner, k, (uint8_t *)from->mem.base + at, to,
                         len))
            return;
        for (uint64_t i = 0; i < len; i++)
            check(to[i] == region_pattern(at + i), "byte %llu of %llu",
                  (unsigned long long)i, (unsigned long long)len);
        check(to[len] == 0xee, "one byte more than asked for");
    }
}

/* Into memory of its own, and into memory that the plugin made. */
static void read_offered(struct world *w)
{
    weft_core *a, *b;
    meet_both(w, &a, &b);
    struct region from = region_new(a), into = region_new(b);
    uint8_t *heap = malloc(REGION + 1);
    weft_rkey *k, *back;

    if (key_open(a, b, &from, &k)) {
        key_open(b, a, &into, &back);
        read_some(b, a, k, &from, heap);
        read_some(b, a, k, &from, into.mem.base);
        if (k)
            w->plugin->ops->rkey_close(b->loc[a->id].peer, k);
    }
    free(heap);
    region_free(a, &from);
    region_free(b, &into);
    pair_close(w);
}

/* The owner writes, and the other side sees it. */
/* The descriptor of memory maps the same memory once more. */
static void check_second_mapping(weft_core *c, const struct region *r)
{
    const weft_ops *o = c->world->plugin->ops;
    int fd = WEFT_HAS(o, weft_ops, map_fd) && r->owned
                 ? o->map_fd(c->ep, &r->mem)
                 : -1;
    uint8_t *own = r->mem.base, *second;

    if (fd < 0)
        return;
    second = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(second != MAP_FAILED, "map_fd() gave what cannot be mapped");
    for (uint64_t i = 0; i < REGION; i += 4097) {
        check(second[i] == own[i], "byte %llu", (unsigned long long)i);
        second[i] ^= 0xff;
        check(second[i] == own[i], "a store at %llu is not seen",
              (unsigned long long)i);
        second[i] ^= 0xff;
    }
    munmap(second, REGION);
}

static void check_mapping(struct world *w)
{
    weft_core *a, *b;
    meet_both(w, &a, &b);
    struct region r = region_new(a);
    uint8_t *own = r.mem.base;
    const volatile uint8_t *seen = own;
    weft_rkey *k;

    check(r.owned, "mem_alloc() refused %d bytes", REGION);
    check(key_open(a, b, &r, &k), "its own memory is not offered");
    if (k)
        seen = w->plugin->ops->rkey_map(k, (uintptr_t)own, REGION);
    check(seen, "rkey_map() refused it");
    for (uint64_t i = 0; i < REGION; i += 4099) {
        check(seen[i] == region_pattern(i), "byte %llu", (unsigned long long)i);
        own[i] ^= 0xff;
        check(seen[i] == own[i], "a store at %llu is not seen",
              (unsigned long long)i);
    }
    check_second_mapping(a, &r);
    if (k) {
        check(!w->plugin->ops->rkey_map(k, (uintptr_t)own + 1, REGION),
              "more was mapped than is offered");
        w->plugin->ops->rkey_close(b->loc[a->id].peer, k);
    }
    region_free(a, &r);
    pair_close(w);
}

static void open_nonsense(struct world *w)
{
    weft_core *a, *b;
    uint8_t key[KEY];
    weft_rkey *k = NULL;

    meet_both(w, &a, &b);
    for (int i = 0; i < 200 && !(a->attr.caps & WEFT_CAP_NO_MR); i++) {
        for (int j = 0; j < KEY; j++)
            key[j] = (uint8_t)(1 + chance(&a->seed, 255));
        check(w->plugin->ops->rkey_open(b->loc[a->id].peer, key,
                                        chance(&a->seed, KEY), &k) < 0,
              "a key of nonsense was opened");
        take_turn(w);
    }
    check(!a->loc[b->id].downs && !b->loc[a->id].downs, "the pair is broken");
    pair_close(w);
}

const struct conform_case fetch_cases[] = {
    {"what one side offers the other reads, byte for byte", read_offered,
     NEED_GET},
    {"get ends without the target, if it says so", read_offered,
     NEED_GET_ALONE},
    {"mapped memory shows what its owner writes", check_mapping, NEED_MAP},
    {"a key of nonsense is refused and breaks nothing", open_nonsense,
     NEED_GET},
    {0}};
