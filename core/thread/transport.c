/* thread: delivery between ranks that are threads of one process.
 *
 *   small    copied into the receiver's mailbox, and from there to the receive
 *            buffer (mailbox.h)
 *   large    one copy: the receiver fetches from the sender's memory, and the
 *            sender, while it waits, copies pieces too (assist.c)
 *
 * Endpoints find their peers in the registry of mailboxes. There are no
 * connections, and a peer with which no message was exchanged costs nothing.
 *
 * THREADS  Only its rank uses an endpoint; what other ranks touch is in struct
 * mailbox.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "thread/transport.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/tuning.h"
#include "thread/assist.h"
#include "thread/deliver.h"
#include "thread/memory.h"
#include "thread/post.h"
#include "thread/registry.h"

/* ---- open and close ------------------------------------------------------ */

static int thread_open(const weft_open *o, weft_ep **out)
{
    weft_ep *e = calloc(1, sizeof *e);
    int r = WEFT_ENOMEM;

    if (!e)
        return r;
    e->host = o->host;
    e->core = o->core;
    e->config = *(const struct thread_config *)o->cfg;
    e->box = wf_mail_open(o->loc_id, (uint32_t)e->config.mailbox, &r);
    if (!e->box) {
        o->host->log(o->core, 0, "no mailbox: %s",
                     r == WEFT_ENOMEM ? "no memory" : strerror(errno));
        free(e);
        return r;
    }
    wf_mail_address(e->box, &e->address);
    e->seen_deaths = wf_mail_count_deaths();
    *out = e;
    return WEFT_OK;
}

static void thread_close(weft_ep *e)
{
    wf_assist_await_done(e);
    wf_mail_close(e->box);
    free(e->by_sender);
    free(e);
}

/* Returns the largest payload: a container must fit in half of the ring. */
static uint32_t largest_payload(const weft_ep *e)
{
    uint32_t half = (e->box->mask + 1) / 2 * MAIL_LINE;

    return half < MAIL_MAX ? half : MAIL_MAX;
}

static int thread_attr(weft_ep *e, weft_attr *a)
{
    a->caps = WEFT_CAP_LOCAL | WEFT_CAP_GET | WEFT_CAP_NO_MR | WEFT_CAP_MAP |
              WEFT_CAP_RMA | WEFT_CAP_RMA_ATOMIC;
    a->max_short = WF_MAIL_SHORT_MAX;
    a->max_eager = (uint32_t)e->config.eager;
    a->max_payload = largest_payload(e);
    a->min_get = WF_MAIL_GET_MIN;
    a->cost = (weft_cost){sizeof(weft_cost), WF_MAIL_LATENCY_NS,
                          WF_MAIL_OVERHEAD_NS, WF_MAIL_BANDWIDTH_MBS};
    return WEFT_OK;
}

static int thread_address(weft_ep *e, void *buf, size_t *len)
{
    if (*len < sizeof e->address)
        return WEFT_EINVAL;
    memcpy(buf, &e->address, *len = sizeof e->address);
    return WEFT_OK;
}

static int read_address(const void *addr, size_t len, struct mail_address *a)
{
    if (len != sizeof *a)
        return WEFT_EINVAL;
    memcpy(a, addr, len);
    return 0;
}

static bool is_same_process(const weft_ep *e, const struct mail_address *a)
{
    return memcmp(a->process, e->address.process, sizeof a->process) == 0;
}

static int thread_reach(weft_ep *e, const void *addr, size_t len, weft_cost *c)
{
    struct mail_address a;

    (void)c;
    if (read_address(addr, len, &a) == 0 && is_same_process(e, &a))
        return WEFT_OK;
    e->host->log(e->core, 3, "another process");
    return WEFT_EUNREACH;
}

/* ---- peers --------------------------------------------------------------- */

static int reserve_sender(weft_ep *e, uint32_t index)
{
    uint32_t room = e->by_sender_room ? e->by_sender_room : 16;
    weft_peer **grown;

    while (room <= index)
        room *= 2;
    if (room == e->by_sender_room)
        return 0;
    grown = realloc(e->by_sender, room * sizeof *grown);
    if (!grown)
        return WEFT_ENOMEM;
    memset(grown + e->by_sender_room, 0,
           (room - e->by_sender_room) * sizeof *grown);
    e->by_sender = grown;
    e->by_sender_room = room;
    return 0;
}

static int thread_peer_add(weft_ep *e, weft_loc *loc, uint32_t id,
                           const void *addr, size_t len, weft_peer **out)
{
    struct mail_address a;
    weft_peer *p;

    (void)id;
    if (read_address(addr, len, &a) != 0 || !is_same_process(e, &a))
        return WEFT_EUNREACH;
    p = calloc(1, sizeof *p);
    if (!p)
        return WEFT_ENOMEM;
    *p = (weft_peer){
        .ep = e, .loc = loc, .me = e->box->index, .box = wf_mail_find(&a)};
    if (!p->box || reserve_sender(e, a.index) != 0) {
        int r = p->box ? WEFT_ENOMEM : WEFT_EPEER;
        if (p->box)
            wf_mail_release(p->box);
        free(p);
        return r;
    }
    p->next = e->peers;
    e->peers = p;
    e->by_sender[a.index] = p;
    *out = p;
    e->host->peer_up(e->core, loc);
    return WEFT_OK;
}

static int thread_peer_del(weft_peer *p, int abrupt)
{
    weft_ep *e = p->ep;
    weft_peer **at = &e->peers;

    (void)abrupt;
    wf_assist_await_done(e);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    e->by_sender[p->box->index] = NULL;
    e->wants -= p->wants;
    wf_mail_release(p->box);
    free(p);
    return WEFT_OK;
}

weft_peer *wf_thread_find_peer(weft_ep *e, uint32_t index)
{
    int64_t id;

    if (index < e->by_sender_room && e->by_sender[index])
        return e->by_sender[index];
    id = wf_mail_loc_id(index);
    if (id >= 0 && e->host->locate(e->core, (uint32_t)id) >= 0 &&
        index < e->by_sender_room && e->by_sender[index])
        return e->by_sender[index];
    wf_mail_refuse(index, e->box->index);
    return NULL;
}

/* ---- progress ------------------------------------------------------------ */

/* Marks the endpoint as awake: senders need not ring, and the bell is reset. */
static void disarm_endpoint(weft_ep *e)
{
    uint64_t rung;

    e->armed = false;
    atomic_fetch_and_explicit(&e->box->tail, ~(uint64_t)MAIL_ASLEEP,
                              memory_order_acq_rel);
    if (read(e->box->bell, &rung, sizeof rung) < 0)
        return; /* the bell did not ring */
}

void wf_thread_report_down(weft_peer *p, const char *why)
{
    if (p->down)
        return;
    p->down = true;
    p->ep->host->peer_down(p->ep->core, p->loc, WEFT_EPEER, why);
}

/* Reports the peers whose threads have left MPI without telling. */
static int report_dead_peers(weft_ep *e)
{
    uint32_t deaths = wf_mail_count_deaths();
    int n = 0;

    e->peer_died = false;
    e->seen_deaths = deaths;
    for (weft_peer *p = e->peers, *next; p; p = next) {
        next = p->next;
        /* pairs with the release in wf_mail_close */
        if (wf_load_acquire(&p->box->closed) != MAIL_GONE)
            continue;
        wf_thread_report_down(p, "its thread has left MPI");
        n++;
    }
    return n;
}

static bool has_space_again(const weft_peer *p)
{
    return p->wants && mail_has_room(p->box);
}

static int resume_senders(weft_ep *e)
{
    int n = 0;

    for (weft_peer *p = e->peers, *next; p && e->wants; p = next) {
        next = p->next;
        if (!has_space_again(p))
            continue;
        p->wants = false;
        e->wants--;
        n++;
        e->host->tx_ready(e->core, p->loc);
    }
    return n;
}

static int finish_get(weft_ep *e)
{
    weft_get *r = e->rma;

    if (!r || !wf_assist_is_done(e))
        return 0;
    e->rma = NULL;
    e->host->get_done(e->core, r, WEFT_OK);
    return 1;
}

static bool has_mail(const weft_ep *e)
{
    return mail_peek(e->box, e->head) != 0;
}

static __attribute__((noinline)) int progress_everything(weft_ep *e, int budget)
{
    int n;

    if (e->armed)
        disarm_endpoint(e);
    n = has_mail(e) ? wf_thread_receive(e, budget) : 0;
    if (e->rma)
        n += finish_get(e);
    if (e->wants)
        n += resume_senders(e);
    if (e->peer_died)
        n += report_dead_peers(e);
    return n;
}

/* Polls the mailbox; the usual call finds nothing, so its path is short. */
static int thread_progress(weft_ep *e, int budget)
{
    if (__builtin_expect(thread_busy(e), 0))
        return progress_everything(e, budget);
    return has_mail(e) ? wf_thread_receive(e, budget) : 0;
}

/* ---- sleep and end ------------------------------------------------------- */

static int thread_event(weft_ep *e, int *fd)
{
    *fd = e->box->bell;
    return WEFT_OK;
}

static bool has_any_space_again(const weft_ep *e)
{
    for (const weft_peer *p = e->peers; p && e->wants; p = p->next)
        if (has_space_again(p))
            return true;
    return false;
}

static int thread_arm(weft_ep *e, uint64_t *deadline)
{
    uint64_t tail = atomic_fetch_or_explicit(&e->box->tail, MAIL_ASLEEP,
                                             memory_order_acq_rel);

    e->armed = true;
    /* each death wakes this rank */
    e->peer_died = wf_mail_count_deaths() != e->seen_deaths;
    if ((tail >> 1 != e->head && !e->stalled) || has_any_space_again(e) ||
        (e->rma && wf_assist_is_done(e)) || e->peer_died) {
        disarm_endpoint(e);
        return WEFT_EAGAIN;
    }
    if (e->wants)
        *deadline = e->host->now_ns(e->core) + WF_MAIL_RETRY_NS;
    return WEFT_OK;
}

/* Tells whether everything was received. Sent messages are in the mailboxes
 * already. */
static int thread_drain(weft_ep *e)
{
    wf_store_relaxed(&e->box->closed, MAIL_LEAVING);
    return wf_load_acquire(&e->box->tail) >> 1 == e->head ? WEFT_OK
                                                          : WEFT_EAGAIN;
}

static void thread_rx_resume(weft_peer *p)
{
    p->ep->stalled = false; /* progress() then tries again */
}

/* Sets room aside in the mailbox of the peer, for an equal share of which each
 * of the owner's peers may be: as many as this rank has. */
static int thread_reserve(weft_peer *p, uint32_t messages, uint64_t bytes)
{
    weft_ep *e = p->ep;
    uint64_t peers = 0, lines = (uint64_t)p->box->mask + 1;

    for (const weft_peer *i = e->peers; i; i = i->next)
        peers++;
    if (bytes > largest_payload(e) ||
        messages * peers > lines / mail_lines_of(false, (uint32_t)bytes)) {
        e->host->log(e->core, 3,
                     "%u messages of %llu bytes of each of %llu ranks do not "
                     "fit: raise mailbox (%llu lines)",
                     messages, (unsigned long long)bytes,
                     (unsigned long long)peers, (unsigned long long)lines);
        return WEFT_ENOTSUP;
    }
    wf_mail_populate(p->box);
    return WEFT_OK;
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = thread_open,
                             .close = thread_close,
                             .attr = thread_attr,
                             .address = thread_address,
                             .reach = thread_reach,
                             .peer_add = thread_peer_add,
                             .peer_del = thread_peer_del,
                             .send = wf_thread_send,
                             .progress = thread_progress,
                             .drain = thread_drain,
                             .send_short = wf_thread_send_short,
                             .event = thread_event,
                             .arm = thread_arm,
                             .rx_resume = thread_rx_resume,
                             .mr_reg = wf_thread_mr_reg,
                             .mr_dereg = wf_thread_mr_dereg,
                             .mr_pack = wf_thread_mr_pack,
                             .rkey_open = wf_thread_rkey_open,
                             .rkey_close = wf_thread_rkey_close,
                             .rkey_map = wf_thread_rkey_map,
                             .mem_alloc = wf_thread_mem_alloc,
                             .mem_free = wf_thread_mem_free,
                             .get = wf_thread_get,
                             .send_words = wf_thread_send_words,
                             .recv_words = wf_thread_recv_words,
                             .reserve = thread_reserve,
                             .mr_expose = wf_thread_mr_expose,
                             .rma = wf_thread_rma};

static const weft_option options[] = {
    {"mailbox", WEFT_OPT_INT, offsetof(struct thread_config, mailbox), "2048",
     "512..65536",
     "lines of 64 bytes for what comes in, from all ranks together; rounded up "
     "to a power of two"},
    {"eager", WEFT_OPT_SIZE, offsetof(struct thread_config, eager), "4K",
     "0..15K", "messages up to this size are sent without asking first"},
    {"share", WEFT_OPT_SIZE, offsetof(struct thread_config, share), "32K",
     "4K..1G", "from this size on sender and receiver each copy a part"},
    {"piece", WEFT_OPT_SIZE, offsetof(struct thread_config, piece), "0",
     "0..1G",
     "bytes that each of them takes at a time; 0: a half to a sixteenth, 32K "
     "to 256K where there are so many"},
    {"around", WEFT_OPT_SIZE, offsetof(struct thread_config, nontemporal),
     "16M", "32K..1024G",
     "copies from this size on go around the caches: about half of the last "
     "level"},
    {0}};

WEFT_PLUGIN(thread, "1.0", "between ranks that are threads of one process",
            options, struct thread_config, &ops);
