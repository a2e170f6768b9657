/* The communicators of files: see file_comm.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/file_comm.h"

#include <stdlib.h>

#include "comm/derive.h"
#include "io/file.h"

/* A communicator that no file uses, kept with its parent. */
struct spare {
    struct wf_comm_kept kept;
    struct wf_comm *comm; /* or NULL */
    uint32_t uses;        /* by how many files */
};

static void drop_comm(struct spare *s)
{
    if (s->comm)
        wf_comm_put(s->comm);
    s->comm = NULL;
}

static void drop_spare(struct wf_comm_kept *kept)
{
    struct spare *s = wf_container(kept, struct spare, kept);

    drop_comm(s);
    free(s);
}

/* Returns what is kept with a communicator, or NULL. */
static struct spare *find_spare(const struct wf_comm *parent)
{
    struct wf_comm_kept *k = wf_comm_find_kept(parent, drop_spare);

    return k ? wf_container(k, struct spare, kept) : NULL;
}

static struct spare *make_spare(struct wf_comm *parent)
{
    struct spare *s = find_spare(parent);

    if (s || !(s = calloc(1, sizeof *s)))
        return s;
    s->kept.drop = drop_spare;
    wf_comm_keep(parent, &s->kept);
    return s;
}

int64_t wf_file_comm_name(const struct wf_comm *parent)
{
    const struct spare *s = find_spare(parent);

    return s && s->comm ? (int64_t)s->comm->context << 32 | s->uses : -1;
}

int wf_file_comm_take(struct wf_file *f, struct wf_comm *parent, bool use_kept)
{
    struct spare *s = find_spare(parent);
    int rc = MPI_SUCCESS;

    if (use_kept && s && s->comm) {
        f->comm = s->comm;
        f->comm_uses = s->uses;
        s->comm = NULL;
    } else {
        if (s)
            drop_comm(s);
        rc = wf_derive_create_private(parent, WF_KIND_OF_IO, rc, &f->comm);
    }
    if (rc == MPI_SUCCESS && f->comm->wf == parent->wf) {
        wf_comm_get(parent);
        f->parent = parent;
    }
    return rc;
}

void wf_file_comm_end(struct wf_file *f, bool keep)
{
    struct spare *s =
        keep && f->parent && !f->parent->freed ? make_spare(f->parent) : NULL;

    if (s && !s->comm) {
        s->comm = f->comm;
        s->uses = f->comm_uses + 1;
    } else if (f->comm) {
        wf_comm_put(f->comm);
    }
    f->comm = NULL;
    if (f->parent)
        wf_comm_put(f->parent);
    f->parent = NULL;
}
