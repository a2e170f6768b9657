/* weft_transport.h - the ONLY header a Weft transport plugin includes.
 *
 * Pattern: abstract factory.  A plugin exports one constant, its factory (weft_plugin).  The factory
 * opens endpoints (weft_ep: one configured fabric instance, e.g. "tcp on eth1"), an endpoint makes peers
 * (weft_peer: one remote process), and containers travel between them: weft_tx going out, weft_sink
 * coming in.  A container is a fixed 64-byte protocol header, written and read by the core only, plus
 * payload bytes that live in the user's memory.  Plugins move containers; the core matches messages.
 *
 * Rules.  (1) No MPI types, no core symbols: everything the plugin may ask of the core is in weft_host,
 * so a plugin links with -Wl,-z,defs against libc alone, works under RTLD_LOCAL and inside a static
 * executable.  (2) Every struct that crosses begins with its size; a minor version only appends; read a
 * field through WEFT_HAS.  (3) Unless a flag says otherwise nothing here may block.
 *
 * SPDX-License-Identifier: BSD-3-Clause                                                            */
#ifndef WEFT_TRANSPORT_H
#define WEFT_TRANSPORT_H
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ABI_MAJOR 1            /* part of the symbol name: weft_plugin_1_<name>          */
#define WEFT_ABI_MINOR 9            /* fields appended since the major                        */
#define WEFT_MAGIC     0x31544657u  /* "WFT1"                                                 */
#define WEFT_HDR       64           /* protocol header bytes, fixed for the major             */
#define WEFT_HDR_MIN   24           /* bytes of a short header (flag WEFT_HDR_SHORT)          */
#define WEFT_HEADROOM  32           /* writable bytes before tx->hdr for the plugin's framing */
#define WEFT_AUTH_MSG  64           /* bytes of every message of the job key handshake        */
#define WEFT_HAS(p, T, f) ((p)->size >= offsetof(T, f) + sizeof(((T *)0)->f) && (p)->f)

enum {                              /* results; >= 0 is success                               */
  WEFT_OK = 0,                      /* accepted; a completion call will follow                */
  WEFT_DONE = 1,                    /* finished before return; no completion call follows     */
  WEFT_SKIP = 2,                    /* (rx) core wants no more of this payload: discard it    */
  WEFT_LOAN = 3,                    /* (rx) core keeps the plugin's buffer until rx_return    */
  WEFT_EAGAIN = -1,                 /* no room now; the other side will say when              */
  WEFT_ENOMEM = -2, WEFT_EINVAL = -3, WEFT_ENOTSUP = -4, WEFT_EUNREACH = -5,
  WEFT_EPEER = -6,                  /* the remote process is gone: no route will help         */
  WEFT_ELINK = -7,                  /* this route is gone: the core may fail over             */
  WEFT_ECANCEL = -8, WEFT_EPROTO = -9, WEFT_EAUTH = -10, WEFT_ESYS = -11
};

typedef struct weft_core  weft_core;   /* the core's side of one endpoint (opaque to plugins)        */
typedef struct weft_loc   weft_loc;    /* the core's Location of one peer (opaque to plugins)        */
typedef struct weft_ep    weft_ep;     /* completed by each plugin as it likes (opaque to the core)  */
typedef struct weft_peer  weft_peer;
typedef struct weft_mr    weft_mr;     /* a registered local region                                  */
typedef struct weft_rkey  weft_rkey;   /* an opened remote region                                    */

/* ---- containers ---------------------------------------------------------------------------------- */
/* Byte 0 type, 1 version, 2-3 flags, 4-7 payload bytes, 8-15 env0, 16-23 env1, 24-63 the rest; all
 * little-endian.  Types 0xF0 and above are never used by the core: they are for a plugin's own frames.
 * When flag WEFT_HDR_SHORT is set the first 24 bytes are the whole header: the sender may
 * hand over an object of only WEFT_HDR_MIN readable bytes and a plugin may carry just those; the core
 * reads no further in rx().  A plugin reads nothing but these two fields:                            */
typedef struct { uint64_t w[WEFT_HDR / 8]; } weft_hdr;
enum { WEFT_HDR_SHORT = 1u << 12 };                        /* bit of the 16-bit flags                  */
static inline uint32_t weft_hdr_plen(const void *h) {      /* payload bytes after the header: lets a   */
  const uint8_t *b = (const uint8_t *)h + 4;               /* stream plugin frame with no extra bytes  */
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint32_t weft_hdr_len(const void *h) {       /* header bytes that must travel: 24 or 64  */
  const uint8_t *b = (const uint8_t *)h + 2;
  return ((uint32_t)b[0] | (uint32_t)b[1] << 8) & WEFT_HDR_SHORT ? WEFT_HDR_MIN : WEFT_HDR;
}
enum { WEFT_TX_MORE = 1,      /* more sends to this peer follow at once: delay the doorbell / cork   */
       WEFT_TX_URGENT = 2,    /* control message: may overtake queued bulk payload of other messages */
       WEFT_TX_WAKE = 4 };    /* the peer may be asleep: ring its bell even if batching              */

typedef struct weft_tx {      /* outgoing container; owned by the core, lent until tx_done           */
  weft_hdr *hdr;              /* 64-byte aligned, WEFT_HEADROOM writable bytes before it             */
  const struct iovec *iov;    /* the payload if it fits iov_n <= limits.max_iov segments, else NULL  */
  uint32_t iov_n, flags, stream, reserved; /* stream: ordering hint, equal = must stay in order      */
  uint64_t len;               /* payload bytes == weft_hdr_plen(hdr)                                 */
  int (*seg)(struct weft_tx *, uint64_t off, struct iovec *v, int max); /* segments from byte off;
                                 random access, so short writes and retransmits need no copies       */
  uint64_t priv[6];           /* the plugin's, from WEFT_OK until tx_done (queue link, offset, ...)  */
  /* minor 2, to be read if host->minor >= 2; set when seg would give many small segments: bytes
   * [off, off + n) of the payload to memory.  For plugins that copy the payload in any case.          */
  void (*copy)(struct weft_tx *, uint64_t off, void *to, uint64_t n);
} weft_tx;

typedef struct weft_sink {    /* incoming container: where the payload must land                     */
  uint64_t len;               /* bytes wanted; the message may be longer (truncation): skip the rest */
  struct iovec one;           /* set when contiguous (len == one.iov_len): the common case           */
  int (*seg)(struct weft_sink *, uint64_t off, struct iovec *v, int max); /* writable, any order     */
  uint64_t priv[6];
  void (*fill)(struct weft_sink *, uint64_t off, const void *from, uint64_t n); /* minor 2: as copy    */
} weft_sink;

typedef struct weft_rma {     /* one put, get or atomic; lent until rma_done                         */
  uint32_t op, type;          /* weft_amo_op / bytes per element; 0 for put and get                  */
  struct iovec one; uint64_t len, raddr; weft_rkey *rkey; uint32_t flags, reserved;
  int (*seg)(struct weft_rma *, uint64_t off, struct iovec *v, int max);
  uint64_t operand, compare, result;
  uint64_t priv[6];
} weft_rma;
enum weft_amo_op { WEFT_AMO_ADD = 1, WEFT_AMO_AND, WEFT_AMO_OR, WEFT_AMO_XOR, WEFT_AMO_SWAP, WEFT_AMO_CAS };

/* ---- what an endpoint is and costs ---------------------------------------------------------------- */
enum {                              /* capability bits                                                */
  WEFT_CAP_LOCAL = 1u << 0,         /* reaches processes of this node                                 */
  WEFT_CAP_REMOTE = 1u << 1,        /* reaches other nodes                                            */
  WEFT_CAP_SELF = 1u << 2,          /* reaches this very process                                      */
  WEFT_CAP_UNORDERED = 1u << 3,     /* exactly-once but may reorder; the core re-sequences            */
  WEFT_CAP_STREAMS = 1u << 4,       /* ordered per tx->stream only                                    */
  WEFT_CAP_MT_SEND = 1u << 5,       /* send paths may run in several threads and beside progress()    */
  WEFT_CAP_ASYNC_CB = 1u << 6,      /* completions may come from the plugin's own threads             */
  WEFT_CAP_RX_LOAN = 1u << 7,       /* whole payloads may be lent to the core (rx -> WEFT_LOAN)       */
  WEFT_CAP_EVENT_FD = 1u << 8,      /* event() gives a pollable fd                                    */
  WEFT_CAP_EVENT_FUTEX = 1u << 9,   /* event() gives a 32-bit futex word                              */
  WEFT_CAP_GET = 1u << 10, WEFT_CAP_PUT = 1u << 11, WEFT_CAP_AMO = 1u << 12,
  WEFT_CAP_NO_MR = 1u << 13,        /* get/put take any address: no registration (CMA)                */
  WEFT_CAP_MAP = 1u << 14,          /* rkey_map() gives a load/store pointer                          */
  WEFT_CAP_AMO_CPU = 1u << 15,      /* remote atomics are atomic against CPU atomics too              */
  WEFT_CAP_KEEPALIVE = 1u << 16,    /* notices a dead peer within limits.detect_ms without traffic    */
  WEFT_CAP_CRYPT = 1u << 17,        /* payload is authenticated and encrypted on the wire             */
  WEFT_CAP_INCOHERENT_PUT = 1u << 18,/* put is visible to the target CPU only after its progress()    */
  WEFT_CAP_GET_ALONE = 1u << 19,    /* get() ends without a progress() of the target                  */
  WEFT_CAP_INTACT = 1u << 20        /* minor 8: every container arrives as it was sent or not at all, for the
                                     * plugin checks it end to end.  Of a network without it the core adds a
                                     * checksum to containers between hosts                              */
};
typedef struct weft_cost {          /* for route choice: t(n) = latency + overhead + n / bandwidth    */
  uint32_t size, latency_ns, overhead_ns, bandwidth_mbs;   /* MB/s                                    */
  uint32_t poll_ns;                 /* one idle progress(): ~10 memory poll, ~200 epoll, ~400 recv    */
} weft_cost;
typedef struct weft_attr {
  uint32_t size, caps;
  uint32_t max_short;               /* send_short payload limit; 0 = none                             */
  uint32_t max_eager;               /* the plugin's advice for the eager/rendezvous switch            */
  uint64_t max_payload;             /* largest weft_tx.len; the core cuts longer transfers            */
  uint32_t mtu, max_iov, tx_depth, headroom;
  uint32_t addr_len, rkey_len;      /* upper bounds of address() and mr_pack()                        */
  uint64_t min_rma, max_rma;        /* RMA below min_rma is slower than copying                       */
  uint32_t detect_ms, numa_node;    /* time to notice a dead peer; -1u = no preference                */
  uint32_t streams, reserved;       /* CAP_STREAMS: independent ordered streams per peer              */
  weft_cost cost;
} weft_attr;

/* ---- options: declared by the plugin, parsed, checked and listed by the core ----------------------- */
enum weft_opt_type { WEFT_OPT_BOOL = 1 /* int */, WEFT_OPT_INT /* int64_t */, WEFT_OPT_SIZE /* uint64_t, K/M/G */,
  WEFT_OPT_TIME /* uint64_t ns; ns/us/ms/s */, WEFT_OPT_STR /* const char* */, WEFT_OPT_ENUM /* int: index in range */,
  WEFT_OPT_LIST /* const char*, comma separated */ };
typedef struct weft_option {
  const char *name; uint32_t type, offset;  /* offset in the plugin's config struct                  */
  const char *dflt, *range, *help;          /* range "4K..16M" or "a|b|c"                            */
} weft_option;

/* ---- services the core gives to a plugin (passed to open) ------------------------------------------ */
typedef struct weft_auth weft_auth;
typedef struct weft_host {
  uint32_t size, minor;
  /* Stage 1 of a delivery.  hdr is complete; data[0..have) is the part of the payload already in plugin
   * memory (have may be 0, or all of it).  The core matches and answers:
   *   WEFT_DONE  all taken (have == plen).    WEFT_SKIP  discard the rest; no rx_done.
   *   WEFT_OK    bytes [0,have) taken; *sink says where [have, sink->len) goes; then call rx_done.
   *   WEFT_LOAN  (CAP_RX_LOAN, have == plen) data stays valid until ops->rx_return(ep, data).
   *   WEFT_EAGAIN nothing taken; stop reading this peer until ops->rx_resume(peer).                   */
  int  (*rx)(weft_core *, weft_loc *from, const weft_hdr *hdr, const void *data, size_t have, weft_sink **sink);
  void (*rx_done)(weft_core *, weft_sink *, int status);      /* stage 2: payload is in place (or failed) */
  void (*tx_done)(weft_core *, weft_tx *, int status);        /* user memory is free again               */
  void (*rma_done)(weft_core *, weft_rma *, int status);
  void (*tx_ready)(weft_core *, weft_loc *);                  /* after WEFT_EAGAIN: room again           */
  int  (*locate)(weft_core *, uint32_t loc_id);               /* unknown caller: makes core call peer_add */
  /* Job key handshake: computes, never does I/O, costs microseconds.  Three messages of exactly
   * WEFT_AUTH_MSG bytes each: dialler's hello, listener's answer, dialler's proof.
   *   Start    *auth == NULL.  Dialler: in = NULL, in_len = 0, *loc_id = whom it wants to reach.
   *            Listener: in = the hello; *loc_id is not read.
   *   Then     each side calls with every message it receives (in_len must be WEFT_AUTH_MSG).
   *   out      has room for WEFT_AUTH_MSG bytes; *out_len is set to 0 or WEFT_AUTH_MSG: send that,
   *            also when the result is an error (a refusal, so that the other side can say why).
   *   EAGAIN   not finished: send out, wait for the next message.
   *   OK       the other side holds the job key and is process *loc_id.  Nothing that arrives before
   *            this may be interpreted or passed on.  The dialler gets OK with its proof still to be
   *            sent; a listener that must choose among connections answers after the proof, in the
   *            plugin's own way.
   *   EAUTH    wrong key or other job.   EPROTO  no Weft process of a compatible version, or garbage.
   *   EUNREACH right key, but this is not the process the dialler wanted.   ENOMEM, ESYS.
   * OK and every error free *auth and set it to NULL.  When the connection dies midway, or takes too
   * long, give it back with auth_step(core, &auth, NULL, 0, NULL, NULL, NULL); harmless when NULL.
   * Simultaneous connect: of two connections between the same two processes the one dialled by the
   * lower loc_id survives; the other is closed before any container has travelled on it.  The lower
   * side keeps the caller waiting until its own attempt is decided; the higher side takes the lower's
   * call at once and drops its own.                                                                  */
  int  (*auth_step)(weft_core *, weft_auth **, const void *in, size_t in_len, void *out, size_t *out_len,
                    uint32_t *loc_id);
  uint64_t (*mac64)(weft_core *, uint64_t nonce, const struct iovec *, int n); /* keyed, per datagram    */
  void (*peer_up)(weft_core *, weft_loc *);
  void (*peer_down)(weft_core *, weft_loc *, int status, const char *why);     /* ELINK or EPEER         */
  void (*ep_down)(weft_core *, int status, const char *why);
  void (*kick)(weft_core *);                                  /* any thread: wake the core's sleeper     */
  uint64_t (*now_ns)(weft_core *);
  int  (*resolve)(weft_core *, const char *host, int family, void *sockaddr_out, size_t *len);
  void (*log)(weft_core *, int level, const char *fmt, ...);  /* 0 error 1 warn 2 info 3 debug           */
  /* minor 1: rx() for a short header whose payload is all here, the header in registers: h0..h2 are its
   * three little-endian words, h0 >> 32 the payload bytes.  DONE or EAGAIN, as rx().                  */
  int  (*rx_words)(weft_core *, weft_loc *from, uint64_t h0, uint64_t h1, uint64_t h2, const void *data);
  /* minor 1: send_words() had no room and hands everything back, as the last thing that it does: the core
   * may call the plugin again from here.                                                              */
  int  (*tx_words)(weft_core *, weft_loc *to, uint64_t h0, uint64_t h1, uint64_t h2, const void *data);
  /* minor 5: is it a thread of the core that calls progress() or arm(), in the place of a program that
   * computes?  What the other side can do without us is best left to it then.  2: nor has the machine a
   * CPU to spare: whatever can wait for a program to come back is best left to that.                   */
  int  (*helping)(weft_core *);
} weft_host;

/* copy and fill of a container, NULL where there is none */
#define WEFT_COPY(host, tx) ((host)->minor >= 2 ? (tx)->copy : NULL)
#define WEFT_FILL(host, sink) ((host)->minor >= 2 ? (sink)->fill : NULL)

typedef struct weft_open {
  uint32_t size, loc_id;           /* who I am: process index in the job                                */
  const weft_host *host; weft_core *core;
  const char *instance;            /* mpi.ini section name                                              */
  const void *cfg;                 /* the plugin's config struct, filled from its option table          */
  uint64_t job_id[2];
  uint32_t nprocs, node_id, local_index, local_count;
  uint32_t threads;                /* 0 single, 1 serialized by the core, 2 multiple                    */
  uint32_t allow_threads;          /* may the plugin start threads of its own?                          */
  const char *run_dir;             /* private per-job directory on this node, or NULL                   */
  uint32_t flags;                  /* WEFT_OPEN_*                                                       */
  uint32_t launcher;               /* process that started those of the job on this machine; 0: unknown */
  uint64_t start_ns;               /* processes started by hand: how long one that was never reached may take
                                      to appear before it counts as absent; 0: all are there already       */
  const char *listen;              /* address text by which mpi.ini tells the others to reach me, or NULL   */
  /* minor 6: CPUs that the local_count processes may use together, whatever this one is bound to; 0:
   * not known                                                                                        */
  uint32_t cpus;
} weft_open;
enum {
  WEFT_OPEN_ONE_HOST = 1,          /* every process of the job is on this machine: listen on loopback   */
  WEFT_OPEN_TRUSTED = 2            /* security = none: after the handshake nobody else is expected      */
};

typedef struct weft_event { uint32_t size; int fd; uint32_t *word; } weft_event;
typedef struct weft_mem {
  void *base; size_t len;
  uint64_t later;                  /* minor 7, a hint: so many bytes at its end need no memory before they
                                    * are touched                                                         */
  uint64_t priv;
} weft_mem;

/* A short message that somebody polls for: what its header must be, and where its payload goes.      */
typedef struct weft_want {
  uint64_t h0, h1, h2;             /* the words of the header; of h0 only its first four bytes          */
  uint64_t mask;                   /* bits of h2 that matter; set in h2 only where set here             */
  void *buf; uint64_t room;        /* h2 and room: afterwards what came, and how long it is             */
} weft_want;

/* ---- the factory's operations: required first, then optional (NULL or absent = not supported) ------- */
typedef struct weft_ops {
  uint32_t size, reserved;
  int  (*open)(const weft_open *, weft_ep **);                 /* may block briefly; no peer contact     */
  void (*close)(weft_ep *);                                    /* after drain, or abruptly               */
  int  (*attr)(weft_ep *, weft_attr *);
  int  (*address)(weft_ep *, void *buf, size_t *len);          /* opaque blob, published by the core     */
  int  (*reach)(weft_ep *, const void *addr, size_t len, weft_cost *); /* could I? at what cost? EUNREACH */
  int  (*peer_add)(weft_ep *, weft_loc *, uint32_t loc_id, const void *addr, size_t len, weft_peer **);
  int  (*peer_del)(weft_peer *, int abrupt);                   /* EAGAIN while draining: call again      */
  int  (*send)(weft_peer *, weft_tx *);                        /* DONE, OK(+tx_done), EAGAIN(+tx_ready), ELINK */
  int  (*progress)(weft_ep *, int budget);                     /* events handled; 0 idle                 */
  int  (*drain)(weft_ep *);                                    /* flush and say goodbye; EAGAIN: again   */
  /* optional from here on */
  int  (*send_short)(weft_peer *, const weft_hdr *, const void *data, size_t len); /* copies; DONE or EAGAIN */
  int  (*event)(weft_ep *, weft_event *);
  int  (*arm)(weft_ep *, weft_event *, uint64_t *deadline_ns); /* OK: event will fire; EAGAIN: progress first */
  void (*rx_resume)(weft_peer *);
  void (*rx_return)(weft_ep *, const void *loan);
  int  (*addr_parse)(weft_ep *, const char *text, void *buf, size_t *len);  /* "10.0.0.2:7000" -> blob   */
  int  (*addr_print)(const void *addr, size_t len, char *text, size_t n);
  int  (*connect)(weft_peer *);                                /* eager connection; else at first send   */
  int  (*mr_reg)(weft_ep *, void *base, size_t len, unsigned access, weft_mr **);
  void (*mr_dereg)(weft_ep *, weft_mr *);
  int  (*mr_pack)(weft_ep *, weft_mr *, void *rkey, size_t *len);
  int  (*rkey_open)(weft_peer *, const void *rkey, size_t len, weft_rkey **);
  void (*rkey_close)(weft_peer *, weft_rkey *);
  void*(*rkey_map)(weft_rkey *, uint64_t raddr, size_t len);
  int  (*get)(weft_peer *, weft_rma *);
  int  (*put)(weft_peer *, weft_rma *);
  int  (*amo)(weft_peer *, weft_rma *);
  int  (*flush)(weft_peer *, weft_rma *);                      /* remote completion of earlier put/amo   */
  int  (*mem_alloc)(weft_ep *, weft_mem *);                    /* memory that get/put/map likes          */
  void (*mem_free)(weft_ep *, weft_mem *);
  int  (*probe)(const weft_open *, weft_attr *);               /* for weft-info: usable here? no effects */
  int  (*stat)(weft_ep *, int i, const char **name, uint64_t *value);
  int  (*atfork)(weft_ep *, int child);
  /* since 1.1: as send_short, when more is expected at once.  DONE: on its way.  OK: copied, and held until
   * the next send to this peer or the next progress(), which the core calls before it waits.         */
  int  (*send_more)(weft_peer *, const weft_hdr *, const void *data, size_t len);
  /* minor 1: send_short with a short header in registers, as in weft_host.rx_words.  OK (nothing follows)
   * when it is copied.  Without room, which tx_ready then announces: what weft_host.tx_words returns.
   * The arguments stand as in MPI_Send, so that they need not change registers.                       */
  int  (*send_words)(const void *data, uint64_t h0, weft_peer *, uint64_t h1, uint64_t h2);
  /* minor 3: look for a moment whether the next message of this peer is the wanted one, whole and of at
   * most `room` bytes; if so, take it, which the core then never sees in rx().  DONE: it is in buf.  OK: nothing
   * has come.  EAGAIN: ask progress(), something else has come or is to be done.  Calls nothing back.  */
  int  (*recv_words)(weft_peer *, weft_want *);
  /* minor 4: a number that grows whenever the peer's host confirms more of what was sent to it, or more of what
   * it sends is here; not by what comes twice.  A slow path is told from a dead one by it.               */
  uint64_t (*traffic)(weft_peer *);
  /* minor 8: ns since the peer, or its host, last answered what was sent to it, and less than `within` as long as
   * too little was asked to be sure; UINT64_MAX: that cannot be told.  The peer is asked from now on so that a
   * silence of `within` is known as soon as it is over.  Data that arrives unasked is no answer.   */
  uint64_t (*silent)(weft_peer *, uint64_t within);
  /* minor 9: the descriptor of memory that mem_alloc gave (mem is what it
   * filled) or rkey_map (base and len are set), so that the core can map it
   * again from offset 0.  It stays the plugin's, and is valid until mem_free or
   * rkey_close.  Negative: there is none. */
  int  (*map_fd)(weft_ep *, const weft_mem *);
} weft_ops;

typedef struct weft_plugin {
  uint32_t magic, size; uint16_t abi_major, abi_minor; uint32_t hdr_bytes;
  const char *name, *version, *desc, *build;
  const weft_option *options; uint32_t cfg_size, reserved;
  const weft_ops *ops;
} weft_plugin;

/* One object file, two uses: the symbol is unique per plugin, so the same PIC object goes into
 * weft_<name>.so (found by dlsym) and into libmpi.a (found through the generated table).              */
#define WEFT_PLUGIN(NAME, VERSION, DESC, OPTIONS, CFG, OPS) \
  extern const weft_plugin weft_plugin_1_##NAME __attribute__((visibility("default"))); \
  const weft_plugin weft_plugin_1_##NAME = { WEFT_MAGIC, \
    sizeof(weft_plugin), WEFT_ABI_MAJOR, WEFT_ABI_MINOR, WEFT_HDR, #NAME, VERSION, DESC, __VERSION__, \
    OPTIONS, sizeof(CFG), 0, OPS }

#ifdef __cplusplus
}
#endif
#endif
