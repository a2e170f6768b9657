/* The record, the limits and the addresses of a transport.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

#include "conform.h"

enum { KEY_MOST = 248 }; /* bytes of a key that the core carries */

static void check_record(struct world *w)
{
    const weft_plugin *p = w->plugin;
    const weft_ops *o = p->ops;

    check(p->magic == WEFT_MAGIC, "magic %08x", p->magic);
    check(p->abi_major == WEFT_ABI_MAJOR, "ABI %u", p->abi_major);
    check(p->size >= sizeof *p, "its record has %u bytes", p->size);
    check(p->hdr_bytes == WEFT_HDR, "headers of %u bytes", p->hdr_bytes);
    check(p->name && *p->name && p->version && p->desc && p->build,
          "a text of the record is missing");
    for (const char *c = p->name; *c; c++)
        check(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
                  *c == '_',
              "the name '%s' is no name for a section", p->name);
    check(o && o->size >= sizeof *o, "operations");
    check(o->open && o->close && o->attr && o->address && o->reach &&
              o->peer_add && o->peer_del && o->send && o->progress && o->drain,
          "a required operation is missing");
}

static size_t option_width(uint32_t type)
{
    return type == WEFT_OPT_BOOL || type == WEFT_OPT_ENUM ? sizeof(int) : 8;
}

static void check_option(const weft_plugin *p, const weft_option *o)
{
    for (const char *c = o->name; *c; c++)
        check(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
                  *c == '_',
              "option '%s' is no key of mpi.ini", o->name);
    check(o->type >= WEFT_OPT_BOOL && o->type <= WEFT_OPT_LIST, "option %s",
          o->name);
    check(o->dflt, "option %s has no default", o->name);
    check(o->help && *o->help, "option %s has no help", o->name);
    check(o->offset + option_width(o->type) <= p->cfg_size,
          "option %s lies outside the configuration", o->name);
    check(o->offset % option_width(o->type) == 0, "option %s is not aligned",
          o->name);
    check(o->type != WEFT_OPT_ENUM || o->range, "option %s has no range",
          o->name);
    for (const weft_option *q = p->options; q < o; q++)
        check(strcmp(q->name, o->name) != 0, "option %s stands twice", o->name);
}

static void check_options(struct world *w)
{
    void *cfg = calloc(1, w->plugin->cfg_size + 1);
    const char *bad;

    for (const weft_option *o = w->plugin->options; o && o->name; o++)
        check_option(w->plugin, o);
    bad = config_fill(w->plugin, cfg, NULL, 0);
    check(!bad, "%s", bad);
    free(cfg);
}

/* Each capability has its operations, and the reverse where that is a rule. */
static void check_capabilities(struct world *w)
{
    weft_core *c = side_open(w, 0, NULL);
    const weft_ops *o = w->plugin->ops;
    uint32_t caps = c->attr.caps;
#define HAS(op) WEFT_HAS(o, weft_ops, op)

    check(caps & (WEFT_CAP_LOCAL | WEFT_CAP_REMOTE | WEFT_CAP_SELF),
          "it reaches nobody");
    check(!c->attr.max_short == !HAS(send_short),
          "max_short is %u; send_short %s", c->attr.max_short,
          HAS(send_short) ? "exists" : "does not exist");
    check(!(caps & ~(uint32_t)WEFT_CAPS_KNOWN),
          "the core refuses a plugin with capability bits %x",
          caps & ~(uint32_t)WEFT_CAPS_KNOWN);
    check(!HAS(event) == !HAS(arm), "event() needs arm(), and the reverse");
    check(!(caps & WEFT_CAP_GET) == !HAS(get), "GET: get()");
    check(!(caps & WEFT_CAP_MAP) == !HAS(rkey_map), "MAP: rkey_map()");
    check(!(caps & WEFT_CAP_GET_ALONE) || caps & WEFT_CAP_GET,
          "GET_ALONE without GET");
    check(!(caps & (WEFT_CAP_GET | WEFT_CAP_MAP)) || caps & WEFT_CAP_NO_MR ||
              (HAS(mr_reg) && HAS(mr_dereg) && HAS(mr_pack) && HAS(rkey_open) &&
               HAS(rkey_close)),
          "memory is read without being offered");
    check(!HAS(mem_alloc) == !HAS(mem_free), "mem_alloc and mem_free");
    check(!HAS(map_fd) || HAS(mem_alloc), "map_fd without mem_alloc");
    check(!HAS(addr_parse) || HAS(addr_print), "addr_parse needs addr_print");
    check(!HAS(send_words) || HAS(send_short), "send_words needs send_short");
#undef HAS
    pair_close(w);
}

static void check_numbers(struct world *w)
{
    weft_core *c = side_open(w, 0, NULL);
    const weft_attr *a = &c->attr;

    check(a->size == sizeof *a, "attr() changed the size");
    check(a->max_payload >= 65536 && a->max_payload <= UINT32_MAX,
          "max_payload %llu", (unsigned long long)a->max_payload);
    check(a->max_eager <= a->max_payload, "max_eager %u", a->max_eager);
    check(a->max_short <= a->max_payload || !a->max_short, "max_short %u",
          a->max_short);
    check(a->rkey_len <= KEY_MOST, "rkey_len %u", a->rkey_len);
    check(c->blob_len[0] <= BLOB, "an address of %zu bytes", c->blob_len[0]);
    check(a->cost.bandwidth_mbs > 0 && a->cost.latency_ns > 0,
          "a cost is zero");
    pair_close(w);
}

static void check_address(struct world *w)
{
    weft_core *c = side_open(w, 0, NULL);
    const weft_ops *ops = w->plugin->ops;
    uint8_t blob[BLOB];
    size_t n = sizeof blob;
    char text[256];

    check(ops->address(c->ep, blob, &n) >= 0 && n == c->blob_len[0] &&
              memcmp(blob, c->blob[0], n) == 0,
          "it changes from call to call");
    for (size_t small = 0; small < n; small++) {
        size_t k = small;
        memset(blob, 0xee, sizeof blob);
        check(ops->address(c->ep, blob, &k) < 0, "%zu bytes are no room",
              small);
        for (size_t i = small; i < sizeof blob; i++)
            check(blob[i] == 0xee, "it wrote past %zu bytes", small);
    }
    if (WEFT_HAS(ops, weft_ops, addr_print)) {
        memset(text, 'x', sizeof text);
        check(ops->addr_print(c->blob[0], c->blob_len[0], text, 8) < 0 ||
                  memchr(text, 0, 8),
              "addr_print() without an end");
        check(text[8] == 'x', "addr_print() wrote past the end");
    }
    pair_close(w);
}

static void check_reach(struct world *w)
{
    weft_core *a, *b;
    weft_cost cost = {.size = sizeof cost};

    pair_open(w, &a, &b);
    check(w->plugin->ops->reach(a->ep, a->blob[b->id], a->blob_len[b->id],
                                &cost) == WEFT_OK,
          "its neighbour cannot be reached");
    check(w->plugin->ops->reach(a->ep, a->blob[b->id], a->blob_len[b->id],
                                NULL) == WEFT_OK,
          "reach() needs the cost");
    pair_close(w);
}

/* A card may be damaged, or from another version. */
static void offer_damaged(struct world *w)
{
    weft_core *c = side_open(w, 0, NULL);
    const weft_ops *ops = w->plugin->ops;
    size_t n = c->blob_len[0];

    for (int i = 0; i < 2000; i++) {
        size_t len =
            chance(&c->seed, 2) ? chance(&c->seed, (unsigned)n + 40) : n;
        uint8_t *blob = malloc(len ? len : 1); /* for the sanitizers */
        char text[64];
        for (size_t k = 0; k < len; k++)
            blob[k] = k < n && chance(&c->seed, 4)
                          ? c->blob[0][k]
                          : (uint8_t)chance(&c->seed, 256);
        weft_cost cost = {.size = sizeof cost};
        weft_peer *peer = NULL;
        ops->reach(c->ep, blob, len, &cost);
        if (WEFT_HAS(ops, weft_ops, addr_print))
            ops->addr_print(blob, len, text, sizeof text);
        if (len != n &&
            ops->peer_add(c->ep, &c->loc[2], 2, blob, len, &peer) >= 0)
            ops->peer_del(peer, 1);
        free(blob);
    }
    pair_close(w);
}

/* Text of mpi.ini may be anything. */
static void parse_any_text(struct world *w)
{
    static const char *const texts[] = {
        "",      "localhost", "127.0.0.1", "127.0.0.1:7000", "[::1]:7000",
        "x:y:z", "[",         "10.0.0.1:", "10.0.0.1:99999", ":"};
    weft_core *c = side_open(w, 0, NULL);
    const weft_ops *ops = w->plugin->ops;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t room = 0; room <= BLOB; room = room * 2 + 1) {
            uint8_t *blob = malloc(room ? room : 1); /* for the sanitizers */
            weft_cost cost = {.size = sizeof cost};
            char text[256];
            size_t n = room;
            if (ops->addr_parse(c->ep, texts[i], blob, &n) >= 0) {
                check(n <= room, "'%s' became %zu bytes in %zu", texts[i], n,
                      room);
                ops->reach(c->ep, blob, n, &cost);
                check(ops->addr_print(blob, n, text, sizeof text) >= 0,
                      "'%s' cannot be printed", texts[i]);
            }
            free(blob);
        }
    pair_close(w);
}

static int count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    check(d, "no /proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void check_probe(struct world *w)
{
    const weft_plugin *p = w->plugin;
    weft_core *c = side_open(w, 0, NULL);
    weft_attr a = {.size = sizeof a, .cost.size = sizeof a.cost};
    weft_open o = {.size = sizeof o,
                   .host = &conform_host,
                   .core = c,
                   .instance = p->name,
                   .cfg = c->cfg,
                   .local_count = 2,
                   .flags = WEFT_OPEN_ONE_HOST};
    int before = count_descriptors(), rc = p->ops->probe(&o, &a);

    check(rc >= 0, "it answered %d, but can be opened", rc);
    check(a.caps == c->attr.caps &&
              a.cost.latency_ns == c->attr.cost.latency_ns,
          "probe() and attr() differ");
    check(count_descriptors() == before, "it left something open");
    pair_close(w);
}

static void check_statistics(struct world *w)
{
    enum { MOST = 1000 };
    weft_core *c = side_open(w, 0, NULL);
    const weft_ops *ops = w->plugin->ops;
    const char *name[MOST];
    uint64_t value;
    int n = 0;

    if (WEFT_HAS(ops, weft_ops, stat)) {
        for (; ops->stat(c->ep, n, &name[n], &value) >= 0; n++) {
            check(n < MOST - 1, "they do not end");
            check(name[n] && *name[n], "number %d has no name", n);
            for (int i = 0; i < n; i++)
                check(strcmp(name[i], name[n]) != 0, "'%s' stands twice",
                      name[n]);
        }
        check(n > 0, "stat() knows none");
        check(ops->stat(c->ep, -1, &name[0], &value) < 0 &&
                  ops->stat(c->ep, n + 1, &name[0], &value) < 0,
              "there are some outside 0..%d", n - 1);
    }
    pair_close(w);
}

const struct conform_case shape_cases[] = {
    {"the record names its ABI and has every required operation", check_record,
     0},
    {"every option has a key, a default in range, a place and a help text",
     check_options, 0},
    {"each capability has its operations", check_capabilities, 0},
    {"the limits and costs of an endpoint make sense", check_numbers, 0},
    {"the address is stable and never written past the room given for it",
     check_address, 0},
    {"a neighbour is within reach", check_reach, 0},
    {"damaged addresses are refused and harm nothing", offer_damaged, 0},
    {"any text is an address, or refused", parse_any_text, NEED_PARSE},
    {"probe says what attr says, and leaves nothing behind", check_probe,
     NEED_PROBE},
    {"every counter has a name of its own", check_statistics, 0},
    {0}};
