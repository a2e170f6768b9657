/* The sending side of partitioned communication. See part.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "os/tuning.h"
#include "part/part.h"
#include "process/instance.h"
#include "progress/progress.h"
#include "protocol/request.h"
#include "protocol/send.h"

/* Partitions that go in one message unless they are split. */
struct group {
    int missing;  /* partitions for which MPI_Pready was not called */
    bool partial; /* it was for some, and they wait for the others */
    bool split;
};

struct send {
    struct wf_part part;
    struct wf_part_watch round; /* watches all messages of a round */
    struct group *groups;
    int partial;    /* groups with some ready partitions that are not split */
    uint64_t split; /* when these are to be split; 0: there was no poll yet */
    struct wf_event_source timer; /* registered if groups have several */
    uint8_t ready[]; /* for each partition: MPI_Pready was called */
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
    struct send *s = send_of(p);
    p->pending = wf_part_groups(p->setup);
    memset(s->ready, 0, (size_t)p->partitions);
    for (int g = 0; g < p->pending; g++)
        s->groups[g] =
            (struct group){.missing = wf_part_group_size(p->setup, g)};
    s->partial = 0;
    r->source = MPI_ANY_SOURCE; /* the empty status */
    r->tag = MPI_ANY_TAG;
    if (p->peer == MPI_PROC_NULL)
        wf_req_complete(r, 0);
    return MPI_SUCCESS;
}

static int destroy_send(struct wf_req *r)
{
    struct wf_part *p = r->context;
    wf_source_remove(r->wf, &send_of(p)->timer);
    free(send_of(p)->groups);
    wf_part_drop(p);
    return MPI_SUCCESS;
}

/* Take n tags from the communicator's counter; returns the first. */
static uint32_t draw_tags(struct wf_comm *comm, uint32_t n)
{
    if (comm->part_tag > INT_MAX - n)
        comm->part_tag = 0;
    uint32_t first = comm->part_tag;
    comm->part_tag += n;
    return first;
}

static void send_setup(struct wf_part *p)
{
    struct wf_comm *comm = p->req->comm;
    struct wf_req *r = NULL;
    p->setup_watch.over = finish_setup;
    p->setup[WF_SETUP_FIRST] =
        draw_tags(comm, (uint32_t)wf_part_tags(p->setup));
    int status =
        wf_isend(comm, p->setup, WF_SETUP_WORDS, wf_type_of(MPI_UINT64_T),
                 p->peer, p->tag, WF_SPACE_SETUP, WF_SEND_STANDARD, &r);
    wf_part_follow_message(&p->setup_watch, wf_error_class(status), r);
}

/* Divide the partitions into groups. Those without bytes are one; on a channel
 * none waits for another. */
static int make_groups(struct send *s)
{
    struct wf_part *p = &s->part;
    uint64_t bytes = p->count * (uint64_t)p->type->size, group;
    group =
        bytes ? (WF_PART_GROUP_BYTES - 1) / bytes + 1 : (uint64_t)p->partitions;
    if (p->req->comm->channel)
        group = 1;
    if (group > (uint64_t)p->partitions)
        group = (uint64_t)p->partitions;
    p->setup[WF_SETUP_PARTS] = (uint64_t)p->partitions;
    p->setup[WF_SETUP_BYTES] = bytes;
    p->setup[WF_SETUP_GROUP] = group;
    if (wf_part_tags(p->setup) > INT_MAX)
        return wf_error(MPI_ERR_COUNT,
                        "%d partitions of %llu bytes need more tags than there "
                        "are",
                        p->partitions, (unsigned long long)bytes);
    s->groups = calloc((size_t)wf_part_groups(p->setup), sizeof *s->groups);
    return s->groups ? MPI_SUCCESS
                     : wf_error(MPI_ERR_NO_MEM, "no memory for a request");
}

/* ---- messages ------------------------------------------------------------ */

/* Send n partitions from `first` on; n = 0 splits a group. */
static void send_parts(struct send *s, int first, int n, int tag)
{
    struct wf_part *p = &s->part;
    struct wf_req *r = NULL;
    MPI_Aint at = (MPI_Aint)((uint64_t)first * p->count) * p->type->extent;
    int status =
        wf_isend(p->req->comm, p->buf + at, p->count * (uint64_t)n, p->type,
                 p->peer, tag, WF_SPACE_PART, WF_SEND_STANDARD, &r);
    wf_part_follow_message(&s->round, wf_error_class(status), r);
}

static void send_one(struct send *s, int i)
{
    send_parts(s, i, 1, wf_part_tag(s->part.setup, i));
}

/* Send what is ready of a group, one by one; so go the others then. */
static void split_group(struct send *s, int g)
{
    struct wf_part *p = &s->part;
    int first = g * (int)p->setup[WF_SETUP_GROUP];
    int n = wf_part_group_size(p->setup, g);
    s->groups[g].split = true;
    s->groups[g].partial = false;
    s->partial--;
    p->pending += n;
    send_parts(s, first, 0, wf_part_group_tag(p->setup, g));
    for (int i = first; i < first + n; i++)
        if (s->ready[i])
            send_one(s, i);
}

/* Note that some partitions of a group wait for the others. */
static void begin_group(struct send *s, struct group *group)
{
    struct wf_instance *wf = s->part.req->wf;
    group->partial = true;
    if (s->partial++ > 0)
        return;
    s->split = 0;
    if (wf->api.threads && !wf_progress_is_only_thread(wf))
        wf_progress_wake_leader(wf); /* it sleeps without the timer */
}

static void send_group(struct send *s, int g)
{
    const uint64_t *setup = s->part.setup;
    s->partial -= s->groups[g].partial;
    s->groups[g].partial = false;
    send_parts(s, g * (int)setup[WF_SETUP_GROUP], wf_part_group_size(setup, g),
               wf_part_group_tag(setup, g));
}

static void send_part(struct send *s, int i)
{
    int g = i / (int)s->part.setup[WF_SETUP_GROUP];
    struct group *group = &s->groups[g];
    s->ready[i] = 1;
    if (group->split)
        send_one(s, i);
    else if (--group->missing == 0)
        send_group(s, g);
    else if (!group->partial)
        begin_group(s, group);
}

/* ---- the timer of partial groups ----------------------------------------- */

/* Returns when partial groups are to be split; 0: never. Those without bytes
 * are not: nothing is late. */
static uint64_t find_deadline(struct send *s)
{
    struct wf_instance *wf = s->part.req->wf;
    if (s->partial == 0 || s->part.setup[WF_SETUP_BYTES] == 0)
        return 0;
    if (s->split == 0)
        s->split = wf_now(wf) + WF_PART_WAIT_NS;
    return s->split;
}

static int poll_timer(wf_source_object *object, int budget)
{
    struct send *s = (struct send *)object;
    uint64_t deadline = find_deadline(s);
    int n = s->partial;
    if (deadline == 0 || wf_now(s->part.req->wf) < deadline)
        return 0;
    for (int g = 0; s->partial > 0; g++)
        if (s->groups[g].partial)
            split_group(s, g);
    return n;
}

static int arm_timer(wf_source_object *object, uint64_t *deadline_ns)
{
    uint64_t deadline = find_deadline((struct send *)object);
    if (deadline)
        *deadline_ns = deadline;
    return WEFT_OK;
}

static void add_timer(struct send *s)
{
    struct wf_instance *wf = s->part.req->wf;
    s->timer = (struct wf_event_source){.name = "partitions that wait",
                                        .object = (wf_source_object *)s,
                                        .poll = poll_timer,
                                        .arm = arm_timer,
                                        .fd = -1};
    (void)wf_source_add(wf, &s->timer, WF_SOURCE_BIT_ANY); /* no descriptor */
    wf_progress_end_polling(wf);
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
    s->part.setup_over = true;
    rc = make_groups(s);
    if (rc) {
        wf_req_abandon(s->part.req);
        return rc;
    }
    *request = (MPI_Request)s->part.req;
    if (dest == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (s->part.setup[WF_SETUP_GROUP] > 1)
        add_timer(s);
    s->part.setup_over = false;
    send_setup(&s->part);
    return MPI_SUCCESS;
}

/* ---- handing over -------------------------------------------------------- */

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
