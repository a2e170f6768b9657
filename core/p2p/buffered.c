/* Buffered sends: the attached buffer and what stands in it (MPI-5.0 s3.6).
 *
 *   buffer  [block: head | packed bytes][block ...] free  [block ...]
 *
 * Blocks are kept in address order; a new one goes into the first gap that is
 * large enough, as the standard's model implementation does. A block lives
 * until its message has left. With MPI_BUFFER_AUTOMATIC every block comes from
 * the heap. A communicator's own buffer goes before that of its session, or of the
 * process in the world model.
 *
 * Communicators of several engines (engines.h) may use one buffer.
 *
 * LOCK  buffers, their blocks, and where they are attached: section objects.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "p2p/buffered.h"

#include <stdlib.h>

#include "core_api.h"
#include "engines.h"
#include "env/env.h"
#include "env/session.h"
#include "p2p/p2p_api.h"
#include "progress/wait.h"
#include "protocol/queues.h"

enum { ALIGN = 16 };

struct block {
    struct block *next;
    struct wf_bsend_buffer *owner;
    size_t size; /* with this head */
    _Alignas(ALIGN) uint8_t data[];
};
_Static_assert(sizeof(struct block) + 2 * ALIGN <= MPI_BSEND_OVERHEAD,
               "a block's head fits the overhead users allow for");

/* Somebody waits until the buffer is empty, in an engine that need not be the
 * one of the last block. */
struct flush {
    struct flush *next;
    struct wf_instance *wf;
    struct wf_req *request; /* NULL: a call that blocks */
    bool over;
    struct wf_errand errand;
};

struct wf_bsend_buffer {
    void *user; /* as attached */
    MPI_Count user_size;
    bool automatic;
    uint8_t *base, *end; /* aligned part of it */
    struct block *blocks;
    struct flush *flushes; /* end when blocks are gone */
};

static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* ---- blocks ---------------------------------------------------------------- */

static struct block *place(struct wf_bsend_buffer *b, size_t size)
{
    struct block **link = &b->blocks, *n;
    uint8_t *at = b->base;

    while (*link && (size_t)((uint8_t *)*link - at) < size) {
        at = (uint8_t *)*link + (*link)->size;
        link = &(*link)->next;
    }
    if (!*link && (size_t)(b->end - at) < size)
        return NULL;
    n = (struct block *)(void *)at;
    n->next = *link;
    *link = n;
    return n;
}

static struct block *block_create(struct wf_bsend_buffer *b, size_t bytes)
{
    size_t size = align_up(sizeof(struct block) + bytes);
    struct block *n;

    if (!b->automatic)
        n = place(b, size);
    else if ((n = malloc(size))) {
        n->next = b->blocks;
        b->blocks = n;
    }
    if (!n)
        return NULL;
    n->owner = b;
    n->size = size;
    return n;
}

static void end_flush(struct wf_errand *e)
{
    struct flush *f = wf_container(e, struct flush, errand);
    struct wf_instance *wf = f->wf;

    f->over = true;
    if (f->request) {
        wf_req_complete(f->request, 0);
        free(f);
    } else if (wf->api.on) {
        wf_progress_notify(wf);
    }
}

static void end_flushes(struct wf_instance *here, struct flush *f)
{
    while (f) {
        struct flush *next = f->next;
        if (f->wf == here)
            end_flush(&f->errand);
        else
            wf_errand_post(f->wf, &f->errand);
        f = next;
    }
}

static void unlink_block(struct block *n)
{
    struct wf_bsend_buffer *b = n->owner;
    struct block **link = &b->blocks;

    while (*link != n)
        link = &(*link)->next;
    *link = n->next;
    if (b->automatic)
        free(n);
}

static void block_destroy(struct wf_instance *wf, struct block *n)
{
    struct wf_bsend_buffer *b = n->owner;
    struct flush *flushes = NULL;

    WF_SECTION(objects, wf->env) {
        unlink_block(n);
        if (!b->blocks) {
            flushes = b->flushes;
            b->flushes = NULL;
        }
    }
    end_flushes(wf, flushes);
}

static void sent(struct wf_req *r)
{
    struct block *n = r->context;
    struct wf_instance *wf = r->wf;

    block_destroy(wf, n);
    wf_req_release(r); /* maybe the last that keeps the buffer's owner */
}

/* ---- sending ---------------------------------------------------------------- */

/* That of the communicator, of its session, of the process: the first that is
 * attached (s3.6). */
static struct wf_bsend_buffer *buffer_for(struct wf_comm *comm)
{
    const struct wf_session *session = comm->local->session;
    if (comm->bsend)
        return comm->bsend;
    return session && session->bsend ? session->bsend
                                     : wf_home(comm->wf)->bsend;
}

/* A block of the buffer, whose size *room then is; -1: there is no buffer. */
static struct block *claim(struct wf_comm *comm, uint64_t bytes,
                           MPI_Count *room)
{
    struct block *n = NULL;

    WF_SECTION(objects, comm->wf->env) {
        struct wf_bsend_buffer *b = buffer_for(comm);
        *room = b ? b->user_size : -1;
        n = b ? block_create(b, bytes) : NULL;
    }
    return n;
}

/* Old messages may have left meanwhile. */
static struct block *claim_again(struct wf_comm *comm, uint64_t bytes,
                                 MPI_Count *room)
{
    wf_progress_poll_for_test(comm->wf, UINT32_MAX, NULL);
    return claim(comm, bytes, room);
}

static int no_room(MPI_Count room, uint64_t bytes)
{
    if (room < 0)
        return wf_error(MPI_ERR_BUFFER, "no buffer is attached; call "
                        "MPI_Buffer_attach (MPI_Session_attach_buffer for "
                        "communicators of a session) before buffered sends");
    return wf_error(MPI_ERR_BUFFER,
                    "no room for %llu bytes + %d in the attached buffer of "
                    "%lld bytes; attach a larger one",
                    (unsigned long long)bytes, MPI_BSEND_OVERHEAD,
                    (long long)room);
}

int wf_bsend(struct wf_comm *comm, const struct wf_send_args *a)
{
    uint64_t bytes = a->count * (uint64_t)a->type->size;
    MPI_Count room;
    struct block *n;
    struct wf_req *r;
    int rc;

    if (a->dest == MPI_PROC_NULL)
        return MPI_SUCCESS;
    n = claim(comm, bytes, &room);
    if (!n && room >= 0)
        n = claim_again(comm, bytes, &room);
    if (!n)
        return no_room(room, bytes);
    wf_type_pack(a->type, a->buf, a->count, 0, n->data, bytes);
    rc = wf_isend(comm, n->data, bytes, wf_type_of(MPI_BYTE), a->dest, a->tag,
                  WF_SPACE_P2P, WF_SEND_STANDARD, &r);
    if (rc || wf_req_done(r)) {
        if (!rc)
            wf_req_release(r);
        block_destroy(comm->wf, n);
        return rc;
    }
    r->flags |= WF_REQ_INTERNAL;
    r->context = n;
    r->on_complete = sent;
    return MPI_SUCCESS;
}

int wf_mpi_bsend(struct wf_instance *wf, const void *buf, MPI_Count count,
                 struct wf_type *datatype, int dest, int tag,
                 struct wf_comm *comm)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};

    return wf_bsend(comm, &a);
}

int wf_mpi_ibsend(struct wf_instance *wf, const void *buf, MPI_Count count,
                  struct wf_type *datatype, int dest, int tag,
                  struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};
    int rc = wf_bsend(comm, &a);

    if (rc == MPI_SUCCESS)
        *request = (MPI_Request)&wf->engine->sent;
    return rc;
}

/* ---- attach, detach, flush -------------------------------------------------- */

static int attach(struct wf_instance *wf, struct wf_bsend_buffer **slot,
                  void *buffer, MPI_Count size)
{
    struct wf_bsend_buffer *b;
    uintptr_t base = ((uintptr_t)buffer + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);

    if (*slot)
        return wf_error(MPI_ERR_BUFFER, "a buffer is attached already; detach "
                        "it first");
    b = calloc(1, sizeof *b);
    if (!b)
        return wf_error(MPI_ERR_NO_MEM, "out of memory");
    b->user = buffer;
    b->user_size = size;
    b->automatic = buffer == MPI_BUFFER_AUTOMATIC;
    b->end = (uint8_t *)buffer + size;
    b->base = base < (uintptr_t)b->end ? (uint8_t *)base : b->end;
    WF_SECTION(objects, wf->env)
        *slot = b;
    return MPI_SUCCESS;
}

/* False: the buffer is empty. */
static bool add_flush(struct wf_bsend_buffer *b, struct flush *f)
{
    bool waits = false;

    WF_SECTION(objects, f->wf->env) {
        waits = b && b->blocks;
        if (waits) {
            f->next = b->flushes;
            b->flushes = f;
        }
    }
    return waits;
}

static bool over(void *arg)
{
    return ((struct flush *)arg)->over;
}

static void describe(const void *arg, struct wf_wait *w)
{
    w->operation = WF_STATE_BUFFER;
}

static void flush(struct wf_instance *wf, struct wf_bsend_buffer *b)
{
    struct flush f = {.wf = wf, .errand.run = end_flush};
    struct wf_wait_cause cause = {describe, NULL};

    if (add_flush(b, &f))
        wf_progress_wait(wf, UINT32_MAX, over, &f, &cause);
}

static int detach(struct wf_instance *wf, struct wf_bsend_buffer **slot,
                  void *buffer_addr, MPI_Count *size)
{
    struct wf_bsend_buffer *b = *slot;

    if (!b)
        return wf_error(MPI_ERR_BUFFER, "no buffer is attached");
    flush(wf, b);
    memcpy(buffer_addr, &b->user, sizeof b->user);
    *size = b->automatic ? 0 : b->user_size;
    wf_bsend_release(wf, slot);
    return MPI_SUCCESS;
}

static int iflush(struct wf_instance *wf, struct wf_bsend_buffer *b,
                  MPI_Request *request)
{
    struct flush *f = calloc(1, sizeof *f);

    if (!f || !(f->request = wf_req_create(wf, WF_REQ_SCHEDULE, NULL,
                                           "flush of a buffer"))) {
        free(f);
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a request");
    }
    f->wf = wf;
    f->errand.run = end_flush;
    *request = (MPI_Request)f->request;
    if (!add_flush(b, f))
        end_flush(&f->errand);
    return MPI_SUCCESS;
}

void wf_bsend_release(struct wf_instance *wf, struct wf_bsend_buffer **slot)
{
    struct wf_bsend_buffer *b = *slot;

    flush(wf, b);
    WF_SECTION(objects, wf->env)
        *slot = NULL;
    free(b);
}

int wf_mpi_buffer_attach(struct wf_instance *wf, void *buffer, MPI_Count size)
{
    return attach(wf, &wf->bsend, buffer, size);
}

int wf_mpi_buffer_detach(struct wf_instance *wf, void *buffer_addr,
                         MPI_Count *size)
{
    return detach(wf, &wf->bsend, buffer_addr, size);
}

int wf_mpi_buffer_flush(struct wf_instance *wf)
{
    flush(wf, wf->bsend);
    return MPI_SUCCESS;
}

int wf_mpi_buffer_iflush(struct wf_instance *wf, MPI_Request *request)
{
    return iflush(wf, wf->bsend, request);
}

int wf_mpi_comm_attach_buffer(struct wf_instance *wf, struct wf_comm *comm,
                              void *buffer, MPI_Count size)
{
    return attach(wf, &comm->bsend, buffer, size);
}

int wf_mpi_comm_detach_buffer(struct wf_instance *wf, struct wf_comm *comm,
                              void *buffer_addr, MPI_Count *size)
{
    return detach(wf, &comm->bsend, buffer_addr, size);
}

int wf_mpi_comm_flush_buffer(struct wf_instance *wf, struct wf_comm *comm)
{
    flush(wf, comm->bsend);
    return MPI_SUCCESS;
}

int wf_mpi_comm_iflush_buffer(struct wf_instance *wf, struct wf_comm *comm,
                              MPI_Request *request)
{
    return iflush(wf, comm->bsend, request);
}

int wf_mpi_session_attach_buffer(struct wf_instance *wf,
                                 struct wf_session *session, void *buffer,
                                 MPI_Count size)
{
    return attach(wf, &session->bsend, buffer, size);
}

int wf_mpi_session_detach_buffer(struct wf_instance *wf,
                                 struct wf_session *session, void *buffer_addr,
                                 MPI_Count *size)
{
    return detach(wf, &session->bsend, buffer_addr, size);
}

int wf_mpi_session_flush_buffer(struct wf_instance *wf,
                                struct wf_session *session)
{
    flush(wf, session->bsend);
    return MPI_SUCCESS;
}

int wf_mpi_session_iflush_buffer(struct wf_instance *wf,
                                 struct wf_session *session,
                                 MPI_Request *request)
{
    return iflush(wf, session->bsend, request);
}
