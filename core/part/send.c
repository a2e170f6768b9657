/* The sending side of partitioned communication. See part.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "part/part.h"
#include "process/instance.h"
#include "protocol/send.h"

struct send {
    struct wf_part part;
    struct wf_part_watch round; /* watches all messages of a round */
    uint8_t ready[];            /* for each partition: MPI_Pready was called */
};

static struct send *send_of(struct wf_part *p)
{
    return wf_container(p, struct send, part);
}

static void finish_setup(struct wf_part_watch *w, int error)
{
    wf_part_finish_setup(wf_container(w, struct wf_part, setup_watch));
}

static void finish_message(struct wf_part_watch *w, int error)
{
    wf_part_count_message(&wf_container(w, struct send, round)->part, error);
}

/* Start a round: its parts wait for MPI_Pready. With MPI_PROC_NULL the round is
 * complete at once. */
static int start_round(struct wf_req *r)
{
    struct wf_part *p = r->context;
    memset(send_of(p)->ready, 0, (size_t)p->partitions);
    p->pending = p->partitions;
    r->source = MPI_ANY_SOURCE; /* the empty status */
    r->tag = MPI_ANY_TAG;
    if (p->peer == MPI_PROC_NULL)
        wf_req_complete(r, 0);
    return MPI_SUCCESS;
}

static int destroy_send(struct wf_req *r)
{
    wf_part_drop(r->context);
    return MPI_SUCCESS;
}

/* Take tags for n parts from the communicator's counter; returns the first. */
static uint32_t draw_tags(struct wf_comm *comm, int n)
{
    if (comm->part_tag > (uint32_t)(INT_MAX - n))
        comm->part_tag = 0;
    uint32_t first = comm->part_tag;
    comm->part_tag += (uint32_t)n;
    return first;
}

static void send_setup(struct wf_part *p)
{
    struct wf_comm *comm = p->req->comm;
    struct wf_req *r = NULL;
    p->setup_watch.over = finish_setup;
    p->setup[WF_SETUP_FIRST] = draw_tags(comm, p->partitions);
    p->setup[WF_SETUP_PARTS] = (uint64_t)p->partitions;
    p->setup[WF_SETUP_BYTES] = p->count * (uint64_t)p->type->size;
    int status =
        wf_isend(comm, p->setup, WF_SETUP_WORDS, wf_type_of(MPI_UINT64_T),
                 p->peer, p->tag, WF_SPACE_SETUP, WF_SEND_STANDARD, &r);
    wf_part_follow_message(&p->setup_watch, wf_error_class(status), r);
}

int wf_mpi_psend_init(struct wf_instance *wf, const void *buf, int partitions,
                      MPI_Count count, struct wf_type *datatype, int dest,
                      int tag, struct wf_comm *comm, struct wf_info *info,
                      MPI_Request *request)
{
    struct wf_part_args a = {buf, partitions, count, datatype, dest, tag, comm};
    int rc = wf_part_check(&a);
    if (rc)
        return rc;
    struct send *s = wf_part_create(sizeof *s + (size_t)partitions, &a,
                                    start_round, destroy_send);
    if (!s)
        return MPI_ERR_NO_MEM;
    s->round.over = finish_message;
    *request = (MPI_Request)s->part.req;
    if (dest == MPI_PROC_NULL)
        s->part.setup_over = true;
    else
        send_setup(&s->part);
    return MPI_SUCCESS;
}

/* ---- handing over -------------------------------------------------------- */

static void send_part(struct send *s, int i)
{
    struct wf_part *p = &s->part;
    struct wf_req *r = NULL;
    MPI_Aint at = (MPI_Aint)((uint64_t)i * p->count) * p->type->extent;
    s->ready[i] = 1;
    int status = wf_isend(p->req->comm, p->buf + at, p->count, p->type, p->peer,
                          (int)p->setup[WF_SETUP_FIRST] + i, WF_SPACE_PART,
                          WF_SEND_STANDARD, &r);
    wf_part_follow_message(&s->round, wf_error_class(status), r);
}

static int check_sender(struct wf_req *r)
{
    if (r->start != start_round)
        return wf_error(MPI_ERR_REQUEST, "the request was not made by "
                                         "MPI_Psend_init");
    if (!(r->flags & WF_REQ_ACTIVE))
        return wf_error_on(r->comm, MPI_ERR_REQUEST,
                           "the partitioned send "
                           "was not started: call MPI_Start first");
    return MPI_SUCCESS;
}

static int mark_ready(struct wf_req *r, int i)
{
    struct send *s = send_of(r->context);
    if (i < 0 || i >= s->part.partitions)
        return wf_error_on(r->comm, MPI_ERR_ARG,
                           "partition %d does not exist: "
                           "the send has partitions 0..%d",
                           i, s->part.partitions - 1);
    if (s->part.peer == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (s->ready[i])
        return wf_error_on(r->comm, MPI_ERR_ARG,
                           "partition %d is marked ready a second time",
                           i);
    send_part(s, i);
    return MPI_SUCCESS;
}

int wf_mpi_pready(struct wf_instance *wf, int partition, struct wf_req *request)
{
    int rc = check_sender(request);
    return rc == MPI_SUCCESS ? mark_ready(request, partition) : rc;
}

int wf_mpi_pready_range(struct wf_instance *wf, int partition_low,
                        int partition_high, struct wf_req *request)
{
    int rc = check_sender(request);
    for (int i = partition_low; i <= partition_high && rc == MPI_SUCCESS; i++)
        rc = mark_ready(request, i);
    return rc;
}

int wf_mpi_pready_list(struct wf_instance *wf, int length,
                       const int array_of_partitions[], struct wf_req *request)
{
    int rc = check_sender(request);
    for (int i = 0; i < length && rc == MPI_SUCCESS; i++)
        rc = mark_ready(request, array_of_partitions[i]);
    return rc;
}
