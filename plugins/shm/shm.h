/* The insides of the shared-memory transport: endpoint and peer.
 *
 *   layout.h     what is in shared memory
 *   direction.h  the two directions of a pair: rings, their memory, copying
 *   transfer.h   large messages from memory to memory
 *   message.h    messages on the socket      connect.h  from address to rings
 *   ring.h       the fast path               tuning.h   what was measured
 *
 * README.md says which file calls which. Nothing here is visible outside the
 * plugin.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_H
#define WF_SHM_H

#include <sys/types.h>

#include "connect.h"
#include "direction.h"
#include "transfer.h"
#include "tuning.h"
#include "weft_transport.h"

enum {
    SHM_EVENTS = 16, /* epoll events taken at a time */
    SHM_REASON_BYTES = 256
};

enum shm_cma { SHM_CMA_AUTO, SHM_CMA_NO, SHM_CMA_YES };
enum shm_ptracer { SHM_PTRACER_JOB, SHM_PTRACER_ANY, SHM_PTRACER_NO };

struct shm_config {
    int64_t ring;
    uint64_t cell, chunk;
    int64_t chunks;
    int cma;     /* enum shm_cma */
    int ptracer; /* enum shm_ptracer */
    uint64_t eager;
};

struct weft_peer {
    struct shm_out out;
    struct shm_in in;
    weft_ep *ep;
    weft_loc *loc;
    uint32_t loc_id;
    enum shm_state state;
    bool busy; /* on ep->busy */
    int fault; /* status to go down with; progress reports it */
    char why[SHM_REASON_BYTES];
    struct shm_watch watch; /* the socket of the pair */
    struct shm_conn *conn;  /* while DIALLED or CALLED */
    struct shm_address address;
    uint64_t retry_at, retry_after; /* ns */
    uint64_t absent_since; /* ns, since when nobody has answered; 0: unknown */
    bool absence_logged, was_up;
    uint64_t shortage_since; /* ns, since when calls have failed; 0: none has */
    unsigned char *base;     /* the segment */
    struct shm_geometry geometry;
    int memory; /* the segment's descriptor, until my large bulk ring is
                   reserved */
    int bell;   /* the peer's eventfd */
    struct shm_page *page;   /* the peer's page */
    _Atomic uint32_t rung;   /* the value of its mode for which I rang */
    uint32_t my_byte;        /* in the peer's page */
    uint32_t its_byte;       /* in mine; SHM_BELL_BYTES: none left */
    weft_rkey *mapped_areas; /* areas of the peer that I have mapped */
    uint64_t requested_area; /* the id of the last that I asked for */
    bool maps_my_areas;      /* it has asked for some of mine */
    bool cma_works, cma_refused, write_refused;
    pid_t pid; /* of the peer, in my namespace; for CMA */
    struct shm_get get;
    struct shm_help help;
    struct shm_fetches fetches;
    struct shm_pushes pushes;
};

/* The counters of an endpoint. Messages are counted by the core: counting them
 * here, too, was a sixth of what a short one stored. */
struct shm_stats {
    _Atomic uint64_t rings;
    uint64_t tx_again, sleeps, connects;
    uint64_t read_bytes, written_bytes; /* of the peers' memory */
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    /* host->rx_words, or NULL when the core has none */
    int (*rx_words)(weft_core *, weft_loc *, uint64_t, uint64_t, uint64_t,
                    const void *);
    int (*helping)(weft_core *); /* host->helping, or NULL */
    void (*tx_close)(weft_core *, weft_loc *); /* the same */
    uint32_t loc_id;
    struct shm_config config;
    struct shm_geometry geometry;
    struct shm_address address;
    struct shm_watch listener, bell;
    int epoll, page_memory;
    struct shm_page *page;
    uint32_t mode; /* the value of page->mode */
    bool armed;
    bool sweep;      /* the next progress call polls every ring */
    bool attend;     /* the next progress call polls the sockets */
    bool barrier;    /* I sleep with membarrier: no fence for callers */
    bool registered; /* my threads take part in others' membarrier */
    uint32_t ticks;
    uint64_t sockets_polled_at; /* ns */
    uint64_t sockets_pause;     /* ns until they are polled again */
    uint32_t conns_made;        /* connections in the making */
    uint64_t accept_at;   /* ns, when to listen again after a shortage; or 0 */
    bool shortage_logged; /* and no caller was accepted since */
    uint64_t full_since;  /* ns, since when the spare descriptor has let no
                             caller in, either; 0: it does */
    int spare; /* descriptor for telling callers that there is none; or -1 */

    weft_peer **table; /* by loc_id */
    uint32_t table_n;
    weft_peer **live; /* peers with rings; capacity peers_cap */
    uint32_t live_n;
    uint32_t next_live; /* of live: where the round-robin poll goes on */
    weft_peer **busy;   /* peers that progress has something to do for */
    uint32_t busy_n;
    uint32_t peers_n, peers_cap;
    weft_peer *recent[SHM_RECENT];
    weft_peer **byte_owner; /* [SHM_BELL_BYTES] */
    uint32_t byte_top;      /* no byte at or above this was given out */
    uint32_t byteless;      /* live peers for which none was left */
    struct shm_conn *conns, *dead_conns;
    weft_mr *areas; /* those that mem_alloc gave out */
    struct shm_offers {
        weft_mr **at; /* by the low half of the id */
        uint32_t n, cap, serial;
    } offers;
    uint32_t areas_n;
    uint64_t area_id;
    struct shm_pace ring_pace, cma_pace;
    bool alone;                  /* no other process of the job is here */
    bool oversubscribed;         /* more ranks than CPUs */
    bool heavily_oversubscribed; /* more than four ranks per CPU */
    bool peers_admitted; /* the peers may read and write my memory, as far as
                            that depends on this process */
    uint32_t launcher;   /* process that started us and the peers; 0: unknown */
    uid_t refused_user;  /* who called last and was refused; own: nobody */
    uint64_t start; /* ns, how long a peer may take to appear; 0: addresses are
                       those of processes that are there */
    struct shm_stats stats;
    char instance[32];
};

/* Says whether the caller is the core's helper thread, whose program
 * computes. */
static inline bool shm_is_helper(const weft_ep *ep)
{
    return ep->helping && ep->helping(ep->core);
}

/* Says whether it is, and copying would take the CPU from a program. */
static inline bool shm_helper_must_not_copy(const weft_ep *ep)
{
    return ep->helping && ep->helping(ep->core) == 2;
}

/* Makes other threads leave the sending direction of the pair. Called before it
 * is touched by anything but a send of the core. */
static inline void shm_close_out(weft_peer *p)
{
    if (p->ep->tx_close)
        p->ep->tx_close(p->ep->core, p->loc);
}

/* ring.h has the fast path. */

/* ---- bell.c: sleeping and waking ---- */

void wf_shm_bell_register(weft_ep *, bool oversubscribed);
void wf_shm_ring_bell(weft_peer *, uint32_t mode);
void wf_shm_require_bytes(weft_ep *);
bool wf_shm_has_arrived(const weft_peer *);
int wf_shm_event(weft_ep *, int *fd);
int wf_shm_arm(weft_ep *, uint64_t *deadline_ns);
void wf_shm_disarm(weft_ep *);

/* ---- send.c ---- */

int wf_shm_send(weft_peer *, weft_tx *);
int wf_shm_send_short(weft_peer *, const weft_hdr *, const void *, size_t,
                      unsigned flags);
int wf_shm_send_words(const void *, uint64_t h0, weft_peer *, uint64_t h1,
                      uint64_t h2);
void wf_shm_leave_fast_path(weft_peer *);
uint32_t wf_shm_push_pieces(weft_peer *, const unsigned char *, uint64_t n,
                            uint32_t op, uint32_t index);
bool wf_shm_push(weft_peer *);
bool wf_shm_can_push(weft_peer *);
bool wf_shm_send_bye(weft_peer *);
bool wf_shm_refresh_room(weft_peer *);
bool wf_shm_find_free_slot(weft_peer *);
bool wf_shm_has_room(weft_peer *);

/* ---- beside.c ---- */

int wf_shm_send_beside(const void *, uint64_t h0, weft_peer *, uint64_t h1,
                       uint64_t h2);

/* ---- reserve.c ---- */

int wf_shm_reserve(weft_peer *, uint32_t messages, uint64_t bytes);

/* ---- receive.c ---- */

int wf_shm_receive_slots(weft_peer *, int budget);
/* Ends the pair because the peer wrote what cannot be; returns WEFT_EPROTO. */
int wf_shm_report_broken_ring(weft_peer *, const char *what);
int wf_shm_recv_words(weft_peer *, weft_want *);
void wf_shm_rx_resume(weft_peer *);

/* ---- progress.c ---- */

int wf_shm_progress(weft_ep *, int budget);
void wf_shm_mark_busy(weft_peer *);
int wf_shm_drain(weft_ep *);

/* ---- peer.c ---- */

int wf_shm_peer_add(weft_ep *, weft_loc *, uint32_t loc_id, const void *addr,
                    size_t len, weft_peer **);
int wf_shm_peer_del(weft_peer *, int abrupt);
void wf_shm_peer_free(weft_peer *);
weft_peer *wf_shm_peer_find(weft_ep *, uint32_t loc_id);
void wf_shm_link_up(weft_peer *, int fd);
void wf_shm_fault(weft_peer *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void wf_shm_report_down(weft_peer *);
void wf_shm_peer_gone(weft_peer *);
void wf_shm_end_connection(weft_peer *, int status);

#endif
