/* Operations of the transport on memory that a member has exposed: exposed.h.
 *
 * DESIGN  An operation goes this way only if it may begin at once. So nothing
 * waits for a lock here, and lock, put and unlock stay one container. Questions
 * and accumulates wait in the queue while the transport has operations, because
 * it promises no order between these and messages; an atomic operation is a
 * message while an accumulate by message may be under way.
 *
 * The key is asked for with the first operation. A window without such
 * transports exchanges nothing for it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/exposed.h"

#include <stdlib.h>

#include "datatype/op_kernels.h"
#include "object/error.h"
#include "protocol/remote.h"
#include "rma/finish.h"
#include "rma/op_queue.h"
#include "rma/update.h"
#include "route/links.h"
#include "route/location.h"

enum { NAME = 24, KEY_MOST = 248 };
enum { REFUSALS_COUNTED = 20 }; /* of a key */
enum { READ_WRITE = WEFT_ACCESS_READ | WEFT_ACCESS_WRITE };

/* An endpoint to which memory of this process is exposed. */
struct wf_exposure {
    weft_mr *mr; /* NULL: nothing */
    uint32_t access;
};

/* An operation that the transport has. */
struct transfer {
    struct wf_remote remote;
    struct wf_list link;      /* in peer->transfers */
    struct wf_win_peer *peer; /* NULL: it is lost, and nobody waits */
    struct wf_req *req;
    void *result; /* of an atomic operation; NULL: nobody asks */
};

static bool can_operate(const struct weft_core *c)
{
    return c->attr.caps & WEFT_CAP_RMA && c->attr.rkey_len <= KEY_MOST &&
           WEFT_HAS(c->ops, weft_ops, rma) &&
           WEFT_HAS(c->ops, weft_ops, mr_expose);
}

/* Returns the transport of messages to a member, if it may operate on memory
 * there; NULL: failover and encryption carry messages only. */
static struct weft_core *find_core(const struct wf_win_peer *p)
{
    const struct weft_loc *loc = p->loc;
    struct weft_core *c;

    if (p->lane_status || !loc->lanes || loc->failed || loc->order ||
        loc->checks)
        return NULL;
    c = loc->lane[p->lane].core;
    return can_operate(c) ? c : NULL;
}

/* ---- the target ---------------------------------------------------------- */

/* Returns whether a transport could reach this memory from a member that has
 * not mapped it. */
static bool is_of_use(const struct wf_win *win, const struct weft_core *c)
{
    const struct wf_win_member *all = win->members;
    int me = win->comm->rank;

    for (int i = 0; i < win->comm->size; i++)
        if (i != me &&
            c->attr.caps & (all[i].node == all[me].node ? WEFT_CAP_LOCAL
                                                        : WEFT_CAP_REMOTE))
            return true;
    return false;
}

static void expose_to(struct wf_win *win, const struct weft_core *c)
{
    struct wf_exposure e = {
        .access =
            READ_WRITE |
            (c->attr.caps & WEFT_CAP_RMA_ATOMIC ? WEFT_ACCESS_ATOMIC : 0u)};

    if (!can_operate(c) || !is_of_use(win, c))
        return;
    if (!win->exposures)
        win->exposures = calloc(WF_EPS_MAX, sizeof *win->exposures);
    if (win->exposures && c->ops->mr_expose(c->ep, win->base, (size_t)win->size,
                                            e.access, &e.mr) >= 0)
        win->exposures[c->index] = e;
}

bool wf_exposed_offer(struct wf_win *win)
{
    const struct wf_links *links = win->wf->links;
    bool atomic = false;

    if (!win->exposures && win->size)
        for (int i = 0; i < links->ep_count; i++)
            expose_to(win, &links->eps[i]);
    for (int i = 0; win->exposures && i < links->ep_count; i++)
        atomic |= win->exposures[i].access & WEFT_ACCESS_ATOMIC;
    return atomic;
}

void wf_exposed_withdraw(struct wf_win *win)
{
    const struct wf_links *links = win->wf->links;

    for (int i = 0; win->exposures && i < links->ep_count; i++)
        if (win->exposures[i].mr)
            links->eps[i].ops->mr_dereg(links->eps[i].ep, win->exposures[i].mr);
    free(win->exposures);
    win->exposures = NULL;
}

void wf_exposed_send_key(struct wf_win_peer *p)
{
    struct wf_win *win = p->win;
    struct weft_core *c = find_core(p);
    uint8_t key[KEY_MOST];
    size_t n = sizeof key;
    const struct wf_win_peer *own;
    uint32_t access;
    struct wf_exposure *e;
    struct wf_rma_draft d;

    own = wf_win_peer(win, win->comm->rank);
    if (!c || !own)
        return;
    (void)wf_exposed_offer(win);
    e = win->exposures ? &win->exposures[c->index] : NULL;
    if (!e || !e->mr || c->ops->mr_pack(c->ep, e->mr, key, &n) < 0 ||
        !wf_rma_begin_plain(&d, p, NAME + n))
        return; /* it is not answered: operations stay messages */
    memset(d.at, 0, NAME);
    memcpy(d.at, c->plugin->name, strnlen(c->plugin->name, NAME - 1));
    memcpy(d.at + NAME, key, n);
    /* Integers are under stripes if there was no memory to expose it before
     * this process operated on it. */
    access = own->domain.bulk ? e->access & READ_WRITE : e->access;
    wf_rma_finish(
        &d, p, &(struct wf_rma_words){WF_RMA_KEY, (uintptr_t)win->base, access},
        true);
}

/* ---- keys at the origin -------------------------------------------------- */

static void ask_for_key(struct wf_win_peer *p)
{
    p->key_asked = true;
    if (p->win->flavor != MPI_WIN_FLAVOR_DYNAMIC && find_core(p))
        wf_rma_send(p, &(struct wf_rma_words){WF_RMA_EXPOSE, 0, 0});
}

/* Has the key, which could not be opened yet, asked for again, after twice as
 * many operations each time. */
static void wait_to_ask(struct wf_win_peer *p)
{
    p->key_waits = UINT32_C(1) << p->key_refused;
    if (p->key_refused < REFUSALS_COUNTED)
        p->key_refused++;
    p->key_asked = false;
}

void wf_exposed_take_key(struct wf_win_peer *p, const struct wf_rma_message *m)
{
    struct weft_core *c = find_core(p);
    const char *name = m->data;

    if (!c || !p->key_asked || p->rkey || m->bytes < NAME ||
        strncmp(name, c->plugin->name, NAME - 1) != 0)
        return;
    p->key_access = (uint32_t)m->head->d;
    p->key_base = m->head->c;
    if (c->ops->rkey_open(p->loc->peers[c->index], name + NAME, m->bytes - NAME,
                          &p->rkey) >= 0)
        return;
    p->rkey = NULL;
    wait_to_ask(p);
}

static void close_key(struct wf_win_peer *p)
{
    struct weft_core *c = p->rkey ? find_core(p) : NULL;

    if (c)
        c->ops->rkey_close(p->loc->peers[c->index], p->rkey);
    p->rkey = NULL;
    p->key_asked = true;
}

void wf_exposed_close(struct wf_win *win)
{
    for (int i = 0; i < win->comm->size; i++)
        if (win->peers[i])
            close_key(win->peers[i]);
}

/* ---- operations ---------------------------------------------------------- */

/* Returns whether an operation may begin, and no message before it has to be
 * waited for. */
static bool may_begin(const struct wf_win_peer *p, bool atomic)
{
    return !p->lost && !p->queue && (!p->in_start || p->posted) &&
           (p->lock_state == WF_LOCK_OPEN || p->lock_state == WF_LOCK_HELD) &&
           (!atomic || (!p->unconfirmed && p->pending == p->transfer_count));
}

static uint32_t find_atomic_kind(const struct wf_rma_call *c)
{
    switch (c->kind == WF_RMA_CAS ? 0 : c->op & 0xff) {
    case 0:
        return WEFT_RMA_CAS;
    case WF_OP_SUM:
    case WF_OP_NO_OP: /* adds 0 */
        return WEFT_RMA_ADD;
    case WF_OP_BAND:
        return WEFT_RMA_AND;
    case WF_OP_BOR:
        return WEFT_RMA_OR;
    case WF_OP_BXOR:
        return WEFT_RMA_XOR;
    case WF_OP_REPLACE:
        return WEFT_RMA_SWAP;
    default:
        return 0;
    }
}

static uint64_t read_word(const void *from, uint32_t width)
{
    uint32_t word;
    uint64_t wide;

    if (width == sizeof wide)
        return memcpy(&wide, from, sizeof wide), wide;
    return memcpy(&word, from, sizeof word), word;
}

static void write_word(void *to, uint64_t value, uint32_t width)
{
    uint32_t word = (uint32_t)value;

    memcpy(to, width == sizeof word ? (void *)&word : (void *)&value, width);
}

/* Describes an accumulate as an atomic operation of the transport. False: it is
 * none. */
static bool describe_atomic(const struct wf_win_peer *p,
                            const struct wf_rma_call *c, weft_rma *r)
{
    r->kind = find_atomic_kind(c);
    r->width = (uint32_t)c->bytes;
    if (!r->kind || !(p->key_access & WEFT_ACCESS_ATOMIC) ||
        (c->bytes != 4 && c->bytes != 8) || r->raddr % c->bytes ||
        !wf_rma_is_one_element(c) ||
        !wf_rma_uses_words(&p->domain, c->target.type))
        return false;
    if (c->kind == WF_RMA_CAS)
        r->compare = read_word(c->compare, r->width);
    if (c->kind == WF_RMA_CAS || (c->op & 0xff) != WF_OP_NO_OP)
        r->operand = read_word(c->origin.buf, r->width);
    return true;
}

/* Describes an operation. False: the transport has no such one. */
static bool describe_operation(const struct wf_win_peer *p,
                               const struct wf_rma_call *c, weft_rma *r)
{
    bool put = c->kind == WF_RMA_PUT;
    const struct wf_rma_side *side = put ? &c->origin : &c->result;

    *r = (weft_rma){.raddr = p->key_base + c->position, .rkey = p->rkey};
    if (!put && c->kind != WF_RMA_GET)
        return describe_atomic(p, c, r);
    r->kind = put ? WEFT_RMA_PUT : WEFT_RMA_GET;
    if (!wf_type_is_contiguous(c->target.type) ||
        !wf_type_is_contiguous(side->type))
        return false;
    r->one.iov_base = wf_type_data(side->type, side->buf);
    r->one.iov_len = c->bytes;
    return true;
}

static void end_transfer(struct transfer *t, int class)
{
    struct wf_win_peer *p = t->peer;
    const weft_rma *r = &t->remote.rma;

    wf_list_remove(&t->link);
    t->peer = NULL;
    WF_ASSERT(p->pending > 0 && p->transfer_count > 0);
    p->transfer_count--;
    p->pending--;
    if (t->result && !class)
        write_word(t->result, r->result, r->width);
    if (t->req)
        wf_req_complete(t->req, wf_error_status(class));
    else if (class && !p->error)
        p->error = class;
}

static void on_done(struct wf_remote *remote, int status)
{
    struct transfer *t = wf_container(remote, struct transfer, remote);
    struct wf_win_peer *p = t->peer;

    if (p) {
        struct wf_win *win = p->win;

        end_transfer(t, status == WEFT_EINVAL ? MPI_ERR_RMA_RANGE
                        : status < 0 ? wf_error_class(wf_link_status(status))
                                     : MPI_SUCCESS);
        wf_rma_pump(p);
        wf_win_put(win);
    }
    free(t);
}

/* Gives an operation to the transport. Returns what that answers; if it is a
 * failure nothing has happened. */
static int begin_transfer(struct wf_win_peer *p, struct transfer *t)
{
    struct weft_core *c = p->loc->lane[p->lane].core;
    int r;

    t->remote.rma.size = sizeof t->remote.rma;
    t->remote.done = on_done;
    t->peer = p;
    wf_list_append(&p->transfers, &t->link);
    p->transfer_count++;
    p->pending++;
    r = c->ops->rma(p->loc->peers[c->index], &t->remote.rma);
    c->rma_count += r >= 0;
    if (r == WEFT_OK) {
        wf_win_get(p->win);
        return r;
    }
    if (r < 0)
        t->result = NULL;
    end_transfer(t, MPI_SUCCESS);
    free(t);
    return r;
}

bool wf_exposed_start(struct wf_win_peer *p, const struct wf_rma_call *c,
                      struct wf_req **req, int *rc)
{
    struct transfer *t;
    int r;

    if (!p->rkey) {
        if (!p->key_asked && p->key_waits)
            p->key_waits--;
        else if (!p->key_asked)
            ask_for_key(p);
        return false;
    }
    if (!may_begin(p, c->kind != WF_RMA_PUT && c->kind != WF_RMA_GET))
        return false;
    t = calloc(1, sizeof *t);
    if (!t || !describe_operation(p, c, &t->remote.rma)) {
        free(t);
        return false;
    }
    t->result = c->kind == WF_RMA_GET ? NULL : c->result.buf;
    r = begin_transfer(p, t);
    if (r < 0)
        return false;
    wf_rma_mark_dirty(p);
    p->unflushed |= c->kind == WF_RMA_PUT;
    *rc = MPI_SUCCESS;
    if (req && r != WEFT_OK)
        *req = &p->win->wf->engine->sent;
    else if (req && !(*req = t->req = wf_rma_create_request(p)))
        *rc = MPI_ERR_NO_MEM;
    return true;
}

void wf_exposed_flush(struct wf_win_peer *p)
{
    struct transfer *t;

    if (!p->unflushed || p->lost)
        return;
    p->unflushed = false;
    t = calloc(1, sizeof *t);
    if (t)
        t->remote.rma.kind = WEFT_RMA_FLUSH;
    if (!t)
        p->error = MPI_ERR_NO_MEM;
    else if (begin_transfer(p, t) < 0 && !p->error)
        p->error = MPI_ERR_PROC_ABORTED;
}

void wf_exposed_lose(struct wf_win_peer *p)
{
    p->rkey = NULL;
    p->key_asked = true;
    p->unflushed = false;
    while (!wf_list_empty(&p->transfers)) {
        struct transfer *t =
            wf_container(p->transfers.next, struct transfer, link);

        end_transfer(t, MPI_ERR_PROC_ABORTED);
        wf_win_put(p->win);
    }
}
