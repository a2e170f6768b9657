/* Traces: each rank writes what it does into a ring, which is a mapped file.
 *
 *   head page          identity, clock pairs, names     wf_trace_head
 *   record 0 to n - 1  event i is in record i % n       wf_trace_record
 *
 * DESIGN  The file is mapped shared, so that the kernel keeps the events of a
 * process that is killed, and `weft-info --trace` can read those of one that
 * hangs. Its pages are allocated at the start: a disk that fills up later
 * would end the process at a store. A record has a fixed size, and texts (names
 * of transports, algorithms, reasons) are numbers of entries in the head, made
 * at their first use. The time is the processor's counter; pairs of it and of
 * the clock in the head say what it means.
 *
 * COST  While no ring is open: one comparison on the slow path. The fast path
 * of short messages has none, because it is closed while there is a ring:
 * wf_fastpath_update, protocol/traced.c. An event costs a read of the counter,
 * an atomic addition and 32 bytes. -DWEFT_TRACE=OFF removes all of it.
 *
 * INVARIANTS
 *   1. A record whose event is 0 is being written, or never was.
 *   2. head->next only grows; records before next - n are overwritten.
 *
 * THREADS  Any thread of the rank adds events at any time: the number of an
 * event comes from an atomic addition.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TRACE_H
#define WF_TRACE_H

#include "base.h"
#include "os/atomic.h"
#include "os/clock.h"

#ifndef WF_TRACE
#define WF_TRACE 1
#endif

enum wf_trace_event {
    WF_TRACE_NONE, /* the record is not complete */
#define WF_EVENT(symbol, text) WF_TRACE_##symbol,
#include "report/trace_events.def"
    WF_TRACE_EVENTS
};

enum {
    WF_TRACE_VERSION = 1,
    WF_TRACE_HEAD = 4096, /* bytes before the first record */
    WF_TRACE_NAMES = 56,
    WF_TRACE_NAME = 40,          /* bytes of a name, with the final 0 */
    WF_TRACE_CLOCK_EVERY = 4096, /* events between two clock pairs */
    WF_TRACE_NO_PEER = -1
};
#define WF_TRACE_MAGIC "WeftTrac"
#define WF_TRACE_ORDER UINT32_C(0x01020304)

struct wf_trace_record {
    uint64_t ticks;
    uint64_t bytes;
    int32_t peer; /* process, or WF_TRACE_NO_PEER */
    int32_t tag;
    uint32_t comm;         /* space 8 | context 24, as in an envelope */
    uint8_t names[2];      /* numbers in head.names, from 1; 0: none */
    uint8_t engine;        /* of the rank */
    _Atomic uint8_t event; /* enum wf_trace_event; stored last */
};
_Static_assert(sizeof(struct wf_trace_record) == 32, "two in a cache line");

/* The time of the processor's counter `ticks`, in ns since the epoch. */
struct wf_trace_clock {
    uint64_t ticks, ns;
};

struct wf_trace_head {
    char magic[8];
    uint32_t order; /* WF_TRACE_ORDER, as this machine stores it */
    uint32_t version;
    uint32_t head_bytes, record_bytes;
    uint64_t records; /* a power of two */
    uint32_t rank, ranks, pid;
    wf_atomic_u32 names; /* so many of `name` are set */
    char host[64];
    struct wf_trace_clock start;     /* when the ring was made */
    struct wf_trace_clock last[2];   /* the newest, and the one before */
    uint32_t newest;                 /* index in `last` */
    uint32_t closed;                 /* 1: the rank ended it by MPI_Finalize */
    _Alignas(64) wf_atomic_u64 next; /* events so far */
    char name[WF_TRACE_NAMES][WF_TRACE_NAME];
};
_Static_assert(sizeof(struct wf_trace_head) <= WF_TRACE_HEAD, "one page");

/* The ring of this rank, which its engines share. */
struct wf_trace {
    struct wf_trace_record *record;
    uint64_t mask; /* records, less 1 */
    struct wf_trace_head *head;
    size_t bytes;
    uint64_t wall_ns; /* time since the epoch, less the monotonic clock */
    wf_atomic_u32 naming;
    const char *known[WF_TRACE_NAMES]; /* the texts of head->name */
    bool in_memory;                    /* there is no file */
};

struct wf_trace_params {
    const char *path; /* with %r for the rank; NULL: no file */
    uint64_t bytes;   /* of the file, about */
    uint32_t rank, ranks;
    const char *host;
};

/* Make the file and map it; without a path the ring is in memory, for an
 * observer only. 0 or a WEFT_E*, with the cause recorded by wf_error. An
 * existing file is replaced only if it is a trace. */
int wf_trace_open(const struct wf_trace_params *, struct wf_trace **out);
/* End the trace; the file stays. NULL is allowed. */
void wf_trace_close(struct wf_trace *);
/* Check the text of core.trace. NULL: it is right, else what is wrong. */
const char *wf_trace_check_path(const char *path);
/* Return the number of a text that is never freed; 0: there is no place. */
uint8_t wf_trace_name(struct wf_trace *, const char *text);
/* Return the text of such a number; 0 has none, which is "". */
static inline const char *wf_trace_text(const struct wf_trace *t,
                                        uint8_t number)
{
    return number ? t->known[number - 1] : "";
}
/* Store a new pair of counter and clock in the head. */
void wf_trace_read_clock(struct wf_trace *);

/* Return the number of the reason's text, or the rule, of such an event, which
 * share the field of the tag. */
static inline unsigned wf_trace_reason_of(const struct wf_trace_record *r)
{
    return (uint32_t)r->tag & 0xff;
}
static inline unsigned wf_trace_rule_of(const struct wf_trace_record *r)
{
    return (uint32_t)r->tag >> 8;
}

/* True if events of the instance are recorded. */
#define WF_TRACING(wf) (WF_TRACE && wf_unlikely((wf)->trace != NULL))

static inline uint64_t wf_trace_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return wf_clock_ns();
#endif
}

/* Add an event; ticks, event and engine are the caller's to set, too. */
static inline void wf_trace_add(struct wf_trace *t,
                                const struct wf_trace_record *what,
                                uint8_t event)
{
    uint64_t number = wf_add_acq_rel(&t->head->next, 1);
    struct wf_trace_record *r = &t->record[number & t->mask];

    wf_store_relaxed(&r->event, WF_TRACE_NONE);
    wf_fence_compiler();
    r->ticks = what->ticks;
    r->bytes = what->bytes;
    r->peer = what->peer;
    r->tag = what->tag;
    r->comm = what->comm;
    r->names[0] = what->names[0];
    r->names[1] = what->names[1];
    r->engine = what->engine;
    /* pairs with the reader of the file, which trusts no other order */
    wf_store_release(&r->event, event);
    if (wf_unlikely(number % WF_TRACE_CLOCK_EVERY == 0))
        wf_trace_read_clock(t);
}

#endif
