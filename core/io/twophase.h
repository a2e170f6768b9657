/* Collective accesses in two phases: the data go to aggregators, each of which
 * accesses a domain of the file in few large transfers.
 *
 *   ask       who accesses what: an allgather of one record each
 *      |
 *      +--> all have accessed theirs before: the records have the outcome
 *      |
 *      +--> independent: each member performs its own access
 *      |
 *      +--> rounds    heads      pieces and bytes that go to an aggregator
 *      |              records    further pieces; of a write the data
 *      |              transfer   the aggregator accesses its domain
 *      |              answer     of a read the data
 *      v
 *   vote      the outcome: class, and what was surely written
 *
 * Each stage is a schedule (coll/schedule.h), but for accesses, which are tasks
 * of the I/O threads, or run in the thread of a blocking call. All messages of
 * a call have one tag; the stages of a member begin one after the other, so
 * they match in their order. Which stages there are follows from the records
 * that all have: a member that fails goes on with all of them, without data.
 *
 * LOCK  the API section of the file's engine; a task has what it accesses for
 * itself.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_TWOPHASE_H
#define WF_IO_TWOPHASE_H

#include "io/access.h"
#include "io/exchange.h"
#include "io/worker.h"

struct wf_file;
struct wf_sched;
struct wf_started;

enum wf_io_stage {
    WF_STAGE_ASK,
    WF_STAGE_ACCESS,
    WF_STAGE_HEADS,
    WF_STAGE_RECORDS,
    WF_STAGE_TRANSFER,
    WF_STAGE_ANSWER,
    WF_STAGE_VOTE,
    WF_STAGE_ENDED
};

/* A member tells this of its access. */
struct wf_io_ask {
    int64_t outcome;      /* as in a vote, so far */
    uint64_t first, last; /* file offsets of its bytes; only if bytes > 0 */
    uint64_t bytes;       /* that it has not accessed yet */
    uint64_t pieces;
    uint16_t alone; /* the access cannot be one of several */
    uint16_t writes;
    uint32_t use;   /* enum wf_hint_use: of two phases */
    uint32_t cpus;
    uint32_t aggregators; /* the hint; 0: none */
    uint64_t buffer, block;
    uint64_t large; /* a piece that it would rather access by itself */
};

struct wf_twophase {
    struct wf_file *file;
    struct wf_access access; /* its bytes_done is right when it has ended */
    bool has_access;         /* else the member only takes part */
    bool accessed;           /* it has performed its access in the call */
    bool attends;            /* the progress thread drives it */
    bool proceeds, due;      /* of the loop that starts stages */
    int rc;                  /* of this member; in the end, of all */
    char *cause;             /* its text; NULL: none */
    /* Called inside the section when a nonblocking one has ended. */
    void (*ended)(struct wf_twophase *);
    struct wf_started *started; /* the nonblocking one; NULL: no request */

    enum wf_io_stage stage;
    int tag; /* of all messages */
    bool has_tag;
    struct wf_io_task task;
    struct wf_io_ask ask, *asks; /* of this member, and of all; behind it */
    struct wf_exchange x;
    int64_t vote[2], votes[2]; /* outcome, and - of the first byte that was not
                                  written */
};

/* Performs a collective access of several members. a == NULL, or rc: this
 * member only takes part, because of the error rc. Returns the greatest class
 * of all, with the cause recorded; a->bytes_done is set. */
int wf_twophase_run(struct wf_file *, struct wf_access *a, int rc);

/* Returns memory for an access that is to be started. Where there is none it is
 * the file's spare one, for which it waits. */
struct wf_twophase *wf_twophase_take(struct wf_file *);
/* Starts one. The caller has set `ended` and `started`; the access is copied,
 * and the caller holds what it has (wf_access_hold). It may have ended when
 * this returns. */
void wf_twophase_start(struct wf_twophase *, const struct wf_access *a, int rc);
/* Ends one: gives its memory back, and records the cause of the outcome.
 * Returns its class. */
int wf_twophase_end(struct wf_twophase *);

/* Notes an error of this member, with the cause that was just recorded; the
 * first one stays. */
void wf_twophase_note(struct wf_twophase *, int rc);

#endif
