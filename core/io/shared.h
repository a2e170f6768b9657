/* Shared file pointers (MPI-5.0 s14.4.4): one counter for all members of a
 * file, which the member of rank 0 keeps.
 *
 *   member   add n ------------------> keeper: old = value, value += n
 *            old    <-----------------
 *
 * Others ask by active messages. A collective call that changes the pointer
 * begins a new age of it: messages carry theirs, and the keeper leaves those of
 * an age that it has not reached for later.
 *
 * LOCK  the API section of the file's engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_SHARED_H
#define WF_IO_SHARED_H

#include "base.h"

struct wf_file;
struct wf_instance;

/* Makes the shared pointer of a file before its communicator is agreed on, and
 * f->wf, the engine of the program's communicator, ready for messages about it.
 * An error class. */
int wf_shared_create(struct wf_file *);
/* Takes it from that engine, inside its section: the file goes to another. */
void wf_shared_leave(struct wf_file *);
/* Opens it on the engine that the file is on now. An error class, which is
 * possible where that is another one only. */
int wf_shared_attach(struct wf_file *);

void wf_shared_destroy(struct wf_file *);

/* Adds to the pointer, and tells what it was: bytes of the stream. Waits for
 * the keeper. An error class. */
int wf_shared_add(struct wf_file *, uint64_t bytes, uint64_t *old);
/* The same by all members, in the order of their ranks (ordered.c). */
int wf_shared_add_ordered(struct wf_file *, uint64_t bytes, uint64_t *old);
/* Whether this member has the pointer's memory, for which it asks the keeper at
 * first. Waits for the keeper. */
bool wf_shared_has_memory(struct wf_file *);
/* Adds the bytes of all members, which are in the same call, to the pointer,
 * and tells what it was. in_memory: all have its memory. */
int wf_shared_move(struct wf_file *, uint64_t bytes, bool in_memory,
                   uint64_t *old);
/* Sets the pointer, in a collective call. The keeper's value counts, and it
 * calls this before it agrees with the others on the outcome, the others
 * after it. */
void wf_shared_set(struct wf_file *, uint64_t bytes);

#endif
