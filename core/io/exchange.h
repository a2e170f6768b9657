/* The exchange of a two-phase access: which members are aggregators, which
 * domains of the file they have, and what goes between them and the others.
 *
 *   file      |  round 0            |  round 1            |
 *   domains   |  a0  |  a1  |  a2   |  a0  |  a1  |  a2   |
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_EXCHANGE_H
#define WF_IO_EXCHANGE_H

#include "io/pieces.h"

struct wf_io_ask;
struct wf_sched;
struct wf_twophase;

enum { WF_PIECES_IN_HEAD = 2 };

/* A member sends this to an aggregator first. */
struct wf_io_head {
    uint64_t bytes, records;
    struct wf_pieces pieces[WF_PIECES_IN_HEAD];
};

/* All that goes between this member and one aggregator, or one other
 * member. */
struct wf_io_part {
    struct wf_io_head head;
    struct wf_piece_list list; /* all pieces, if the head has not all */
    char *data;      /* of the bytes; NULL: they are in the program's memory */
    uint64_t stream; /* of the memory's packed stream: where they belong */
    uint64_t got;    /* bytes that have come */
};

struct wf_exchange {
    int members;             /* of the communicator */
    int aggregators, number; /* number: of this member among them, or -1 */
    int *ranks;              /* of the aggregators */
    bool write;              /* so the members with data have told */
    uint64_t first, end;     /* of the file */
    uint64_t domain;         /* bytes of one in each round */
    uint64_t round, rounds;
    struct wf_io_part *out; /* to each aggregator */
    struct wf_io_part *in;  /* from each member; only in aggregators */
    struct wf_window window;
    uint64_t unwritten; /* the first byte that this member did not write */
    bool failed;        /* it has, and writes no more */
    bool lost;  /* not all of this round has come: nothing is accessed */
    bool ended; /* a read has met the end: what follows does not count */
    struct wf_io_ask *sorted; /* for the plan */
};

/* Finds what goes to each aggregator in this round. */
void wf_exchange_begin_round(struct wf_twophase *);
/* Put the messages of the stages into a schedule. */
void wf_exchange_add_heads(struct wf_twophase *, struct wf_sched *);
void wf_exchange_add_records(struct wf_twophase *, struct wf_sched *);
void wf_exchange_add_answers(struct wf_twophase *, struct wf_sched *);
/* Take what has come. failed: not all may have come. */
void wf_exchange_take_heads(struct wf_twophase *, bool failed);
void wf_exchange_take_answers(struct wf_twophase *, bool failed);
/* Accesses the aggregator's domain: in any thread, without a section. Returns
 * an error class. */
int wf_exchange_transfer(struct wf_twophase *);

#endif
