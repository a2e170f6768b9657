/* This file manages datatype objects: references, attributes and names for
 * messages. The MPI calls about them are in type_calls.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/type.h"

#include <stdlib.h>

#include "datatype/derived.h"
#include "datatype/named.h"
#include "datatype/predefined.h"
#include "object/attr.h"
#include "process/instance.h"

void wf_type_get(struct wf_type *t)
{
    if (!(t->flags & WF_TYPE_PREDEFINED))
        wf_object_get(&t->object);
}

/* Drops a reference; a type without references joins the list. */
static void drop_reference(struct wf_type *t, struct wf_type **dead)
{
    if (!t || (t->flags & WF_TYPE_PREDEFINED) || !wf_object_put(&t->object))
        return;
    t->priv->next_dead = *dead;
    *dead = t;
}

static void destroy_type(struct wf_type *t)
{
    struct wf_type_private *p = t->priv;

    wf_layout_put(t->layout);
    free(p->name);
    t->object.kind = WF_KIND_DEAD;
    free(t);
}

/* Drops a reference of a derived type. It uses a list and no recursion: types
 * may be nested as deep as memory allows. */
static __attribute__((noinline)) void put_derived(struct wf_type *t)
{
    struct wf_type *dead = NULL;

    drop_reference(t, &dead);
    while ((t = dead)) {
        struct wf_type_private *p = t->priv;

        dead = p->next_dead;
        for (int64_t i = 0; i < p->ntype; i++)
            drop_reference(p->older[i], &dead);
        drop_reference(p->body, &dead);
        destroy_type(t);
    }
}

void wf_type_put(struct wf_type *t)
{
    if (wf_unlikely(!(t->flags & WF_TYPE_PREDEFINED)))
        put_derived(t);
}

struct wf_attr **wf_type_attrs(struct wf_type *t)
{
    struct wf_type_named *named;

    if (t->priv)
        return &t->priv->attrs;
    named = wf_type_named(wf_current(), t);
    return named ? &named->attrs : NULL;
}

const char *wf_type_name(const struct wf_type *t)
{
    if (t->predefined)
        return wf_predefined(t)->name;
    return t->priv->name && t->priv->name[0] ? t->priv->name
                                             : "a derived datatype";
}
