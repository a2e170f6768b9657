/* What an instance remembers about predefined types: names that the program
 * gave them and attributes it attached, and the unnamed ones of Fortran's
 * parameters. Made when first needed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_NAMED_H
#define WF_NAMED_H

#include "datatype/derived.h"

struct wf_type_named {
    struct wf_type_named *next;
    uint32_t predefined; /* ABI value */
    char *name;          /* or NULL: the standard's */
    struct wf_attr *attrs;
};

/* A predefined type with the precision and range it was asked for (f90.c). */
struct wf_type_f90 {
    struct wf_type type;
    struct wf_type_private priv;
    int64_t value[2];
    struct wf_type_f90 *next;
};

/* The record of a predefined type; NULL when there is none. */
struct wf_type_named *wf_type_named_find(struct wf_instance *,
                                         const struct wf_type *);
/* The same, made when there is none; NULL when memory is out. */
struct wf_type_named *wf_type_named(struct wf_instance *,
                                    const struct wf_type *);

#endif
