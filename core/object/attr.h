/* Attributes: values that the program caches on communicators and datatypes
 * under keys of its own (MPI-5.0 s7.7).
 *
 * An object's attributes are a list, newest first, which is the order in which
 * they are deleted. A key lives until it is freed and no attribute uses it.
 *
 * CALLBACKS  run outside the API section, so every list may have changed when
 * one returns; an attribute being deleted stays on its list until its callback
 * has returned, so that the callback can still read it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ATTR_H
#define WF_ATTR_H

#include "object/handle.h"

struct wf_attr; /* NULL: no attributes */

/* Copy to a duplicate each attribute whose copy function asks for it; *to
 * receives the new list. On failure *to is NULL and the error of the copy
 * function is returned. */
int wf_attr_copy_all(struct wf_instance *, enum wf_kind kind, void *from_handle,
                     struct wf_attr *from, struct wf_attr **to);
/* Delete every attribute of an object that is about to be freed. Stops at the
 * first delete function that fails and returns its error: the object is then
 * not to be freed. handle is the MPI handle, as callbacks see it. */
int wf_attr_delete_all(struct wf_instance *, enum wf_kind kind, void *handle,
                       struct wf_attr **list);

/* Set, get or delete one attribute. kind is WF_KIND_COMM, WF_KIND_TYPE
 * or WF_KIND_WIN. */
int wf_attr_set(struct wf_instance *, enum wf_kind kind, void *handle,
                struct wf_attr **list, int keyval, void *value);
int wf_attr_get(struct wf_instance *, enum wf_kind kind, struct wf_attr *list,
                int keyval, void **value, int *flag);
int wf_attr_delete(struct wf_instance *, enum wf_kind kind, void *handle,
                   struct wf_attr **list, int keyval);

/* The callbacks of all kinds of object have these forms; only the type of the
 * handle differs, which is a pointer in all of them. */
typedef int wf_attr_copy_fn(void *handle, int keyval, void *extra_state,
                            void *value_in, void *value_out, int *flag);
typedef int wf_attr_delete_fn(void *handle, int keyval, void *value,
                              void *extra_state);

struct wf_keyval {
    int id;
    enum wf_kind kind;
    uint32_t uses; /* attributes, running callbacks, and 1 until it is freed */
    bool freed;
    wf_attr_copy_fn *copy;     /* NULL: do not copy */
    wf_attr_delete_fn *delete; /* NULL: nothing to do */
    void *extra_state;
};

#endif
