/* The communicator of a file: private to it, and kept for the next file that is
 * opened over the same communicator of the program, its parent. To make one
 * takes an agreement by messages, and its first collectives are messages, too.
 *
 *   MPI_File_open    tells by its vote which one this member has kept; if all
 *                    have the same they take it, else they make one
 *   MPI_File_close   keeps it, once all members have agreed on their success
 *
 * LOCK  the API section of the parent's engine. One that lies on another engine
 * is not kept.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_FILE_COMM_H
#define WF_IO_FILE_COMM_H

#include "base.h"

struct wf_comm;
struct wf_file;

/* Returns what names the one that is kept, and how often it was used; -1: there
 * is none. */
int64_t wf_file_comm_name(const struct wf_comm *parent);
/* Gives a file its communicator. use_kept: all members have the same. An error
 * class, on which all members agree. */
int wf_file_comm_take(struct wf_file *, struct wf_comm *parent, bool use_kept);
/* Ends its use by a file. keep: all members do. */
void wf_file_comm_end(struct wf_file *, bool keep);

#endif
