/* Business cards: a process publishes one so that others can reach it.
 *
 *   "WCD2" | node u64 | config hash u64 | host str | settings str | count u8 |
 *   count times: transport name str | address bytes
 *   str and bytes: length u16, then the bytes. Everything little-endian.
 *
 * settings: "key=value" lines of the settings that the processes must agree on
 * and that are not defaults, so that a difference can be named; empty if they
 * do not fit.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/card.h"

#include <stdio.h>
#include <stdlib.h>

#include "boot/auth.h"
#include "boot/auth_key.h"
#include "boot/hosted.h"
#include "config/addresses.h"
#include "config/config.h"
#include "config/shared.h"
#include "os/byte_order.h"
#include "os/hash.h"
#include "process/rank.h"
#include "report/error.h"
#include "route/links.h"
#include "route/location.h"

enum { CARD_MAX = WF_CARD_MAX, HEAD = 20, SETTINGS_MAX = 480 };

struct writer {
    uint8_t bytes[CARD_MAX];
    size_t n;
    bool full;
};

static void put_raw(struct writer *w, const void *p, size_t n)
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
    put_raw(w, &v, sizeof v);
}

static void put_bytes(struct writer *w, const void *p, size_t n)
{
    uint16_t len = wf_le16((uint16_t)n);

    put_raw(w, &len, sizeof len);
    put_raw(w, p, n);
}

struct settings {
    char text[SETTINGS_MAX];
    size_t n;
    bool full; /* then none is published: missing ones would look unset */
};

static void add_setting(void *arg, const char *key, const char *value)
{
    struct settings *s = arg;
    size_t room = sizeof s->text - s->n;
    int n = snprintf(s->text + s->n, room, "%s=%s\n", key, value);

    if (n > 0 && (size_t)n < room && !strchr(value, '\n'))
        s->n += (size_t)n;
    else
        s->full = true;
}

static void write_card(struct wf_instance *wf, struct writer *w)
{
    const struct wf_links *links = wf->links;
    struct settings settings = {.n = 0};
    uint8_t count = 0;

    wf_config_shared(wf->rank->config, true, add_setting, &settings);
    put_raw(w, "WCD2", 4);
    put_u64(w, wf->rank->node);
    put_u64(w, wf_config_hash(wf->rank->config));
    put_bytes(w, wf->rank->host, strlen(wf->rank->host));
    put_bytes(w, settings.text, settings.full ? 0 : settings.n);
    for (int i = 0; i < links->ep_count; i++)
        count += links->eps[i].address != NULL;
    put_raw(w, &count, 1);
    for (int i = 0; i < links->ep_count; i++) {
        const struct weft_core *c = &links->eps[i];
        if (!c->address)
            continue;
        put_bytes(w, c->config->name, strlen(c->config->name));
        put_bytes(w, c->address, c->address_len);
    }
}

int wf_card_make(struct wf_instance *wf, unsigned char **card, size_t *n)
{
    struct writer *w = calloc(1, sizeof *w);

    *card = NULL;
    if (w)
        write_card(wf, w);
    if (w && !w->full && (*card = malloc(w->n)) != NULL)
        memcpy(*card, w->bytes, *n = w->n);
    free(w);
    return *card ? 0 : WEFT_ENOMEM;
}

int wf_card_publish(struct wf_instance *wf)
{
    struct writer *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return WEFT_ENOMEM;
    write_card(wf, w);
    r = w->full ? WEFT_ENOMEM : wf_card_hand_out(wf, w->bytes, w->n);
    free(w);
    return r;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const uint8_t *p, *end;
};

/* Read the next length-prefixed field; false: there is none. */
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

struct head {
    uint64_t node, hash;
    const uint8_t *host, *settings;
    size_t host_len, settings_len;
};

/* Parse the fields before the addresses; r then stands at the addresses. */
static bool parse_head(const struct weft_loc *loc, struct head *h,
                       struct reader *r)
{
    const uint8_t *card = loc->card;

    if (loc->card_len < HEAD || memcmp(card, "WCD2", 4) != 0)
        return false;
    *r = (struct reader){card + HEAD, card + loc->card_len};
    h->node = get_u64(card + 4);
    h->hash = get_u64(card + 12);
    if (!get_bytes(r, &h->host, &h->host_len) ||
        !get_bytes(r, &h->settings, &h->settings_len) || r->p == r->end)
        return false;
    r->p++; /* skip count: the addresses end with the card */
    return true;
}

/* ---- do the configurations agree? ---------------------------------------- */

struct difference {
    const struct head *theirs;
    char text[300];
};

/* The value of a key in "key=value" lines, or NULL. */
static const char *find_setting(const char *lines, size_t n, const char *key,
                                size_t *len)
{
    size_t key_len = strlen(key);

    for (const char *end = lines + n; lines < end;) {
        const char *stop = memchr(lines, '\n', (size_t)(end - lines));
        if (!stop)
            break;
        if ((size_t)(stop - lines) > key_len && lines[key_len] == '=' &&
            memcmp(lines, key, key_len) == 0) {
            *len = (size_t)(stop - lines) - key_len - 1;
            return lines + key_len + 1;
        }
        lines = stop + 1;
    }
    return NULL;
}

/* Describe a key that has this value on one side and is not set on the other,
 * unless the value is the default. */
static void describe_unset(struct difference *d, const char *key,
                           const char *value, int n, bool theirs)
{
    const char *side = theirs ? "here" : "there",
               *dflt = wf_config_default(key);

    if (dflt && strlen(dflt) == (size_t)n &&
        memcmp(dflt, value, (size_t)n) == 0)
        return; /* they agree */
    snprintf(d->text, sizeof d->text,
             "%.80s is '%.*s' %s and not set %s%s%.40s%s", key, n < 80 ? n : 80,
             value, theirs ? "there" : "here", side, dflt ? " (default '" : "",
             dflt ? dflt : "", dflt ? "')" : "");
}

static void compare_setting(void *arg, const char *key, const char *value)
{
    struct difference *d = arg;
    size_t n = 0;
    const char *theirs = find_setting((const char *)d->theirs->settings,
                                      d->theirs->settings_len, key, &n);

    if (d->text[0] ||
        (theirs && n == strlen(value) && memcmp(theirs, value, n) == 0))
        return;
    if (!theirs)
        describe_unset(d, key, value, (int)strlen(value), false);
    else
        snprintf(d->text, sizeof d->text,
                 "%.80s is '%.*s' there and '%.80s' here", key,
                 (int)(n < 80 ? n : 80), theirs, value);
}

/* Describe the first key that only the peer has set. */
static void compare_their_settings(const struct wf_config *config,
                                   struct difference *d)
{
    struct settings mine = {.n = 0};
    const char *at = (const char *)d->theirs->settings;
    const char *end = at + d->theirs->settings_len, *stop;

    wf_config_shared(config, true, add_setting, &mine);
    for (; !mine.full && !d->text[0] && at < end; at = stop + 1) {
        char key[160];
        size_t n;
        stop = memchr(at, '\n', (size_t)(end - at));
        const char *sign = stop ? memchr(at, '=', (size_t)(stop - at)) : NULL;
        if (!sign)
            return;
        snprintf(key, sizeof key, "%.*s", (int)(sign - at), at);
        if (!find_setting(mine.text, mine.n, key, &n))
            describe_unset(d, key, sign + 1, (int)(stop - sign - 1), true);
    }
}

static int check_config(struct weft_loc *loc, const struct head *h)
{
    struct wf_instance *wf = loc->wf;
    struct difference d = {.theirs = h};

    if (!wf->rank->options->check ||
        h->hash == wf_config_hash(wf->rank->config))
        return 0;
    if (h->settings_len) {
        wf_config_shared(wf->rank->config, true, compare_setting, &d);
        compare_their_settings(wf->rank->config, &d);
    }
    return wf_fail(
        WEFT_EINVAL,
        "rank %u on %s has another configuration than rank %u on %s: %s; "
        "make them equal, or set core.check = no",
        loc->id, loc->host, wf->rank->id, wf->rank->host,
        d.text[0] ? d.text : "compare what weft-info prints on both");
}

bool wf_card_is_comparable(const struct wf_instance *wf)
{
    /* Without a launcher the rank below may not have started yet. */
    bool launched = !wf->rank->boot->is_static &&
                    (wf->rank->boot->awaits || wf->rank->boot->is_launched);

    return wf->rank->id > 0 && wf->rank->options->check && launched &&
           !wf_boot_hosted_has(wf->rank->boot, wf->rank->id - 1);
}

int wf_card_compare(struct weft_loc *below)
{
    if (wf_card_fetch(below) != WEFT_EINVAL)
        return 0; /* a rank that talks to it will report this */
    fprintf(stderr, "weft: %s\n", wf_error_last()->text);
    return WEFT_EINVAL;
}

uint64_t wf_card_host_node(const char *host)
{
    return wf_hash_text(host);
}

/* Fill host and node of this process itself, which needs no card. */
static int take_own_host(struct weft_loc *loc)
{
    loc->host = loc->wf->rank->host;
    loc->node = loc->wf->rank->node;
    return 0;
}

/* Returns the name of a host, or NULL: no memory. Ranks that share a host share
 * the text. */
static const char *keep_host_name(const struct weft_loc *loc,
                                  const struct head *h)
{
    const char *own = loc->wf->rank->host;

    if (strlen(own) == h->host_len && memcmp(own, h->host, h->host_len) == 0)
        return own;
    return strndup((const char *)h->host, h->host_len);
}

static void release_card(struct weft_loc *loc)
{
    if (!loc->card_lent)
        free((void *)(uintptr_t)loc->card);
    loc->card = NULL;
    loc->card_lent = false;
}

void wf_card_release(struct weft_loc *loc)
{
    release_card(loc);
    if (loc->host != loc->wf->rank->host)
        free((void *)(uintptr_t)loc->host);
    loc->host = NULL;
}

int wf_card_fetch(struct weft_loc *loc)
{
    const struct wf_job *job = wf_job_of(&loc->wf->rank->job, loc->id);
    struct reader r;
    struct head h;
    int rc;

    if (loc->host)
        return 0;
    if (loc->id == loc->wf->rank->id)
        return take_own_host(loc);
    rc = job->cards->fetch(loc);
    if (rc != 0 || loc->host)
        return rc;
    if (!parse_head(loc, &h, &r))
        return wf_fail(WEFT_EPROTO,
                       "the address card of process %u is damaged; "
                       "do all ranks run the same version of Weft?",
                       loc->id);
    loc->node = h.node;
    loc->host = keep_host_name(loc, &h);
    if (loc->host)
        return check_config(loc, &h);
    release_card(loc); /* it is asked for again */
    return wf_fail(WEFT_ENOMEM, "no memory for the address of process %u",
                   loc->id);
}

static int parse_config_address(struct weft_loc *loc,
                                const struct weft_core *core, void *buf,
                                size_t *len)
{
    const char *where, *text;

    text = wf_config_address(loc->wf->rank->config, loc->id, core->config->name,
                             &where);
    if (!text || !WEFT_HAS(core->ops, weft_ops, addr_parse) ||
        loc->wf->number > 0) /* it is that of the first engine */
        return WEFT_EUNREACH;
    return core->ops->addr_parse(core->ep, text, buf, len);
}

bool wf_card_has_seeds(const struct wf_rank *rank)
{
    return rank->boot->is_static && rank->boot->node_of && rank->job.key;
}

void wf_card_seed(const struct weft_core *core, uint32_t rank,
                  unsigned char seed[WEFT_SEED])
{
    struct wf_auth_endpoint of = {.transport = core->config->name,
                                  .rank = rank,
                                  .engine = core->wf->number};

    wf_auth_derive_seed(core->wf->rank->job.key, &of, seed);
}

/* Compute the address of a peer on the own host. */
static int derive_address(const struct weft_loc *loc,
                          const struct weft_core *core, void *buf, size_t *len)
{
    const struct wf_rank *rank = loc->wf->rank;
    const uint32_t *node = rank->boot->node_of;
    unsigned char seed[WEFT_SEED];
    int r;

    if (!WEFT_HAS(core->ops, weft_ops, addr_derive) ||
        !wf_card_has_seeds(rank) || node[loc->id] != node[rank->id])
        return WEFT_EUNREACH;
    wf_card_seed(core, loc->id, seed);
    r = core->ops->addr_derive(core->ep, loc->id, seed, buf, len);
    explicit_bzero(seed, sizeof seed);
    return r;
}

/* Find the address of a peer that has no card: the text of mpi.ini says it, or
 * else it is derived. */
static int find_address_without_card(struct weft_loc *loc,
                                     const struct weft_core *core, void *buf,
                                     size_t *len)
{
    size_t room = *len;
    int r = parse_config_address(loc, core, buf, len);

    if (r != WEFT_EUNREACH)
        return r;
    *len = room;
    return derive_address(loc, core, buf, len);
}

int wf_card_address(struct weft_loc *loc, const struct weft_core *core,
                    void *buf, size_t *len)
{
    const uint8_t *name, *address;
    size_t name_len, address_len;
    const char *want = core->config->name;
    struct reader r;
    struct head h;

    if (loc->id == loc->wf->rank->id) {
        if (core->address_len > *len)
            return WEFT_EINVAL;
        memcpy(buf, core->address, *len = core->address_len);
        return 0;
    }
    if (!loc->card)
        return find_address_without_card(loc, core, buf, len);
    if (!parse_head(loc, &h, &r))
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
