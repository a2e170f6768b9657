/* Data representations: how values are in a file (MPI-5.0 s14.5).
 *
 *   native       as in memory; "internal" is the same
 *   external32   big-endian, fixed sizes (core/datatype/external.c)
 *   registered   by functions of the program
 *
 * LOCK  the list of registered ones: section objects. One that is registered
 * stays until the rank ends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_DATAREP_H
#define WF_IO_DATAREP_H

#include "object/handle.h"

struct wf_files;
struct wf_instance;
struct wf_type;

enum wf_datarep_kind { WF_REP_NATIVE, WF_REP_EXTERNAL32, WF_REP_REGISTERED };

struct wf_datarep {
    enum wf_datarep_kind kind;
    char name[MPI_MAX_DATAREP_STRING];
    /* Registered: fn NULL means that nothing is converted. */
    struct wf_polyfn read, write;
    MPI_Datarep_extent_function *extent;
    void *extra_state;
    struct wf_datarep *next;
};

/* Finds a representation by its name; an error class. */
int wf_datarep_find(struct wf_instance *, const char *name,
                    const struct wf_datarep **out);

/* Computes the bytes of one element in a file, or in memory's packed stream if
 * the representation is native. May call a function of the program, for which
 * it leaves the section of `wf`. */
int wf_datarep_size(struct wf_instance *, const struct wf_datarep *,
                    const struct wf_type *, int64_t *bytes);

/* Makes the datatype of which a file type's tile is: the same one if the
 * representation is native, with a reference for the caller. */
int wf_datarep_tile(struct wf_instance *, const struct wf_datarep *,
                    struct wf_type *, struct wf_type **out);

/* Returns whether data are converted on their way. */
static inline bool wf_datarep_converts(const struct wf_datarep *rep, bool write)
{
    return rep->kind == WF_REP_EXTERNAL32 ||
           (rep->kind == WF_REP_REGISTERED &&
            (write ? rep->write.fn : rep->read.fn));
}

#endif
