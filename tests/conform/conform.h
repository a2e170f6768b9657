/* A core without MPI: the world in which the contract suite puts a transport.
 *
 * A world is one process with up to SIDES endpoints of the plugin under test;
 * each plays one process of a job. Where a process must be able to die, a
 * partner process plays side 1. Messages are numbered per pair; the fake core
 * checks order, header and every byte, answers deliveries in every way that
 * weft_transport.h allows, and keeps book of what is lent to the plugin.
 *
 *   conform.c  the program          message.c  patterns, memory, containers
 *   host.c     the service table    world.c    endpoints, partners, limits
 *   config.c   the plugin's options auth.c     the handshake
 *   *_cases.c  the contract, a sentence each
 *
 * It needs weft_transport.h and libc, nothing else of Weft.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "weft_transport.h"

enum {
    SIDES = 4,
    BLOB = 1024, /* what the core allows an address to have */
    BIG = 2 << 20,
    BUDGET = 64,
    SILENCE_MS = 500, /* after which a peer that can be asked counts as lost */
    NO_ROOM = 4711,   /* what the core's tx_words returns */
    WAIT_LIMIT = 300, /* seconds for anything that must happen */
    CASE_LIMIT = 900  /* seconds for a whole case */
};

/* ---- memory with a known content ----------------------------------------- */

/* len bytes of a payload, in one block or scattered with gaps between. */
struct area {
    uint8_t *base;
    uint64_t len, bytes;
    bool pieces;
};

void area_new(struct area *, uint64_t len, bool pieces);
void area_free(struct area *);
/* The payload of message `number` from process `from`. */
void area_fill(struct area *, uint32_t from, uint64_t number);
void area_put(struct area *, uint64_t off, const void *data, uint64_t n);
/* The first n bytes are that payload, and nothing else was touched. */
void area_check(const struct area *, uint32_t from, uint64_t number,
                uint64_t n);
int area_segments(const struct area *, uint64_t len, uint64_t off,
                  struct iovec *, int max);
void payload_check(const void *data, uint32_t from, uint64_t number,
                   uint64_t off, uint64_t n);

/* ---- the core's side ----------------------------------------------------- */

/* How the fake core answers a delivery. */
enum answer {
    TAKE,        /* all of it, or a sink in one block */
    SINK_ONE,    /* a sink even for payloads that are here already */
    SINK_PIECES, /* through seg only */
    TRUNCATE,    /* a sink shorter than the message */
    SKIP_REST,
    PAUSE, /* out of memory the first time, then TAKE */
    ANSWERS
};

enum { URGENT = 1 }; /* number = serial << 1 | URGENT */

struct weft_loc { /* one peer as one side sees it */
    weft_core *core;
    uint32_t id;
    weft_peer *peer;
    uint64_t sent, got, urgent_sent, urgent_got;
    int ups, downs, readies, pauses;
    int lent, sinks; /* with the plugin now; lent: operations, too */
    int tx_failed, rx_failed;
    bool paused, unwanted; /* unwanted: locate refuses it */
    uint64_t refused;      /* number that was answered with EAGAIN */
    int status;            /* of peer_down */
    char why[1024];
};

struct world;
struct weft_core {
    struct world *world;
    uint32_t id;
    weft_ep *ep;
    weft_attr attr;
    void *cfg;
    uint64_t key;
    struct weft_loc loc[SIDES];
    uint8_t blob[SIDES][BLOB];
    size_t blob_len[SIDES];
    enum answer answer;
    bool mix;      /* answer each delivery differently */
    bool messages; /* log lines are wanted on stderr */
    unsigned seed;
    int located, warnings;
    int given_back; /* calls of tx_words */
    void (*on_rx)(struct weft_loc *, uint64_t number);
    void (*on_tx_done)(struct weft_loc *);
};

struct setting {
    const char *key, *value;
};

struct world {
    const weft_plugin *plugin;
    const struct setting *settings;
    int settings_n;
    uint32_t local_count; /* what open() is told */
    bool seeded;          /* open() gets seeds, as without a launcher */
    uint8_t job_secret[WEFT_SEED]; /* which these are made of */
    uint64_t start_ns;    /* what open() is told */
    weft_core *side[SIDES];
    unsigned seed;
    long die_in; /* host calls and polls until SIGKILL; 0: live */
    pid_t partner;
    int channel; /* to the partner */
};

/* ---- messages ------------------------------------------------------------ */

enum layout {
    BLOCK,    /* one block */
    SEGMENTS, /* pieces, found by seg only */
    LAYOUTS
};

struct message {
    alignas(64) weft_hdr hdr;
    weft_tx tx;
    struct area area;
    struct weft_loc *to;
    uint64_t number;
    bool lent;
};

void header_make(void *hdr, uint32_t from, uint64_t number, uint32_t plen,
                 bool is_short);
void header_check(const weft_hdr *, uint32_t from);
uint64_t header_number(const weft_hdr *);

/* The next message for that peer. */
struct message *message_new(struct weft_loc *to, uint64_t len,
                            enum layout layout, bool is_short);
struct message *message_urgent(struct weft_loc *to);
/* One attempt. After EAGAIN the message is still the caller's; after anything
 * else it is gone, or will be with tx_done. */
int message_offer(struct message *);
/* Take back a message that was refused: its number is used again. */
void message_withdraw(struct message *);
void message_finish(struct message *);
/* As long as it takes: waits for tx_ready after every EAGAIN. */
void message_post(struct message *);
/* Call send_short with a header of readable bytes only; its result. */
int message_short(struct weft_loc *to, uint64_t len, bool is_short,
                  unsigned flags);
/* Call send_words; its result. */
int message_words(struct weft_loc *to, uint64_t len);
/* Find word i of a header, as it is in a register. */
uint64_t header_word(const void *hdr, int i);

/* ---- fetching ------------------------------------------------------------ */

struct fetch {
    weft_get get;
    bool started, done;
    int status;
};

/* Memory that one side offers to the others. */
struct region {
    weft_mem mem;
    bool owned; /* by the plugin */
};

enum { REGION = 3 << 20, REGION_KEY = 256 };

uint8_t region_pattern(uint64_t i);
struct region region_new(weft_core *); /* it has that pattern */
void region_free(weft_core *, struct region *);
/* Open two sides that have heard of each other. */
void meet_both(struct world *, weft_core **a, weft_core **b);

/* ---- operations on exposed memory ---------------------------------------- */

struct operation {
    weft_rma rma;
    struct weft_loc *to;
    bool lent, done;
    int status;
};

/* ---- the handshake ------------------------------------------------------- */

/* Implement weft_host.auth_step for process `me`. */
int handshake_step(uint64_t key, uint32_t me, weft_auth **, const void *in,
                   size_t in_len, void *out, size_t *out_len, uint32_t *id);
uint64_t key_of(const char *secret);

/* ---- the world ----------------------------------------------------------- */

extern const weft_host conform_host;

/* Open side id. secret NULL: the key of the job. */
weft_core *side_open(struct world *, uint32_t id, const char *secret);
/* The same; NULL, and what open() answered in *rc, if that fails. */
weft_core *side_try_open(struct world *, uint32_t id, const char *secret,
                         int *rc);
/* Write the seed of side id, WEFT_SEED bytes. */
void make_seed(const struct world *, uint32_t id, uint8_t *seed);
/* Derive the address of side id, which need not be open. */
void side_derive(weft_core *, uint32_t id);
/* Both know each other's address; no peer is added yet. */
void side_meet(weft_core *, weft_core *);
/* The peer, added on first use; NULL: the plugin would not. */
struct weft_loc *side_peer(weft_core *, uint32_t id);
/* Leave as the core does: drain until nothing is to be done, delete the
 * peers, close. */
void side_leave(weft_core *);
/* Close at once. */
void side_close(weft_core *);
/* Sides 0 and 1, or side 0 twice for a plugin that only reaches itself. */
void pair_open(struct world *, weft_core **a, weft_core **b);
/* One progress() of every side; returns what they did. */
int take_turn(struct world *);
/* Every message from a to b has arrived and nothing is lent. */
bool is_settled(const weft_core *a, const weft_core *b);
void pair_close(struct world *);

/* Fork a process that runs play(world) as the other end of the channel. */
enum { SKIPPED = 77 }; /* exit status of a case that does not apply */
void partner_start(struct world *, void (*play)(struct world *));
void partner_swap(struct world *, const void *mine, void *theirs, size_t n);
/* Sides 0 here and 1 there learn each other's address. */
weft_core *partner_meet(struct world *, uint32_t me);
bool partner_spoke(struct world *); /* a token has come; does not wait */
void partner_tell(struct world *);
void partner_end(struct world *); /* it must have succeeded */

uint64_t now_ns(void);
unsigned chance(unsigned *seed, unsigned n);

struct wait_limit {
    uint64_t end;
    unsigned turns;
};
struct wait_limit start_limit(void);
void wait_limit_turn(struct wait_limit *, struct world *, const char *what);
/* Let every side progress until it holds; a loop, so it may have a body. */
#define until(w, condition)                                                    \
    for (struct wait_limit p_ = start_limit(); !(condition);                   \
         wait_limit_turn(&p_, w, #condition))

/* A case that does not hold ends its process. */
void broken(const char *file, int line, const char *what, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
#define check(condition, ...)                                                  \
    do {                                                                       \
        if (!(condition))                                                      \
            broken(__FILE__, __LINE__, #condition, __VA_ARGS__);               \
    } while (0)

/* Fill a config struct with the defaults and these settings. NULL: fine, or
 * what is wrong. */
const char *config_fill(const weft_plugin *, void *cfg, const struct setting *,
                        int n);

/* ---- cases --------------------------------------------------------------- */

enum {
    NEED_OTHERS = 1, /* reaches more than itself */
    NEED_SHORT = 2,  /* send_short */
    NEED_EVENT = 4,  /* a descriptor to sleep on */
    NEED_CONNECT = 8,
    NEED_GET = 16,
    NEED_GET_ALONE = 32,
    NEED_MAP = 64,
    NEED_SEND_WORDS = 128,
    NEED_RECV_WORDS = 256,
    NEED_TRAFFIC = 512,
    NEED_PARSE = 1024, /* addr_parse */
    NEED_PROBE = 2048,
    NEED_DERIVE = 4096, /* addr_derive */
    NEED_RESERVE = 8192,
    NEED_RMA = 16384,
    NEED_RMA_ATOMIC = 32768
};

struct conform_case {
    const char *name; /* a sentence; NULL ends a table */
    void (*run)(struct world *);
    unsigned needs;
};

extern const struct conform_case shape_cases[], transfer_cases[], flow_cases[],
    connect_cases[], derive_cases[], death_cases[], sleep_cases[],
    fetch_cases[], rma_cases[];

#endif
