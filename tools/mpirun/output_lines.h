/* Output lines keep the lines of several ranks in one sink whole: while a
 * rank's line is unfinished there, output of the other ranks waits.
 *
 * A line that is not finished (a prompt, a progress bar) holds up the others
 * for at most 1 s after its last byte, and not at all if no other rank writes.
 * Ranks that write to mpirun's descriptors themselves (output.h) are not
 * concerned.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_OUTPUT_LINES_H
#define WF_MPIRUN_OUTPUT_LINES_H

#include <stdint.h>

struct job;
struct stream;

/* A longer part of a line is written although other streams wait, and a stream
 * that waits with so much is not read any more. */
enum { WF_LINE_ROOM = 1 << 16 };

/* Write as much of the stream's buffer as may be written now. */
void wf_lines_pass(struct job *, struct stream *);
/* The stream has ended: write all of it, and free it, as soon as that cuts no
 * line. */
void wf_lines_end(struct job *, struct stream *);
/* Do wf_lines_pass for all streams that wait. */
void wf_lines_pass_all(struct job *);
/* Returns the time in ns at which the first of them need not wait any more; 0:
 * none waits. */
uint64_t wf_lines_next(const struct job *);

#endif
