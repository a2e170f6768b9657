/* Buffers of buffered sends, as their owners see them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BUFFERED_H
#define WF_BUFFERED_H

struct wf_instance;
struct wf_bsend_buffer;

/* Wait until the buffer is empty and detach it, as MPI_Finalize and the end of
 * a communicator do implicitly. */
void wf_bsend_release(struct wf_instance *, struct wf_bsend_buffer **);

struct wf_comm;
struct wf_send_args;

/* Send a message from a copy in the attached buffer (MPI_Bsend). */
int wf_bsend(struct wf_comm *, const struct wf_send_args *);

#endif
