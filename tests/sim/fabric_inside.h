/* This header has what the files of the simulated fabric share: fabric.c is the
 * transport, fabric_delivery.c what happens to a container on its way,
 * fabric_job.c cables, time and the life of a job.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_FABRIC_INSIDE_H
#define SIM_FABRIC_INSIDE_H

#include "protocol/order.h"
#include "sim/fabric.h"

/* A container on its way, with its payload copied. */
struct parcel {
    struct parcel *next;
    weft_tx *tx;      /* to be completed when delivered, or NULL (short) */
    weft_sink *sink;  /* stage 2 has begun */
    uint64_t offset;  /* payload bytes delivered */
    weft_hdr hdr;
    size_t len;
    uint8_t data[];
};

struct weft_peer { /* the channel from ep to another process */
    weft_ep *ep;
    weft_loc *loc;
    uint32_t id; /* rank in this simulation, not the number in a process */
    struct parcel *head, **tail;
    int queued;
    bool told_to_wait, dead;
    bool stopped; /* the receiver said EAGAIN: until rx_resume */
    weft_get *reads; /* begun and not reported */
    unsigned connection; /* 0: none yet; see struct pair */
    int notice; /* status that peer_down is due with */
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    uint32_t id;
    int fabric;
    bool dead;
    weft_peer *peers[SIM_MAX];
};

/* Two processes on one fabric. A connection is a number; what belongs to an
 * older one than the pair's is not delivered any more. */
struct pair {
    unsigned connection;
    bool down; /* calls fail */
    bool mute; /* nothing passes, and nobody knows */
};

enum { SIM_NUMBERS = 1 << 14 }; /* more than are under way */

/* The one world of this process: a transport has no other way to find it. */
struct sim_world {
    struct sim *sim;
    uint32_t opening; /* the rank whose instance is being made */
    bool starving; /* the core is refused memory */
    struct sim_options options;
    weft_ep *eps[SIM_FABRICS][SIM_MAX];
    struct pair pairs[SIM_FABRICS][SIM_MAX][SIM_MAX]; /* lower rank first */
    uint64_t now;
    /* with failover: which numbers of a pair are initial messages */
    bool initial[SIM_MAX][SIM_MAX][SIM_NUMBERS];
};
extern struct sim_world world;

/* ---- fabric.c ---- */
/* The model is told of initial messages only. */
bool sim_initial(const weft_hdr *);
struct pair *sim_pair_of(const weft_ep *, uint32_t id);
bool sim_connected(const weft_peer *);
/* The connection ends; p's own side may know already. */
void sim_disconnect(weft_peer *p, bool tell);
/* Drop containers under way and return lent memory. */
void sim_sever(weft_peer *, int notice);
/* Drop containers of which a part has arrived. */
void sim_lose_landings(weft_peer *, weft_ep *to);
void sim_drop_parcels(weft_peer *);
void sim_finish_read(weft_peer *);

/* ---- fabric_delivery.c ---- */
/* The next piece of what is landing, or the next header: only a fabric with
 * streams shows one while payload is to come. */
void sim_deliver(weft_ep *to, weft_peer *);
/* Those on which something can happen. */
int sim_busy_channels(weft_peer **list);

#endif
