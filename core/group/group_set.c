/* Groups are made here from groups: by union, intersection and difference, and
 * from chosen ranks (MPI-5.0 s7.3.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "group/comm.h"
#include "group/group.h"
#include "object/env.h"
#include "object/error.h"

/* The members of a group that is being made. */
struct members {
    const struct wf_group *from; /* one of the groups it is made of */
    uint32_t *procs;
    int count;
};

static int report_no_memory(void)
{
    return wf_error(MPI_ERR_NO_MEM, "no memory for a group");
}

static bool init_members(struct members *m, const struct wf_group *from,
                         size_t room)
{
    m->from = from;
    m->count = 0;
    m->procs = malloc((room ? room : 1) * sizeof *m->procs);
    return m->procs != NULL;
}

static void add_member(struct members *m, uint32_t proc)
{
    m->procs[m->count++] = proc;
}

/* The empty result is MPI_GROUP_EMPTY (s7.3.2). */
static int make_group(struct members *m, MPI_Group *out)
{
    WF_ASSERT(m->count >= 0 && m->procs);
    if (m->count == 0) {
        free(m->procs);
        *out = MPI_GROUP_EMPTY;
        return MPI_SUCCESS;
    }
    struct wf_group *g = wf_group_create(m->from->wf, m->count, m->procs);
    if (!g)
        return report_no_memory();
    wf_group_join_session(g, m->from->session);
    *out = wf_group_handle(g);
    return MPI_SUCCESS;
}

/* Adds the members of a that are in x (wanted) or that are not, in the order of
 * a. */
static void add_filtered(struct members *m, const struct wf_group *a,
                         const struct wf_group_index *x, bool wanted)
{
    for (int i = 0; i < a->size; i++) {
        uint32_t proc = wf_group_proc(a, i);
        if ((wf_group_lookup(x, proc) != MPI_UNDEFINED) == wanted)
            add_member(m, proc);
    }
}

/* Makes a group of all members of `all` (union), then the members of b that are
 * in x_group, or that are not. */
static int combine_groups(struct wf_group *all, struct wf_group *b,
                          struct wf_group *x_group, bool wanted, MPI_Group *out)
{
    struct wf_group_index x;
    struct members m;
    size_t room = (size_t)b->size + (all ? (size_t)all->size : 0);
    if (!wf_group_index(&x, x_group))
        return report_no_memory();
    if (!init_members(&m, x_group->session ? x_group : b, room)) {
        wf_group_index_free(&x);
        return report_no_memory();
    }
    for (int i = 0; all && i < all->size; i++)
        add_member(&m, wf_group_proc(all, i));
    add_filtered(&m, b, &x, wanted);
    wf_group_index_free(&x);
    return make_group(&m, out);
}

int wf_mpi_group_union(struct wf_instance *wf, struct wf_group *group1,
                       struct wf_group *group2, MPI_Group *newgroup)
{
    return combine_groups(group1, group2, group1, false, newgroup);
}

int wf_mpi_group_intersection(struct wf_instance *wf, struct wf_group *group1,
                              struct wf_group *group2, MPI_Group *newgroup)
{
    return combine_groups(NULL, group1, group2, true, newgroup);
}

int wf_mpi_group_difference(struct wf_instance *wf, struct wf_group *group1,
                            struct wf_group *group2, MPI_Group *newgroup)
{
    return combine_groups(NULL, group1, group2, false, newgroup);
}

/* ---- chosen ranks -------------------------------------------------------- */

/* The chosen ranks, in the order of the list, each at most once. */
struct chosen {
    const struct wf_group *group;
    uint8_t *taken;
    struct members m;
};

static bool begin_chosen(struct chosen *c, struct wf_group *g)
{
    c->group = g;
    c->taken = calloc((size_t)g->size + 1, 1);
    if (c->taken && init_members(&c->m, g, (size_t)g->size))
        return true;
    free(c->taken);
    return false;
}

static int choose_rank(struct chosen *c, int64_t rank, const char *where, int i)
{
    if (rank < 0 || rank >= c->group->size)
        return wf_error(MPI_ERR_RANK,
                        "%s[%d] names rank %lld, but the group has %d members",
                        where, i, (long long)rank, c->group->size);
    if (c->taken[rank])
        return wf_error(MPI_ERR_RANK, "%s[%d] names rank %lld a second time",
                        where, i, (long long)rank);
    c->taken[rank] = 1;
    add_member(&c->m, wf_group_proc(c->group, (int)rank));
    return MPI_SUCCESS;
}

static int choose_listed(struct chosen *c, int n, const int ranks[])
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = choose_rank(c, ranks[i], "ranks", i);
    return rc;
}

/* A range is first, first + stride, … up to last (s7.3.2); 64 bits since a
 * stride may lead beyond what an int holds. */
static int choose_ranges(struct chosen *c, int n, int ranges[][3])
{
    for (int i = 0; i < n; i++) {
        int64_t last = ranges[i][1];
        int64_t stride = ranges[i][2];
        if (stride == 0)
            return wf_error(MPI_ERR_ARG, "ranges[%d] has stride 0", i);
        for (int64_t r = ranges[i][0]; stride > 0 ? r <= last : r >= last;
             r += stride) {
            int rc = choose_rank(c, r, "ranges", i);
            if (rc != MPI_SUCCESS)
                return rc;
        }
    }
    return MPI_SUCCESS;
}

/* Replaces the chosen members by the ones that were not chosen. */
static void invert_chosen(struct chosen *c)
{
    c->m.count = 0;
    for (int i = 0; i < c->group->size; i++)
        if (!c->taken[i])
            add_member(&c->m, wf_group_proc(c->group, i));
}

static int end_chosen(struct chosen *c, int rc, bool excluded, MPI_Group *out)
{
    if (rc == MPI_SUCCESS && excluded)
        invert_chosen(c);
    free(c->taken);
    if (rc != MPI_SUCCESS) {
        free(c->m.procs);
        return rc;
    }
    return make_group(&c->m, out);
}

static int select_listed(struct wf_group *g, int n, const int ranks[],
                         bool excluded, MPI_Group *out)
{
    struct chosen c;
    if (!begin_chosen(&c, g))
        return report_no_memory();
    return end_chosen(&c, choose_listed(&c, n, ranks), excluded, out);
}

static int select_ranges(struct wf_group *g, int n, int ranges[][3],
                         bool excluded, MPI_Group *out)
{
    struct chosen c;
    if (!begin_chosen(&c, g))
        return report_no_memory();
    return end_chosen(&c, choose_ranges(&c, n, ranges), excluded, out);
}

int wf_mpi_group_incl(struct wf_instance *wf, struct wf_group *group, int n,
                      const int ranks[], MPI_Group *newgroup)
{
    return select_listed(group, n, ranks, false, newgroup);
}

int wf_mpi_group_excl(struct wf_instance *wf, struct wf_group *group, int n,
                      const int ranks[], MPI_Group *newgroup)
{
    return select_listed(group, n, ranks, true, newgroup);
}

int wf_mpi_group_range_incl(struct wf_instance *wf, struct wf_group *group,
                            int n, int ranges[][3], MPI_Group *newgroup)
{
    return select_ranges(group, n, ranges, false, newgroup);
}

int wf_mpi_group_range_excl(struct wf_instance *wf, struct wf_group *group,
                            int n, int ranges[][3], MPI_Group *newgroup)
{
    return select_ranges(group, n, ranges, true, newgroup);
}
