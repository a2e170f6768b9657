/* Attribute keys: a table of them, and the MPI functions that make and free
 * keys (MPI-5.0 s7.7).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_KEYVAL_H
#define WF_OBJECT_KEYVAL_H

#include "base.h"
#include "object/attr.h"
#include "object/handle.h"

struct wf_instance;
struct wf_keyval;

void wf_keyval_get(struct wf_keyval *); /* counts one more use */
int wf_keyval_create(struct wf_instance *, enum wf_kind kind,
                     wf_attr_copy_fn *copy, wf_attr_delete_fn *delete,
                     void *extra_state, int *keyval);
int wf_keyval_free(struct wf_instance *, enum wf_kind kind, int *keyval);

/* Returns the key, or NULL with MPI_ERR_KEYVAL recorded. */
struct wf_keyval *wf_keyval_find(struct wf_instance *, enum wf_kind kind,
                                 int keyval);
void wf_keyval_put(struct wf_instance *, struct wf_keyval *);
void wf_keyvals_fini(struct wf_instance *);

#endif
