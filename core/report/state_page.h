/* The state page: shared memory in which a process records what its ranks wait
 * for, and from which its launcher reads that.
 *
 *   mpirun -- makes the file (memfd), passes the descriptor --> process
 *   process -- writes records before it sleeps --> page <-- reads -- mpirun
 *
 *   head | a place for each rank of the process | slots, one per waiting thread
 *
 * DESIGN  Everything is a word of 64 bits in little-endian order or text, so
 * that a page may be read on a host of another architecture. A slot belongs to
 * one thread at a time; its version is odd while that thread writes. The
 * launcher reads the file twice and accepts the slots whose version is even and
 * was the same both times. The page comes from outside: the launcher checks
 * every value.
 *
 * The library and mpirun share this header, which includes nothing of either.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_STATE_PAGE_H
#define WF_STATE_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The environment variable with the page's descriptor and inode, FD:INODE. */
#define WF_STATE_VARIABLE "WEFT_STATE_PAGE"
enum {
    WF_STATE_MAGIC = 0x57465331, /* changes with the layout */
    WF_STATE_RANKS_MAX = 1 << 16,
    WF_STATE_SLOTS_EACH = 8,  /* slots for each rank */
    WF_STATE_SLOTS_MORE = 24, /* slots beyond those */
    WF_STATE_NAME = 48        /* bytes for a function's name with its 0 */
};

enum wf_state_phase {
    WF_STATE_BEFORE,    /* MPI_Init was not called */
    WF_STATE_INSIDE,    /* MPI is initialized */
    WF_STATE_FINALIZED, /* MPI_Finalize has returned */
    /* the last session was finalized; another one may follow */
    WF_STATE_BETWEEN
};

/* The operation that is waited for. */
enum wf_state_operation {
    WF_STATE_UNKNOWN,
    WF_STATE_SEND,
    WF_STATE_SSEND,
    WF_STATE_RECV,
    WF_STATE_PROBE,
    WF_STATE_COLLECTIVE,
    WF_STATE_REQUESTS, /* any of several */
    WF_STATE_BUFFER,   /* for buffered messages to be sent */
    WF_STATE_ADDRESS,  /* for the peer to enter MPI_Init */
    WF_STATE_START,    /* for the start of the job */
    WF_STATE_END,      /* for the end of the job */
    WF_STATE_GENERALIZED,
    WF_STATE_ACCEPT,  /* for a client of a port, whose name stands for that of
                         the communicator, without its secret */
    WF_STATE_CONNECT, /* for the server of a port, named in the same way */
    WF_STATE_OPERATIONS
};

enum wf_state_kind {
    WF_STATE_FREE,
    WF_STATE_WAITS, /* the thread waits in a call */
    WF_STATE_POLLS, /* the program polls again and again (MPI_Test) */
    WF_STATE_KINDS
};

/* The words of a slot. Ranks and tags are signed, stored as two's
 * complement. */
enum wf_state_word {
    WF_STATE_KIND,
    WF_STATE_PLACE,        /* the rank's index in its process */
    WF_STATE_THREAD,       /* thread id of the system */
    WF_STATE_SINCE,        /* begin of the wait: CLOCK_MONOTONIC, ns */
    WF_STATE_LAST,         /* WF_STATE_POLLS: time of the last poll */
    WF_STATE_FAILED_POLLS, /* WF_STATE_POLLS: polls in a row without an event */
    WF_STATE_OPERATION,    /* enum wf_state_operation */
    WF_STATE_PEER,         /* the peer's rank in the communicator */
    WF_STATE_WORLD,        /* the peer's rank in the job */
    WF_STATE_TAG,
    WF_STATE_BYTES,
    WF_STATE_CONTEXT, /* context id of the communicator, plus 1; 0: none */
    WF_STATE_NUMBER,  /* the collective's on its communicator; 0: unknown */
    WF_STATE_ACTIVE,  /* requests of the call that are not complete */
    WF_STATE_COUNT,   /* requests of the call; 0: it has no array */
    WF_STATE_WORDS
};

#define WF_STATE_NOT_KNOWN UINT64_MAX /* a value of PEER, WORLD, TAG or BYTES */
enum { WF_STATE_ANY = -2 /* MPI_ANY_SOURCE, MPI_ANY_TAG */ };

struct wf_state_head {
    uint64_t magic, ranks, slots; /* written by the launcher */
    uint64_t pid;                 /* of the process that writes */
    _Atomic uint64_t dropped;     /* waits for which no slot was free */
    /* An agent sets these in a page that it sends to another host. */
    uint64_t now;     /* CLOCK_MONOTONIC of the agent's host */
    uint64_t process; /* state of the process, as in /proc/PID/stat */
    uint64_t spare;
};

struct wf_state_place {
    uint64_t phase;
};

struct wf_state_slot {
    _Atomic uint64_t version;
    _Atomic uint64_t owner; /* thread id; 0: the slot is free */
    uint64_t word[WF_STATE_WORDS];
    char call[WF_STATE_NAME];
    char comm[128]; /* the communicator's name; MPI_MAX_OBJECT_NAME bytes */
};

static inline uint64_t wf_state_le(uint64_t x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(x);
#else
    return x;
#endif
}

static inline uint64_t wf_state_slot_count(uint64_t ranks)
{
    return ranks * WF_STATE_SLOTS_EACH + WF_STATE_SLOTS_MORE;
}

static inline size_t wf_state_bytes(uint64_t ranks)
{
    return sizeof(struct wf_state_head) +
           (size_t)ranks * sizeof(struct wf_state_place) +
           (size_t)wf_state_slot_count(ranks) * sizeof(struct wf_state_slot);
}

#endif
