/* MPI handles and the objects behind them.
 *
 * A handle of the standard ABI is a pointer-sized value: predefined objects
 * have the small constants of mpi.h, every other handle is the address of its
 * object. Every object starts with struct wf_object, by whose kind a stale or
 * foreign handle is told from a good one.
 *
 * wf_X_of(wf, handle) resolves a handle of chapter X and returns NULL for the
 * null handle and for anything that is not an X.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HANDLE_H
#define WF_HANDLE_H

#include "base.h"
#include "os/atomic.h"

enum wf_kind {
    WF_KIND_DEAD = 0, /* a freed object: a use after free is seen as such */
    WF_KIND_COMM = 0x5746434d,
    WF_KIND_GROUP,
    WF_KIND_TYPE,
    WF_KIND_OP,
    WF_KIND_REQUEST,
    WF_KIND_MESSAGE,
    WF_KIND_INFO,
    WF_KIND_ERRHANDLER,
    WF_KIND_SESSION,
    WF_KIND_WIN,
    WF_KIND_FILE
};

struct wf_object {
    uint32_t kind;
    uint32_t refs;
};

static inline void wf_object_init(struct wf_object *o, enum wf_kind kind)
{
    o->kind = kind;
    o->refs = 1;
}

/* Not 0 when references are to be counted atomically. Objects that no engine
 * owns (groups, datatypes, operations, handlers) get and lose references inside
 * the API section of some engine; when there are several engines (engines.h) no
 * section protects the counts. It is set while there is still one engine. */
extern wf_atomic_u32 wf_refs_atomic WF_HIDDEN;

static inline void wf_refs_get(uint32_t *refs)
{
    if (wf_unlikely(wf_load_relaxed(&wf_refs_atomic)))
        __atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
    else
        ++*refs;
}

/* Drop a reference; true if it was the last one. */
static inline bool wf_refs_put(uint32_t *refs)
{
    if (wf_unlikely(wf_load_relaxed(&wf_refs_atomic)))
        return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
    return --*refs == 0;
}

static inline void wf_object_get(struct wf_object *o)
{
    wf_refs_get(&o->refs);
}

/* Drop a reference. True if it was the last one: the caller then destroys the
 * object. */
static inline bool wf_object_put(struct wf_object *o)
{
    return wf_refs_put(&o->refs);
}

/* The largest value that is a predefined handle rather than an address. */
#define WF_PREDEFINED_MAX 0xfffu

static inline bool wf_is_object(const void *handle, enum wf_kind kind)
{
    return (uintptr_t)handle > WF_PREDEFINED_MAX &&
           ((uintptr_t)handle & 7) == 0 &&
           ((const struct wf_object *)handle)->kind == kind;
}

struct wf_comm;
struct wf_file;
struct wf_group;
struct wf_type;
struct wf_op;
struct wf_req;
struct wf_message;
struct wf_info;
struct wf_errhandler;
struct wf_session;
struct wf_win;

static inline struct wf_req *wf_req_of(MPI_Request handle)
{
    return wf_is_object(handle, WF_KIND_REQUEST) ? (struct wf_req *)handle
                                                 : NULL;
}

static inline struct wf_message *wf_message_of(MPI_Message handle)
{
    return wf_is_object(handle, WF_KIND_MESSAGE) ? (struct wf_message *)handle
                                                 : NULL;
}

static inline struct wf_session *wf_session_of(MPI_Session handle)
{
    return wf_is_object(handle, WF_KIND_SESSION) ? (struct wf_session *)handle
                                                 : NULL;
}

/* A view of an array argument, which the int functions pass as int[] and their
 * _c twins as MPI_Count[] or MPI_Aint[] (both 64 bits where it matters). base
 * is NULL when the caller passed NULL. */
struct wf_ints {
    const void *base;
    unsigned width; /* bytes per element: 4 or 8 */
};

static inline MPI_Count wf_int_at(struct wf_ints v, size_t i)
{
    return v.width == 4 ? ((const int32_t *)v.base)[i]
                        : (MPI_Count)((const int64_t *)v.base)[i];
}

/* A user function that exists in an int and a large-count form. */
struct wf_polyfn {
    void (*fn)(void);
    bool large;
};

#endif
