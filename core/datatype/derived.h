/* A derived datatype consists of a constructor record and what follows from it.
 *
 * DESIGN  A derived type keeps the arguments of its constructor once, in the
 * order MPI_Type_get_contents returns them (integers, then addresses), widened
 * to 64 bits. The view "block i is n elements of an older type at a
 * displacement" is computed from them when needed: bounds, layout, element
 * counting and external32 all walk blocks and know no combiner.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DERIVED_H
#define WF_DERIVED_H

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
    int64_t *value;         /* nint integers, then naddr addresses */
    struct wf_type **older; /* ntype referenced types */
    /* subarray and darray: the same placement, made by simpler constructors */
    struct wf_type *body;
    struct wf_type *next_dead; /* list of types that wf_type_put destroys */
};

/* A block is n elements of a type, the first at disp. */
struct wf_type_block {
    int64_t disp, n;
    struct wf_type *type;
};

/* The blocks of a derived type. wf_type_block returns false when the
 * displacement does not fit 64 bits. */
int64_t wf_type_block_count(const struct wf_type *);
bool wf_type_block(const struct wf_type *, int64_t i, struct wf_type_block *);

/* Makes a type with room for the constructor record of this combiner; set the
 * older types with wf_type_set_older. NULL: out of memory. */
struct wf_type *wf_type_create(int combiner, int64_t nint, int64_t naddr,
                               int64_t ntype);
void wf_type_set_older(struct wf_type *, int64_t i, struct wf_type *older);

/* Derives everything else from the record: size, bounds, layout. On failure the
 * type is destroyed. On success *out is the handle's object. */
int wf_type_derive(struct wf_type *, struct wf_type **out);

/* Constructors for use inside the library. */
int wf_type_make_hvector(int64_t count, int64_t blocklength, int64_t stride,
                         struct wf_type *older, struct wf_type **out);
int wf_type_make_struct(int64_t count, const int64_t *disps,
                        struct wf_type *const *older, struct wf_type **out);

/* Records that there is no memory for a datatype, and returns
 * MPI_ERR_NO_MEM. */
int wf_type_report_no_memory(void);

/* Facts that predefined and derived types keep in different places. */
int64_t wf_type_elements(const struct wf_type *);
int64_t wf_type_external(const struct wf_type *);
uint32_t wf_type_align(const struct wf_type *);
/* Returns the width of the units of its stream (swap.c) when all units have the
 * same width, else 0. */
unsigned wf_type_unit(const struct wf_type *);
/* Returns whether external32 changes more than the order of the bytes. */
bool wf_type_needs_conversion(const struct wf_type *);

/* Returns a name for messages: the one the user has set, the standard's, or "a
 * derived datatype". */
const char *wf_type_name(const struct wf_type *);

#endif
