/* Memory of a window that members of one node share: they are each other's
 * mates.
 *
 *   segment   | header of mate 0 | header of mate 1 | ... |   header.h
 *             | memory of mate 0 | memory of mate 1 | ... |   whole pages
 *
 * Of a window of MPI_Win_create it has the headers only; the memory is the
 * program's (program_memory.h).
 *
 * A mate's number is its place among the mates, by rank; header.h calls it the
 * id of a member.
 *
 * LOCK  the API section of the window's engine, but for the segment itself.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_MAP_H
#define WF_RMA_MAP_H

#include <sys/uio.h>

#include "protocol/failure.h"
#include "rma/lock_word.h"
#include "rma/segment.h"
#include "rma/win.h"

enum {
    /* Looks at a word that is awaited, about a microsecond, in which a hold of
     * a few operations ends. Not measured. */
    WF_MAP_LOOKS = 200
};

struct wf_win_map {
    uint32_t mates, me; /* how many, and which of them this process is */
    int *ranks;         /* of the mates, rising */
    struct wf_segment *owner; /* of the segment */
    bool reused;              /* another window had it before */
    uint64_t keep_as; /* its number, when it is new and to be kept; or 0 */
    char *segment;
    size_t bytes, header_bytes;
    size_t *places;  /* of each mate's memory in the segment */
    bool contiguous; /* these follow each other without a gap */
    bool *gone;     /* mates that have ended */
    /* Writers of words execute a fence; otherwise sleepers use membarrier. */
    bool writers_fence;
    struct wf_rma_waiting waiting;
    struct wf_rma_lock lock_of_all; /* window-wide; it lies with mate 0 */
    wf_atomic_u32 busy;           /* a thread of this process is at the locks */
    bool *due;                    /* mates to wake, when it has left them, */
    bool any_due;                 /* if there are some */
    int looks;                    /* at a word, before the engine is driven */
    unsigned waits;               /* calls that wait for a word, and */
    struct wf_flag_wait *watches; /* those that they watch, by mate */
    char **memory;                /* of each mate, here */
    struct iovec *blocks;         /* of MPI_Win_create: those mapped, by mate */
};

static inline struct wf_rma_header *wf_map_header(const struct wf_win_map *m,
                                                  uint32_t mate)
{
    WF_ASSERT(mate < m->mates);
    return (void *)(m->segment + mate * m->header_bytes);
}

/* Allocates what wf_map_share_memory needs, so that it cannot fail in some of
 * the members only. NULL: out of memory. */
void *wf_map_allocate_scratch(const struct wf_comm *);
/* Has each member of a window that is being made tell the others some bytes.
 * over: win->comm, which perhaps not all have made; or win->parent, which may
 * have what its collectives need already: the window may never need that. */
int wf_map_gather(struct wf_win *, struct wf_comm *over, const void *mine,
                  size_t bytes, void *all);
/* Gives the members of MPI_Win_allocate and MPI_Win_allocate_shared their
 * memory, shared where that is possible, and has those of MPI_Win_create map
 * each other's; all of them call it, with win->scratch. Sets win->base and
 * win->map. */
int wf_map_share_memory(struct wf_win *);
/* Lets no other window have the segment, and leaves the program's block pinned:
 * a mate may not have come to the end of this one. */
void wf_map_spoil(struct wf_win *);
/* Unmaps what the window has mapped, or keeps it for the next one. */
void wf_map_free(struct wf_win *);

/* Returns true if the locks of all members are words in shared memory. */
static inline bool wf_map_has_lock_words(const struct wf_win *win)
{
    return win->map && win->map->mates == (uint32_t)win->comm->size;
}

#endif
