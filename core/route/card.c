/* Cards: what a process publishes so that others can reach it.
 *
 *   "WCD1" | node u64 | config hash u64 | host str | count u8 |
 *   count times: transport name str | address bytes
 *   str and bytes: length u16, then the bytes. Everything little-endian.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "instance.h"
#include "protocol/wire.h"

enum { CARD_MAX = 8192, HEAD = 20 };

struct writer {
    uint8_t bytes[CARD_MAX];
    size_t n;
    bool full;
};

static void put(struct writer *w, const void *p, size_t n)
{
    if (w->n + n > CARD_MAX) {
        w->full = true;
        return;
    }
    memcpy(w->bytes + w->n, p, n);
    w->n += n;
}

static void put_u64(struct writer *w, uint64_t v)
{
    v = wf_le64(v);
    put(w, &v, sizeof v);
}

static void put_bytes(struct writer *w, const void *p, size_t n)
{
    uint16_t len = wf_le16((uint16_t)n);

    put(w, &len, sizeof len);
    put(w, p, n);
}

static void write_card(struct wf_instance *wf, struct writer *w)
{
    uint8_t count = 0;

    put(w, "WCD1", 4);
    put_u64(w, wf->node);
    put_u64(w, wf_config_hash(wf->config));
    put_bytes(w, wf->host, strlen(wf->host));
    for (int i = 0; i < wf->ep_count; i++)
        count += wf->eps[i].address != NULL;
    put(w, &count, 1);
    for (int i = 0; i < wf->ep_count; i++) {
        struct weft_core *c = &wf->eps[i];
        if (!c->address)
            continue;
        put_bytes(w, c->config->name, strlen(c->config->name));
        put_bytes(w, c->address, c->address_len);
    }
}

int wf_card_publish(struct wf_instance *wf)
{
    struct writer *w = calloc(1, sizeof *w);
    char key[32];
    int r;

    if (!w)
        return WEFT_ENOMEM;
    write_card(wf, w);
    snprintf(key, sizeof key, "weft.card.%u", wf->rank);
    r = w->full ? WEFT_ENOMEM
                : wf->boot->ops->put(wf->boot, key, w->bytes, w->n);
    free(w);
    return r;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const uint8_t *p, *end;
};

/* The next length-prefixed field, or false. */
static bool get_bytes(struct reader *r, const uint8_t **p, size_t *n)
{
    if (r->end - r->p < 2)
        return false;
    *n = (size_t)(r->p[0] | r->p[1] << 8);
    if ((size_t)(r->end - r->p - 2) < *n)
        return false;
    *p = r->p + 2;
    r->p += 2 + *n;
    return true;
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return wf_le64(v);
}

static bool parse_head(struct weft_loc *loc, struct reader *r)
{
    const uint8_t *card = loc->card, *host;
    size_t n;

    r->p = card;
    r->end = card + loc->card_len;
    if (loc->card_len < HEAD || memcmp(card, "WCD1", 4) != 0)
        return false;
    r->p += HEAD;
    if (!get_bytes(r, &host, &n) || r->p == r->end)
        return false;
    r->p++; /* count: the fields say themselves where they end */
    loc->node = get_u64(card + 4);
    if (!loc->host)
        loc->host = strndup((const char *)host, n);
    return loc->host != NULL;
}

static int check_config(struct weft_loc *loc)
{
    struct wf_instance *wf = loc->wf;
    uint64_t theirs = get_u64((const uint8_t *)loc->card + 12);

    if (!wf->options->check || theirs == wf_config_hash(wf->config))
        return 0;
    wf_error(MPI_ERR_OTHER,
             "process %u on %s runs with another configuration than process "
             "%u on %s; compare `weft-info` on both, or set core.check=no",
             loc->id, loc->host, wf->rank, wf->host);
    return WEFT_EINVAL;
}

uint64_t wf_card_host_node(const char *host)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *host; host++)
        h = (h ^ (uint8_t)*host) * 0x100000001b3u;
    return h;
}

/* No KVS: the host of mpi.ini stands for the node. */
static int from_config(struct weft_loc *loc)
{
    struct wf_instance *wf = loc->wf;
    const char *host = wf_config_host(wf->config, loc->id);

    loc->host = strdup(host ? host : "unknown");
    if (!loc->host)
        return WEFT_ENOMEM;
    loc->node = wf_card_host_node(loc->host);
    return 0;
}

/* This process itself needs no card: a singleton has none to ask for. */
static int own_card(struct weft_loc *loc)
{
    loc->host = strdup(loc->wf->host);
    loc->node = loc->wf->node;
    return loc->host ? 0 : WEFT_ENOMEM;
}

int wf_card_fetch(struct weft_loc *loc)
{
    struct wf_boot *boot = loc->wf->boot;
    struct reader r;
    char key[32];
    int rc;

    if (loc->host)
        return 0;
    if (loc->id == loc->wf->rank)
        return own_card(loc);
    snprintf(key, sizeof key, "weft.card.%u", loc->id);
    rc = boot->ops->get(boot, key, &loc->card, &loc->card_len);
    if (rc == WEFT_EUNREACH)
        return from_config(loc);
    if (rc < 0) {
        wf_error(MPI_ERR_OTHER, "the launcher did not give the address of "
                 "process %u", loc->id);
        return rc;
    }
    if (!parse_head(loc, &r)) {
        wf_error(MPI_ERR_OTHER, "the address card of process %u is damaged; "
                 "do all ranks run the same version of Weft?", loc->id);
        return WEFT_EPROTO;
    }
    return check_config(loc);
}

static int address_from_config(struct weft_loc *loc,
                               const struct weft_core *core, void *buf,
                               size_t *len)
{
    const char *where, *text;

    text = wf_config_address(loc->wf->config, loc->id, core->config->name,
                             &where);
    if (!text || !WEFT_HAS(core->ops, weft_ops, addr_parse))
        return WEFT_EUNREACH;
    return core->ops->addr_parse(core->ep, text, buf, len);
}

int wf_card_address(struct weft_loc *loc, const struct weft_core *core,
                    void *buf, size_t *len)
{
    const uint8_t *name, *address;
    size_t name_len, address_len;
    const char *want = core->config->name;
    struct reader r;

    if (loc->id == loc->wf->rank) {
        if (core->address_len > *len)
            return WEFT_EINVAL;
        memcpy(buf, core->address, *len = core->address_len);
        return 0;
    }
    if (!loc->card)
        return address_from_config(loc, core, buf, len);
    if (!parse_head(loc, &r))
        return WEFT_EPROTO;
    while (get_bytes(&r, &name, &name_len) &&
           get_bytes(&r, &address, &address_len)) {
        if (name_len != strlen(want) || memcmp(name, want, name_len) != 0)
            continue;
        if (address_len > *len)
            return WEFT_EINVAL;
        memcpy(buf, address, address_len);
        *len = address_len;
        return 0;
    }
    return WEFT_EUNREACH;
}
