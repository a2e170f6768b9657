/* Owners of errors: MPI objects that have an error handler (MPI-5.0 s9.3).
 *
 * A chapter registers each kind of its objects that errors belong to, before
 * the first of them exists; group/raise.c knows the owners by these functions
 * alone.
 *
 * LOCK  section objects protects the table of an instance.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_OWNER_H
#define WF_OBJECT_OWNER_H

#include "object/handle.h"

struct wf_errhandler;
struct wf_instance;

/* A kind of objects to which errors belong. */
struct wf_owner_kind {
    enum wf_kind kind;
    /* As in the names of its MPI functions: "Comm" for MPI_Comm_x. */
    const char *name;
    /* An error that was recorded with an owner goes to that one instead: calls
     * on objects of this kind work with communicators inside. */
    bool gives_way;
    /* Returns the object to which errors of calls on this one belong instead,
     * or NULL. A kind that has this function needs none of the others. */
    struct wf_object *(*stands_for)(struct wf_object *);
    struct wf_errhandler *(*errhandler)(struct wf_object *);
    /* Returns the engine whose section protects the object. NULL: the home
     * engine of the rank. */
    struct wf_instance *(*engine)(struct wf_object *);
    /* Returns the handle that the program has. The object may be NULL: a call
     * that was to make it has failed. */
    void *(*handle)(struct wf_object *);
    /* Calls a handler that the program made for objects of this kind. */
    void (*call)(void (*fn)(void), void *handle, int *errorcode);
    /* Writes the object for the text of an error: " on communicator 'rows'". */
    void (*describe)(struct wf_object *, char *out, size_t n);
};

enum { WF_OWNER_KINDS_MAX = 8 };

/* Register a kind; once is enough, and more does no harm. */
void wf_owner_register(struct wf_instance *, const struct wf_owner_kind *);

/* Returns the registered kind of an object. NULL: no error belongs to it. */
const struct wf_owner_kind *wf_owner_kind_of(struct wf_instance *,
                                             const struct wf_object *);

#endif
