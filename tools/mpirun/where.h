/* Where the ranks are: lines for `kill -USR1` of mpirun and for --timeout.
 *
 *   page.c        bytes of a process
 *   where_read.c  judged: one struct where per rank and waiting thread
 *   where_text.c  as a sentence
 *   where.c       asking other hosts, merging equal lines, printing
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WHERE_H
#define WF_WHERE_H

#include "job.h"
#include "page.h"

/* One slot in the order of this host, every value within its range. */
struct where {
    enum wf_state_kind kind; /* WF_STATE_FREE: no call waits */
    enum wf_state_phase phase;
    enum wf_state_operation operation;
    uint64_t thread;  /* 0: it is the only one */
    double seconds;   /* since it waits, or asks */
    uint64_t vain;
    int64_t peer, world, tag; /* INT64_MAX: unknown */
    uint64_t bytes, context, number, active, count;
    char call[WF_STATE_NAME];
    char comm[128];
    bool entered; /* the process has written to its page */
    bool dropped; /* some threads found no slot */
    char process; /* state of the process, 0: unknown */
    int pid;
};

struct where_lines {
    struct where_line {
        int rank;
        struct where where;
        char text[512], brief[512]; /* brief: without the peer of a collective */
        bool shown;
    } *list;
    size_t n, room;
};

/* Read the page of this process: at least a line for each of its ranks. The page is
 * foreign bytes. false: no memory. */
bool wf_where_read(struct job *, const struct rank *, struct where_lines *);
/* The same of a page in memory, for tests of its judgement. */
bool wf_where_judge(struct wf_state_head *, int ranks, int place, uint64_t now,
                    struct where *out, int room, int *n);

/* The sentence, without times. */
void wf_where_text(const struct job *, const struct rank *, const struct where *,
                   bool brief, char *text, size_t size);

#endif
