/* What every file of the core may use: basic types, lists, error records.
 *
 * ERRORS  Two layers, two conventions, never mixed.
 *   engine (protocol, progress, route, adi, boot): 0 or a positive result on
 *     success, a negative WEFT_E* code of weft_transport.h on failure.
 *   chapters (wf_mpi_* functions and what they share): MPI_SUCCESS or an MPI
 *     error class; wf_error() records the cause where it is known.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BASE_H
#define WF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mpi.h"
#include "weft_transport.h"

#define wf_likely(x) __builtin_expect(!!(x), 1)
#define wf_unlikely(x) __builtin_expect(!!(x), 0)
/* Out of line and out of the way: what a fast path leaves to others. */
#define WF_COLD __attribute__((cold, noinline))
/* Of our own library, as the compiler cannot know: no table in between. */
#define WF_HIDDEN __attribute__((visibility("hidden")))
#define wf_container(p, type, member)                                          \
    ((type *)((char *)(p) - offsetof(type, member)))

enum wf_limits {
    WF_CACHE_LINE = 64,
    WF_EPS_MAX = 16 /* endpoints of one instance; an endpoint set is a bit mask */
};

struct wf_instance;

/* memcpy for what is usually a few bytes: no call for 4 to 16 of them. */
static inline void wf_copy_short(void *to, const void *from, size_t n)
{
    char *d = to;
    const char *s = from;

    if (wf_likely(n - 8 <= 8)) {
        memcpy(d, s, 8);
        memcpy(d + n - 8, s + n - 8, 8);
    } else if (n - 4 < 4) {
        memcpy(d, s, 4);
        memcpy(d + n - 4, s + n - 4, 4);
    } else if (n == 1) {
        *d = *s;
    } else if (n) {
        memcpy(d, s, n);
    }
}

/* Doubly linked circular list; an unlinked node points at itself. */
struct wf_list {
    struct wf_list *next, *prev;
};

static inline void wf_list_init(struct wf_list *l)
{
    l->next = l->prev = l;
}

static inline bool wf_list_empty(const struct wf_list *l)
{
    return l->next == l;
}

static inline void wf_list_append(struct wf_list *l, struct wf_list *node)
{
    node->prev = l->prev;
    node->next = l;
    l->prev->next = node;
    l->prev = node;
}

static inline void wf_list_remove(struct wf_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    wf_list_init(node);
}

/* The cause of the last error on this thread (core/env/error.c).
 * text names the object and, where the user can act, the remedy. */
struct wf_error_record {
    int mpi_class;
    struct wf_comm *comm; /* whose error handler is to be called, or NULL */
    char text[512];
};

/* Record the cause of an MPI error on this thread; returns mpi_class, so that
 * `return wf_error(MPI_ERR_TAG, "...", ...)` reads as what it does. The text
 * is a clause without a final full stop: "tag -7 is negative". */
int wf_error(int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with the communicator whose error handler applies, for calls that
 * have no communicator argument (wait, test, start). */
int wf_error_on(struct wf_comm *comm, int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct wf_error_record *wf_error_last(void);
/* The MPI class of an engine's code: MPI_ERR_NO_MEM for WEFT_ENOMEM,
 * MPI_ERR_PROC_ABORTED where a peer or the way to it is gone, else
 * MPI_ERR_OTHER. */
int wf_error_class(int code);
/* Nothing is recorded from now on: what is found later was recorded later. */
void wf_error_forget(void);

/* Log levels are those of weft_host.log. Each line is "weft[rank]: text", or
 * "weft: text" where wf is NULL. */
enum wf_log_level { WF_LOG_ERROR, WF_LOG_WARN, WF_LOG_INFO, WF_LOG_DEBUG };
void wf_log(struct wf_instance *wf, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
