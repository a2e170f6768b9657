/* These functions forward input from an agent to one of its ranks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_RANK_INPUT_H
#define WF_MPIRUN_RANK_INPUT_H

#include <stddef.h>

struct job;
struct rank;

enum { RANK_INPUT_ROOM = 64 << 10 };

/* Returns the reading end of a pipe for this rank, or -1. */
int wf_rank_input_open(struct job *, struct rank *);
/* Allow the first bytes, once, when the rank runs. */
void wf_rank_input_start(struct job *, struct rank *);
/* Take input for the rank; n 0: the end of its input. */
void wf_rank_input_take(struct job *, struct rank *, const char *data,
                        size_t n);

#endif
