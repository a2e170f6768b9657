/* The state page: where a rank says what it waits for, and its launcher reads.
 *
 *   mpirun -- makes the file (memfd), passes the descriptor --> process
 *   process -- writes records before it sleeps --> page <-- reads -- mpirun
 *
 *   head | a place for each rank of the process | slots, one per waiting thread
 *
 * DESIGN  Everything is a word of 64 bits in little-endian order or text, so
 * that a page may be read on a host of another architecture. A slot belongs to
 * one thread at a time; its version is odd while that thread writes. The
 * launcher reads the file twice and believes what has an even version and was
 * the same both times. To it the page is foreign bytes: it checks every value.
 *
 * This header is shared by the library and mpirun, and includes nothing of
 * either.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_STATE_PAGE_H
#define WF_STATE_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* FD:INODE of the page. */
#define WF_STATE_VARIABLE "WEFT_STATE_PAGE"
enum {
    WF_STATE_MAGIC = 0x57465331, /* changes with the layout */
    WF_STATE_RANKS_MAX = 1 << 16,
    WF_STATE_SLOTS_EACH = 8, /* for each rank, and a few more */
    WF_STATE_SLOTS_MORE = 24,
    WF_STATE_NAME = 48 /* bytes of a function's name, with its end */
};

enum wf_state_phase {
    WF_STATE_BEFORE,    /* MPI_Init was not called */
    WF_STATE_INSIDE,
    WF_STATE_FINALIZED, /* MPI_Finalize has returned */
    WF_STATE_BETWEEN    /* the last session was finalized */
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
    WF_STATE_BUFFER,   /* buffered messages leave */
    WF_STATE_ADDRESS,  /* the peer has not entered MPI_Init */
    WF_STATE_START,
    WF_STATE_END,
    WF_STATE_GENERALIZED,
    WF_STATE_OPERATIONS
};

enum wf_state_kind {
    WF_STATE_FREE,
    WF_STATE_WAITS, /* the thread waits in a call */
    WF_STATE_POLLS, /* the program asks again and again (MPI_Test) */
    WF_STATE_KINDS
};

/* Words of a slot. Ranks are signed, stored as their two's complement. */
enum wf_state_word {
    WF_STATE_KIND,
    WF_STATE_PLACE,  /* rank, counted from the first of the process */
    WF_STATE_THREAD,
    WF_STATE_SINCE,  /* CLOCK_MONOTONIC, ns */
    WF_STATE_LAST,   /* the last time that the program asked */
    WF_STATE_VAIN,   /* how many times in a row */
    WF_STATE_OPERATION,
    WF_STATE_PEER,   /* in the communicator */
    WF_STATE_WORLD,  /* the same process in the job */
    WF_STATE_TAG,
    WF_STATE_BYTES,
    WF_STATE_CONTEXT, /* of the communicator + 1; 0: there is none */
    WF_STATE_NUMBER, /* of the collective on its communicator; 0: unknown */
    WF_STATE_ACTIVE, /* requests of the call that are not complete */
    WF_STATE_COUNT,  /* requests of the call; 0: it has no array */
    WF_STATE_WORDS
};

#define WF_STATE_NOT_KNOWN UINT64_MAX /* of PEER, WORLD, TAG, BYTES */
enum { WF_STATE_ANY = -2 /* MPI_ANY_SOURCE, MPI_ANY_TAG */ };

struct wf_state_head {
    uint64_t magic, ranks, slots; /* by the launcher */
    uint64_t pid;                 /* of the process that writes */
    _Atomic uint64_t dropped;     /* waits for which no slot was free */
    /* By an agent, of a page that goes to another host: */
    uint64_t now;     /* the clock there */
    uint64_t process; /* state of the process, as in /proc/PID/stat */
    uint64_t spare;
};

struct wf_state_place {
    uint64_t phase;
};

struct wf_state_slot {
    _Atomic uint64_t version;
    _Atomic uint64_t owner; /* thread, 0: nobody's */
    uint64_t word[WF_STATE_WORDS];
    char call[WF_STATE_NAME];
    char comm[128]; /* name of the communicator; MPI_MAX_OBJECT_NAME */
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
