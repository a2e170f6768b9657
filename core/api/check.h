/* Argument checks of the generated bindings.
 *
 * DESIGN  The tests are inline and cost a compare each; everything that runs
 * only when a test fails is out of line and cold (check.c), so that a binding
 * stays a few cache lines. A failing binding returns the result of a wf_bad_*
 * function, which is the code that is left after the error handler has run.
 *
 *   wf_api_*   resolve or test one argument
 *   wf_bad_*   record what is wrong with it (the function, the parameter, the
 *              value, and the valid range or the remedy) and raise the error
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CHECK_H
#define WF_CHECK_H

#include <limits.h>

#include "report/call_time.h"
#include "report/state.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "group/comm.h"
#include "group/group.h"
#include "group/raise.h"
#include "io/handle.h"
#include "object/error.h"
#include "object/errhandler.h"
#include "object/info.h"
#include "process/instance.h"
#include "process/process.h"
#include "progress/engines.h"
#include "protocol/request.h"
#include "rma/handle.h"
#include "topo/topo.h"

/* Marks the slow path of a binding that has a fast path, so that it is not
 * inlined into that. */
#define WF_SLOW_PATH __attribute__((noinline))
/* Lets a function that passes its arguments on end in a jump, where bindings
 * are compiled without such jumps (cmake/bindings.cmake). */
#ifdef __clang__
#define WF_PASSES_ON
#else
#define WF_PASSES_ON __attribute__((optimize("optimize-sibling-calls")))
#endif
/* Defines the public name as a weak alias of the profiling name (MPI-5.0
 * s15.2). mpi.h gives both default visibility. */
#define WF_WEAK(name)                                                          \
    extern __typeof__(P##name) name __attribute__((weak, alias("P" #name)))

/* ---- life of the process ------------------------------------------------- */

/* Returns whether this process is before MPI_Init, after MPI_Finalize or in
 * between. Sessions may be open in any phase. */
static inline enum wf_phase wf_api_phase(void)
{
    /* pairs with the releases in core/env/init.c and finalize.c */
    return (enum wf_phase)wf_load_acquire(&wf_process()->phase);
}

/* Enter and leave the API section, out of line. Functions where a nanosecond
 * counts use wf_enter_api and wf_leave_api, which inline the mutex, or
 * wf_api_enter and wf_api_leave, which inline the test whether there is
 * anything to enter; the others keep their bindings small. */
void wf_api_lock(struct wf_cs *);
void wf_api_unlock(struct wf_cs *);

/* Leave the section, raise the error rc if it is one, and return the code of
 * the MPI function. on: as in wf_raise. */
int wf_api_end(struct wf_instance *, void *on, const char *function, int rc);

/* Enter and leave the section in functions that any thread may call at any
 * level. They share nothing with the progress thread, so they enter only where
 * several threads of the program may be inside. */
void wf_api_enter_early(struct wf_instance *);
void wf_api_leave_early(struct wf_instance *);

static inline void wf_api_enter(struct wf_instance *wf)
    WF_ENTERS(wf->api) WF_UNANALYSED
{
    if (wf_unlikely(wf->api.on))
        wf_api_lock(&wf->api);
}

static inline void wf_api_leave(struct wf_instance *wf)
    WF_LEAVES(wf->api) WF_UNANALYSED
{
    if (wf_unlikely(wf->api.on))
        wf_api_unlock(&wf->api);
}

/* ---- handles ------------------------------------------------------------- */

static inline struct wf_comm *wf_api_comm(struct wf_instance *wf, MPI_Comm h)
{
    if (h == MPI_COMM_WORLD)
        return wf->world;
    if (h == MPI_COMM_SELF)
        return wf->self;
    struct wf_comm *comm = (struct wf_comm *)h;
    if (wf_likely(wf_is_object(h, WF_KIND_COMM)) && !comm->freed)
        return comm;
    return NULL;
}

static inline struct wf_type *wf_api_type(MPI_Datatype h)
{
    if (wf_likely((uintptr_t)h <= WF_PREDEFINED_MAX))
        return wf_type_of(h);
    return wf_is_object(h, WF_KIND_TYPE) ? (struct wf_type *)h : NULL;
}

static inline struct wf_group *wf_api_group(struct wf_instance *wf, MPI_Group h)
{
    return wf_likely(wf_is_object(h, WF_KIND_GROUP)) ? (struct wf_group *)h
                                                     : wf_group_of(wf, h);
}

/* wf_current, wf_api_comm and wf_api_type out of line: nine of ten bindings are
 * small rather than fast (core/api/rules.py, APART). */
struct wf_instance *wf_api_current(void);
struct wf_comm *wf_api_find_comm(struct wf_instance *, MPI_Comm);
struct wf_type *wf_api_find_type(MPI_Datatype);

/* Whether a datatype may be used for communication. */
static inline bool wf_api_committed(const struct wf_type *t)
{
    return wf_likely(t != NULL) &&
           (t->flags & (WF_TYPE_COMMITTED | WF_TYPE_PREDEFINED));
}

/* Returns a type for a call that moves nothing: MPI_DATATYPE_NULL with count 0
 * to or from MPI_PROC_NULL, as programs pass that have no type for such a
 * partner. NULL: it is not such a call. */
WF_COLD struct wf_type *wf_api_null_type(MPI_Datatype, MPI_Count count,
                                         int rank);

static inline bool wf_api_request(MPI_Request h)
{
    return h == MPI_REQUEST_NULL || wf_is_object(h, WF_KIND_REQUEST);
}

static inline bool wf_api_message(MPI_Message h)
{
    return h == MPI_MESSAGE_NO_PROC || wf_is_object(h, WF_KIND_MESSAGE);
}

/* Each returns the engine to which a request or message belongs. */
static inline struct wf_instance *
wf_api_engine_of_request(struct wf_instance *wf, MPI_Request h)
{
    return wf_is_object(h, WF_KIND_REQUEST) ? ((struct wf_req *)h)->wf : wf;
}

struct wf_instance *wf_api_engine_of_message(struct wf_instance *, MPI_Message);

/* Returns the table of engines if the requests are of several; else NULL, with
 * *wf set to their engine. */
static inline struct wf_engines *
wf_api_engines_of(struct wf_instance **wf, int n, const MPI_Request *requests)
{
    struct wf_engines *engines = wf_engines(*wf);

    return wf_unlikely(engines != NULL) &&
                   engines->ops->several(wf, n, requests)
               ? engines
               : NULL;
}

/* ---- ranks --------------------------------------------------------------- */

/* Returns how many ranks a point-to-point call may name. */
static inline int wf_api_ranks(const struct wf_comm *comm)
{
    return comm->peers->size;
}

static inline bool wf_api_rank(const struct wf_comm *comm, int rank)
{
    return (unsigned)rank < (unsigned)wf_api_ranks(comm);
}

/* Whether an argument is a wildcard which the communicator's hints allow. */
static inline bool wf_api_any_source(const struct wf_comm *comm, int source)
{
    return source == MPI_ANY_SOURCE &&
           !(comm->asserts & WF_ASSERT_NO_ANY_SOURCE);
}

static inline bool wf_api_any_tag(const struct wf_comm *comm, int tag)
{
    return tag == MPI_ANY_TAG && !(comm->asserts & WF_ASSERT_NO_ANY_TAG);
}

/* The roles that this process has in a rooted collective by its root argument
 * (MPI-5.0 s6.2.3): its arguments are the root's, those of the others, or
 * both. */
enum wf_role { WF_ROLE_ROOT = 1, WF_ROLE_OTHER = 2 };

static inline int wf_api_role(const struct wf_comm *comm, int root)
{
    if (wf_likely(!comm->inter))
        return comm->rank == root ? WF_ROLE_ROOT | WF_ROLE_OTHER
                                  : WF_ROLE_OTHER;
    if (root == MPI_ROOT)
        return WF_ROLE_ROOT;
    return root == MPI_PROC_NULL ? 0 : WF_ROLE_OTHER;
}

static inline bool wf_api_root(const struct wf_comm *comm, int root)
{
    return wf_api_rank(comm, root) ||
           (comm->inter && (root == MPI_ROOT || root == MPI_PROC_NULL));
}

/* ---- topologies ---------------------------------------------------------- */

/* Sizes of the arrays that a topology determines; 0 where comm has no topology,
 * an error that the core function then reports. */
static inline int wf_api_sources(const struct wf_comm *comm)
{
    return comm->topo ? comm->topo->indegree : 0;
}

static inline int wf_api_destinations(const struct wf_comm *comm)
{
    return comm->topo ? comm->topo->outdegree : 0;
}

static inline int wf_api_ndims(const struct wf_comm *comm)
{
    return comm->topo && comm->topo->kind == MPI_CART ? comm->topo->grid.ndims
                                                      : 0;
}

/* ---- buffers ------------------------------------------------------------- */

/* Whether buf is MPI_BOTTOM, MPI_IN_PLACE or MPI_BUFFER_AUTOMATIC, which are
 * 0, 1 and 2. */
static inline bool wf_api_is_special(const void *buf)
{
    return wf_unlikely((uintptr_t)buf <= 2);
}

/* Whether a special value is no buffer for this count and type: MPI_IN_PLACE,
 * or NULL with a predefined type and a count above 0. (A derived type may hold
 * absolute addresses, relative to MPI_BOTTOM.) */
WF_COLD bool wf_api_no_buffer(const void *buf, MPI_Count count,
                              const struct wf_type *);
/* Returns the largest count among n blocks for which the buffer cannot be NULL.
 * Blocks whose displacement may be an absolute address, relative to MPI_BOTTOM,
 * are left out; with types, so are those whose type is derived or empty. */
WF_COLD MPI_Count wf_api_largest_count(struct wf_ints counts,
                                       struct wf_ints displs, MPI_Count n,
                                       const MPI_Datatype *types);

/* ---- arrays -------------------------------------------------------------- */

/* Returns the index of the first element outside low..high, or -1. high < low:
 * there is no maximum. */
MPI_Count wf_api_find_outside(struct wf_ints, MPI_Count n, MPI_Count low,
                         MPI_Count high);
/* Returns the index of the first handle that is neither a request nor
 * MPI_REQUEST_NULL, or -1. */
int wf_api_find_bad_request(int n, const MPI_Request *);
/* Returns the index of the first handle that is no datatype, or -1. When counts
 * are given (base not NULL), types whose count is not 0 must be committed, and
 * the others are not looked at. */
MPI_Count wf_api_find_bad_type(MPI_Count n, const MPI_Datatype *,
                               struct wf_ints);

/* Returns the index of the first rank outside 0..size-1, or -1. null_ok:
 * MPI_PROC_NULL is allowed, too. */
MPI_Count wf_api_find_bad_rank(const int *ranks, int n, int size, bool null_ok);

/* ---- failures ------------------------------------------------------------ */

/* Each records one kind of failure and raises it. on: the object whose error
 * handler is called, as in wf_raise. */
WF_COLD int wf_bad_phase(const char *fn);
WF_COLD int wf_bad_restart(const char *fn);
WF_COLD int wf_bad_handle(struct wf_instance *, void *on, const char *fn,
                          const char *param, const void *handle, enum wf_kind);
WF_COLD int wf_bad_committed(struct wf_instance *, void *on, const char *fn,
                             const char *param, MPI_Datatype);
/* Report a negative count of an int function that has a _c twin
 * (wf_bad_count), or another number that must not be negative. */
WF_COLD int wf_bad_count(struct wf_instance *, void *on, const char *fn,
                         const char *param, MPI_Count value);
WF_COLD int wf_bad_number(struct wf_instance *, void *on, const char *fn,
                          const char *param, MPI_Count value, int mpi_class);
WF_COLD int wf_bad_rank(struct wf_instance *, struct wf_comm *, const char *fn,
                        const char *param, int value, const char *others);
WF_COLD int wf_bad_leader(struct wf_instance *, struct wf_comm *,
                          const char *fn, int value, struct wf_comm *peer);
WF_COLD int wf_bad_root(struct wf_instance *, struct wf_comm *, const char *fn,
                        int value);
WF_COLD int wf_bad_tag(struct wf_instance *, struct wf_comm *, const char *fn,
                       const char *param, int value);
WF_COLD int wf_bad_color(struct wf_instance *, struct wf_comm *, const char *fn,
                         int value);
WF_COLD int wf_bad_pointer(struct wf_instance *, void *on, const char *fn,
                           const char *param);
WF_COLD int wf_bad_buffer(struct wf_instance *, void *on, const char *fn,
                          const char *param, const void *buf, MPI_Count count);
/* Report MPI_IN_PLACE where this process may not pass it. */
WF_COLD int wf_bad_place(struct wf_instance *, struct wf_comm *, const char *fn,
                         const char *param);
/* A bad element of an array of counts, sizes or ranks. high < low: there is no
 * maximum. */
struct wf_bad_element {
    const char *param;
    MPI_Count index;
    MPI_Count value, low, high;
    int mpi_class;
};
WF_COLD int wf_bad_element(struct wf_instance *, void *on, const char *fn,
                           const struct wf_bad_element *);
WF_COLD int wf_bad_handle_at(struct wf_instance *, void *on, const char *fn,
                             const char *param, MPI_Count index,
                             const void *handle);
WF_COLD int wf_bad_narrow(struct wf_instance *, void *on, const char *fn,
                          const char *param, MPI_Count value);

#endif
