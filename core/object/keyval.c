/* Attribute keys: a table of them, and the MPI functions that make and free
 * keys (MPI-5.0 s7.7).
 *
 * The value of a key consists of its slot and a generation, so that a freed key
 * is not mistaken for a later one in the same slot. Slots are counted from
 * KEYVAL_BASE, so that no value is that of a predefined key.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/keyval.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/attr.h"
#include "object/env.h"
#include "object/error.h"
#include "process/rank.h"

enum {
    KEYVAL_BASE = 0x1000,
    SLOT_BITS = 16,
    SLOT_MAX = (1 << SLOT_BITS) - 1 - KEYVAL_BASE,
    GENERATION_MAX = (1 << (30 - SLOT_BITS)) - 1
};

struct wf_keyvals {
    int count;
    uint16_t *generation; /* of each slot */
    struct wf_keyval **slot;
};

static int slot_of(int keyval)
{
    return (keyval & ((1 << SLOT_BITS) - 1)) - KEYVAL_BASE;
}

/* Returns a free slot, or -1. */
static int take_slot(struct wf_keyvals *all)
{
    for (int i = 0; i < all->count; i++)
        if (!all->slot[i])
            return i;
    if (all->count > SLOT_MAX)
        return -1;
    int room = all->count ? 2 * all->count : 8;
    if (room > SLOT_MAX + 1)
        room = SLOT_MAX + 1;
    uint16_t *generation =
        realloc(all->generation, (size_t)room * sizeof *generation);
    if (generation)
        all->generation = generation;
    struct wf_keyval **slot = realloc(all->slot, (size_t)room * sizeof *slot);
    if (slot)
        all->slot = slot;
    if (!generation || !slot)
        return -1;
    for (int i = all->count; i < room; i++) {
        all->slot[i] = NULL;
        all->generation[i] = 0;
    }
    int first = all->count;
    all->count = room;
    return first;
}

/* Put a key into the table. Section objects is held. */
static bool add_keyval(struct wf_env *env, struct wf_keyval *k)
{
    if (!env->keyvals)
        env->keyvals = calloc(1, sizeof *env->keyvals);
    int i = env->keyvals ? take_slot(env->keyvals) : -1;
    if (i < 0)
        return false;
    k->id = env->keyvals->generation[i] << SLOT_BITS | (KEYVAL_BASE + i);
    env->keyvals->slot[i] = k;
    return true;
}

int wf_keyval_create(struct wf_instance *wf, enum wf_kind kind,
                     wf_attr_copy_fn *copy, wf_attr_delete_fn *delete,
                     void *extra_state, int *keyval)
{
    struct wf_keyval *k = calloc(1, sizeof *k);
    bool added = false;
    if (k) {
        *k = (struct wf_keyval){.kind = kind,
                                .uses = 1,
                                .copy = copy,
                                .delete = delete,
                                .extra_state = extra_state};
        WF_SECTION(objects, wf->rank->env)
            added = add_keyval(wf->rank->env, k);
    }
    if (!added) {
        free(k);
        return wf_error(MPI_ERR_NO_MEM, "no memory for another attribute key");
    }
    *keyval = k->id;
    return MPI_SUCCESS;
}

void wf_keyval_get(struct wf_keyval *k)
{
    wf_refs_get(&k->uses);
}

void wf_keyval_put(struct wf_instance *wf, struct wf_keyval *k)
{
    if (!wf_refs_put(&k->uses))
        return;
    int i = slot_of(k->id);
    WF_SECTION(objects, wf->rank->env) {
        struct wf_keyvals *all = wf->rank->env->keyvals;
        all->slot[i] = NULL;
        all->generation[i] =
            (uint16_t)((all->generation[i] + 1) & GENERATION_MAX);
    }
    free(k);
}

static const char *kind_name(enum wf_kind kind)
{
    return kind == WF_KIND_TYPE  ? "datatypes"
           : kind == WF_KIND_WIN ? "windows"
                                 : "communicators";
}

struct wf_keyval *wf_keyval_find(struct wf_instance *wf, enum wf_kind kind,
                                 int keyval)
{
    int i = slot_of(keyval);
    struct wf_keyval *k = NULL;
    WF_SECTION(objects, wf->rank->env) {
        struct wf_keyvals *all = wf->rank->env->keyvals;
        if (all && keyval > 0 && i >= 0 && i < all->count)
            k = all->slot[i];
    }
    if ((keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) ||
        (keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL))
        wf_error(MPI_ERR_KEYVAL, "keyval %d is predefined and read-only",
                 keyval);
    else if (!k || k->id != keyval)
        wf_error(MPI_ERR_KEYVAL, "keyval %d %s", keyval,
                 keyval == MPI_KEYVAL_INVALID ? "is MPI_KEYVAL_INVALID"
                                              : "does not exist");
    else if (k->kind != kind)
        wf_error(MPI_ERR_KEYVAL, "keyval %d is for %s, not for %s", keyval,
                 kind_name(k->kind), kind_name(kind));
    else
        return k;
    return NULL;
}

/* Attributes that use the key keep it alive (s7.7.2). Meanwhile it does no harm
 * to free another copy of its value. */
int wf_keyval_free(struct wf_instance *wf, enum wf_kind kind, int *keyval)
{
    struct wf_keyval *k = wf_keyval_find(wf, kind, *keyval);
    if (!k)
        return MPI_ERR_KEYVAL;
    *keyval = MPI_KEYVAL_INVALID;
    if (!k->freed) {
        k->freed = true;
        wf_keyval_put(wf, k);
    }
    return MPI_SUCCESS;
}

void wf_keyvals_fini(struct wf_instance *wf)
{
    struct wf_keyvals *all = wf->rank->env->keyvals;
    if (!all)
        return;
    for (int i = 0; i < all->count; i++)
        free(all->slot[i]);
    free(all->slot);
    free(all->generation);
    free(all);
    wf->rank->env->keyvals = NULL;
}

int wf_mpi_comm_create_keyval(struct wf_instance *wf,
                              MPI_Comm_copy_attr_function *copy,
                              MPI_Comm_delete_attr_function *delete,
                              int *comm_keyval, void *extra_state)
{
    return wf_keyval_create(wf, WF_KIND_COMM, (wf_attr_copy_fn *)copy,
                            (wf_attr_delete_fn *)delete, extra_state,
                            comm_keyval);
}

int wf_mpi_comm_free_keyval(struct wf_instance *wf, int *comm_keyval)
{
    return wf_keyval_free(wf, WF_KIND_COMM, comm_keyval);
}

int wf_mpi_type_create_keyval(struct wf_instance *wf,
                              MPI_Type_copy_attr_function *copy,
                              MPI_Type_delete_attr_function *delete,
                              int *type_keyval, void *extra_state)
{
    return wf_keyval_create(wf, WF_KIND_TYPE, (wf_attr_copy_fn *)copy,
                            (wf_attr_delete_fn *)delete, extra_state,
                            type_keyval);
}

int wf_mpi_type_free_keyval(struct wf_instance *wf, int *type_keyval)
{
    return wf_keyval_free(wf, WF_KIND_TYPE, type_keyval);
}

/* The deprecated names of the functions for communicators. */
int wf_mpi_keyval_create(struct wf_instance *wf, MPI_Copy_function *copy_fn,
                         MPI_Delete_function *delete_fn, int *keyval,
                         void *extra_state)
{
    return wf_mpi_comm_create_keyval(wf, (MPI_Comm_copy_attr_function *)copy_fn,
                                     (MPI_Comm_delete_attr_function *)delete_fn,
                                     keyval, extra_state);
}

int wf_mpi_keyval_free(struct wf_instance *wf, int *keyval)
{
    return wf_mpi_comm_free_keyval(wf, keyval);
}
