/* weft_transport.h - the only header that a Weft transport plugin includes.
 *
 * A plugin exports one constant, weft_plugin: its name, its options and its
 * operations. An endpoint (weft_ep) is one configured fabric, for example "tcp
 * on eth1"; it makes peers (weft_peer), one for each remote process. Containers
 * travel between peers: a weft_tx goes out, a weft_sink says where one that
 * comes in must land. A container is a header of 64 or 24 bytes, which only the
 * core writes and reads, and payload in the program's memory. The plugin moves
 * containers; the core matches messages. docs/transport-guide.md is the
 * contract; this header is its vocabulary.
 *
 * Rules.
 *  1. Nothing here is MPI, and a plugin needs no symbol of the core: every
 *     service is in weft_host. So it links with -Wl,-z,defs against libc alone.
 *  2. Every struct that crosses begins with its size, which its owner sets. A
 *     minor version only appends members; read one that was appended through
 *     WEFT_HAS. Structs inside another one or in an array (weft_cost, weft_option)
 *     and weft_hdr are fixed for the major.
 *  3. A plugin sets no capability bit that is not here: the core refuses it.
 *  4. Nothing blocks, except that open() may take a moment.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_TRANSPORT_H
#define WEFT_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "weft_transport_rma.h" /* weft_rma: since minor 4 */

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ABI_MAJOR 2           /* part of the symbol: weft_plugin_2_NAME */
#define WEFT_ABI_MINOR 4           /* grows when members are appended */
#define WEFT_MAGIC     0x32544657u /* "WFT2" */
#define WEFT_HDR       64          /* bytes of a header */
#define WEFT_HDR_MIN   24          /* bytes of a short header */
#define WEFT_AUTH_MSG  64          /* bytes of a message of the handshake */
#define WEFT_SEED      32          /* bytes of a seed */

/* Whether the struct at p, of type T, has the member f and it is not 0. */
#define WEFT_HAS(p, T, f)                                                      \
    ((p)->size >= offsetof(T, f) + sizeof(((T *)0)->f) && (p)->f)

/* Results. Those >= 0 are success. */
enum {
    WEFT_OK = 0,      /* accepted; a completion call will follow */
    WEFT_DONE = 1,    /* finished before return; no call follows */
    WEFT_SKIP = 2,    /* rx(): the core wants no more of this payload */
    WEFT_EAGAIN = -1, /* not now; the other side will say when */
    WEFT_ENOMEM = -2,
    WEFT_EINVAL = -3,
    WEFT_ENOTSUP = -4,
    WEFT_EUNREACH = -5,
    WEFT_EPEER = -6, /* the remote process is gone: no route will help */
    WEFT_ELINK = -7, /* this way to it is gone: the core may fail over */
    WEFT_ECANCEL = -8,
    WEFT_EPROTO = -9,
    WEFT_EAUTH = -10,
    WEFT_ESYS = -11
};

/* The core's names for an endpoint and for a peer: a plugin hands them back as
 * they came. */
typedef struct weft_core weft_core;
typedef struct weft_loc weft_loc;
/* Each plugin defines these as it likes; the core hands them back. */
typedef struct weft_ep weft_ep;
typedef struct weft_peer weft_peer;
typedef struct weft_mr weft_mr;     /* a registered region of this process */

/* ---- containers ---------------------------------------------------------- */

/* A header. Byte 0 is its type, 1 a version, 2-3 flags, 4-7 the bytes of the
 * payload; numbers are little-endian. A plugin reads nothing but these. The
 * core never uses types 0xf0 and above: they are for a plugin's own frames.
 * With flag WEFT_HDR_SHORT the first 24 bytes are the whole header: no more
 * than these need be readable, and no more need travel. */
typedef struct {
    uint64_t w[WEFT_HDR / 8];
} weft_hdr;

enum { WEFT_HDR_SHORT = 1u << 12 };

/* The bytes of payload behind this header. */
static inline uint32_t weft_hdr_plen(const void *h)
{
    const uint8_t *b = (const uint8_t *)h + 4;

    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

/* The bytes of this header that must travel: 24 or 64. */
static inline uint32_t weft_hdr_len(const void *h)
{
    const uint8_t *b = (const uint8_t *)h + 2;

    return ((uint32_t)b[0] | (uint32_t)b[1] << 8) & WEFT_HDR_SHORT
               ? WEFT_HDR_MIN
               : WEFT_HDR;
}

enum {
    WEFT_TX_MORE = 1,  /* send_short(): more follows at once; it may be held */
    WEFT_TX_URGENT = 2 /* weft_tx: it may pass queued payload of others */
};

/* An outgoing container. The core owns it and lends it until tx_done. */
typedef struct weft_tx {
    uint32_t size;
    uint32_t flags; /* WEFT_TX_URGENT or 0 */
    weft_hdr *hdr;  /* aligned to 64 bytes */
    uint64_t len;   /* bytes of payload, as in the header */
    /* The payload, if it is one block; otherwise iov_base is NULL. */
    struct iovec one;
    /* Store in v the segments of the payload from byte off on, at most max;
     * returns their number. It may be called at any offset, as often as
     * needed. */
    int (*seg)(struct weft_tx *, uint64_t off, struct iovec *v, int max);
    /* Copy n bytes of the payload from byte off on. NULL, unless the payload
     * has many small segments: then this is much faster than seg. */
    void (*copy)(struct weft_tx *, uint64_t off, void *to, uint64_t n);
    uint64_t priv[6]; /* the plugin's until tx_done */
} weft_tx;

/* Where the payload of an incoming container must land. The core owns it and
 * lends it until rx_done. */
typedef struct weft_sink {
    uint32_t size, reserved;
    uint64_t len;     /* bytes wanted; the payload may have more: skip those */
    struct iovec one; /* one block: iov_len == len. Otherwise ask seg */
    int (*seg)(struct weft_sink *, uint64_t off, struct iovec *v, int max);
    /* Copy n bytes to byte off of the sink. NULL, unless it has many small
     * segments. */
    void (*fill)(struct weft_sink *, uint64_t off, const void *from,
                 uint64_t n);
    uint64_t priv[6];
} weft_sink;

/* A read of a peer's memory. The core owns it and lends it until get_done. */
typedef struct weft_get {
    uint32_t size, reserved;
    struct iovec one; /* where the bytes must land */
    uint64_t raddr;   /* where they are, in the peer's address space */
    weft_rkey *rkey;  /* NULL with WEFT_CAP_NO_MR */
    uint64_t priv[6];
} weft_get;

/* ---- what an endpoint is and costs --------------------------------------- */

enum {
    WEFT_CAP_LOCAL = 1u << 0,  /* it reaches processes of this host */
    WEFT_CAP_REMOTE = 1u << 1, /* it reaches other hosts */
    WEFT_CAP_SELF = 1u << 2,   /* it reaches the own process */
    WEFT_CAP_GET = 1u << 3,    /* get() reads a peer's memory */
    WEFT_CAP_NO_MR = 1u << 4,  /* get() takes any address, without a key */
    WEFT_CAP_MAP = 1u << 5,    /* rkey_map() makes a peer's memory readable */
    /* get() ends although the target does not call progress(). */
    WEFT_CAP_GET_ALONE = 1u << 6,
    /* Every container arrives as it was sent or not at all, for the plugin
     * checks it end to end. Of a network without it the core adds a checksum
     * to containers between hosts. */
    WEFT_CAP_INTACT = 1u << 7,
    /* Since minor 4: rma() puts, gets and flushes; it has atomic operations,
     * too, and they are atomic to those of the target's processors. */
    WEFT_CAP_RMA = 1u << 8,
    WEFT_CAP_RMA_ATOMIC = 1u << 9,
    WEFT_CAPS_KNOWN = (1u << 10) - 1 /* all of the above */
};

/* Estimates for the choice of routes: t(n) = latency + overhead +
 * n / bandwidth. */
typedef struct weft_cost {
    uint32_t size;
    uint32_t latency_ns, overhead_ns;
    uint32_t bandwidth_mbs; /* MB/s */
} weft_cost;

typedef struct weft_attr {
    uint32_t size;
    uint32_t caps;        /* WEFT_CAP_* */
    uint64_t max_payload; /* of a weft_tx, at least 65536 */
    uint32_t max_short;   /* of send_short(); 0: there is none */
    uint32_t max_eager;   /* advice: larger messages ask first */
    uint32_t rkey_len;    /* most bytes of mr_pack(), up to 248 */
    uint32_t min_get;     /* below this many bytes get() does not pay */
    weft_cost cost;
} weft_attr;

/* ---- options: the plugin declares them, the core parses and lists them --- */

enum weft_opt_type {
    WEFT_OPT_BOOL = 1, /* int */
    WEFT_OPT_INT,      /* int64_t */
    WEFT_OPT_SIZE,     /* uint64_t; K, M, G */
    WEFT_OPT_TIME,     /* uint64_t, nanoseconds; ns, us, ms, s */
    WEFT_OPT_STR,      /* const char * */
    WEFT_OPT_ENUM,     /* int: index in range */
    WEFT_OPT_LIST      /* const char *, separated by commas */
};

typedef struct weft_option {
    const char *name;
    uint32_t type;   /* enum weft_opt_type */
    uint32_t offset; /* of its value in the plugin's configuration struct */
    const char *dflt;
    const char *range; /* "4K..16M", "a|b|c", or NULL */
    const char *help;
} weft_option;

/* ---- services of the core ------------------------------------------------ */

typedef struct weft_auth weft_auth; /* a handshake under way */

typedef struct weft_host {
    uint32_t size;
    uint32_t minor; /* WEFT_ABI_MINOR of the core */
    /* Show a container that has arrived: the whole header, aligned to 8 bytes,
     * and what is here of the payload, from nothing to all. The core answers
     *   WEFT_DONE    all is taken; only if have is the whole payload
     *   WEFT_SKIP    discard the rest; no rx_done
     *   WEFT_OK      the first have bytes are taken; those up to (*sink)->len
     *                go where the sink says; then call rx_done
     *   WEFT_EAGAIN  nothing is taken: read no further from this peer until
     *                rx_resume, then show the same container again */
    int (*rx)(weft_core *, weft_loc *from, const weft_hdr *hdr,
              const void *data, size_t have, weft_sink **sink);
    void (*rx_done)(weft_core *, weft_sink *, int status);
    /* Return a container for which send() answered WEFT_OK. */
    void (*tx_done)(weft_core *, weft_tx *, int status);
    void (*get_done)(weft_core *, weft_get *, int status);
    /* Say that there is room again, after WEFT_EAGAIN. */
    void (*tx_ready)(weft_core *, weft_loc *);
    /* Make the core call peer_add() for a caller that has no peer yet. */
    int (*locate)(weft_core *, uint32_t loc_id);
    /* Compute the next of the three messages by which two processes prove the
     * job key to each other: the dialler's hello, the listener's answer, the
     * dialler's proof. It does no I/O.
     *   start    *auth is NULL. Dialler: in NULL, in_len 0, *loc_id whom it
     *            wants to reach. Listener: in is the hello.
     *   then     each side calls with every message that it receives; in_len
     *            must be WEFT_AUTH_MSG.
     *   out      has room for WEFT_AUTH_MSG bytes. *out_len becomes 0 or
     *            WEFT_AUTH_MSG: send that, also after an error (a refusal).
     * WEFT_EAGAIN: wait for the next message. WEFT_OK: the other side holds the
     * key and is process *loc_id; a dialler has its proof still to send.
     * WEFT_EAUTH: wrong key or other job. WEFT_EPROTO: no Weft of a compatible
     * version. WEFT_EUNREACH: the right key, but not the process that was
     * meant. WEFT_OK and every error free *auth. To give up midway call with
     * (core, &auth, NULL, 0, NULL, NULL, NULL); that is harmless when NULL. */
    int (*auth_step)(weft_core *, weft_auth **, const void *in, size_t in_len,
                     void *out, size_t *out_len, uint32_t *loc_id);
    /* Compute a code over the bytes that only processes of the job can make. */
    uint64_t (*mac64)(weft_core *, uint64_t nonce, const struct iovec *, int n);
    /* Say once that containers can flow. */
    void (*peer_up)(weft_core *, weft_loc *);
    /* Say once that the peer is lost: WEFT_EPEER, WEFT_ELINK, or WEFT_EPROTO
     * after bytes that nobody understands. `why` is shown to the user. */
    void (*peer_down)(weft_core *, weft_loc *, int status, const char *why);
    uint64_t (*now_ns)(weft_core *); /* a monotonic clock */
    /* Find an address of AF_INET or AF_INET6 without the network. */
    int (*resolve)(weft_core *, const char *host, int family,
                   void *sockaddr_out, size_t *len);
    /* Levels: 0 error, 1 warning, 2 information, 3 debug. */
    void (*log)(weft_core *, int level, const char *fmt, ...);
    /* Whether the thread that calls progress() or arm() is one of the core's
     * own, in the place of a program that computes: 1; then the other side
     * had better do what it can. 2: nor has the machine a CPU to spare, and
     * what can wait for the program had better wait. 0: it is the program's. */
    int (*helping)(weft_core *);
    /* The fast lane: rx() for a short header in registers (h0, h1, h2 are its
     * words, h0 >> 32 the bytes of payload) with the whole payload at data.
     * WEFT_DONE or WEFT_EAGAIN, as rx(). */
    int (*rx_words)(weft_core *, weft_loc *from, uint64_t h0, uint64_t h1,
                    uint64_t h2, const void *data);
    /* Take back what send_words() had no room for, as the last thing that it
     * does: the core may call the plugin again from here. */
    int (*tx_words)(weft_core *, weft_loc *to, uint64_t h0, uint64_t h1,
                    uint64_t h2, const void *data);
    /* Since minor 2. Wait until no thread is in send_beside() of this peer, and
     * let none come. A plugin that has send_beside() calls this before it
     * touches what that touches, except in its own send functions. */
    void (*tx_close)(weft_core *, weft_loc *);
    /* Since minor 3. When this process and the peer call each other: 1, the own
     * call survives; 0, the peer's does. The two processes get opposite
     * answers. */
    int (*call_stands)(weft_core *, weft_loc *);
    /* As mac64(), with the key that this process and another one share: that of
     * a handshake under way, if there is one, else that of the location; with
     * neither, the key of the job. Processes of several jobs have no other key
     * in common. */
    uint64_t (*mac64_of)(weft_core *, weft_loc *, const weft_auth *,
                         uint64_t nonce, const struct iovec *, int n);
    /* Since minor 4. Return an operation for which rma() answered WEFT_OK. A
     * negative status: it may have happened or not. */
    void (*rma_done)(weft_core *, weft_rma *, int status);
} weft_host;

typedef struct weft_open {
    uint32_t size;
    uint32_t loc_id; /* the number of this process, in this process */
    const weft_host *host;
    weft_core *core;
    const char *instance; /* the name of the section in mpi.ini */
    const void *cfg;      /* the configuration struct; stays until close() */
    uint32_t node_id;     /* equal in processes of one (virtual) host */
    uint32_t local_index; /* of this process among those of its host */
    uint32_t local_count; /* processes of the job on this host */
    uint32_t cpus;        /* that these may use together; 0: not known */
    uint32_t flags;       /* WEFT_OPEN_* */
    uint32_t launcher;    /* process that started those here; 0: not known */
    uint64_t start_ns;    /* how long a process that was started by hand may
                              take to appear; 0: all are there already */
    const char *listen;   /* address text by which mpi.ini tells the others
                              to reach this process, or NULL */
    /* Since minor 1: WEFT_SEED bytes, of this endpoint alone, that no process
     * without the job key can compute; they last until open() returns. The
     * address is to be that which addr_derive() makes of them. NULL: the
     * launcher passes addresses on. */
    const void *seed;
} weft_open;

enum {
    WEFT_OPEN_ONE_HOST = 1, /* all of the job is here: listen on loopback */
    WEFT_OPEN_TRUSTED = 2,  /* security = none: no forged packets expected */
    WEFT_OPEN_PLAN = 4      /* probe: another machine, see there; minor 1 */
};

/* Memory that mem_alloc() makes. */
typedef struct weft_mem {
    uint32_t size, reserved;
    void *base;     /* the plugin sets it */
    size_t len;     /* bytes wanted */
    uint64_t later; /* so many at its end need no memory until touched */
    uint64_t priv;  /* the plugin's */
} weft_mem;

/* A short message that recv_words() waits for. */
typedef struct weft_want {
    uint32_t size;
    uint32_t h0;     /* the first four bytes of its header */
    uint64_t h1, h2; /* its other words; h2 becomes that of the message */
    uint64_t mask;   /* bits of h2 that matter; h2 has no others */
    void *buf;       /* for the payload */
    uint64_t room;   /* bytes of buf; becomes those of the message */
} weft_want;

/* ---- operations ---------------------------------------------------------- */

typedef struct weft_ops {
    uint32_t size, reserved;
    /* Required. */
    int (*open)(const weft_open *, weft_ep **); /* it contacts no peer */
    void (*close)(weft_ep *);                   /* after drain, or abruptly */
    int (*attr)(weft_ep *, weft_attr *);
    /* Write the blob that others get in reach() and peer_add(): at most
     * 1024 bytes, the same at every call. */
    int (*address)(weft_ep *, void *buf, size_t *len);
    /* Tell whether that address can be reached; WEFT_EUNREACH. The cost may be
     * NULL, and holds that of attr() before. */
    int (*reach)(weft_ep *, const void *addr, size_t len, weft_cost *);
    int (*peer_add)(weft_ep *, weft_loc *, uint32_t loc_id, const void *addr,
                    size_t len, weft_peer **);
    /* WEFT_EAGAIN: something is to be flushed, call again; never if abrupt. */
    int (*peer_del)(weft_peer *, int abrupt);
    /* WEFT_DONE; WEFT_OK, then tx_done; WEFT_EAGAIN, then tx_ready; an error:
     * the peer is lost. */
    int (*send)(weft_peer *, weft_tx *);
    /* Move what can be moved, about budget events; returns how many. */
    int (*progress)(weft_ep *, int budget);
    /* Flush and say goodbye; WEFT_EAGAIN: call again, with progress(). */
    int (*drain)(weft_ep *);
    /* Optional from here on: NULL. */
    /* Copy and send at most max_short bytes: WEFT_DONE, WEFT_EAGAIN (then
     * tx_ready) or an error. With flag WEFT_TX_MORE also WEFT_OK: copied, and
     * held until the next send to this peer or the next progress(), which the
     * core calls before it waits. */
    int (*send_short)(weft_peer *, const weft_hdr *, const void *data,
                      size_t len, unsigned flags);
    /* Store a descriptor that becomes readable when there is news. */
    int (*event)(weft_ep *, int *fd);
    /* WEFT_OK: from now on any news makes the descriptor readable, until
     * progress(). WEFT_EAGAIN: there is news. *deadline_ns, if it is set, asks
     * for progress() by then. */
    int (*arm)(weft_ep *, uint64_t *deadline_ns);
    void (*rx_resume)(weft_peer *);
    /* Make an address from text such as "10.0.0.2:7000". */
    int (*addr_parse)(weft_ep *, const char *text, void *buf, size_t *len);
    int (*addr_print)(const void *addr, size_t len, char *text, size_t n);
    int (*connect)(weft_peer *); /* before the first send() */
    /* Offer memory to peers, and open what a peer offers. */
    int (*mr_reg)(weft_ep *, void *base, size_t len, weft_mr **);
    void (*mr_dereg)(weft_ep *, weft_mr *);
    int (*mr_pack)(weft_ep *, weft_mr *, void *rkey, size_t *len);
    int (*rkey_open)(weft_peer *, const void *rkey, size_t len, weft_rkey **);
    void (*rkey_close)(weft_peer *, weft_rkey *);
    void *(*rkey_map)(weft_rkey *, uint64_t raddr, size_t len);
    int (*get)(weft_peer *, weft_get *);     /* WEFT_DONE, WEFT_OK, an error */
    int (*mem_alloc)(weft_ep *, weft_mem *); /* memory that get and map like */
    void (*mem_free)(weft_ep *, weft_mem *);
    /* Tell weft-info whether this can be used here; it leaves nothing open.
     * With WEFT_OPEN_PLAN: what `attr` says on a machine that has all that the
     * options name. Then nothing of this machine is looked at. */
    int (*probe)(const weft_open *, weft_attr *);
    /* Store the name and value of counter i; an error: there is none. */
    int (*stat)(weft_ep *, int i, const char **name, uint64_t *value);
    /* A number that grows whenever the peer's host confirms more of what was
     * sent to it, or more of what it sends has come; not by repetitions. */
    uint64_t (*traffic)(weft_peer *);
    /* Nanoseconds since the peer, or its host, last answered what was sent to
     * it, and less than `within` as long as too little was asked to be sure;
     * UINT64_MAX: that cannot be told. From the first call on the peer is asked
     * so often that a silence of `within` is known as soon as it is over. */
    uint64_t (*silent)(weft_peer *, uint64_t within);
    /* The fast lane. send_short() for a short header in registers, as in
     * weft_host.rx_words. WEFT_OK: it is copied, and nothing follows. Without
     * room, which tx_ready will announce: what weft_host.tx_words returns. */
    int (*send_words)(const void *data, uint64_t h0, weft_peer *, uint64_t h1,
                      uint64_t h2);
    /* Look for a moment whether the next message of this peer is the wanted
     * one, whole and not too long. WEFT_DONE: it was taken, and rx() will not
     * see it. WEFT_OK: nothing has come. WEFT_EAGAIN: call progress(). It calls
     * nothing back. */
    int (*recv_words)(weft_peer *, weft_want *);
    /* Return the descriptor of memory that mem_alloc gave (mem is what it
     * filled) or rkey_map (base and len are set), so that the core can map it
     * again from offset 0. It stays the plugin's, and is valid until mem_free or
     * rkey_close. Negative: there is none. */
    int (*map_fd)(weft_ep *, const weft_mem *);
    /* Since minor 1. Compute the address of process loc_id, which is on this
     * host and was, or will be, opened with that seed (weft_open.seed). */
    int (*addr_derive)(weft_ep *, uint32_t loc_id, const void *seed, void *buf,
                       size_t *len);
    /* Since minor 2. Set room aside for so many messages of at most so many
     * bytes that are on their way to this peer, and connect for that. 0: it is
     * there, and sending them needs no memory. A positive number: of short
     * messages that must go first; then call again. WEFT_EAGAIN: call again
     * after progress(). WEFT_ENOTSUP: there is not so much room, and the log
     * says which option gives more. It may be called again with more. */
    int (*reserve)(weft_peer *, uint32_t messages, uint64_t bytes);
    /* Since minor 2. send_words() for any thread, beside whatever else is done
     * with the endpoint, but only one thread at a time for each peer, and not
     * beside another send to it. It calls nothing back and waits for nothing.
     * WEFT_OK, or WEFT_EAGAIN: nothing has happened, and tx_ready will not
     * follow. */
    int (*send_beside)(const void *data, uint64_t h0, weft_peer *, uint64_t h1,
                       uint64_t h2);
    /* Since minor 4. mr_reg() of memory on which peers may operate by rma(), at
     * least as `access` says (WEFT_ACCESS_*), until mr_dereg(). Its keys are as
     * others, also with WEFT_CAP_NO_MR. WEFT_ENOTSUP: not this memory. */
    int (*mr_expose)(weft_ep *, void *base, size_t len, uint32_t access,
                     weft_mr **);
    /* Since minor 4. WEFT_DONE: it is complete here: the memory of a put may be
     * used again, the result of all others is here. WEFT_OK: rma_done says
     * when. An error (no room, out of range): nothing has happened, and the
     * core sends a message; a flush has one only if the peer is lost. */
    int (*rma)(weft_peer *, weft_rma *);
} weft_ops;

/* ---- the plugin ---------------------------------------------------------- */

typedef struct weft_plugin {
    uint32_t size, magic;
    uint16_t abi_major, abi_minor;
    uint32_t hdr_bytes;
    const char *name, *version, *desc, *build;
    const weft_option *options; /* the last one has no name */
    uint32_t cfg_size, reserved;
    const weft_ops *ops;
} weft_plugin;

/* One object file has two uses: its symbol is unique, so it goes into
 * weft_NAME.so, found by dlsym, and into a program, found by a table. */
#define WEFT_PLUGIN(NAME, VERSION, DESC, OPTIONS, CFG, OPS)                    \
    extern const weft_plugin weft_plugin_2_##NAME                              \
        __attribute__((visibility("default")));                                \
    const weft_plugin weft_plugin_2_##NAME = {sizeof(weft_plugin),             \
                                              WEFT_MAGIC,                      \
                                              WEFT_ABI_MAJOR,                  \
                                              WEFT_ABI_MINOR,                  \
                                              WEFT_HDR,                        \
                                              #NAME,                           \
                                              VERSION,                         \
                                              DESC,                            \
                                              __VERSION__,                     \
                                              OPTIONS,                         \
                                              sizeof(CFG),                     \
                                              0,                               \
                                              OPS}

#ifdef __cplusplus
}
#endif
#endif
