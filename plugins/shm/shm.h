/* The insides of the shared-memory transport: endpoint, peer, connection.
 *
 * README.md says which file calls which. Nothing here is visible outside the
 * plugin.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_H
#define WF_SHM_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "layout.h"
#include "weft_transport.h"

#define shm_likely(x)   __builtin_expect(!!(x), 1)
#define shm_unlikely(x) __builtin_expect(!!(x), 0)
#define SHM_COLD        __attribute__((cold, noinline))

/* The words of a header are little-endian in memory. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define shm_le64(x) (x)
#else
#define shm_le64(x) __builtin_bswap64(x)
#endif

enum {
    SHM_RINGS_PER_POLL = 8, /* rings of a round-robin poll per progress call */
    SHM_FEW_PEERS = 32,     /* with more, callers set a byte (SHM_MANY) */
    SHM_AHEAD = 2,          /* slots that a receiver prefetches ahead */
    SHM_AHEAD_OUT = 4,      /* and a sender: bench/notebook/shared-memory.md */
    SHM_RECENT = 4,         /* recent peers that every progress call polls */
    SHM_PEER_BUDGET = 64,   /* slots of one peer before others are polled */
    SHM_SOCKETS_IDLE = 255, /* every 256th call may poll the sockets */
    SHM_SOCKETS_APART = 100000, /* ns, the longest pause between such polls */
    SHM_SOCKETS_BUSY = 7,  /* every 8th call while connections are being made */
    SHM_EVENTS = 16,       /* epoll events taken at a time */
    SHM_CMA_MIN = 1 << 20, /* bytes from which CMA is considered */
    /* bytes from which either side may move a transfer */
    SHM_EITHER_SIDE_MIN = 4 << 20,
    SHM_REASON_BYTES = 256
};

enum shm_cma { SHM_CMA_AUTO, SHM_CMA_NO, SHM_CMA_YES };
enum shm_ptracer { SHM_PTRACER_JOB, SHM_PTRACER_ANY, SHM_PTRACER_NO };

#define SHM_OFFERED (UINT64_C(1) << 63) /* bit of the id of an offer */

struct shm_config {
    int64_t ring;
    uint64_t cell, chunk;
    int64_t chunks;
    int cma;     /* enum shm_cma */
    int ptracer; /* enum shm_ptracer */
    uint64_t eager;
};

/* The object that an epoll event points at. It is never freed while a batch of
 * events is handled. */
enum shm_watch_kind { SHM_LISTENER, SHM_BELL, SHM_CONN, SHM_PEER, SHM_DEAD };
struct shm_watch {
    enum shm_watch_kind kind;
    int fd;
};

/* The address of an endpoint, which travels as the opaque address. */
struct shm_address {
    uint32_t version, pid;
    uint64_t machine;         /* equal in processes that can share memory */
    unsigned char name[16];   /* of the abstract socket */
    unsigned char secret[16]; /* shown by callers, so that a stale name of a
                                 process that has ended is noticed */
};

/* The types of the messages on the socket of a pair. The first ones come before
 * the rings exist. */
enum shm_message_type {
    SHM_HELLO = 1, /* secret of the called, first step of the key handshake */
    SHM_AUTH,      /* further steps */
    SHM_SETUP,     /* listener: segment, page, bell */
    SHM_READY,     /* dialler: page, bell */
    SHM_REFUSE,    /* listener: code, reason */
    SHM_WANT,      /* once the rings exist: memory.c */
    SHM_MEMORY,
    SHM_FORGET,
    SHM_REPEAT /* listener: READY came without its descriptors */
};
enum { SHM_MESSAGE_MAGIC = 0x316d6873, SHM_BODY = 256, SHM_FDS = 3 };
enum { SHM_BARRIER = 1 }; /* bit of shm_setup.flags: I sleep with membarrier */

struct shm_message {
    uint32_t magic;
    uint16_t type, len;
    unsigned char body[SHM_BODY];
};

struct shm_setup {
    struct shm_geometry geometry; /* SETUP only */
    uint32_t byte;                /* the other side's in my page */
    uint32_t flags;
};

/* The codes of SHM_REFUSE: what the caller should do, or why it was refused. */
enum shm_refusal {
    SHM_CROSSED,  /* wait: my own call to you stands */
    SHM_LATER,    /* dial again */
    SHM_NEVER,    /* give up; a reason follows */
    SHM_NO_FILES, /* dial again for a while: I have no descriptor */
    SHM_NO_MEMORY /* dial again for a while: I have no memory */
};

/* A connection that does not yet belong to a peer. */
struct shm_conn {
    struct shm_watch watch;
    struct shm_conn *next;
    weft_ep *ep;
    weft_peer *peer; /* dialler: from the start; listener: after the proof */
    weft_auth *auth;
    uint32_t loc_id; /* the process that the handshake expects or has proved */
    bool dialled, proved;
    bool ask_again; /* READY came without its descriptors */
};

enum shm_state {
    SHM_IDLE,    /* no connection; the next send dials */
    SHM_WAITING, /* dials again at retry_at, or is called before */
    SHM_DIALLED, /* my call is being answered */
    SHM_CALLED,  /* their call is being answered; the segment exists */
    SHM_UP,
    SHM_DOWN
};

/* One byte ring as one side sees it. Positions only ever grow. */
struct shm_bytes {
    unsigned char *base;
    uint32_t size;
    uint32_t at;   /* next position */
    uint32_t tail; /* sender: consumed as far as known; receiver: returned */
};

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

/* The way of copying that the receiver has chosen, and its trials: way.c. */
struct shm_choice {
    enum shm_way way;        /* in use */
    unsigned round;          /* of the trial; ROUNDS: no trial */
    int64_t left, rest;      /* bytes until the next trial; between two */
    uint64_t bytes, ns;      /* counted in this round */
    uint64_t best[SHM_WAYS]; /* ns per MB */
};

/* The sending direction of a pair. */
struct shm_out {
    struct shm_slot *slots, *end;
    struct shm_slot *next; /* of slots: the one for position shm_head */
    uint64_t word;         /* of a HEAD in next: its kind and wrap */
    uint32_t mask;         /* slots of the ring, less 1 */
    uint32_t start;        /* position of slots[0]; positions only ever grow */
    uint32_t tail;         /* position of the first slot that may be in use */
    uint64_t large;        /* the value of line->large */
    /* The slots before this one are free for wf_shm_send_words, without any
     * other check. At this one, and where it is NULL, it checks everything. */
    struct shm_slot *fast_end;
    struct shm_line *line;
    struct shm_share *share;
    struct shm_page *page; /* the peer's */
    struct shm_bytes cells, bulk;
    uint32_t full_at;       /* the newest position at which bulk had no room */
    uint32_t waits;         /* the number of such positions */
    enum shm_way way;       /* of copying into bulk */
    bool timed;             /* the receiver wants to know how long that takes */
    weft_tx *tx;            /* the container under way, if any */
    uint64_t off;           /* bytes of it already in the ring */
    bool begun;             /* its head is in the ring */
    bool want;              /* the core waits for tx_ready */
    bool waiting_for_space; /* line->waiting_for_space is set */
    bool reserved;          /* the bulk ring has its pages */
    bool bye;               /* SHM_BYE was sent */
    bool fence;             /* a store-load fence must follow every message */
};

/* The position of the next slot. */
static inline uint32_t shm_head(const struct shm_out *out)
{
    return out->start + (uint32_t)(out->next - out->slots);
}

/* The receiving direction of a pair. */
struct shm_in {
    struct shm_slot *slots, *end;
    struct shm_slot *next; /* of slots: the one for position head */
    uint32_t mask, head, returned;
    uint32_t wrap; /* of the slot at head */
    struct shm_line *line;
    struct shm_share *share;
    struct shm_bytes cells, bulk;
    struct shm_choice choice;
    uint64_t since;    /* ns, when the container is timed; else 0 */
    weft_sink *sink;   /* of the container under way; NULL: discard it */
    uint64_t off, len; /* bytes seen, bytes in all; equal: none under way */
    /* The number of short messages received in a row while this side sent
     * nothing, and the value of out.next meanwhile. */
    uint32_t short_run;
    const struct shm_slot *silent_at;
    /* The value of out.next when the last answer was polled for; the pauses
     * before the first poll for the next one; and the answers in a row that
     * this first poll has found: receive.c. */
    const struct shm_slot *asked_at;
    uint8_t pre_poll_pauses, prompt_answers;
    bool taking_slot; /* the slot at head is being taken */
    bool paused;      /* the core answered EAGAIN */
    bool bye;         /* SHM_BYE was received */
    bool eof;         /* the socket has closed */
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
    uint64_t shortage_since; /* ns, since when calls have failed; 0: none has */
    unsigned char *base;     /* the segment */
    struct shm_geometry geometry;
    int memory; /* the segment's descriptor, until my large bulk ring is
                   reserved */
    int bell;   /* the peer's eventfd */
    struct shm_page *page;   /* the peer's page */
    uint32_t rung;           /* the value of its mode for which I rang */
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
    uint64_t tx_again, rings, sleeps, connects;
    uint64_t read_bytes, written_bytes; /* of the peers' memory */
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    /* host->rx_words, or NULL when the core has none */
    int (*rx_words)(weft_core *, weft_loc *, uint64_t, uint64_t, uint64_t,
                    const void *);
    int (*helping)(weft_core *); /* host->helping, or NULL */
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

/* ring.h has the fast path. These are the other functions, by file. */

/* ---- segment.c: memory that cannot fault under its users ---- */

int wf_shm_make_memory(const char *name, size_t bytes, size_t reserve);
/* The WEFT_* status of a link that a shortage of this process prevents. */
static inline int wf_shm_shortage_status(int err)
{
    return err == ENOMEM || err == ENOSPC ? WEFT_ENOMEM : WEFT_ESYS;
}
void *wf_shm_map_memory(int fd, size_t bytes);
bool wf_shm_is_memory_ok(int fd, size_t bytes);
bool wf_shm_geometry_ok(const struct shm_geometry *);
struct shm_geometry wf_shm_geometry(const struct shm_config *,
                                    uint32_t local_count, bool oversubscribed);
int wf_shm_attach(weft_peer *, int fd, const struct shm_geometry *, int side);
void wf_shm_detach(weft_peer *);
/* Announces that the large ring will follow the first one. */
void wf_shm_announce_large_ring(weft_peer *);
/* Goes on at the start of the ring, or of the large ring if it follows. */
void wf_shm_wrap_out(weft_peer *);
void wf_shm_wrap_in(weft_peer *);
bool wf_shm_reserve_bulk(weft_peer *);
bool wf_shm_enlarge_bulk(weft_peer *);
unsigned char *wf_shm_take_bulk(weft_peer *, uint32_t n);

/* ---- copy.c: large payloads ---- */

void wf_shm_copy(void *to, const void *from, size_t n);
void wf_shm_copy_plain(void *to, const void *from, size_t n);
void wf_shm_copy_nontemporal(void *to, const void *from, size_t n);

/* Copies a payload into the bulk ring in the given way. */
static inline void shm_copy_in(enum shm_way way, void *to, const void *from,
                               size_t n)
{
    if (way == SHM_BY_LOOP)
        wf_shm_copy(to, from, n);
    else if (way == SHM_NONTEMPORAL)
        wf_shm_copy_nontemporal(to, from, n);
    else
        memcpy(to, from, n);
}
uint64_t wf_shm_ring_bytes(uint32_t local_count, bool oversubscribed);

/* ---- way.c: the way in which both sides copy them ---- */

void wf_shm_way_init(struct shm_in *);
void wf_shm_way_count_message(struct shm_in *, uint64_t len);
uint32_t wf_shm_way_pack_time(enum shm_way, uint64_t ns);
void wf_shm_way_add_time(struct shm_in *, uint32_t copy_info, uint64_t n,
                         uint64_t ns);

/* Says whether a slot carries the time that the sender's copy took. */
static inline bool shm_is_copy_timed(uint32_t copy_info)
{
    return shm_unlikely(copy_info >= SHM_WAYS);
}

/* ---- memory.c: areas that peers may map ---- */

int wf_shm_mem_alloc(weft_ep *, weft_mem *);
void wf_shm_mem_free(weft_ep *, weft_mem *);
void wf_shm_areas_free(weft_ep *);
weft_mr *wf_shm_area_of(weft_ep *, const void *base, uint64_t len);
weft_rkey *wf_shm_mapped_area(weft_peer *, uint64_t id);
void wf_shm_unmap_areas(weft_peer *);
/* Closes the descriptor of an area, which nobody maps again. */
void wf_shm_close_area(weft_rkey *);
int wf_shm_map_fd(weft_ep *, const weft_mem *);
bool wf_shm_handle_memory(weft_peer *, const struct shm_message *, int fd);

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

/* ---- receive.c ---- */

int wf_shm_receive_slots(weft_peer *, int budget);
/* Delivers what has arrived from one peer. Returns the slots handled. */
static inline int wf_shm_receive(weft_peer *p, int budget)
{
    /* acquire: pairs with the release in shm_store_word */
    uint64_t word =
        atomic_load_explicit(&p->in.next->word, memory_order_acquire);
    return (word >> 61) != p->in.wrap ? 0 : wf_shm_receive_slots(p, budget);
}
int wf_shm_recv_words(weft_peer *, weft_want *);
void wf_shm_rx_resume(weft_peer *);

/* ---- progress.c ---- */

int wf_shm_progress(weft_ep *, int budget);
void wf_shm_mark_busy(weft_peer *);
int wf_shm_drain(weft_ep *);

/* ---- connect.c: calls, both ways, up to the proof of identity ---- */

socklen_t wf_shm_socket_name(const struct shm_address *, struct sockaddr_un *);
bool wf_shm_same_user(int fd);
int wf_shm_watch_socket(weft_ep *, struct shm_watch *, uint32_t events);
/* Returns NULL without memory. The descriptor then stays the caller's. */
struct shm_conn *wf_shm_conn_new(weft_ep *, int fd, bool dialled);
/* Names the limit to raise, if this errno is a shortage of descriptors. */
const char *wf_shm_remedy_of(int err);
void wf_shm_dial(weft_peer *);
void wf_shm_dial_later(weft_peer *, uint64_t after_ns);
/* Dials again later. Returns false when calls have failed for too long. */
bool wf_shm_dial_again(weft_peer *);
/* Sends READY again because its descriptors did not reach the other side. */
void wf_shm_resend_ready(weft_peer *);
/* Asks diallers to repeat a READY whose descriptors could not be received. */
void wf_shm_request_ready(weft_ep *);
int wf_shm_poll_sockets(weft_ep *);
void wf_shm_hang_up(struct shm_conn *);
void wf_shm_free_dead_conns(weft_ep *);

/* ---- listen.c ---- */

int wf_shm_listen(weft_ep *); /* 0 or an errno */
int wf_shm_accept(weft_ep *);
void wf_shm_pause_accept(weft_ep *, const char *why);
void wf_shm_resume_accept(weft_ep *);
void wf_shm_stop_listening(weft_ep *);

/* ---- adopt.c: from the proof to the rings ---- */

void wf_shm_handle_proof(struct shm_conn *);
bool wf_shm_handle_setup(struct shm_conn *, const struct shm_message *,
                         int *fds);
bool wf_shm_handle_ready(struct shm_conn *, const struct shm_message *,
                         int *fds);
bool wf_shm_handle_refusal(struct shm_conn *, const struct shm_message *);
/* Ends the pair with the reason in this SHM_REFUSE, which the core is told. */
void wf_shm_report_refusal(weft_peer *, const struct shm_message *);
void wf_shm_refuse(struct shm_conn *, uint32_t code, const char *why);
/* Sends a refusal on a socket without a connection, which stays open. */
void wf_shm_refuse_on(int fd, uint32_t code, const char *why);
/* The SHM_REFUSE code of a shortage of this process. */
static inline enum shm_refusal wf_shm_shortage_code(int err)
{
    return wf_shm_shortage_status(err) == WEFT_ENOMEM ? SHM_NO_MEMORY
                                                      : SHM_NO_FILES;
}

/* ---- message.c: messages on the socket ---- */

int wf_shm_message_send(int fd, unsigned type, const void *body, size_t len,
                        const int *fds, int fds_n);
int wf_shm_message_receive(int fd, struct shm_message *, int *fds);

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
