/* Ranks of other hosts, as frames speak of them. In the first mpirun their news are
 * those of ranks like others; an agent hands them on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_REMOTE_H
#define WF_MPIRUN_REMOTE_H

#include "link.h"

struct rank;

/* A frame from an agent that we have started. */
void wf_remote_take(struct job *, struct link *, struct frame *);
/* The hosts behind this link cannot be reached any more. */
void wf_remote_lost(struct job *, struct link *, const char *why);
/* So many bytes of this rank's output (1) or errors (2) were taken. */
void wf_remote_more(struct job *, const struct rank *, int stream, size_t n);
/* It cannot be delivered any more. */
void wf_remote_shut(struct job *, const struct rank *, int stream);
/* Input of this rank; n 0: its end. */
void wf_remote_input(struct job *, const struct rank *, const char *, size_t n);

#endif
