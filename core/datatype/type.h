/* A datatype gives random access to the packed byte stream of user buffers.
 *
 * The packed stream of (buf, count, type) is the data bytes in typemap order,
 * without holes: count * type->size bytes, numbered from 0. The protocol engine
 * moves ranges of that stream and never looks at layouts.
 *
 * A pending operation that points to a struct wf_type holds a reference to it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TYPE_H
#define WF_TYPE_H

#include <sys/uio.h>

#include "object/handle.h"

enum wf_type_flags {
    WF_TYPE_PREDEFINED = 1u << 0, /* static; reference counts do not matter */
    WF_TYPE_COMMITTED = 1u << 1,
    /* The packed stream of any count is one block of memory that starts at
     * buf + true_lb: size == extent == true extent, no holes, in order. */
    WF_TYPE_CONTIG = 1u << 2,
    /* Its segments are many and small: handling them one by one costs more than
     * a copy of the data. */
    WF_TYPE_SMALL_SEGMENTS = 1u << 3
};

struct wf_type_layout; /* the committed form, private to core/datatype */

struct wf_type {
    struct wf_object object;
    uint32_t flags;
    uint32_t predefined; /* ABI value of a predefined type, else 0 */
    int64_t size;        /* data bytes of one element */
    int64_t lb, extent;
    int64_t true_lb, true_extent;
    struct wf_type_layout *layout;
    /* owned by core/datatype: constructor record, name, attributes, … */
    struct wf_type_private *priv;
};

static inline bool wf_type_is_contiguous(const struct wf_type *t)
{
    return t->flags & WF_TYPE_CONTIG;
}

/* Returns the address of the first byte of data of the elements at `buf`.
 * Integers are added, as buf may be NULL where there are no elements. */
static inline char *wf_type_data(const struct wf_type *t, const void *buf)
{
    return (char *)((uintptr_t)buf + (uintptr_t)t->true_lb);
}

struct wf_attr;

/* Returns the attribute list of a type (object/attr.h); predefined types have
 * one per instance. NULL: out of memory. */
struct wf_attr **wf_type_attrs(struct wf_type *);

void wf_type_get(struct wf_type *);
void wf_type_put(struct wf_type *);

/* Returns a name for messages: the one the user has set, the standard's, or "a
 * derived datatype". */
const char *wf_type_name(const struct wf_type *);

#endif
