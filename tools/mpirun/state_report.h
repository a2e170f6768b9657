/* A state report says what every rank does; `kill -USR1` of mpirun and
 * --timeout print it.
 *
 *   state_page_file.c    reads the bytes of a process
 *   state_report_read.c  makes a struct rank_state per rank or waiting thread
 *   state_report_text.c  makes a sentence
 *   state_report.c       asks other hosts, merges equal lines, prints them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_STATE_REPORT_H
#define WF_MPIRUN_STATE_REPORT_H

#include "job.h"
#include "state_page_file.h"

/* A rank state is one slot in the byte order of this host, every value within
 * its range. */
struct rank_state {
    enum wf_state_kind kind; /* WF_STATE_FREE: no call waits */
    enum wf_state_phase phase;
    enum wf_state_operation operation;
    uint64_t thread;  /* 0: it is the only thread */
    double seconds;   /* since it began to wait or to poll */
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
        char text[512], brief[512]; /* without the collective's peer */
        bool shown;
    } *list;
    size_t n, room;
};

/* Read the page of this process into at least a line for each of its ranks. The
 * page is foreign bytes. Returns false without memory. */
bool wf_state_report_read(struct job *, const struct rank *,
                          struct rank_state_lines *);
/* Read a page in memory in the same way (used by tests, too). */
bool wf_state_report_judge(struct wf_state_head *, int ranks, int place,
                           uint64_t now, struct rank_state *out, int room,
                           int *n);

/* Write a state as a sentence, without times. */
void wf_state_report_text(const struct job *, const struct rank *,
                          const struct rank_state *, bool brief, char *text,
                          size_t size);

#endif
