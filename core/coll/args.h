/* Arguments of collectives: the checks that only a collective can make, and the
 * three ways to run a builder.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_ARGS_H
#define WF_COLL_ARGS_H

#include "base.h"
#include "coll/coll.h"

struct wf_coll_args;
struct wf_coll_block;
struct wf_comm;
struct wf_ints;
struct wf_sched;
struct wf_type;

/* Builds a schedule that is to run. On an error of an argument that error is
 * returned, and nothing has happened. With `direct`, vertices that can be
 * performed at once are performed while the schedule is built. */
int wf_coll_build(wf_coll_builder *, const struct wf_coll_args *, bool direct,
                  struct wf_sched **);

/* Run a builder as a blocking, nonblocking or persistent operation. */
int wf_coll_run_blocking(wf_coll_builder *, const struct wf_coll_args *);
int wf_coll_start_nonblocking(wf_coll_builder *, const struct wf_coll_args *,
                              MPI_Request *);
int wf_coll_make_persistent(wf_coll_builder *, const struct wf_coll_args *,
                            MPI_Request *);

/* Checks return MPI_SUCCESS or the recorded error. They check only what the
 * bindings cannot know: significance, MPI_IN_PLACE, aliasing, operation against
 * type. */
int wf_coll_check_root(const struct wf_coll_args *);
int wf_coll_check_send(const struct wf_coll_args *);
int wf_coll_check_recv(const struct wf_coll_args *);
int wf_coll_check_counts(struct wf_ints, int n, const char *what);

/* sbuf may be MPI_IN_PLACE if `allowed`; rbuf may never be. */
int wf_coll_check_in_place(const struct wf_coll_args *, bool allowed);

/* `own` is the place in rbuf of this process's contribution. */
int wf_coll_check_alias(const struct wf_coll_args *, const void *own);

/* Checks everything about the operation and the buffers of a reduction. */
int wf_coll_check_reduce(const struct wf_coll_args *, bool in_place_allowed);

/* Return the block of peer i. alltoallw counts displacements in bytes and has a
 * type for every peer. */
struct wf_coll_block wf_coll_recv_block(const struct wf_coll_args *, int i);
struct wf_coll_block wf_coll_send_block(const struct wf_coll_args *, int i);

/* Returns the type of packed data. */
struct wf_type *wf_coll_byte(void);

/* Allocates scratch memory for `count` elements. Returns the address to use as
 * their buffer, whatever the type's lower bound; writes past extent gaps stay
 * inside. */
void *wf_coll_alloc_temp(struct wf_sched *, uint64_t count,
                         const struct wf_type *);

/* Cuts rcount elements into one block per rank of g: sets counts and
 * displacements of *a. False: out of memory, which the schedule remembers. */
bool wf_coll_split_vector(struct wf_sched *, const struct wf_comm *g,
                          struct wf_coll_args *a);

#endif
