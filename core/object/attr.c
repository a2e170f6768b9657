/* Attributes on any kind of object: set, get, delete, copy (MPI-5.0 s7.7).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/attr.h"

#include <stdlib.h>

#include "object/env.h"
#include "object/error.h"
#include "object/keyval.h"
#include "report/state.h"

struct wf_attr {
    struct wf_attr *next; /* older */
    struct wf_keyval *keyval;
    void *value;
    bool dying; /* its delete callback is running */
};

/* The value of MPI_COMM_DUP_FN and its relatives in the ABI. */
#define DUP_FN ((wf_attr_copy_fn *)1)

/* Returns the attribute of a key; NULL: there is none. An attribute keeps its
 * key, which is one for this kind of object, so the table of keys is not
 * asked. */
static struct wf_attr *find_attr(struct wf_attr *list, int keyval)
{
    while (list && list->keyval->id != keyval)
        list = list->next;
    return list;
}

/* Take a off the list, unless it is no longer there; true if it was. */
static bool unlink_attr(struct wf_attr **list, struct wf_attr *a)
{
    while (*list && *list != a)
        list = &(*list)->next;
    if (!*list)
        return false;
    *list = a->next;
    return true;
}

/* Run the delete callback of a, which stays on its list. */
static int call_delete(struct wf_instance *wf, void *handle, struct wf_attr *a)
{
    struct wf_keyval *k = a->keyval;
    if (!k->delete)
        return MPI_SUCCESS;
    a->dying = true;
    wf_keyval_get(k);
    const char *call = wf_call_name; /* the callback may call MPI */
    wf_cs_leave(&wf->api);
    int rc = k->delete(handle, k->id, a->value, k->extra_state);
    wf_cs_enter(&wf->api);
    wf_call_name = call;
    wf_keyval_put(wf, k);
    a->dying = false;
    return rc;
}

/* Ends the value of an attribute, which stays on its list. */
static int end_value(struct wf_instance *wf, void *handle, struct wf_attr *a)
{
    if (a->dying)
        return wf_error(MPI_ERR_KEYVAL,
                        "the attribute of keyval %d is being deleted",
                        a->keyval->id);
    return call_delete(wf, handle, a);
}

static int delete_attr(struct wf_instance *wf, void *handle,
                       struct wf_attr **list, struct wf_attr *a)
{
    struct wf_keyval *k = a->keyval;
    int rc = end_value(wf, handle, a);
    if (rc != MPI_SUCCESS)
        return rc;
    unlink_attr(list, a);
    free(a);
    wf_keyval_put(wf, k);
    return MPI_SUCCESS;
}

static void put_first(struct wf_attr **list, struct wf_attr *a, void *value)
{
    a->value = value;
    a->next = *list;
    *list = a;
}

static int add_attr(struct wf_attr **list, struct wf_keyval *k, void *value)
{
    struct wf_attr *a = calloc(1, sizeof *a);
    if (!a)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an attribute");
    a->keyval = k;
    wf_keyval_get(k);
    put_first(list, a, value);
    return MPI_SUCCESS;
}

/* The old value, if there is one, is deleted first. If its callback fails, it
 * stays. */
int wf_attr_set(struct wf_instance *wf, enum wf_kind kind, void *handle,
                struct wf_attr **list, int keyval, void *value)
{
    struct wf_attr *a = find_attr(*list, keyval);
    if (!a) {
        struct wf_keyval *k = wf_keyval_find(wf, kind, keyval);
        return k ? add_attr(list, k, value) : MPI_ERR_KEYVAL;
    }
    int rc = end_value(wf, handle, a);
    if (rc != MPI_SUCCESS)
        return rc;
    unlink_attr(list, a);
    put_first(list, a, value);
    return MPI_SUCCESS;
}

int wf_attr_get(struct wf_instance *wf, enum wf_kind kind, struct wf_attr *list,
                int keyval, void **value, int *flag)
{
    struct wf_attr *a = find_attr(list, keyval);
    *flag = a != NULL;
    if (a)
        *value = a->value;
    else if (!wf_keyval_find(wf, kind, keyval))
        return MPI_ERR_KEYVAL;
    return MPI_SUCCESS;
}

int wf_attr_delete(struct wf_instance *wf, enum wf_kind kind, void *handle,
                   struct wf_attr **list, int keyval)
{
    struct wf_attr *a = find_attr(*list, keyval);
    if (!a && !wf_keyval_find(wf, kind, keyval))
        return MPI_ERR_KEYVAL;
    if (!a)
        return wf_error(MPI_ERR_KEYVAL,
                        "the object has no attribute of keyval %d", keyval);
    return delete_attr(wf, handle, list, a);
}

int wf_attr_delete_all(struct wf_instance *wf, enum wf_kind kind, void *handle,
                       struct wf_attr **list)
{
    while (*list) {
        int rc = delete_attr(wf, handle, list, *list);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

/* Call the copy callback of a; *flag tells whether the duplicate gets an
 * attribute with *value. */
static int call_copy(struct wf_instance *wf, void *handle,
                     const struct wf_attr *a, void **value, int *flag)
{
    struct wf_keyval *k = a->keyval;
    *flag = 0;
    if (!k->copy)
        return MPI_SUCCESS;
    *value = a->value;
    *flag = 1;
    if (k->copy == DUP_FN)
        return MPI_SUCCESS;
    *flag = 0;
    void *in = a->value;
    const char *call = wf_call_name; /* the callback may call MPI */
    wf_cs_leave(&wf->api);
    int rc = k->copy(handle, k->id, k->extra_state, in, value, flag);
    wf_cs_enter(&wf->api);
    wf_call_name = call;
    return rc;
}

/* Copy the attributes to an array, oldest first, each with a use of its key:
 * callbacks may change the list itself meanwhile. Returns how many there are,
 * or -1 without memory. */
static int copy_to_array(struct wf_attr *list, struct wf_attr **out)
{
    int n = 0;
    for (struct wf_attr *a = list; a; a = a->next)
        n++;
    *out = n > 0 ? malloc((size_t)n * sizeof **out) : NULL;
    if (n > 0 && !*out)
        return -1;
    int i = n;
    for (struct wf_attr *a = list; a; a = a->next) {
        (*out)[--i] = *a;
        wf_keyval_get(a->keyval);
    }
    return n;
}

static void drop_list(struct wf_instance *wf, struct wf_attr **list)
{
    while (*list) {
        struct wf_attr *a = *list;
        *list = a->next;
        wf_keyval_put(wf, a->keyval);
        free(a);
    }
}

int wf_attr_copy_all(struct wf_instance *wf, enum wf_kind kind,
                     void *from_handle, struct wf_attr *from,
                     struct wf_attr **to)
{
    struct wf_attr *all;
    int rc = MPI_SUCCESS;
    int n = copy_to_array(from, &all);
    *to = NULL;
    if (n < 0)
        return wf_error(MPI_ERR_NO_MEM, "no memory to copy attributes");
    for (int i = 0; i < n; i++) {
        void *value = NULL;
        int flag = 0;
        if (rc == MPI_SUCCESS)
            rc = call_copy(wf, from_handle, &all[i], &value, &flag);
        if (rc == MPI_SUCCESS && flag)
            rc = add_attr(to, all[i].keyval, value);
        wf_keyval_put(wf, all[i].keyval);
    }
    free(all);
    if (rc != MPI_SUCCESS)
        drop_list(wf, to);
    return rc;
}
