/* pipes - a Weft transport over AF_UNIX stream sockets: small enough to read
 * in one sitting, complete enough to run jobs on. docs/transport-guide.md
 * walks through it.
 *
 * DESIGN  A connection carries containers one way, from the process that made
 * it, so two calls never cross: a pair that talks both ways has two. The only
 * thing that goes the other way is the goodbye. A container is written as it
 * is: its header says how long it and the payload are.
 *
 *   dialler                                     listener
 *   connect, hello (64 bytes)               ->  auth_step
 *   auth_step                               <-  answer (64)
 *   proof (64)                              ->  auth_step, locate
 *   open: peer_up                           <-  WELCOME (24)
 *   header, payload, header, payload ...    ->  rx, sink, rx_done
 *   ASK (64), what is put                   ->  memory that is exposed
 *   (on the other connection)               <-  REPLY (64), what was got
 *   GOODBYE (24), end of stream            <->  GOODBYE (24), end of stream
 *
 * The end of a stream without a goodbye means that the process has died.
 *
 * INVARIANTS
 *   - The core is called back from progress() only.
 *   - An operation on the other's memory travels as a frame among the
 *     containers, and its REPLY as well. A put has none: what was refused is
 *     said by the next flush.
 *   - fault() notes that a peer is lost; progress() returns all that is lent
 *     and then says peer_down.
 *   - A link that has ended is freed at the end of progress(): an event of the
 *     same epoll batch may still point to it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "weft_transport.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MORE_CAPS /* the tests declare a capability that nobody knows */
#define MORE_CAPS 0
#endif

#ifdef MINOR_3 /* the tests make a plugin of an earlier header */
#define OPS_SIZE offsetof(weft_ops, mr_expose)
#else
#define OPS_SIZE sizeof(weft_ops)
#endif

enum { NAME = 24, SEGMENTS = 16, EVENTS = 32, READS = 64, SCRAP = 16384 };
enum { ASKED_MOST = 64 /* operations of a peer that are under way */ };
/* Types the core never uses. */
enum { WELCOME = 0xf0, GOODBYE, ASK, REPLY };
enum state { HELLO, ANSWER, PROOF, WAITING, OPEN };

struct config {
    uint64_t buffer;
    int64_t keys_refused;
};

static const weft_option options[] = {
    {"buffer", WEFT_OPT_SIZE, offsetof(struct config, buffer), "0", "0..64M",
     "send buffer of a connection; 0: the system's"},
    {"keys_refused", WEFT_OPT_INT, offsetof(struct config, keys_refused), "0",
     "0..100", "for tests: so many keys cannot be opened at first"},
    {0}};

struct link { /* one connection */
    int fd;
    bool dialled, paused, resumed, said_bye, heard_bye, dead;
    enum state state;
    struct weft_ep *ep;
    struct weft_peer *peer; /* NULL until a caller has proved who it is */
    weft_auth *auth;
    struct link *next;
    /* the container that comes in */
    weft_hdr head; /* also the handshake's messages */
    size_t have;   /* bytes of it */
    bool shown;    /* rx() has answered */
    weft_sink *sink;
    uint64_t off, len; /* of the payload */
    weft_sink own;     /* the sink of an ASK or a REPLY */
    weft_rma *got;     /* the operation that a REPLY ends */
};

/* An ASK or a REPLY on its way out: what stands in the words of the header. */
enum { W_HEAD, W_ID, W_KIND, W_KEY, W_ADDRESS, W_LEN, W_OPERAND, W_COMPARE };
enum { W_STATUS = W_KIND, W_RESULT = W_KEY };
struct frame {
    weft_tx tx;
    weft_hdr hdr;
    weft_rma *put; /* over when the frame is out */
    struct frame *next;
    uint8_t data[]; /* what was got */
};

struct weft_mr { /* exposed memory */
    uint64_t id;
    uint8_t *base;
    uint64_t len;
    uint32_t access;
    struct weft_mr *next;
};

struct weft_rkey {
    uint64_t id;
    struct weft_rkey *next;
};

struct weft_peer {
    struct weft_ep *ep;
    weft_loc *loc;
    uint32_t id;
    char name[NAME];
    struct link *out, *in;
    weft_tx *tx;   /* the container on its way out */
    uint64_t sent; /* bytes of it, header included */
    struct frame *frames, **frames_end; /* the first may be tx */
    weft_rma *asked, *written; /* wait for a REPLY; puts that are out */
    uint32_t asked_n;          /* operations under way */
    uint64_t last_id;
    int refused; /* what the next flush of the peer is told */
    weft_rkey *keys;
    bool want;     /* the core waits for tx_ready */
    int fault;     /* why it is lost */
    bool down;     /* and the core knows */
    char why[160];
    struct weft_peer *next;
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    uint32_t id;
    uint64_t buffer;
    int64_t keys_refused; /* are left */
    char name[NAME];
    int listener, epoll;
    bool attend; /* a fault, a resumed link: progress() has something to do */
    weft_peer *peers;
    struct link *links;
    weft_mr *exposed;
};

/* ---- losing a peer -------------------------------------------------------- */

static void fault(weft_peer *p, int status, const char *what, int err)
{
    if (p->fault)
        return; /* the first cause counts */
    p->fault = status;
    p->ep->attend = true;
    snprintf(p->why, sizeof p->why, "pipes: process %u %s%s%s", p->id, what,
             err ? ": " : "", err ? strerror(err) : "");
}

static void hang_up(struct link *l)
{
    weft_ep *e = l->ep;

    if (l->dead)
        return;
    l->dead = true;
    e->attend = true;
    e->host->auth_step(e->core, &l->auth, NULL, 0, NULL, NULL, NULL);
    close(l->fd); /* epoll forgets it by itself */
    if (l->peer && l->peer->out == l)
        l->peer->out = NULL;
    if (l->peer && l->peer->in == l)
        l->peer->in = NULL;
}

/* The stream has ended, or failed. */
static void ended(struct link *l, int err)
{
    weft_peer *p = l->peer;
    bool parted = l->heard_bye &&
                  !(p && ((l->dialled && (p->tx || p->want)) || p->asked));

    if (p && !parted)
        fault(p, l->heard_bye ? WEFT_ELINK : WEFT_EPEER,
              l->heard_bye ? "left while messages to it were waiting"
              : l->state == OPEN ? "ended without a goodbye"
                                 : "closed the connection during the handshake",
              err);
    if (!p || parted)
        hang_up(l);
}

/* ---- lists of operations ---------------------------------------------------- */

static weft_rma **next_op(weft_rma *r)
{
    return (weft_rma **)(void *)&r->priv[1];
}

static void add_op(weft_rma **list, weft_rma *r)
{
    *next_op(r) = *list;
    *list = r;
}

static weft_rma *remove_op(weft_rma **list, uint64_t id)
{
    while (*list && (*list)->priv[0] != id)
        list = next_op(*list);
    weft_rma *r = *list;
    if (r)
        *list = *next_op(r);
    return r;
}

static void end_ops(weft_peer *p, weft_rma **list, int status)
{
    while (*list) {
        weft_rma *r = *list;
        *list = *next_op(r);
        p->asked_n--;
        p->ep->host->rma_done(p->ep->core, r, status);
    }
}

/* Everything lent goes back; a new status for those who send meanwhile. */
static void release(weft_peer *p, int status)
{
    const weft_host *host = p->ep->host;
    weft_sink *sink = p->in ? p->in->sink : NULL;
    weft_tx *tx = p->frames && p->tx == &p->frames->tx ? NULL : p->tx;

    if (sink && sink == &p->in->own)
        sink = NULL;
    p->fault = status;
    p->tx = NULL;
    p->want = false;
    while (p->frames) {
        struct frame *f = p->frames;
        p->frames = f->next;
        if (f->put)
            add_op(&p->asked, f->put);
        free(f);
    }
    p->frames_end = &p->frames;
    if (p->in)
        hang_up(p->in);
    if (p->out)
        hang_up(p->out);
    if (sink)
        host->rx_done(p->ep->core, sink, status);
    if (tx)
        host->tx_done(p->ep->core, tx, status);
    end_ops(p, &p->written, WEFT_OK);
    end_ops(p, &p->asked, status);
}

/* ---- links ------------------------------------------------------------------ */

static void interest(struct link *l, int how, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data = {.ptr = l}};

    epoll_ctl(l->ep->epoll, how, l->fd, &ev);
}

static struct link *link_new(weft_ep *e, int fd, weft_peer *p)
{
    struct link *l = calloc(1, sizeof *l);

    if (!l) {
        close(fd);
        return NULL;
    }
    l->fd = fd;
    l->ep = e;
    l->peer = p;
    l->dialled = p != NULL;
    l->state = p ? ANSWER : HELLO;
    l->next = e->links;
    e->links = l;
    interest(l, EPOLL_CTL_ADD, EPOLLIN);
    return l;
}

static void bury(weft_ep *e)
{
    for (struct link **at = &e->links; *at;) {
        struct link *l = *at;
        if (!l->dead) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        free(l);
    }
}

/* Handshake messages and our own frames; the buffer has room for them unless
 * it is full of containers. */
static bool say(struct link *l, const void *data, size_t n)
{
    return send(l->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n;
}

static bool say_frame(struct link *l, uint8_t type)
{
    uint8_t frame[WEFT_HDR_MIN] = {type, 1, 0, WEFT_HDR_SHORT >> 8};

    return say(l, frame, sizeof frame);
}

static socklen_t abstract(const char *name, struct sockaddr_un *sa)
{
    *sa = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(sa->sun_path + 1, name, NAME); /* no file: gone with the socket */
    return offsetof(struct sockaddr_un, sun_path) + 1 + NAME;
}

static void dial(weft_peer *p)
{
    weft_ep *e = p->ep;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_un sa;
    socklen_t len = abstract(p->name, &sa);
    uint8_t hello[WEFT_AUTH_MSG];
    uint32_t whom = p->id;
    size_t n = 0;

    if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len) != 0) {
        fault(p, WEFT_ELINK, "cannot be called", errno);
        if (fd >= 0)
            close(fd);
        return;
    }
    if (e->buffer)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){(int)e->buffer},
                   sizeof(int));
    p->out = link_new(e, fd, p);
    if (!p->out || e->host->auth_step(e->core, &p->out->auth, NULL, 0, hello,
                                      &n, &whom) != WEFT_EAGAIN ||
        !say(p->out, hello, n))
        fault(p, WEFT_ELINK, "cannot be greeted", 0);
}

static void accept_all(weft_ep *e)
{
    int fd;

    while ((fd = accept4(e->listener, NULL, NULL,
                         SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        link_new(e, fd, NULL);
}

/* ---- sending ----------------------------------------------------------------- */

/* Write what the socket takes. True: the container is out. */
static bool push(weft_peer *p)
{
    weft_tx *t = p->tx;
    uint64_t head = weft_hdr_len(t->hdr);

    while (p->sent < head + t->len) {
        struct iovec v[SEGMENTS + 1];
        struct msghdr m = {.msg_iov = v};
        uint64_t off = p->sent > head ? p->sent - head : 0;
        ssize_t k;
        if (p->sent < head)
            v[m.msg_iovlen++] = (struct iovec){(char *)t->hdr + p->sent,
                                               (size_t)(head - p->sent)};
        if (off < t->len)
            m.msg_iovlen += (size_t)t->seg(t, off, v + m.msg_iovlen, SEGMENTS);
        k = sendmsg(p->out->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k < 0 && errno != EAGAIN && !p->out->heard_bye)
            fault(p, WEFT_EPEER, "cannot be written to", errno);
        if (k < 0) {
            interest(p->out, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return false;
        }
        p->sent += (uint64_t)k;
    }
    return true;
}

static int send_(weft_peer *p, weft_tx *t)
{
    if (p->fault)
        return p->down ? p->fault : WEFT_ELINK;
    if (p->tx || p->frames) {
        p->want = true;
        return WEFT_EAGAIN;
    }
    p->tx = t;
    p->sent = 0;
    if (!p->out)
        dial(p); /* at the first message; what goes wrong is a fault */
    else if (p->out->state == OPEN && push(p)) {
        p->tx = NULL;
        return WEFT_DONE;
    }
    return WEFT_OK;
}

/* The first frame is out. */
static void end_frame(weft_peer *p)
{
    struct frame *f = p->frames;

    p->tx = NULL;
    p->frames = f->next;
    if (!p->frames)
        p->frames_end = &p->frames;
    if (f->put) {
        add_op(&p->written, f->put);
        p->ep->attend = true;
    }
    free(f);
}

static void send_frames(weft_peer *p)
{
    while (!p->tx && p->frames && !p->fault) {
        p->tx = &p->frames->tx;
        p->sent = 0;
        if (!p->out)
            dial(p);
        if (p->fault || p->out->state != OPEN || !push(p))
            return;
        end_frame(p);
    }
}

/* There is room: finish the container under way, and say so. */
static void go_on(weft_peer *p)
{
    weft_ep *e = p->ep;
    weft_tx *t = p->tx;

    if (t && !push(p))
        return;
    interest(p->out, EPOLL_CTL_MOD, EPOLLIN);
    p->tx = NULL;
    if (t && p->frames && t == &p->frames->tx)
        end_frame(p);
    else if (t)
        e->host->tx_done(e->core, t, WEFT_OK);
    send_frames(p);
    if (p->want && !p->tx) {
        p->want = false;
        e->host->tx_ready(e->core, p->loc);
    }
}

/* ---- receiving ----------------------------------------------------------------- */

/* Bytes read; 0: none there now, or the link has ended. */
static size_t take(struct link *l, struct iovec *v, int n)
{
    struct msghdr m = {.msg_iov = v, .msg_iovlen = (size_t)n};
    ssize_t k = recvmsg(l->fd, &m, MSG_DONTWAIT);

    if (k > 0)
        return (size_t)k;
    if (k == 0 || (errno != EAGAIN && errno != EINTR))
        ended(l, k < 0 && !l->heard_bye ? errno : 0);
    return 0;
}

static bool take_head(struct link *l, size_t want)
{
    struct iovec v = {(char *)&l->head + l->have, want - l->have};

    if (l->have < want)
        l->have += take(l, &v, 1);
    return l->have >= want && !l->dead;
}

static void next_container(struct link *l)
{
    l->have = 0;
    l->shown = false;
}

/* Stage 1: the header alone. False: the core has no memory now. */
static bool show(struct link *l)
{
    weft_ep *e = l->ep;
    int rc;

    l->sink = NULL;
    rc = e->host->rx(e->core, l->peer->loc, &l->head, NULL, 0, &l->sink);
    if (rc == WEFT_EAGAIN) {
        l->paused = true;
        interest(l, EPOLL_CTL_DEL, 0);
        return false;
    }
    l->shown = true;
    l->off = 0;
    l->len = weft_hdr_plen(&l->head);
    return true;
}

/* The payload of an ASK or a REPLY is complete. */
static void end_own(struct link *l)
{
    weft_peer *p = l->peer;
    weft_rma *r = l->got;

    l->got = NULL;
    if (!r || !remove_op(&p->asked, r->priv[0]))
        return;
    p->asked_n--;
    p->ep->host->rma_done(p->ep->core, r, WEFT_OK);
}

/* Stage 2: the payload goes where the core wants it, the rest nowhere. False:
 * no more bytes now. */
static bool fill(struct link *l)
{
    char scrap[SCRAP];
    struct iovec v[SEGMENTS] = {{scrap, sizeof scrap}};
    int n = 1;

    if (l->sink && l->off < l->sink->len)
        n = l->sink->seg(l->sink, l->off, v, SEGMENTS);
    else if (v[0].iov_len > l->len - l->off)
        v[0].iov_len = (size_t)(l->len - l->off);
    if (l->off < l->len) {
        size_t k = take(l, v, n);
        l->off += k;
        if (k == 0)
            return false;
    }
    if (l->sink && l->off >= l->sink->len) {
        weft_sink *s = l->sink;
        l->sink = NULL;
        if (s == &l->own)
            end_own(l);
        else
            l->ep->host->rx_done(l->ep->core, s, WEFT_OK);
    }
    if (l->off == l->len)
        next_container(l);
    return true;
}

/* ---- operations on exposed memory --------------------------------------------- */

static int own_segments(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    (void)max;
    v[0] = (struct iovec){(char *)s->one.iov_base + off, s->len - off};
    return 1;
}

static int frame_segments(weft_tx *t, uint64_t off, struct iovec *v, int max)
{
    (void)max;
    v[0] = (struct iovec){(char *)t->one.iov_base + off, t->len - off};
    return 1;
}

/* The payload that follows goes to `to`, or nowhere if it is NULL. */
static void sink_own(struct link *l, void *to)
{
    l->shown = true;
    l->off = 0;
    l->len = weft_hdr_plen(&l->head);
    l->own = (weft_sink){.size = sizeof l->own,
                         .len = l->len,
                         .one = {to, l->len},
                         .seg = own_segments};
    l->sink = to ? &l->own : NULL;
}

static struct frame *new_frame(uint8_t type, uint64_t len, uint64_t copied)
{
    struct frame *f = calloc(1, sizeof *f + copied);

    if (!f)
        return NULL;
    f->hdr.w[W_HEAD] = type | 1u << 8 | len << 32;
    f->tx.hdr = &f->hdr;
    f->tx.len = len;
    f->tx.seg = frame_segments;
    f->tx.one = (struct iovec){f->data, len};
    return f;
}

static void queue_frame(weft_peer *p, struct frame *f)
{
    *p->frames_end = f;
    p->frames_end = &f->next;
    send_frames(p);
}

/* The memory that an ASK names; NULL: it has no right to that. */
static uint8_t *find_exposed(weft_ep *e, const weft_hdr *h, uint64_t len)
{
    uint32_t kind = h->w[W_KIND] & 0xff;
    uint32_t need = kind == WEFT_RMA_PUT   ? WEFT_ACCESS_WRITE
                    : kind == WEFT_RMA_GET ? WEFT_ACCESS_READ
                                           : WEFT_ACCESS_ATOMIC;

    for (weft_mr *m = e->exposed; m; m = m->next) {
        uint64_t at = h->w[W_ADDRESS] - (uintptr_t)m->base;

        if (m->id == h->w[W_KEY])
            return m->access & need && at <= m->len && len <= m->len - at &&
                           (need != WEFT_ACCESS_ATOMIC ||
                            h->w[W_ADDRESS] % len == 0)
                       ? m->base + at
                       : NULL;
    }
    return NULL;
}

static bool reply(weft_peer *p, const weft_hdr *h, int status, uint64_t result,
                  const void *data, uint64_t len)
{
    struct frame *f = new_frame(REPLY, len, len);

    if (!f) {
        fault(p, WEFT_ENOMEM, "cannot be answered: no memory", 0);
        return false;
    }
    f->hdr.w[W_ID] = h->w[W_ID];
    f->hdr.w[W_STATUS] = (uint64_t)(int64_t)status;
    f->hdr.w[W_RESULT] = result;
    if (len)
        memcpy(f->data, data, len);
    queue_frame(p, f);
    return !p->fault;
}

/* An ASK has come, and what is put follows. */
static bool serve(struct link *l)
{
    const weft_hdr h = l->head;
    weft_peer *p = l->peer;
    weft_rma r = {.kind = h.w[W_KIND] & 0xff,
                  .width = h.w[W_KIND] >> 8 & 0xff,
                  .operand = h.w[W_OPERAND],
                  .compare = h.w[W_COMPARE]};
    uint64_t len = h.w[W_LEN];
    uint8_t *at;

    if (r.kind < WEFT_RMA_PUT || r.kind > WEFT_RMA_CAS ||
        (r.kind == WEFT_RMA_PUT ? len == 0 || len != weft_hdr_plen(&h)
                                : weft_hdr_plen(&h) != 0) ||
        (r.kind > WEFT_RMA_FLUSH &&
         (len != r.width || (len != 4 && len != 8)))) {
        fault(p, WEFT_EPROTO, "sent what nobody understands", 0);
        return false;
    }
    if (r.kind == WEFT_RMA_FLUSH) {
        int status = p->refused;
        p->refused = 0;
        next_container(l);
        return reply(p, &h, status, 0, NULL, 0);
    }
    at = find_exposed(p->ep, &h, len);
    if (r.kind == WEFT_RMA_PUT) {
        p->refused = at ? p->refused : WEFT_EINVAL;
        sink_own(l, at);
        return true;
    }
    next_container(l);
    if (!at)
        return reply(p, &h, WEFT_EINVAL, 0, NULL, 0);
    if (r.kind == WEFT_RMA_GET)
        return reply(p, &h, WEFT_OK, 0, at, len);
    weft_rma_perform(&r, at);
    return reply(p, &h, WEFT_OK, r.result, NULL, 0);
}

/* A REPLY has come, and what was got follows. */
static bool take_reply(struct link *l)
{
    weft_peer *p = l->peer;
    uint64_t id = l->head.w[W_ID], n = weft_hdr_plen(&l->head);
    int status = (int)(int64_t)l->head.w[W_STATUS];
    weft_rma *r = remove_op(&p->asked, id);
    uint64_t want =
        r && r->kind == WEFT_RMA_GET && status == WEFT_OK ? r->one.iov_len : 0;

    if (r)
        add_op(&p->asked, r);
    if (!r || n != want) {
        fault(p, WEFT_EPROTO, "answered what nobody asked", 0);
        return false;
    }
    if (n) {
        l->got = r;
        sink_own(l, r->one.iov_base);
        return true;
    }
    r->result = l->head.w[W_RESULT];
    next_container(l);
    end_ops(p, &p->written, WEFT_OK); /* a flush ends after them */
    remove_op(&p->asked, id);
    p->asked_n--;
    p->ep->host->rma_done(p->ep->core, r, status < 0 ? status : WEFT_OK);
    return !l->dead;
}

static int rma(weft_peer *p, weft_rma *r)
{
    bool put = r->kind == WEFT_RMA_PUT;
    struct frame *f;

    if (p->fault)
        return p->down ? p->fault : WEFT_ELINK;
    if ((p->asked_n >= ASKED_MOST && r->kind != WEFT_RMA_FLUSH) ||
        r->one.iov_len > UINT32_MAX ||
        !(f = new_frame(ASK, put ? r->one.iov_len : 0, 0)))
        return WEFT_EAGAIN;
    p->asked_n++;
    r->priv[0] = ++p->last_id;
    f->hdr.w[W_ID] = r->priv[0];
    f->hdr.w[W_KIND] = r->kind | (uint64_t)r->width << 8;
    f->hdr.w[W_KEY] = r->rkey ? r->rkey->id : 0;
    f->hdr.w[W_ADDRESS] = r->raddr;
    f->hdr.w[W_LEN] = r->width ? r->width : r->one.iov_len;
    f->hdr.w[W_OPERAND] = r->operand;
    f->hdr.w[W_COMPARE] = r->compare;
    if (put)
        f->tx.one = r->one;
    if (put)
        f->put = r;
    else
        add_op(&p->asked, r);
    queue_frame(p, f);
    return WEFT_OK;
}

static int mr_expose(weft_ep *e, void *base, size_t len, uint32_t access,
                     weft_mr **out)
{
    weft_mr *m = calloc(1, sizeof *m);

    if (!m || getrandom(&m->id, sizeof m->id, 0) != sizeof m->id) {
        free(m);
        return WEFT_ENOMEM;
    }
    m->base = base;
    m->len = len;
    m->access = access;
    m->next = e->exposed;
    *out = e->exposed = m;
    return WEFT_OK;
}

static void mr_dereg(weft_ep *e, weft_mr *m)
{
    weft_mr **at = &e->exposed;

    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    /* What is being put there now goes nowhere. */
    for (struct link *l = e->links; l; l = l->next)
        if (l->sink == &l->own && !l->got)
            l->sink = NULL;
    free(m);
}

static int mr_pack(weft_ep *e, weft_mr *m, void *rkey, size_t *len)
{
    (void)e;
    memcpy(rkey, &m->id, *len = sizeof m->id);
    return WEFT_OK;
}

static int rkey_open(weft_peer *p, const void *rkey, size_t len,
                     weft_rkey **out)
{
    weft_rkey *k = len == sizeof k->id ? calloc(1, sizeof *k) : NULL;

    if (!k)
        return WEFT_EINVAL;
    if (p->ep->keys_refused > 0) {
        p->ep->keys_refused--;
        free(k);
        return WEFT_ENOTSUP;
    }
    memcpy(&k->id, rkey, len);
    k->next = p->keys;
    *out = p->keys = k;
    return WEFT_OK;
}

static void rkey_close(weft_peer *p, weft_rkey *k)
{
    weft_rkey **at = &p->keys;

    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    free(k);
}

static void close_keys(weft_peer *p)
{
    while (p->keys)
        rkey_close(p, p->keys);
}

static bool own_frame(struct link *l)
{
    uint8_t type = *(const uint8_t *)&l->head;

    if (!l->dialled && type == ASK)
        return serve(l);
    if (!l->dialled && type == REPLY)
        return take_reply(l);
    if (type == GOODBYE)
        l->heard_bye = true;
    else if (l->dialled || type > GOODBYE)
        fault(l->peer, WEFT_EPROTO, "sent what nobody understands", 0);
    next_container(l);
    return !l->peer->fault;
}

/* One step; false: nothing more to read now. */
static bool receive(struct link *l)
{
    if (l->shown)
        return fill(l);
    if (!take_head(l, WEFT_HDR_MIN) || !take_head(l, weft_hdr_len(&l->head)))
        return false;
    if (l->dialled || *(const uint8_t *)&l->head >= WELCOME)
        return own_frame(l);
    return show(l);
}

/* ---- the handshake -------------------------------------------------------------- */

static weft_peer *find(weft_ep *e, uint32_t id)
{
    weft_peer *p = e->peers;

    while (p && p->id != id)
        p = p->next;
    return p;
}

/* The caller is process id: is it wanted? */
static bool welcome(struct link *l, uint32_t id)
{
    weft_ep *e = l->ep;

    if (!find(e, id))
        e->host->locate(e->core, id);
    l->peer = find(e, id);
    if (!l->peer || l->peer->fault || l->peer->in || !say_frame(l, WELCOME)) {
        l->peer = NULL;
        hang_up(l);
        return false;
    }
    l->peer->in = l;
    return true;
}

static void opened(struct link *l)
{
    l->state = OPEN;
    next_container(l);
    l->ep->host->peer_up(l->ep->core, l->peer->loc);
    go_on(l->peer);
}

/* One message of the handshake has come. */
static bool auth(struct link *l)
{
    weft_ep *e = l->ep;
    uint8_t out[WEFT_AUTH_MSG];
    uint32_t id = l->peer ? l->peer->id : 0;
    size_t n = 0;
    int rc = e->host->auth_step(e->core, &l->auth, &l->head, WEFT_AUTH_MSG,
                                out, &n, &id);

    next_container(l);
    if (n && !say(l, out, n) && rc >= 0)
        rc = WEFT_ESYS;
    if (rc == WEFT_EAGAIN)
        l->state = PROOF;
    else if (rc != WEFT_OK && l->peer)
        fault(l->peer, WEFT_ELINK,
              rc == WEFT_EAUTH ? "has another job key" : "is not who we called",
              0);
    else if (rc != WEFT_OK)
        hang_up(l);
    else if (l->dialled)
        l->state = WAITING;
    else if (welcome(l, id))
        l->state = OPEN;
    return !l->dead && !(l->peer && l->peer->fault);
}

static bool greet(struct link *l)
{
    if (l->state != WAITING)
        return take_head(l, WEFT_AUTH_MSG) && auth(l);
    if (!take_head(l, WEFT_HDR_MIN))
        return false;
    if (*(const uint8_t *)&l->head != WELCOME) {
        fault(l->peer, WEFT_EPROTO, "sent what nobody understands", 0);
        return false;
    }
    opened(l);
    return true;
}

/* ---- operations ------------------------------------------------------------------ */

static void read_some(struct link *l)
{
    for (int i = 0; i < READS && !l->dead && !l->paused; i++)
        if ((l->peer && l->peer->fault) ||
            !(l->state == OPEN ? receive(l) : greet(l)))
            return;
}

/* What was noted outside progress(). */
static int attend(weft_ep *e)
{
    int n = 0;

    if (!e->attend)
        return 0;
    e->attend = false;
    for (weft_peer *p = e->peers; p; p = p->next) {
        if (p->in && p->in->resumed) {
            p->in->resumed = false;
            read_some(p->in);
        }
        end_ops(p, &p->written, WEFT_OK);
        if (!p->fault || p->down)
            continue;
        release(p, p->fault);
        p->down = true;
        e->host->peer_down(e->core, p->loc, p->fault, p->why);
        n++;
    }
    bury(e);
    return n;
}

static int progress(weft_ep *e, int budget)
{
    struct epoll_event ev[EVENTS];
    int max = budget < EVENTS ? budget : EVENTS;
    int n = epoll_wait(e->epoll, ev, max > 0 ? max : 1, 0);

    for (int i = 0; i < n; i++) {
        struct link *l = ev[i].data.ptr;
        if (!l)
            accept_all(e);
        else if (!l->dead) {
            if (ev[i].events & EPOLLOUT && l->state == OPEN)
                go_on(l->peer);
            read_some(l);
        }
    }
    return (n > 0 ? n : 0) + attend(e);
}

static void rx_resume(weft_peer *p)
{
    if (!p->in || !p->in->paused)
        return;
    p->in->paused = false;
    p->in->resumed = true; /* its header was read: epoll will not tell */
    p->ep->attend = true;
    interest(p->in, EPOLL_CTL_ADD, EPOLLIN);
}

static int event(weft_ep *e, int *fd)
{
    *fd = e->epoll;
    return WEFT_OK;
}

static int arm(weft_ep *e, uint64_t *deadline_ns)
{
    (void)deadline_ns;
    return e->attend ? WEFT_EAGAIN : WEFT_OK; /* epoll remembers the rest */
}

static void close_(weft_ep *e)
{
    while (e->peers) {
        weft_peer *p = e->peers;
        release(p, WEFT_ECANCEL);
        e->peers = p->next;
        close_keys(p);
        free(p);
    }
    for (struct link *l = e->links; l; l = l->next)
        hang_up(l);
    bury(e);
    while (e->exposed)
        mr_dereg(e, e->exposed);
    if (e->listener >= 0)
        close(e->listener);
    if (e->epoll >= 0)
        close(e->epoll);
    free(e);
}

static int listen_(weft_ep *e)
{
    struct epoll_event ev = {.events = EPOLLIN}; /* data NULL: the listener */
    struct sockaddr_un sa;
    uint64_t random;
    socklen_t len;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return WEFT_ESYS;
    snprintf(e->name, sizeof e->name, "weft-%016llx",
             (unsigned long long)random);
    len = abstract(e->name, &sa);
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->listener =
        socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (e->epoll < 0 || e->listener < 0 ||
        bind(e->listener, (struct sockaddr *)&sa, len) != 0 ||
        listen(e->listener, 4096) != 0 ||
        epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->listener, &ev) != 0)
        return WEFT_ESYS;
    return WEFT_OK;
}

static int open_(const weft_open *o, weft_ep **out)
{
    weft_ep *e = calloc(1, sizeof *e);
    int rc;

    if (!e)
        return WEFT_ENOMEM;
    e->host = o->host;
    e->core = o->core;
    e->id = o->loc_id;
    e->buffer = ((const struct config *)o->cfg)->buffer;
    e->keys_refused = ((const struct config *)o->cfg)->keys_refused;
    e->listener = e->epoll = -1;
    rc = listen_(e);
    if (rc != WEFT_OK) {
        o->host->log(o->core, 0, "pipes: no socket to listen on: %s",
                     strerror(errno));
        close_(e);
        return rc;
    }
    *out = e;
    return WEFT_OK;
}

static int attr(weft_ep *e, weft_attr *a)
{
    a->caps = WEFT_CAP_LOCAL | MORE_CAPS;
    if (e->host->minor >= 4 && OPS_SIZE == sizeof(weft_ops))
        a->caps |= WEFT_CAP_RMA | WEFT_CAP_RMA_ATOMIC;
    a->rkey_len = sizeof(uint64_t);
    a->max_eager = 65536;
    a->max_payload = 1 << 20;
    a->cost = (weft_cost){sizeof(weft_cost), 4000, 1500, 2000};
    return WEFT_OK;
}

static int address(weft_ep *e, void *buf, size_t *len)
{
    if (*len < NAME)
        return WEFT_EINVAL;
    memcpy(buf, e->name, *len = NAME);
    return WEFT_OK;
}

/* A name can be called if somebody listens there: on this machine. */
static int reach(weft_ep *e, const void *addr, size_t len, weft_cost *cost)
{
    struct sockaddr_un sa;
    bool there;
    int fd;

    (void)cost; /* as in attr() */
    if (len != NAME || memcmp(addr, e->name, NAME) == 0 ||
        (fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) <
            0)
        return WEFT_EUNREACH;
    there = connect(fd, (struct sockaddr *)&sa, abstract(addr, &sa)) == 0;
    close(fd);
    return there ? WEFT_OK : WEFT_EUNREACH;
}

static int peer_add(weft_ep *e, weft_loc *loc, uint32_t id, const void *addr,
                    size_t len, weft_peer **out)
{
    weft_peer *p;

    if (len != NAME || find(e, id))
        return WEFT_EINVAL;
    p = calloc(1, sizeof *p);
    if (!p)
        return WEFT_ENOMEM;
    p->ep = e;
    p->loc = loc;
    p->id = id;
    p->frames_end = &p->frames;
    memcpy(p->name, addr, NAME);
    p->next = e->peers;
    *out = e->peers = p;
    return WEFT_OK;
}

static bool parted(struct link *l)
{
    if (!l || l->state != OPEN || l->said_bye)
        return true;
    return l->said_bye = say_frame(l, GOODBYE);
}

/* All is with the kernel, which delivers it even when we have ended. */
static bool took_leave(weft_peer *p)
{
    return p->fault ||
           (!p->tx && !p->frames && parted(p->out) && parted(p->in));
}

static int peer_del(weft_peer *p, int abrupt)
{
    weft_ep *e = p->ep;
    weft_peer **at = &e->peers;

    if (!abrupt && !took_leave(p))
        return WEFT_EAGAIN;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    release(p, WEFT_ECANCEL);
    bury(e);
    close_keys(p);
    free(p);
    return WEFT_OK;
}

static int drain(weft_ep *e)
{
    int rc = WEFT_OK;

    for (weft_peer *p = e->peers; p; p = p->next)
        if (!took_leave(p))
            rc = WEFT_EAGAIN;
    return rc;
}

static const weft_ops ops = {.size = OPS_SIZE,
                             .open = open_,
                             .close = close_,
                             .attr = attr,
                             .address = address,
                             .reach = reach,
                             .peer_add = peer_add,
                             .peer_del = peer_del,
                             .send = send_,
                             .progress = progress,
                             .drain = drain,
                             .event = event,
                             .arm = arm,
                             .rx_resume = rx_resume,
                             .mr_dereg = mr_dereg,
                             .mr_pack = mr_pack,
                             .rkey_open = rkey_open,
                             .rkey_close = rkey_close,
                             .mr_expose = mr_expose,
                             .rma = rma};

WEFT_PLUGIN(pipes, "1.0", "stream sockets between processes of one machine",
            options, struct config, &ops);
