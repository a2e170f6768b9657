/* Buffered sends: the attached buffer and the messages in it (MPI-5.0 s3.6).
 *
 *   buffer  [block: head | packed bytes][block ...] free  [block ...]
 *
 * Blocks are kept in address order; a new one goes into the first gap that is
 * large enough, as the standard's model implementation does. A block lives
 * until its message has left. With MPI_BUFFER_AUTOMATIC every block comes from
 * the heap. A communicator's own buffer goes before that of its session, or of
 * the process in the world model.
 *
 * Communicators of several engines (engines.h) may use one buffer.
 *
 * LOCK  section objects protects buffers, their blocks, and the pointers to
 *       attached buffers.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "p2p/buffered.h"

#include <stdlib.h>

#include "core_api.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "object/env.h"
#include "object/error.h"
#include "object/session.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/wait.h"
#include "protocol/queues.h"
#include "protocol/request.h"
#include "protocol/send.h"

enum { ALIGN = 16 };

struct block {
    struct block *next;
    struct wf_bsend_buffer *owner;
    size_t size; /* including this head */
    _Alignas(ALIGN) uint8_t data[];
};
_Static_assert(sizeof(struct block) + 2 * ALIGN <= MPI_BSEND_OVERHEAD,
               "a block's head fits the overhead users allow for");

/* A flush is a call or a request that waits until the buffer is empty. Its
 * engine need not be that of the last block. */
struct flush {
    struct flush *next;
    struct wf_instance *wf;
    struct wf_req *request; /* NULL: a call that blocks */
    bool over;
    struct wf_engine_task task;
};

struct wf_bsend_buffer {
    void *user; /* the address that was attached */
    MPI_Count user_size;
    bool automatic;
    uint8_t *base, *end; /* its aligned part */
    struct block *blocks;
    struct flush *flushes; /* are over when there are no blocks */
};

static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* ---- blocks -------------------------------------------------------------- */

/* Put a block into the first gap that is large enough; NULL: there is none. */
static struct block *place_block(struct wf_bsend_buffer *b, size_t size)
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

static struct block *create_block(struct wf_bsend_buffer *b, size_t bytes)
{
    size_t size = align_up(sizeof(struct block) + bytes);
    struct block *n;

    if (!b->automatic)
        n = place_block(b, size);
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

static void end_flush(struct wf_engine_task *e)
{
    struct flush *f = wf_container(e, struct flush, task);
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
            end_flush(&f->task);
        else
            wf_engine_task_post(f->wf, &f->task);
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

static void destroy_block(struct wf_instance *wf, struct block *n)
{
    struct wf_bsend_buffer *b = n->owner;
    struct flush *flushes = NULL;

    WF_SECTION(objects, wf->rank->env) {
        unlink_block(n);
        if (!b->blocks) {
            flushes = b->flushes;
            b->flushes = NULL;
        }
    }
    end_flushes(wf, flushes);
}

static void free_sent_block(struct wf_req *r)
{
    struct block *n = r->context;
    struct wf_instance *wf = r->wf;

    destroy_block(wf, n);
    wf_req_release(r); /* perhaps the last reference to the buffer's owner */
}

/* ---- sending ------------------------------------------------------------- */

/* Returns the buffer of the communicator, of its session or of the process: the
 * first of them that is attached (s3.6). */
static struct wf_bsend_buffer *buffer_for(struct wf_comm *comm)
{
    const struct wf_session *session = comm->local->session;
    if (comm->bsend)
        return comm->bsend;
    return session && session->bsend ? session->bsend
                                     : wf_home(comm->wf)->rank->bsend;
}

/* Take a block of the buffer; NULL: there is no room. *room becomes the size of
 * the buffer, or -1 if there is none. */
static struct block *claim_block(struct wf_comm *comm, uint64_t bytes,
                                 MPI_Count *room)
{
    struct block *n = NULL;

    WF_SECTION(objects, comm->wf->rank->env) {
        struct wf_bsend_buffer *b = buffer_for(comm);
        *room = b ? b->user_size : -1;
        n = b ? create_block(b, bytes) : NULL;
    }
    return n;
}

/* Poll, by which old messages may leave, and try again to take a block. */
static struct block *poll_and_claim_block(struct wf_comm *comm, uint64_t bytes,
                                          MPI_Count *room)
{
    wf_progress_poll_for_test(comm->wf, WF_SOURCES_ENDPOINTS, NULL);
    return claim_block(comm, bytes, room);
}

static int record_no_room(MPI_Count room, uint64_t bytes)
{
    if (room < 0)
        return wf_error(MPI_ERR_BUFFER,
                        "no buffer is attached; call "
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
    n = claim_block(comm, bytes, &room);
    if (!n && room >= 0)
        n = poll_and_claim_block(comm, bytes, &room);
    if (!n)
        return record_no_room(room, bytes);
    wf_type_pack(a->type, a->buf, a->count, 0, n->data, bytes);
    rc = wf_error_class(wf_isend(comm, n->data, bytes, wf_type_of(MPI_BYTE),
                                 a->dest, a->tag, WF_SPACE_P2P,
                                 WF_SEND_STANDARD, &r));
    if (rc || wf_req_done(r)) {
        if (!rc)
            wf_req_release(r);
        destroy_block(comm->wf, n);
        return rc;
    }
    r->flags |= WF_REQ_INTERNAL;
    r->context = n;
    r->on_complete = free_sent_block;
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

/* ---- attach, detach, flush ----------------------------------------------- */

static int attach_buffer(struct wf_instance *wf, struct wf_bsend_buffer **slot,
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
    WF_SECTION(objects, wf->rank->env)
        *slot = b;
    return MPI_SUCCESS;
}

/* Let a flush wait for the buffer; false: the buffer is empty already. */
static bool add_flush(struct wf_bsend_buffer *b, struct flush *f)
{
    bool waits = false;

    WF_SECTION(objects, f->wf->rank->env) {
        waits = b && b->blocks;
        if (waits) {
            f->next = b->flushes;
            b->flushes = f;
        }
    }
    return waits;
}

static bool is_flush_over(void *arg)
{
    return ((struct flush *)arg)->over;
}

static void describe_wait(const void *arg, struct wf_wait *w)
{
    w->operation = WF_STATE_BUFFER;
}

static void flush_buffer(struct wf_instance *wf, struct wf_bsend_buffer *b)
{
    struct flush f = {.wf = wf, .task.run = end_flush};
    struct wf_wait_cause cause = {describe_wait, NULL};

    if (add_flush(b, &f))
        wf_progress_wait(wf, UINT32_MAX, is_flush_over, &f, &cause);
}

static int detach_buffer(struct wf_instance *wf, struct wf_bsend_buffer **slot,
                         void *buffer_addr, MPI_Count *size)
{
    struct wf_bsend_buffer *b = *slot;

    if (!b)
        return wf_error(MPI_ERR_BUFFER, "no buffer is attached");
    flush_buffer(wf, b);
    memcpy(buffer_addr, &b->user, sizeof b->user);
    *size = b->automatic ? 0 : b->user_size;
    wf_bsend_release(wf, slot);
    return MPI_SUCCESS;
}

static int start_flush(struct wf_instance *wf, struct wf_bsend_buffer *b,
                       MPI_Request *request)
{
    struct flush *f = calloc(1, sizeof *f);

    if (!f || !(f->request = wf_req_create(wf, WF_REQ_SCHEDULE, NULL,
                                           "flush of a buffer"))) {
        free(f);
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a request");
    }
    f->wf = wf;
    f->task.run = end_flush;
    *request = (MPI_Request)f->request;
    if (!add_flush(b, f))
        end_flush(&f->task);
    return MPI_SUCCESS;
}

void wf_bsend_release(struct wf_instance *wf, struct wf_bsend_buffer **slot)
{
    struct wf_bsend_buffer *b = *slot;

    flush_buffer(wf, b);
    WF_SECTION(objects, wf->rank->env)
        *slot = NULL;
    free(b);
}

int wf_mpi_buffer_attach(struct wf_instance *wf, void *buffer, MPI_Count size)
{
    return attach_buffer(wf, &wf->rank->bsend, buffer, size);
}

int wf_mpi_buffer_detach(struct wf_instance *wf, void *buffer_addr,
                         MPI_Count *size)
{
    return detach_buffer(wf, &wf->rank->bsend, buffer_addr, size);
}

int wf_mpi_buffer_flush(struct wf_instance *wf)
{
    flush_buffer(wf, wf->rank->bsend);
    return MPI_SUCCESS;
}

int wf_mpi_buffer_iflush(struct wf_instance *wf, MPI_Request *request)
{
    return start_flush(wf, wf->rank->bsend, request);
}

int wf_mpi_comm_attach_buffer(struct wf_instance *wf, struct wf_comm *comm,
                              void *buffer, MPI_Count size)
{
    return attach_buffer(wf, &comm->bsend, buffer, size);
}

int wf_mpi_comm_detach_buffer(struct wf_instance *wf, struct wf_comm *comm,
                              void *buffer_addr, MPI_Count *size)
{
    return detach_buffer(wf, &comm->bsend, buffer_addr, size);
}

int wf_mpi_comm_flush_buffer(struct wf_instance *wf, struct wf_comm *comm)
{
    flush_buffer(wf, comm->bsend);
    return MPI_SUCCESS;
}

int wf_mpi_comm_iflush_buffer(struct wf_instance *wf, struct wf_comm *comm,
                              MPI_Request *request)
{
    return start_flush(wf, comm->bsend, request);
}

int wf_mpi_session_attach_buffer(struct wf_instance *wf,
                                 struct wf_session *session, void *buffer,
                                 MPI_Count size)
{
    return attach_buffer(wf, &session->bsend, buffer, size);
}

int wf_mpi_session_detach_buffer(struct wf_instance *wf,
                                 struct wf_session *session, void *buffer_addr,
                                 MPI_Count *size)
{
    return detach_buffer(wf, &session->bsend, buffer_addr, size);
}

int wf_mpi_session_flush_buffer(struct wf_instance *wf,
                                struct wf_session *session)
{
    flush_buffer(wf, session->bsend);
    return MPI_SUCCESS;
}

int wf_mpi_session_iflush_buffer(struct wf_instance *wf,
                                 struct wf_session *session,
                                 MPI_Request *request)
{
    return start_flush(wf, session->bsend, request);
}
