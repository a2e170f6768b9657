/* Segments of window memory that are kept for the next window over the same
 * communicator: to make one takes system calls, page faults, and a descriptor
 * that travels between processes.
 *
 *   first mate    chooses: a segment that no window uses, or a new one
 *   its offer     says which, and which one all of them are to forget
 *   the others    know it by its number
 *
 * A segment is the same for all windows over a communicator, as their mates
 * are. A window gives it back after the barrier of MPI_Win_free: so when the
 * first mate has, no mate operates on that window any more. A mate whose other
 * thread has not given it back yet has it twice, and is counted twice.
 *
 * LOCK  The list: calls that make a window over the communicator, which are one
 * at a time. `users`, `spoiled`: atomic, for a window may be on another engine.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_SEGMENT_H
#define WF_RMA_SEGMENT_H

#include "base.h"
#include "os/atomic.h"

struct wf_comm;

enum {
    /* Larger ones are not kept: to take the pages costs more than the rest. */
    WF_SEGMENT_KEPT_MOST = 4 << 20,
    WF_SEGMENTS_FREE_MOST = 2 /* of a communicator, after a window was made */
};

struct wf_segment {
    struct wf_segment *next; /* of the communicator */
    uint64_t id;             /* number by its first mate; 0: it is not kept */
    char *base;
    size_t bytes;
    size_t taken_from, taken_to; /* bytes whose pages this process has taken */
    wf_atomic_u32 users; /* windows, and the communicator while it keeps it */
    wf_atomic_u32 spoiled; /* 1: its last window ended without a barrier */
};

/* Makes the record of memory that is mapped, with one user. NULL: out of
 * memory. */
struct wf_segment *wf_segment_make(void *base, size_t bytes);
/* Ends the use of a segment; the last user unmaps it. */
void wf_segment_put(struct wf_segment *);

/* As first mate: return a segment of at least so many bytes that no window
 * uses, with one user more, or NULL; the number of the next one to be kept; the
 * number of one to be forgotten, or 0. */
struct wf_segment *wf_segment_choose(struct wf_comm *, size_t bytes);
uint64_t wf_segment_next_id(struct wf_comm *);
uint64_t wf_segment_choose_oldest(struct wf_comm *);

/* Returns the segment with this number, with one user more, or NULL. */
struct wf_segment *wf_segment_find(struct wf_comm *, uint64_t id);
/* Keeps a segment with the communicator, by this number. */
void wf_segment_keep(struct wf_comm *, struct wf_segment *, uint64_t id);
/* Forgets the segment with this number, if it is kept. */
void wf_segment_forget(struct wf_comm *, uint64_t id);

#endif
