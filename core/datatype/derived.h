/* A derived datatype consists of a constructor record and what follows from it.
 *
 * DESIGN  A derived type keeps the arguments of its constructor once, in the
 * order MPI_Type_get_contents returns them: numbers, widened to 64 bits, then
 * arrays as wide as they came. The view "block i is n elements of an older type
 * at a displacement" is computed from them when needed (blocks.h): bounds,
 * layout, element counting and external32 all walk blocks and know no combiner.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DERIVED_H
#define WF_DERIVED_H

#include "datatype/blocks.h"
#include "datatype/layout.h"
#include "datatype/type.h"

struct wf_attr;

struct wf_type_private {
    struct wf_attr *attrs;
    char *name;       /* set by the user, or NULL */
    uint32_t handles; /* held by the user: attributes are deleted with the
                         last one */
    int combiner;     /* MPI_COMBINER_* */
    bool large;       /* made by a large-count constructor */
    bool sticky;      /* lower and upper bound were set by the user (resized) */
    uint8_t unit;     /* result of wf_type_unit */
    bool rewritten;   /* result of wf_type_needs_conversion */
    uint32_t align;   /* strictest alignment of the basic elements */
    int64_t elements; /* number of basic elements, saturated */
    int64_t external; /* bytes in external32, saturated */
    int64_t nint, naddr, ntype;
    /* nint integers, then naddr addresses: nvalue numbers, value[0] lengths
     * and value[0] displacements of blocks. base is NULL without the array. */
    int64_t nvalue, *value;
    struct wf_ints lengths, places;
    struct wf_type **older; /* ntype referenced types */
    /* subarray and darray: the same placement, made by simpler constructors */
    struct wf_type *body;
    struct wf_type *next_dead; /* list of types that wf_type_put destroys */
};

#endif
