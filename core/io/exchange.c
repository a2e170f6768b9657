/* The exchange of a two-phase access: what goes between members and
 * aggregators in one round.
 *
 * ERRORS  A member that lacks memory tells its aggregators that it has no
 * bytes, and an aggregator that does receives without keeping; so the messages
 * of all members still fit together, and the vote tells.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/exchange.h"

#include <stdlib.h>

#include "coll/args.h"
#include "coll/schedule.h"
#include "datatype/move.h"
#include "datatype/type.h"
#include "io/file.h"
#include "io/twophase.h"
#include "io/view.h"
#include "object/error.h"

struct domain {
    uint64_t first, end;
};

static struct domain find_domain(const struct wf_exchange *x, int aggregator)
{
    uint64_t n = x->round * (uint64_t)x->aggregators + (uint64_t)aggregator;
    uint64_t first = x->first + n * x->domain;
    uint64_t end = first + x->domain;

    if (first > x->end)
        first = x->end;
    return (struct domain){first, end < x->end ? end : x->end};
}

/* Returns whether a member may have bytes in a domain, as both sides know. */
static bool may_touch(const struct wf_io_ask *a, struct domain d)
{
    return a->bytes && d.first < d.end && a->first < d.end &&
           a->last >= d.first;
}

static int own_rank(const struct wf_twophase *t)
{
    return t->file->comm->rank;
}

static const struct wf_pieces *pieces_of(const struct wf_io_part *p)
{
    return p->head.records <= WF_PIECES_IN_HEAD ? p->head.pieces : p->list.p;
}

/* Returns the bytes of a part in the program's memory, where they lie in one
 * piece. */
static char *find_memory(const struct wf_twophase *t,
                         const struct wf_io_part *p)
{
    return p->data ? p->data
                   : wf_type_data(t->access.type, t->access.buf) + p->stream;
}

static void report_no_memory(struct wf_twophase *t)
{
    wf_twophase_note(
        t, wf_error(MPI_ERR_NO_MEM, "no memory for a collective access"));
}

/* ---- what goes out ------------------------------------------------------- */

static uint64_t clamp_to(uint64_t n, uint64_t least, uint64_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Makes memory for a part whose bytes lie in pieces, and packs them there. */
static bool stage_part(const struct wf_twophase *t, struct wf_io_part *p)
{
    const struct wf_access *a = &t->access;

    if (wf_type_is_contiguous(a->type))
        return true;
    p->data = malloc((size_t)p->head.bytes);
    if (p->data && a->write)
        wf_type_pack(a->type, a->buf, a->count, p->stream, p->data,
                     p->head.bytes);
    return p->data;
}

/* Finds what this member has in an aggregator's domain. */
static bool fill_part(const struct wf_twophase *t, struct wf_io_part *p,
                      struct domain d)
{
    const struct wf_access *a = &t->access;
    uint64_t least = a->stream, most = a->stream + a->stream_bytes;
    uint64_t from =
        clamp_to(wf_view_count_before(a->view, d.first), least, most);
    uint64_t to = clamp_to(wf_view_count_before(a->view, d.end), least, most);

    p->stream = from - least;
    p->head.bytes = to - from;
    if (from == to)
        return true;
    if (!wf_pieces_list(&p->list, a->view, from, to - from))
        return false;
    p->head.records = p->list.n;
    for (uint64_t i = 0; i < p->list.n && i < WF_PIECES_IN_HEAD; i++)
        p->head.pieces[i] = p->list.p[i];
    return stage_part(t, p);
}

static void reset_part(struct wf_io_part *p)
{
    free(p->data);
    p->data = NULL;
    p->got = 0;
    memset(&p->head, 0, sizeof p->head);
}

void wf_exchange_begin_round(struct wf_twophase *t)
{
    struct wf_exchange *x = &t->x;

    for (int i = 0; i < x->aggregators; i++) {
        struct domain d = find_domain(x, i);

        reset_part(&x->out[i]);
        if (may_touch(&t->ask, d) && !fill_part(t, &x->out[i], d)) {
            reset_part(&x->out[i]);
            report_no_memory(t);
        }
    }
    for (int i = 0; x->number >= 0 && i < x->members; i++)
        reset_part(&x->in[i]);
}

void wf_exchange_add_heads(struct wf_twophase *t, struct wf_sched *s)
{
    struct wf_exchange *x = &t->x;

    for (int i = 0; i < x->aggregators; i++)
        if (x->ranks[i] != own_rank(t) && may_touch(&t->ask, find_domain(x, i)))
            wf_sched_send(s, &x->out[i].head, sizeof x->out[i].head,
                          wf_coll_byte(), x->ranks[i]);
    for (int i = 0; x->number >= 0 && i < x->members; i++)
        if (i != own_rank(t) &&
            may_touch(&t->asks[i], find_domain(x, x->number)))
            wf_sched_recv(s, &x->in[i].head, sizeof x->in[i].head,
                          wf_coll_byte(), i);
}

/* ---- what comes in ------------------------------------------------------- */

/* Checks the numbers of a head, which may be any. */
static bool is_head_sound(const struct wf_io_head *h, struct domain d)
{
    return h->bytes <= d.end - d.first && h->records <= h->bytes &&
           (h->records > 0) == (h->bytes > 0);
}

/* Makes memory for what a member sends or gets. */
static bool prepare_part(struct wf_io_part *p)
{
    struct wf_pieces *more;

    if (p->head.bytes)
        p->data = malloc((size_t)p->head.bytes);
    if (p->head.records > WF_PIECES_IN_HEAD && p->list.room < p->head.records) {
        more = realloc(p->list.p, (size_t)p->head.records * sizeof *more);
        p->list.room = more ? p->head.records : p->list.room;
        p->list.p = more ? more : p->list.p;
    }
    return (!p->head.bytes || p->data) &&
           (p->head.records <= WF_PIECES_IN_HEAD ||
            p->list.room >= p->head.records);
}

/* The parts cannot be kept: what comes is dropped. */
static void give_up_window(struct wf_twophase *t)
{
    t->x.lost = true;
    report_no_memory(t);
}

void wf_exchange_take_heads(struct wf_twophase *t, bool failed)
{
    struct wf_exchange *x = &t->x;
    struct domain d;

    if (x->number < 0)
        return;
    d = find_domain(x, x->number);
    x->lost = failed;
    if (d.first == d.end)
        return;
    for (int i = 0; i < x->members; i++) {
        struct wf_io_part *p = &x->in[i];

        if (i == own_rank(t))
            continue;
        if (failed || !is_head_sound(&p->head, d)) {
            memset(&p->head, 0, sizeof p->head);
            x->lost = true;
        } else if (!prepare_part(p)) {
            give_up_window(t);
        }
    }
    if (!wf_window_place(&x->window, d.first, d.end - d.first))
        give_up_window(t);
}

/* Receives n bytes, or drops them where there is no memory. */
static void add_receive(struct wf_sched *s, struct wf_io_part *p, void *buf,
                        uint64_t n, int from)
{
    if (buf)
        wf_sched_recv(s, buf, n, wf_coll_byte(), from);
    else
        wf_sched_recv_deferred(s, NULL, 0, &p->got, from);
}

static bool has_more_records(const struct wf_io_part *p)
{
    return p->head.records > WF_PIECES_IN_HEAD;
}

void wf_exchange_add_records(struct wf_twophase *t, struct wf_sched *s)
{
    struct wf_exchange *x = &t->x;

    for (int i = 0; i < x->aggregators; i++) {
        struct wf_io_part *p = &x->out[i];

        if (x->ranks[i] == own_rank(t) || !p->head.bytes)
            continue;
        if (has_more_records(p))
            wf_sched_send(s, p->list.p, p->head.records * sizeof *p->list.p,
                          wf_coll_byte(), x->ranks[i]);
        if (x->write)
            wf_sched_send(s, find_memory(t, p), p->head.bytes, wf_coll_byte(),
                          x->ranks[i]);
    }
    for (int i = 0; x->number >= 0 && i < x->members; i++) {
        struct wf_io_part *p = &x->in[i];
        bool has_room = p->list.room >= p->head.records;

        if (i == own_rank(t) || !p->head.bytes)
            continue;
        if (has_more_records(p))
            add_receive(s, p, has_room ? p->list.p : NULL,
                        p->head.records * sizeof *p->list.p, i);
        if (x->write)
            add_receive(s, p, p->data, p->head.bytes, i);
    }
}

/* ---- the access ---------------------------------------------------------- */

/* Returns the part of a member in this aggregator's domain. */
static struct wf_io_part *find_part(struct wf_twophase *t, int member)
{
    struct wf_exchange *x = &t->x;

    return member == own_rank(t) ? &x->out[x->number] : &x->in[member];
}

/* Marks the bytes that the members access, and takes those that are written. */
static int fill_window(struct wf_twophase *t)
{
    struct wf_exchange *x = &t->x;

    for (int i = 0; i < x->members; i++) {
        struct wf_io_part *p = find_part(t, i);
        const struct wf_pieces *pieces = pieces_of(p);

        if (!p->head.bytes)
            continue;
        if (!wf_window_holds(&x->window, pieces, p->head.records,
                             p->head.bytes))
            return wf_error(MPI_ERR_OTHER,
                            "rank %d has sent pieces of a collective access "
                            "that are not in the domain of rank %d",
                            i, own_rank(t));
        wf_window_mark(&x->window, pieces, p->head.records);
        if (x->write)
            wf_window_put(&x->window, pieces, p->head.records,
                          find_memory(t, p));
    }
    return MPI_SUCCESS;
}

static int write_domain(struct wf_twophase *t)
{
    struct wf_exchange *x = &t->x;
    int rc = MPI_SUCCESS;

    if (!x->failed && !x->lost) {
        rc = fill_window(t);
        x->window.end = rc ? x->window.first : UINT64_MAX;
        if (!rc)
            rc = wf_window_write(&x->window, t->file->fs_file);
        x->failed = rc != MPI_SUCCESS;
    } else if (!x->failed) {
        x->failed = true;
        x->window.end = find_domain(x, x->number).first;
    }
    if (x->failed && x->window.end < x->unwritten)
        x->unwritten = x->window.end;
    return rc;
}

static int read_domain(struct wf_twophase *t)
{
    struct wf_exchange *x = &t->x;
    int rc;

    if (x->lost)
        return MPI_SUCCESS; /* nothing is answered */
    rc = fill_window(t);
    if (rc)
        return rc;
    rc = wf_window_read(&x->window, t->file->fs_file);
    for (int i = 0; i < x->members; i++) {
        struct wf_io_part *p = find_part(t, i);

        if (p->head.bytes)
            p->got = wf_window_get(&x->window, pieces_of(p), p->head.records,
                                   x->window.end, find_memory(t, p));
    }
    return rc;
}

int wf_exchange_transfer(struct wf_twophase *t)
{
    struct domain d;

    if (t->x.number < 0)
        return MPI_SUCCESS;
    d = find_domain(&t->x, t->x.number);
    if (d.first == d.end)
        return MPI_SUCCESS;
    return t->x.write ? write_domain(t) : read_domain(t);
}

/* ---- what comes back ----------------------------------------------------- */

void wf_exchange_add_answers(struct wf_twophase *t, struct wf_sched *s)
{
    struct wf_exchange *x = &t->x;

    for (int i = 0; x->number >= 0 && i < x->members; i++)
        if (i != own_rank(t) && x->in[i].head.bytes)
            wf_sched_send(s, x->in[i].data, x->in[i].got, wf_coll_byte(), i);
    for (int i = 0; i < x->aggregators; i++) {
        struct wf_io_part *p = &x->out[i];

        if (x->ranks[i] != own_rank(t) && p->head.bytes)
            wf_sched_recv_deferred(s, find_memory(t, p), p->head.bytes, &p->got,
                                   x->ranks[i]);
    }
}

void wf_exchange_take_answers(struct wf_twophase *t, bool failed)
{
    struct wf_exchange *x = &t->x;
    struct wf_access *a = &t->access;

    x->ended |= failed;
    for (int i = 0; i < x->aggregators && !x->ended; i++) {
        struct wf_io_part *p = &x->out[i];

        if (p->data && p->got)
            wf_type_unpack(a->type, a->buf, a->count, p->stream, p->data,
                           p->got);
        a->bytes_done += p->got;
        x->ended = p->got < p->head.bytes;
    }
}
