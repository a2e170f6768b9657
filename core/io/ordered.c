/* Where each member of an ordered access begins: behind the bytes of those with
 * lower ranks. One allgather tells all members the bytes of each, and whether
 * all have the pointer's memory; then none needs a message of the keeper. The
 * memory for it is the file's, so that no member can lack it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"
#include "core_api.h"
#include "io/file.h"
#include "io/shared.h"
#include "object/error.h"

/* Beside the bytes: this member has no memory. */
static const uint64_t WITHOUT = UINT64_C(1) << 63;

struct sums {
    uint64_t before; /* bytes of lower ranks */
    uint64_t all;
    bool in_memory;
};

static int add_up(struct wf_file *f, uint64_t own, struct sums *s)
{
    struct wf_comm *comm = f->comm;
    uint64_t *each = f->lengths;
    int rc = wf_mpi_allgather(comm->wf, &own, sizeof own, wf_coll_byte(), each,
                              sizeof own, wf_coll_byte(), comm);

    for (int i = 0; !rc && i < comm->size; i++) {
        s->before = i == comm->rank ? s->all : s->before;
        s->in_memory &= !(each[i] & WITHOUT);
        if (__builtin_add_overflow(s->all, each[i] & ~WITHOUT, &s->all))
            s->all = UINT64_MAX; /* more than the pointer can be moved by */
    }
    return rc;
}

int wf_shared_add_ordered(struct wf_file *f, uint64_t bytes, uint64_t *old)
{
    struct sums s = {.in_memory = true};
    uint64_t base = 0;
    int rc;

    WF_ASSERT(bytes <= INT64_MAX);
    rc = add_up(f, bytes | (wf_shared_has_memory(f) ? 0 : WITHOUT), &s);
    if (rc == MPI_SUCCESS)
        rc = wf_shared_move(f, s.all, s.in_memory, &base);
    *old = rc ? 0 : base + s.before;
    return rc;
}
