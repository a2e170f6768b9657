/* An instance keeps records of predefined types: the names that the program
 * gave them, the attributes that it attached, and the unnamed types of
 * Fortran's parameters. A record is made when it is first needed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_NAMED_H
#define WF_NAMED_H

#include "datatype/derived.h"

struct wf_type_named {
    struct wf_type_named *next;
    uint32_t predefined; /* ABI value */
    char *name;          /* NULL: the standard's name */
    struct wf_attr *attrs;
};

/* A predefined type with the precision and range that the program asked for
 * (f90.c). */
struct wf_type_f90 {
    struct wf_type type;
    struct wf_type_private priv;
    int64_t value[2];
    struct wf_type_f90 *next;
};

/* The records of an instance, made with the first of them. */
struct wf_type_records {
    struct wf_type_named *named;
    struct wf_type_f90 *f90;
};

/* Returns the records of the instance, which are made if there are none; NULL:
 * out of memory. */
struct wf_type_records *wf_type_records(struct wf_instance *);
/* Returns the record of a predefined type; NULL: it has none. */
struct wf_type_named *wf_type_named_find(struct wf_instance *,
                                         const struct wf_type *);
/* Returns the record, which is made if there is none; NULL: out of memory. */
struct wf_type_named *wf_type_named(struct wf_instance *,
                                    const struct wf_type *);

/* Releases the records that the instance keeps of predefined types (names,
 * attributes). */
void wf_types_fini(struct wf_instance *);

#endif
