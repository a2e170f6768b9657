/* The processes of a new communicator agree on a context id, which no other
 * communicator of any of them has.
 *
 * Every process keeps a bitmap of the ids (24 bits) that it does not use. The
 * members of the new communicator AND their bitmaps and take the lowest common
 * bit. Blocking and nonblocking calls run the same state machine:
 *
 *   round 0     one word (64 ids) that the history of the parent communicator
 *               names, so that all members name the same one. While the word is
 *               on offer no other allocation of this process offers it. Nearly
 *               every allocation ends here.
 *   round 1..   when a word was on offer already or has no common id: a whole
 *               window of words, one allocation of a process at a time (the
 *               others offer nothing and repeat), lowest key first.
 *
 * No member waits for another allocation before round 0 has shown that all
 * members of its own have called, so allocations of different communicators
 * may be started in any order by different processes (MPI-5.0 s6.12). The
 * lowest key, which all members compute alike, always gets its turn.
 *
 * The id is the same in all members, of both groups for an intercommunicator.
 * It is free again in a process when its communicator is destroyed there.
 *
 * The members also find out whether they all have as many engines (engines.h);
 * the id then determines which of them the communicator is on. Where all want a
 * channel they find one that is free in each of them.
 *
 * LOCK  an allocation: the API section of the parent's engine; the bitmap and
 *       the lists of allocations: section objects.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONTEXT_H
#define WF_CONTEXT_H

#include "comm/agree.h"
#include "group/context_id.h"

struct wf_contexts *wf_contexts_create(void);
void wf_contexts_destroy(struct wf_contexts *);
/* Makes an id of this process free again. */
void wf_context_release(struct wf_instance *, uint32_t id);

/* One allocation of context ids. Set scope, key, count, hint, failed, engines,
 * done and arg, then call wf_context_start. */
struct wf_context_alloc {
    struct wf_agree_scope scope;
    uint64_t key;     /* order among concurrent allocations; equal in members */
    unsigned count;   /* ids wanted, 1 or 2 */
    uint32_t *hint;   /* word to try first; equal in all members; updated */
    bool failed;      /* this member failed: let all members know */
    unsigned engines; /* number of engines of this process */
    uint32_t channels; /* those that this member offers, one bit each; 0: it
                          wants none (channel.h) */
    /* Called once, inside the API section, when the allocation has ended. error
     * is an MPI error class: MPI_ERR_NOT_SAME when another member failed,
     * MPI_ERR_PROC_ABORTED when a member is dead. */
    void (*done)(struct wf_context_alloc *, int error);
    void *arg;
    uint32_t id[2];
    unsigned engine; /* engine of the new communicator: engines.h */
    int channel;     /* one that all members offered; negative: there is none */
    bool began;      /* this member took part: others may have succeeded */
    bool exhausted;  /* MPI_ERR_NO_MEM because no id is left */
    /* private */
    struct wf_agree agree;
    struct wf_list waiting, offering;
    uint32_t first, words;  /* the words offered in this round */
    uint32_t round, window; /* window: the first one offered after round 0 */
    uint32_t tried;         /* number of windows without a common id */
    uint64_t value[1 + WF_CONTEXT_WORDS]; /* flags, then the words offered */
    uint64_t input[1 + WF_CONTEXT_WORDS];
};

/* Starts an allocation. done is called when it has ended, perhaps at once. */
void wf_context_start(struct wf_context_alloc *);

#endif
