/* The receiving side of partitioned communication. See part.h.
 *
 * The sender's parts and this side's partitions cut the same bytes differently:
 *
 *      sender       |  part 0   |  part 1   |  part 2   |
 *      receiver     | 0  |  1   |  2  |  3   |  4 |  5  |
 *
 * A partition has arrived when all parts that overlap it have. Parts come in
 * pieces: a group of neighbours, or single ones when the group was split.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "part/part.h"
#include "process/instance.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/describe_request.h"
#include "protocol/receive.h"
#include "protocol/request.h"

/* A piece is a message with parts of the sender, as it comes here. */
struct piece {
    struct wf_part_watch watch;
    struct receive *receive;
    int first, parts;
    bool is_group;
    /* Staging buffer of a piece that begins or ends inside an element; it is
     * unpacked when it has arrived. */
    void *bounce;
    bool here; /* it has arrived */
    bool split; /* it is a group whose parts come by themselves */
};

struct receive {
    struct wf_part part;
    /* NULL before the setup is known, and before a group was split. */
    struct piece *groups, *singles;
    int group_count, part_count;
    uint64_t part_bytes;
    bool waits; /* started, but the setup is not known yet */
    int broken; /* error class: the setup is invalid, or does not fit */
};

static uint64_t partition_bytes(const struct wf_part *p)
{
    return p->count * (uint64_t)p->type->size;
}

static uint64_t total_bytes(const struct wf_part *p)
{
    return partition_bytes(p) * (uint64_t)p->partitions;
}

static uint64_t sent_bytes(const struct receive *v)
{
    return v->part_bytes * (uint64_t)v->part_count;
}

static int explain_sizes(struct wf_req *r)
{
    const struct wf_part *p = r->context;
    const struct receive *v = wf_container(p, struct receive, part);

    return wf_fail_on(r->comm, r->error,
                      "rank %d sends %d partitions of %llu bytes with tag %d, "
                      "the receive has %d of %llu: both sides must have the "
                      "same number of bytes",
                      p->peer, v->part_count, (unsigned long long)v->part_bytes,
                      p->tag, p->partitions,
                      (unsigned long long)partition_bytes(p));
}

/* ---- a round ------------------------------------------------------------- */

/* Returns the number of bytes of a piece for which the receive buffer has room;
 * *offset becomes the place of the piece in the buffer's stream of bytes. */
static uint64_t find_room(const struct piece *piece, uint64_t *offset)
{
    const struct receive *v = piece->receive;
    uint64_t total = total_bytes(&v->part);
    uint64_t bytes = (uint64_t)piece->parts * v->part_bytes;
    *offset = (uint64_t)piece->first * v->part_bytes;
    if (*offset > total)
        *offset = total;
    return bytes < total - *offset ? bytes : total - *offset;
}

static void unpack_bounce(struct piece *piece)
{
    const struct wf_part *p = &piece->receive->part;
    uint64_t offset, n = find_room(piece, &offset);
    wf_type_unpack(p->type, p->buf, p->count * (uint64_t)p->partitions, offset,
                   piece->bounce, n);
}

static int split_group(struct piece *group);

/* A group that has several parts with bytes comes without any when it is
 * split. */
static void finish_piece(struct wf_part_watch *w, int error)
{
    struct piece *piece = wf_container(w, struct piece, watch);
    struct receive *v = piece->receive;
    if (!error && w->bytes == 0 && piece->parts > 1 && v->part_bytes > 0)
        error = split_group(piece);
    else if (piece->bounce)
        unpack_bounce(piece);
    free(piece->bounce);
    piece->bounce = NULL;
    piece->here = !piece->split;
    wf_part_count_message(&v->part, error);
}

/* Find the memory of a piece, as address, count and type. */
static int find_place(struct piece *piece, char **buf, uint64_t *count,
                      struct wf_type **type)
{
    struct receive *v = piece->receive;
    const struct wf_part *p = &v->part;
    uint64_t size = (uint64_t)p->type->size, offset;
    uint64_t n = find_room(piece, &offset);
    *type = wf_type_of(MPI_BYTE);
    *count = n;
    *buf = wf_type_data(p->type, p->buf) + offset;
    if (wf_type_is_contiguous(p->type) || n == 0)
        return MPI_SUCCESS;
    if (offset % size == 0 && n % size == 0) {
        *type = p->type;
        *count = n / size;
        *buf = p->buf + (MPI_Aint)(offset / size) * p->type->extent;
        return MPI_SUCCESS;
    }
    *buf = piece->bounce = malloc(n);
    return *buf ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void receive_piece(struct piece *piece)
{
    struct receive *v = piece->receive;
    struct wf_part *p = &v->part;
    struct wf_type *type;
    struct wf_req *r = NULL;
    uint64_t count;
    char *buf;
    int tag = piece->is_group
                  ? wf_part_group_tag(p->setup, (int)(piece - v->groups))
                  : wf_part_tag(p->setup, piece->first);
    piece->here = piece->split = false;
    int rc = find_place(piece, &buf, &count, &type);
    if (rc == MPI_SUCCESS)
        rc = wf_error_class(wf_irecv(p->req->comm, buf, count, type, p->peer,
                                     tag, WF_SPACE_PART, &r));
    wf_part_follow_message(&piece->watch, rc, r);
}

/* Make pieces with so many parts each; the last one may have fewer. */
static struct piece *make_pieces(struct receive *v, int parts, bool are_groups)
{
    int n = (v->part_count - 1) / parts + 1;
    struct piece *pieces = calloc((size_t)n, sizeof *pieces);
    for (int i = 0; pieces && i < n; i++) {
        int left = v->part_count - i * parts;
        pieces[i].receive = v;
        pieces[i].watch.over = finish_piece;
        pieces[i].first = i * parts;
        pieces[i].parts = left < parts ? left : parts;
        pieces[i].is_group = are_groups;
    }
    return pieces;
}

/* Post a receive for each part of a group. */
static int split_group(struct piece *group)
{
    struct receive *v = group->receive;
    if (!v->singles)
        v->singles = make_pieces(v, 1, false);
    if (!v->singles)
        return MPI_ERR_NO_MEM;
    group->split = true;
    v->part.pending += group->parts;
    for (int i = 0; i < group->parts; i++)
        v->singles[group->first + i].here = false;
    for (int i = 0; i < group->parts; i++)
        receive_piece(&v->singles[group->first + i]);
    return MPI_SUCCESS;
}

/* Post the receives of a round. One more than the pieces is counted as pending,
 * so that the round does not end while they are being posted. */
static void post_round(struct receive *v)
{
    struct wf_part *p = &v->part;
    uint64_t sent = sent_bytes(v);
    uint64_t total = total_bytes(p);
    v->waits = false;
    p->req->bytes = sent < total ? sent : total;
    p->pending = v->group_count + 1;
    for (int i = 0; i < v->group_count; i++)
        receive_piece(&v->groups[i]);
    wf_part_count_message(p, v->broken);
}

static int start_round(struct wf_req *r)
{
    struct wf_part *p = r->context;
    struct receive *v = wf_container(p, struct receive, part);
    r->source = p->peer;
    r->tag = p->peer == MPI_PROC_NULL ? MPI_ANY_TAG : p->tag;
    r->bytes = 0;
    v->waits = !p->setup_over;
    if (p->peer == MPI_PROC_NULL)
        wf_req_complete(r, 0);
    else if (!v->waits)
        post_round(v);
    return MPI_SUCCESS;
}

/* ---- setup --------------------------------------------------------------- */

/* Whether a setup, which comes from another process, is valid: no product may
 * overflow, and the tags must be valid. */
static bool is_sensible(const uint64_t *setup)
{
    uint64_t parts = setup[WF_SETUP_PARTS], group = setup[WF_SETUP_GROUP];
    return parts > 0 && parts <= INT_MAX && group > 0 && group <= parts &&
           wf_part_tags(setup) <= INT_MAX &&
           setup[WF_SETUP_FIRST] <= INT_MAX - wf_part_tags(setup) &&
           setup[WF_SETUP_BYTES] <= INT64_MAX / parts;
}

static int take_setup(struct receive *v)
{
    const uint64_t *setup = v->part.setup;
    if (!is_sensible(setup))
        return MPI_ERR_OTHER;
    v->part_count = (int)setup[WF_SETUP_PARTS];
    v->part_bytes = setup[WF_SETUP_BYTES];
    v->groups = make_pieces(v, (int)setup[WF_SETUP_GROUP], true);
    if (!v->groups) {
        v->part_count = 0;
        return MPI_ERR_NO_MEM;
    }
    v->group_count = wf_part_groups(setup);
    if (sent_bytes(v) == total_bytes(&v->part))
        return MPI_SUCCESS;
    return sent_bytes(v) > total_bytes(&v->part) ? MPI_ERR_TRUNCATE
                                                 : MPI_ERR_COUNT;
}

static void finish_setup(struct wf_part_watch *w, int error)
{
    struct wf_part *p = wf_container(w, struct wf_part, setup_watch);
    struct receive *v = wf_container(p, struct receive, part);
    if (!wf_part_finish_setup(p))
        return;
    v->broken = error ? error : take_setup(v);
    if (v->waits)
        post_round(v);
}

static int destroy_receive(struct wf_req *r)
{
    struct wf_part *p = r->context;
    struct receive *v = wf_container(p, struct receive, part);
    free(v->groups);
    free(v->singles);
    wf_part_drop(p);
    return MPI_SUCCESS;
}

static void receive_setup(struct wf_part *p)
{
    struct wf_req *r = NULL;
    p->setup_watch.over = finish_setup;
    int status =
        wf_irecv(p->req->comm, p->setup, WF_SETUP_WORDS,
                 wf_type_of(MPI_UINT64_T), p->peer, p->tag, WF_SPACE_SETUP, &r);
    wf_part_follow_message(&p->setup_watch, wf_error_class(status), r);
}

int wf_mpi_precv_init(struct wf_instance *wf, void *buf, int partitions,
                      MPI_Count count, struct wf_type *datatype, int dest,
                      int tag, struct wf_comm *comm, struct wf_info *info,
                      MPI_Request *request)
{
    struct wf_part_args a = {buf, partitions, count, datatype, dest, tag, comm};
    int rc = wf_part_check(&a);
    if (rc)
        return rc;
    struct receive *v =
        wf_part_create(sizeof *v, &a, start_round, destroy_receive);
    if (!v)
        return MPI_ERR_NO_MEM;
    v->part.req->explain = explain_sizes;
    *request = (MPI_Request)v->part.req;
    if (dest == MPI_PROC_NULL)
        v->part.setup_over = true;
    else
        receive_setup(&v->part);
    return MPI_SUCCESS;
}

/* ---- arrival ------------------------------------------------------------- */

/* Whether part k of the sender has arrived. */
static bool is_part_here(const struct receive *v, uint64_t k)
{
    const struct piece *group = &v->groups[k / v->part.setup[WF_SETUP_GROUP]];
    return group->split ? v->singles[k].here : group->here;
}

/* Whether all parts that overlap partition i have arrived. Parts of no bytes
 * overlap nothing; then all of them are asked. */
static bool has_arrived(const struct receive *v, int i)
{
    const struct wf_part *p = &v->part;
    uint64_t n = partition_bytes(p), size = v->part_bytes;
    uint64_t first = size ? (uint64_t)i * n / size : 0;
    uint64_t end = size ? ((uint64_t)(i + 1) * n + size - 1) / size
                        : (uint64_t)v->part_count;
    if (!wf_part_is_running(p))
        return true;
    if (v->waits)
        return false;
    for (uint64_t k = first; k < end && k < (uint64_t)v->part_count; k++)
        if (!is_part_here(v, k))
            return false;
    return true;
}

static void describe_wait(const void *request, struct wf_wait *w)
{
    wf_wait_describe_request(request, w);
    w->call = "MPI_Parrived";
}

/* All partitions of an inactive request, or of one that has completed, have
 * arrived. */
int wf_mpi_parrived(struct wf_instance *wf, struct wf_req *request,
                    int partition, int *flag)
{
    if (request->start != start_round)
        return wf_error(MPI_ERR_REQUEST, "the request was not made by "
                                         "MPI_Precv_init");
    struct wf_part *p = request->context;
    const struct receive *v = wf_container(p, struct receive, part);
    if (partition < 0 || partition >= p->partitions)
        return wf_error_on(request->comm, MPI_ERR_ARG,
                           "partition %d does not "
                           "exist: the receive has partitions 0..%d",
                           partition, p->partitions - 1);
    *flag = has_arrived(v, partition);
    if (!*flag) {
        struct wf_wait_cause cause = {describe_wait, request};
        wf_progress_poll_for_test(wf, WF_SOURCES_ENDPOINTS, &cause);
        *flag = has_arrived(v, partition);
    }
    return MPI_SUCCESS;
}
