/* Remote ranks are ranks of other hosts, which mpirun knows by frames. The
 * first mpirun handles their frames like events of its own ranks; an agent
 * passes them on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_REMOTE_H
#define WF_MPIRUN_REMOTE_H

#include "link.h"

struct rank;

/* Handle a frame from an agent that this process has started. */
void wf_remote_take(struct job *, struct link *, struct frame *);
/* Give up the hosts behind this link, which cannot be reached any more. */
void wf_remote_lost(struct job *, struct link *, const char *why);
/* Allow so many more bytes of this rank's output (1) or errors (2). */
void wf_remote_more(struct job *, const struct rank *, int stream, size_t n);
/* Close a stream whose output cannot be delivered any more. */
void wf_remote_shut(struct job *, const struct rank *, int stream);
/* Send input to this rank; n 0: its end. */
void wf_remote_input(struct job *, const struct rank *, const char *, size_t n);

#endif
