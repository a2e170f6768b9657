/* Where the ranks are: lines for `kill -USR1` of mpirun and for --timeout.
 *
 *   state_page_file.c        bytes of a process
 *   state_report_read.c  judged: one struct rank_state per rank and waiting thread
 *   state_report_text.c  as a sentence
 *   state_report.c       asking other hosts, merging equal lines, printing
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_STATE_REPORT_H
#define WF_MPIRUN_STATE_REPORT_H

#include "job.h"
#include "state_page_file.h"

/* One slot in the order of this host, every value within its range. */
struct rank_state {
    enum wf_state_kind kind; /* WF_STATE_FREE: no call waits */
    enum wf_state_phase phase;
    enum wf_state_operation operation;
    uint64_t thread;  /* 0: it is the only one */
    double seconds;   /* since it waits, or asks */
    uint64_t failed_polls;
    int64_t peer, world_rank, tag; /* INT64_MAX: unknown */
    uint64_t bytes, context, number, active, count;
    char call[WF_STATE_NAME];
    char comm[128];
    bool entered; /* the process has written to its page */
    bool dropped; /* some threads found no slot */
    char process; /* state of the process, 0: unknown */
    int pid;
};

struct rank_state_lines {
    struct rank_state_line {
        int rank;
        struct rank_state state;
        char text[512], brief[512]; /* brief: without the peer of a collective */
        bool shown;
    } *list;
    size_t n, room;
};

/* Read the page of this process: at least a line for each of its ranks. The page is
 * foreign bytes. false: no memory. */
bool wf_state_report_read(struct job *, const struct rank *, struct rank_state_lines *);
/* The same of a page in memory, for tests of its judgement. */
bool wf_state_report_judge(struct wf_state_head *, int ranks, int place, uint64_t now,
                    struct rank_state *out, int room, int *n);

/* The sentence, without times. */
void wf_state_report_text(const struct job *, const struct rank *, const struct rank_state *,
                   bool brief, char *text, size_t size);

#endif
