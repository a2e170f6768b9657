/* Basic types, lists and error records, for every file of the core.
 *
 * ERRORS  Two layers, two conventions, never mixed; core/README.md says which
 * folder has which.
 *   status: 0 or a positive result on success, else a negative status, which is
 *     a WEFT_E* of weft_transport.h or one of report/status.h. wf_fail()
 *     records the cause where it is known.
 *   class (wf_mpi_* functions and what they share): MPI_SUCCESS or an MPI error
 *     class; wf_error() records the cause.
 * object/error_class.h turns one into the other.
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
#include "report/assert.h"
#include "weft_transport.h"

#define wf_likely(x)   __builtin_expect(!!(x), 1)
#define wf_unlikely(x) __builtin_expect(!!(x), 0)
/* Keeps a function that is rarely called out of line, away from the code of the
 * fast path. */
#define WF_COLD __attribute__((cold, noinline))
/* Tells the compiler that a symbol is defined in this library, so that it is
 * reached directly and not by the global offset table. */
#define WF_HIDDEN __attribute__((visibility("hidden")))
#define wf_container(p, type, member)                                          \
    ((type *)((char *)(p) - offsetof(type, member)))

enum wf_limits {
    WF_CACHE_LINE = 64,
    /* Endpoints of one instance; a set of them is a bit mask. */
    WF_EPS_MAX = 16
};

struct wf_instance;

/* Does what memcpy does; 4 to 16 bytes are copied without a call. */
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

static inline uint64_t wf_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

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

/* An error record holds the cause of the last error on this thread
 * (report/error.h). Its text names the object and, where the user can act,
 * the remedy. */
struct wf_error_record {
    int status;              /* report/status.h */
    struct wf_object *owner; /* its error handler is to be called; or NULL */
    char text[512];
};

/* Log levels are those of weft_host.log. Each line is "weft[rank]: text", or
 * "weft: text" where wf is NULL. */
enum wf_log_level { WF_LOG_ERROR, WF_LOG_WARN, WF_LOG_INFO, WF_LOG_DEBUG };

#endif
