/* The vertices and edges of a schedule; private to schedule.c (building) and
 * run.c (running).
 *
 *   vertex --out--> edge -> edge -> ...   completion releases each edge's `to`
 *   vertex --follower--> vertex           start releases it: the next message
 *                                         of this direction and peer
 *
 * A vertex is ready when `wait`, the number of releases still missing, is 0.
 * Ready vertices stand in a queue, so that a chain of operations which all
 * complete at once is a loop and not a recursion.
 *
 * INVARIANTS
 *   1 an edge goes from a lower to a higher vertex number: no cycles
 *   2 vertices do not move in memory once the schedule runs
 *   3 left == 0: finished, and nothing is in flight
 *
 * LOCK  everything: the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_VERTEX_H
#define WF_VERTEX_H

#include "coll/lengths.h"
#include "coll/run.h"
#include "coll/schedule.h"
#include "object/error.h"
#include "protocol/death.h"

struct wf_instance;

enum wf_vertex_kind {
    WF_VERTEX_SEND,
    WF_VERTEX_RECV,
    WF_VERTEX_REDUCE,
    WF_VERTEX_COPY,
    WF_VERTEX_CALL,
    WF_VERTEX_FENCE
};

/* A vertex. One layout for all kinds keeps it compact: src/count/type are the
 * message of a send or receive, the operand of a reduction, the source of a
 * copy. dst is the argument of a call; of a send, the wf_sched_deferred_buf
 * that says what to send; of a receive, where the received length goes; or
 * NULL. */
struct wf_vertex {
    struct wf_sched *sched;
    void *src, *dst;
    uint64_t count, dcount;
    struct wf_type *type, *dtype;
    union {
        struct wf_op *op;
        int (*fn)(void *);
    };
    int32_t peer;
    int32_t need, wait;    /* releases: in all, still missing */
    int32_t out, out_last; /* edges, in the order they were made */
    int32_t follower;
    /* while built: chain of a bucket; while running: ready queue */
    int32_t next;
    uint8_t kind;
    bool local;     /* peer is a rank of the local group */
    bool under_way; /* a message that has started and is not complete */
};

struct wf_edge {
    int32_t to, next;
};

enum {
    WF_SCHED_INLINE_VERTICES = 16,
    WF_SCHED_INLINE_EDGES = 32,
    WF_SCHED_BUCKETS = 16,
    WF_SCHED_SCRATCH = 1024
};

struct wf_sched {
    struct wf_instance *wf;
    struct wf_comm *comm, *local; /* equal unless comm is an inter one */
    int tag, local_tag;
    bool on_local;
    bool no_memory; /* a builder call failed; start reports it */
    bool running;   /* the ready queue is being drained */
    /* the waiting thread drains the queue, not the completion */
    bool blocking;
    /* has a user operation, which runs outside the API section */
    bool user_op;
    bool direct;       /* vertices are performed when they are made: direct.c */
    uint8_t algorithm; /* enum wf_coll_algorithm of the whole, once chosen */
    int fence;         /* newest fence, or -1 */
    const int *map;    /* translates the ranks that builders name, or NULL */

    struct wf_vertex *v;
    struct wf_edge *e;
    int vertices, vertex_room, edges, edge_room;
    int32_t bucket[WF_SCHED_BUCKETS]; /* newest message, by peer, while built */
    struct wf_temp *temps;
    size_t scratch_used;

    int32_t head, tail; /* ready queue */
    int left;           /* vertices that are not complete */
    int error;          /* the first error */
    /* a message failed because the way to a member is lost */
    bool cut;
    uint32_t endpoint_mask; /* endpoints of the messages in flight */
    bool runnable;          /* a blocking run waits for this */
    const void *waiter;     /* identifies the thread of a blocking run */
    struct wf_req *req;     /* request of a nonblocking or persistent run */
    /* of a part of a larger operation; NULL: it is none */
    void (*ended)(void *arg, int error);
    void *ended_arg;
    struct wf_sched *next;   /* of those kept for reuse */
    struct wf_list deferred; /* in the instance's list of these, or empty */

    struct wf_vertex inline_v[WF_SCHED_INLINE_VERTICES];
    struct wf_edge inline_e[WF_SCHED_INLINE_EDGES];
    _Alignas(16) char scratch[WF_SCHED_SCRATCH];
};

/* ---- performing at once: direct.c ---------------------------------------- */

struct wf_sched_block {
    void *buf;
    uint64_t count;
    struct wf_type *type;
};

static inline int wf_sched_check_length(int source, uint64_t got,
                                        uint64_t expected)
{
    if (wf_likely(got == expected))
        return MPI_SUCCESS;
    return wf_sched_bad_length(source, got, expected);
}

/* Returns the error with which a schedule begins: a member is gone, or
 * MPI_SUCCESS. */
static inline int wf_sched_first_error(const struct wf_sched *s)
{
    return wf_unlikely(wf_comm_is_dead(s->comm))
               ? wf_error_class(wf_comm_record_dead(s->comm))
               : MPI_SUCCESS;
}

#endif
