/* Active messages: see active.h.
 *
 * A container whose payload is here is handed over where it lies. Of one that
 * comes in pieces the payload is put together first.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/active.h"

#include <stdlib.h>

#include "progress/wait.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/message.h"
#include "protocol/payload.h"
#include "protocol/unexpected.h"
#include "report/error.h"

void wf_active_register(struct wf_instance *wf, enum wf_space space,
                        struct wf_active_handler *h)
{
    WF_ASSERT((unsigned)space < WF_SPACES);
    wf->engine->active[space] = h;
}

/* ---- sending ------------------------------------------------------------- */

/* Whether messages can leave to a location, which may have connected first and
 * have no lane yet. */
static bool is_reachable(struct weft_loc *loc)
{
    if (loc->failed)
        return false;
    if (loc->lanes || wf_location_connect(loc) == 0)
        return true;
    wf_location_down(loc, WEFT_EUNREACH, wf_error_last()->text);
    return false;
}

static void write_head(struct wf_wire *w, enum wf_space space,
                       const struct wf_active_head *h)
{
    wf_wire_init(w, WF_ACTIVE, 0);
    w->a = wf_le64(wf_env0(space, h->context, h->target));
    w->b = wf_le64(wf_env1(h->source, h->word));
    w->c = wf_le64(h->c);
    w->d = wf_le64(h->d);
}

static void active_done(struct wf_tx *t, int status)
{
    struct wf_active *m = wf_container(t, struct wf_active, tx);

    if (m->sent)
        m->sent(m);
    free(m);
}

struct wf_active *wf_active_alloc(size_t n)
{
    size_t size = (sizeof(struct wf_active) + n + WF_CACHE_LINE - 1) &
                  ~(size_t)(WF_CACHE_LINE - 1);
    struct wf_active *m = aligned_alloc(WF_CACHE_LINE, size);

    WF_ASSERT(n <= WF_ACTIVE_MOST);
    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    m->bytes = n;
    m->tx.done = active_done;
    wf_tx_set_block(&m->tx, m->payload, n);
    return m;
}

void wf_active_shorten(struct wf_active *m, size_t n)
{
    WF_ASSERT(n <= m->bytes);
    m->bytes = n;
    wf_tx_set_block(&m->tx, m->payload, n);
}

void wf_active_send(struct wf_active_way to, const struct wf_active_head *h,
                    struct wf_active *m)
{
    write_head(&m->tx.hdr, to.space, h);
    if (is_reachable(to.loc))
        wf_message_send(to.loc, to.lane, &m->tx);
    else
        active_done(&m->tx, to.loc->down_status);
}

void wf_active_send_short(struct wf_active_way to,
                          const struct wf_active_head *h, const void *data,
                          size_t n)
{
    struct wf_wire w;

    WF_ASSERT(n <= WF_ACTIVE_SHORT);
    write_head(&w, to.space, h);
    if (is_reachable(to.loc))
        wf_message_send_control_on(to.loc, to.lane, &w, data, n);
}

/* ---- arrival ------------------------------------------------------------- */

/* A message of which not all has come, or that waits behind one with its order
 * key. */
struct wf_active_landing {
    struct wf_active_landing *next; /* that came later from the same process */
    struct wf_sink sink;
    struct wf_wire hdr;
    struct weft_loc *from;
    bool over, lost; /* all has come; the rest never will */
    uint8_t data[];
};

static struct wf_active_handler *find_handler(const struct wf_engine *e,
                                              const struct wf_wire *w)
{
    uint64_t space = wf_le64(w->a) >> 56;

    return space < WF_SPACES ? e->active[space] : NULL;
}

static void hand_over(struct weft_loc *from, const struct wf_wire *w,
                      const void *data, size_t n)
{
    struct wf_instance *wf = from->wf;
    struct wf_active_handler *h = find_handler(wf->engine, w);
    uint64_t a = wf_le64(w->a), b = wf_le64(w->b);
    struct wf_active_head head = {(uint32_t)(a >> 32) & 0xffffff,
                                  (uint32_t)(b >> 32),
                                  (uint32_t)a,
                                  (uint32_t)b,
                                  wf_le64(w->c),
                                  wf_le64(w->d)};

    if (!h) {
        wf_log(wf, WF_LOG_DEBUG,
               "process %u sent a message that no chapter handles; skipped",
               from->id);
        return;
    }
    h->arrive(h, from, &head, data, n);
    if (wf->api.on)
        wf_progress_notify(wf);
}

/* The messages of one communicator and space are in order among each other. */
static uint32_t get_order_key(const struct wf_wire *w)
{
    return (uint32_t)(wf_le64(w->a) >> 32);
}

/* Find the oldest message with this key that waits. */
static struct wf_active_landing **find_landing(struct weft_loc *from,
                                               uint32_t key)
{
    struct wf_active_landing **at = &from->landings;

    while (*at && get_order_key(&(*at)->hdr) != key)
        at = &(*at)->next;
    return at;
}

/* Hand over the messages with a key whose turn has come. A transport may bring
 * payload later than what follows it on the lane, as sctp does, and handlers
 * rely on the order of the lane. None is handed over behind one that is
 * lost. */
static void hand_over_in_turn(struct weft_loc *from, uint32_t key)
{
    struct wf_active_landing **at, *l;
    bool gap = false;

    while ((l = *(at = find_landing(from, key))) && l->over) {
        *at = l->next;
        gap = gap || l->lost;
        if (!gap)
            hand_over(from, &l->hdr, l->data, l->sink.sink.len);
        free(l);
    }
}

static void finish_landing(struct wf_sink *s, int status)
{
    struct wf_active_landing *l =
        wf_container(s, struct wf_active_landing, sink);

    l->over = true;
    l->lost = status < 0;
    hand_over_in_turn(l->from, get_order_key(&l->hdr));
}

/* Make a message wait for the rest of it, or for one before it. NULL: there is
 * no memory. */
static struct wf_active_landing *create_landing(struct weft_loc *from,
                                                const struct wf_wire *w,
                                                const void *data, size_t have)
{
    size_t n = wf_le32(w->plen);
    struct wf_active_landing *l = malloc(sizeof *l + n), **at = &from->landings;

    if (!l) {
        wf_unexpected_note_starvation(from, n);
        return NULL;
    }
    from->starved_since = 0;
    memset(l, 0, sizeof *l);
    l->hdr = *w;
    l->from = from;
    l->over = have == n;
    if (have)
        memcpy(l->data, data, have);
    wf_sink_set_block(&l->sink, l->data, n, finish_landing);
    while (*at)
        at = &(*at)->next;
    *at = l;
    return l;
}

int wf_active_arrive(struct weft_loc *from, const struct wf_wire *w,
                     const void *data, size_t have, weft_sink **sink)
{
    size_t n = wf_le32(w->plen);
    struct wf_active_landing *l;

    if (have == n &&
        wf_likely(!from->landings || !*find_landing(from, get_order_key(w)))) {
        hand_over(from, w, data, n);
        return WEFT_DONE;
    }
    if (n > WF_ACTIVE_MOST) {
        wf_log(from->wf, WF_LOG_WARN,
               "process %u sent a message of %zu bytes to a chapter; skipped",
               from->id, n);
        return WEFT_SKIP;
    }
    l = create_landing(from, w, data, have);
    if (!l)
        return from->failed ? WEFT_SKIP : WEFT_EAGAIN;
    if (l->over)
        return WEFT_DONE;
    *sink = &l->sink.sink;
    return WEFT_OK;
}

void wf_active_lose(struct weft_loc *loc)
{
    struct wf_engine *e = loc->wf->engine;

    for (int i = 0; i < WF_SPACES; i++)
        if (e->active[i])
            e->active[i]->lose(e->active[i], loc);
}
