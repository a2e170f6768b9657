/* Partitioned communication (MPI-5.0 chapter 4): one operation whose parts are
 * handed over, and arrive, one by one.
 *
 *      sender                                      receiver
 *      Psend_init -- setup: first tag, parts,  --> Precv_init
 *                    bytes of each
 *      Start                                       Start: a receive per part of
 *      Pready(2)  -- message, tag first + 2 -----> the sender, into its place
 *      Pready(0)  -- message, tag first + 0 ----->
 *
 * A setup goes in a space of its own under the tag of the user, so the order of
 * messages is the order in which operations were initialised, which is how they
 * match. The parts go in another space, under tags that the sender's
 * communicator counts; neither meets a message or a probe of the program.
 *
 * DESIGN  A message per part rather than one rendezvous in pieces: a small part
 * leaves at once by the path of short messages, a large one moves straight into
 * user memory, and nothing waits for the receiver to have started. Messages of
 * the next round may be early; under one tag they keep their order.
 *
 * LOCK  the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PART_H
#define WF_PART_H

#include "protocol/p2p.h"

/* One message of the library, followed to its end. */
struct wf_part_watch {
    void (*over)(struct wf_part_watch *, int error);
};

/* The words of a setup. */
enum { WF_SETUP_FIRST, WF_SETUP_PARTS, WF_SETUP_BYTES, WF_SETUP_WORDS };

/* What the two sides have in common, first in what each side allocates. */
struct wf_part {
    struct wf_list orphan; /* in wf_instance.orphans, when req is gone */
    struct wf_part_watch setup_watch;
    struct wf_req *req; /* the user's; NULL: gone, the setup is still coming */
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

/* Refuses what no partitioned operation can be made of. */
int wf_part_check(const struct wf_part_args *);
/* Allocate size bytes that begin with a struct wf_part, with an inactive
 * persistent request. NULL: recorded. */
void *wf_part_create(size_t size, const struct wf_part_args *,
                     int (*start)(struct wf_req *),
                     int (*destroy)(struct wf_req *));
/* The request is gone: free the part, now or after its setup. */
void wf_part_drop(struct wf_part *);
/* The setup is over. False: so is the part. */
bool wf_part_setup_over(struct wf_part *);
/* Follow a message that was started with result rc; it may be over now. */
void wf_part_follow(struct wf_part_watch *, int rc, struct wf_req *message);
/* One message of this round is over. */
void wf_part_count(struct wf_part *, int error);
/* Whether the request was started and has not completed. */
static inline bool wf_part_running(const struct wf_part *p)
{
    return p->req->flags & WF_REQ_ACTIVE && !wf_req_done(p->req);
}

#endif
