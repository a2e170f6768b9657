/* Transfers of large messages from memory to memory: areas that peers may map,
 * offers, and the state of what is under way.
 *
 *   memory.c  areas                    direct.c  one copy out of an area
 *   fetch.c   from any memory by either side: the receiver
 *   offer.c   the same, the sender     cma.c     by the kernel
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_TRANSFER_H
#define WF_SHM_TRANSFER_H

#include "layout.h"

struct shm_config;
struct shm_message;

#define SHM_OFFERED (UINT64_C(1) << 63) /* bit of the id of an offer */

/* An area of mem_alloc, as its owner sees it; or an offer, which is memory that
 * the receiver of a message may read. */
struct weft_mr {
    struct weft_mr *next;
    unsigned char *base;
    uint64_t bytes, id;
    int fd;
    weft_peer *asked; /* offer: the peer that has asked for it */
};

/* An area or an offer, as a peer of its owner sees it. */
struct weft_rkey {
    struct weft_rkey *next;
    unsigned char *base; /* NULL: an offer */
    uint64_t bytes, at;  /* at: its address in the owner */
    uint64_t id;         /* 0: freed by the owner */
    int fd;              /* of the area, until the first close; or -1 */
    uint32_t opens;      /* by the core, and not closed yet */
};

/* The queue of gets from a peer. The first one is under way. */
struct shm_get {
    weft_get *head, *last;
    uint64_t done; /* pieces that I have copied; offer: bytes */
    uint32_t op;
    bool shared; /* the peer was asked to help */
};

/* A get of the peer that this side helps with. */
struct shm_help {
    unsigned char *to; /* NULL: nothing to help with */
    const unsigned char *from;
    uint64_t len;
    uint32_t op, done;
};

/* A transfer from an offer, at the receiver: fetch.c. Its pieces are moved by
 * either side. */
struct shm_fetch {
    weft_get *rma;   /* NULL: none */
    uint32_t all;    /* number of pieces */
    uint32_t mine;   /* pieces that this side has read */
    uint32_t landed; /* pieces that have come through the ring */
    int status;      /* what to report */
    uint64_t since;  /* ns, when the first one came; 0: do not time it */
    bool timed;
};

struct shm_fetches {
    weft_get *head, *last;            /* those not yet asked for */
    struct shm_fetch at[SHM_FETCHES]; /* by operation: first to next - 1 */
    uint32_t first, next;
    uint32_t landed;        /* pieces that have come through the ring in all, */
    uint32_t before;        /* and how many they were at the last poll */
    uint32_t idle;          /* polls since one landed */
    bool reading;           /* the sender is away: this side reads */
    uint32_t run;           /* pieces read without interruption */
    bool away;              /* the value of share->away */
    uint64_t seen, seen_at; /* the sender's claims, and since when (ns) */
};

/* A transfer from an offer, at the sender: offer.c. */
struct shm_push {
    weft_mr *mr; /* NULL: no longer offered */
    const unsigned char *from;
    uint64_t len, to; /* to: in the receiver */
    uint32_t op, all;
    uint32_t at, end; /* claimed and not yet moved */
    uint32_t written;
};

struct shm_pushes {
    struct shm_push at[SHM_FETCHES];
    uint32_t first, n;
    uint32_t tail;   /* of the bulk ring, at the last poll */
    uint32_t run;    /* pieces written since the last push */
    bool ring_moves; /* the tail has moved: the receiver is at work */
    uint64_t since;  /* ns, since when it has not moved; 0: it moves */
};

/* The measured speed of a way of moving large messages. */
struct shm_pace {
    uint32_t races;
    uint64_t mbs; /* MB/s, the best */
};

/* ---- memory.c: areas that peers may map ---- */

int wf_shm_mem_alloc(weft_ep *, weft_mem *);
void wf_shm_mem_free(weft_ep *, weft_mem *);
void wf_shm_areas_free(weft_ep *);
weft_mr *wf_shm_area_of(weft_ep *, const void *base, uint64_t len);
weft_rkey *wf_shm_mapped_area(weft_peer *, uint64_t id);
void wf_shm_unmap_areas(weft_rkey *);
/* Closes the descriptor of an area, which nobody maps again. */
void wf_shm_close_area(weft_rkey *);
/* Does the same when a key of the area was closed, and unmaps the area if its
 * owner has freed it. */
void wf_shm_release_area(weft_peer *, weft_rkey *);
int wf_shm_map_fd(weft_ep *, const weft_mem *);
bool wf_shm_handle_memory(weft_peer *, const struct shm_message *, int fd);

/* ---- remote.c: operations on areas of a peer ---- */

int wf_shm_mr_expose(weft_ep *, void *base, size_t len, uint32_t access,
                     weft_mr **);
void *wf_shm_rkey_map(weft_rkey *, uint64_t at, size_t len);
int wf_shm_rma(weft_peer *, weft_rma *);

/* ---- direct.c: one copy, made by one side or by both ---- */

int wf_shm_get(weft_peer *, weft_get *);
void wf_shm_take_help(weft_peer *, const struct shm_slot *, uint32_t op);
bool wf_shm_has_direct(const weft_peer *);
bool wf_shm_direct_can_move(weft_peer *);
int wf_shm_direct_move(weft_peer *);
void wf_shm_direct_end(weft_peer *, int status);

/* ---- fetch.c: transfers from any memory by either side: the receiver ---- */

int wf_shm_fetch(weft_peer *, weft_get *);
int wf_shm_take_piece(weft_peer *, const struct shm_slot *, uint64_t word);
bool wf_shm_has_fetches(const weft_peer *);
bool wf_shm_fetch_can_move(weft_peer *);
int wf_shm_move_fetches(weft_peer *);
void wf_shm_fetch_close(weft_peer *);
void wf_shm_fetch_end(weft_peer *, int status);

/* ---- offer.c: the same, the sender ---- */

weft_mr *wf_shm_offer(weft_ep *, void *base, uint64_t len);
void wf_shm_offer_end(weft_ep *, weft_mr *);
void wf_shm_offers_free(weft_ep *);
void wf_shm_take_ask(weft_peer *, const struct shm_slot *, uint32_t op);
bool wf_shm_offer_can_move(weft_peer *);
int wf_shm_move_pushes(weft_peer *);
void wf_shm_end_asks(weft_peer *);

/* ---- cma.c: any memory of a peer ---- */

bool wf_shm_cma_should_offer(const weft_ep *, uint64_t len);
weft_rkey *wf_shm_cma_open_key(weft_peer *, uint64_t id);
void wf_shm_cma_admit_peers(weft_ep *);
void wf_shm_cma_log_use(const weft_open *, const struct shm_config *);
bool wf_shm_cma_reads_alone(const weft_ep *);
bool wf_shm_cma_probe(weft_peer *, uint64_t at);
bool wf_shm_cma_read(weft_peer *, void *to, uint64_t at, uint64_t n);
uint64_t wf_shm_cma_write(weft_peer *, const void *from, uint64_t at,
                          uint64_t n);
int wf_shm_cma_step(weft_peer *, const weft_get *, uint64_t *done);
bool wf_shm_is_ring_race(const weft_peer *, uint64_t len);
void wf_shm_record_ring_race(weft_peer *, uint64_t len, uint64_t ns);

#endif
