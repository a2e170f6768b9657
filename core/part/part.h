/* Partitioned communication (MPI-5.0 chapter 4): one operation whose parts are
 * handed over, and arrive, one by one or in groups of neighbours.
 *
 *      sender                                      receiver
 *      Psend_init -- setup: first tag, parts,  --> Precv_init
 *                    bytes of each, group
 *      Start                                       Start: a receive per group
 *      Pready(2)                                   of the sender
 *      Pready(3)  -- 2 and 3, tag of group 1 ----> into their place
 *      Pready(1)  -- nothing, tag of group 0 ----> receives for parts 0 and 1
 *                 -- part 1, tag of part 1 ------>
 *      Pready(0)  -- part 0, tag of part 0 ------>
 *
 * A setup goes in a matching space of its own under the tag of the user, so the
 * order of messages is the order in which operations were initialised, which is
 * how they match. The parts go in another space, under tags that the sender's
 * communicator counts: one for each part, then one for each group. Neither can
 * match a receive or a probe of the program.
 *
 * DESIGN  A large part is a group and a message of its own, rather than a piece
 * of one rendezvous: it moves straight into user memory, and the sender need
 * not wait until the receiver has started. Small neighbours are a group, which
 * is one message once all of them are ready. A group of which some are not
 * ready when the sender has waited or polled for a while is split for this
 * round: a message of no bytes under its tag says so, and its parts go one by
 * one. Messages of the next round may come early; under one tag they keep their
 * order.
 *
 * LOCK  the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PART_H
#define WF_PART_H

#include "protocol/p2p.h"

/* Tells when a message that the library sends or receives for a partitioned
 * operation is over. */
struct wf_part_watch {
    void (*over)(struct wf_part_watch *, int error);
    uint64_t bytes; /* received, when it is over */
};

/* The words of a setup. */
enum {
    WF_SETUP_FIRST,
    WF_SETUP_PARTS,
    WF_SETUP_BYTES,
    WF_SETUP_GROUP, /* parts of a group; the last one may have fewer */
    WF_SETUP_WORDS
};

/* The state that both sides have, at the beginning of what each allocates. */
struct wf_part {
    struct wf_list orphan; /* in wf_engine.orphans, when req is gone */
    struct wf_part_watch setup_watch;
    struct wf_req *req; /* of the user; NULL: freed before the setup was over */
    char *buf;
    struct wf_type *type;
    uint64_t count; /* elements of type in a partition */
    int partitions, peer, tag;
    uint64_t setup[WF_SETUP_WORDS];
    bool setup_over;
    int pending; /* messages of this round that are not over */
};

struct wf_part_args {
    const void *buf;
    int partitions;
    MPI_Count count;
    struct wf_type *type;
    int peer, tag;
    struct wf_comm *comm;
};

/* Refuse arguments from which no partitioned operation can be made. */
int wf_part_check(const struct wf_part_args *);
/* Allocate size bytes that begin with a struct wf_part, and an inactive
 * persistent request. NULL: out of memory, recorded. */
void *wf_part_create(size_t size, const struct wf_part_args *,
                     int (*start)(struct wf_req *),
                     int (*destroy)(struct wf_req *));
/* Free the operation of a request that is gone, now or after its setup. */
void wf_part_drop(struct wf_part *);
/* Note that the setup is over. False: the operation was freed with it. */
bool wf_part_finish_setup(struct wf_part *);
/* Watch a message that was started with result rc; `over` may be called before
 * this function returns. */
void wf_part_follow_message(struct wf_part_watch *, int rc,
                            struct wf_req *message);
/* Count a message of this round as over; the last one completes the request. */
void wf_part_count_message(struct wf_part *, int error);
/* The groups of a setup, and the parts of one of them. */
static inline int wf_part_groups(const uint64_t *setup)
{
    return (int)((setup[WF_SETUP_PARTS] - 1) / setup[WF_SETUP_GROUP]) + 1;
}
static inline int wf_part_group_size(const uint64_t *setup, int g)
{
    uint64_t first = (uint64_t)g * setup[WF_SETUP_GROUP];
    uint64_t left = setup[WF_SETUP_PARTS] - first;

    return (int)(left < setup[WF_SETUP_GROUP] ? left : setup[WF_SETUP_GROUP]);
}
/* The number of tags of an operation, which may be more than an int has. */
static inline uint64_t wf_part_tags(const uint64_t *setup)
{
    return setup[WF_SETUP_PARTS] + (uint64_t)wf_part_groups(setup);
}
/* Their tags. */
static inline int wf_part_tag(const uint64_t *setup, int i)
{
    return (int)setup[WF_SETUP_FIRST] + i;
}
static inline int wf_part_group_tag(const uint64_t *setup, int g)
{
    return (int)(setup[WF_SETUP_FIRST] + setup[WF_SETUP_PARTS]) + g;
}
/* Whether the request was started and has not completed. */
static inline bool wf_part_is_running(const struct wf_part *p)
{
    return p->req->flags & WF_REQ_ACTIVE && !wf_req_done(p->req);
}

#endif
