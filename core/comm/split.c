/* MPI_Comm_split gathers the colors and keys of all processes in each process,
 * which then picks out its own group (MPI-5.0 s7.4.2, s7.6.2).
 *
 * All new communicators of one split share a context id: their groups are
 * disjoint.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/split.h"

#include <stdlib.h>

#include "comm/derive.h"
#include "core_api.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "process/instance.h"

/* Each process contributes one entry of four words. */
struct entry {
    uint32_t member, color_high, color_low;
    int32_t key;
};
enum { WORDS = sizeof(struct entry) / sizeof(uint32_t) };

/* A process that has the color of this one: its key, and its rank in `from`. */
struct chosen {
    int key, rank;
};

static int compare_keys(const void *a, const void *b)
{
    const struct chosen *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool is_same_color(const struct entry *a, const struct entry *b)
{
    return a->member && b->member && a->color_high == b->color_high &&
           a->color_low == b->color_low;
}

/* Makes the group of the processes of `from` whose entries have the color of
 * mine, by key, then rank. NULL: out of memory. */
static struct wf_group *make_group_of_color(const struct wf_group *from,
                                            const struct entry *all,
                                            const struct entry *mine)
{
    size_t room = (size_t)from->size + 1;
    struct chosen *list = malloc(room * sizeof *list);
    uint32_t *procs = malloc(room * sizeof *procs);
    int n = 0;
    if (!list || !procs) {
        free(list);
        free(procs);
        return NULL;
    }
    for (int i = 0; i < from->size; i++)
        if (is_same_color(&all[i], mine))
            list[n++] = (struct chosen){all[i].key, i};
    qsort(list, (size_t)n, sizeof *list, compare_keys);
    for (int i = 0; i < n; i++)
        procs[i] = wf_group_proc(from, list[i].rank);
    free(list);
    return wf_group_create(from->wf, n, procs);
}

/* Sends this group's table, and receives that of the other group, in the order
 * of its ranks. */
static int swap_tables(const struct wf_derive_plan *p, const struct entry *mine,
                       struct entry **theirs)
{
    uint32_t *words, n;
    const struct wf_comm *comm = p->parent;
    int rc = wf_bridge_exchange_words(&p->scope, (const uint32_t *)mine,
                            (uint32_t)comm->size * WORDS, &words, &n);
    if (rc != MPI_SUCCESS)
        return rc;
    *theirs = (struct entry *)words;
    if (n == (uint32_t)comm->peers->size * WORDS)
        return MPI_SUCCESS;
    free(words);
    return wf_error(MPI_ERR_INTERN, "the remote group sent %u words", n);
}

/* Makes the communicator of this process, or NULL if it gets none. */
static int make_result(struct wf_derive_plan *p, const struct entry *mine,
                       const struct entry *local, const struct entry *remote,
                       bool strict)
{
    struct wf_comm *comm = p->parent;
    struct wf_group *r = NULL;
    struct wf_group *l = make_group_of_color(comm->local, local, mine);
    if (!l)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a group");
    if (remote && !(r = make_group_of_color(comm->peers, remote, mine))) {
        wf_group_put(l);
        return wf_error(MPI_ERR_NO_MEM, "no memory for a group");
    }
    if ((r && r->size == 0) || (strict && l->size == comm->size)) {
        wf_group_put(l);
        if (r)
            wf_group_put(r);
        return MPI_SUCCESS;
    }
    p->result =
        wf_comm_create(comm->wf, l, r, WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    if (!p->result)
        return MPI_ERR_NO_MEM;
    wf_comm_inherit(p->result, comm);
    return MPI_SUCCESS;
}

static int gather_tables(struct wf_derive_plan *p, const struct entry *mine,
                         struct entry *local, struct entry **remote)
{
    struct wf_comm *comm = p->parent;
    struct wf_type *word = wf_type_of(MPI_UINT32_T);
    struct wf_comm *group = comm->inter ? comm->local_comm : comm;
    int rc = wf_mpi_allgather(comm->wf, mine, WORDS, word, local, WORDS, word,
                              group);
    if (rc == MPI_SUCCESS && comm->inter)
        rc = swap_tables(p, local, remote);
    return rc;
}

int wf_split(struct wf_comm *comm, const struct wf_split *s, MPI_Comm *newcomm)
{
    struct wf_derive_plan p;
    struct entry mine = {s->member, s->color_high, s->color_low, s->key};
    struct entry *remote = NULL;
    struct entry *local = malloc((size_t)comm->size * sizeof *local);
    *newcomm = MPI_COMM_NULL;
    if (!local)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %d colors", comm->size);
    wf_derive_init_plan(&p, comm);
    int rc = gather_tables(&p, &mine, local, &remote);
    if (rc != MPI_SUCCESS) {
        free(local);
        return rc;
    }
    if (s->member)
        rc = make_result(&p, &mine, local, remote, s->strict);
    free(local);
    free(remote);
    p.failed = rc != MPI_SUCCESS;
    return wf_derive_run(&p, rc, newcomm);
}

int wf_mpi_comm_split(struct wf_instance *wf, struct wf_comm *comm, int color,
                      int key, MPI_Comm *newcomm)
{
    struct wf_split s = {.member = color != MPI_UNDEFINED,
                         .color_low = (uint32_t)color,
                         .key = key};
    return wf_split(comm, &s, newcomm);
}
