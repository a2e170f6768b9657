/* Intercommunicators are made here from two groups, and merged into one
 * (MPI-5.0 s7.6.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/inter.h"

#include <stdlib.h>

#include "comm/derive.h"
#include "core_api.h"
#include "object/error.h"
#include "process/rank.h"

/* A leader sends the other the key of the agreement, which both compute from
 * the peer communicator, and the names of the members of its group. */
enum { KEY_WORDS = 2, NAME_WORDS = 2 };

static uint32_t count_words(const struct wf_group *g)
{
    return KEY_WORDS + NAME_WORDS * (uint32_t)g->size;
}

static uint32_t *put_words(uint32_t *at, uint64_t value)
{
    at[0] = (uint32_t)(value >> 32);
    at[1] = (uint32_t)value;
    return at + 2;
}

static uint64_t get_words(const uint32_t *at)
{
    return (uint64_t)at[0] << 32 | at[1];
}

static uint32_t *describe_group(const struct wf_group *g, uint64_t key)
{
    uint32_t *words = malloc(count_words(g) * sizeof *words), *at = words;
    if (!words)
        return NULL;
    at = put_words(at, key);
    for (int i = 0; i < g->size; i++)
        at = put_words(at, wf_group_name(g, i));
    return words;
}

static int check_disjoint(const struct wf_group *local,
                          const struct wf_group *remote)
{
    struct wf_group_index x;
    int rc = MPI_SUCCESS;
    if (!wf_group_index(&x, local))
        return wf_error(MPI_ERR_NO_MEM, "no memory to compare groups");
    for (int i = 0; i < remote->size && rc == MPI_SUCCESS; i++) {
        int r = wf_group_lookup(&x, wf_group_proc(remote, i));
        if (r != MPI_UNDEFINED)
            rc = wf_error(MPI_ERR_GROUP,
                          "rank %d of the local group is rank %d of the remote "
                          "group too",
                          r, i);
    }
    wf_group_index_free(&x);
    return rc;
}

/* Makes the group that the other leader described. *unmet is set if it has a
 * process that this one does not know. */
static int group_of_words(struct wf_instance *wf, const uint32_t *words,
                          uint32_t n, struct wf_group **out, bool *unmet)
{
    const uint32_t *at = words + KEY_WORDS;
    uint32_t *procs;
    if (n < KEY_WORDS + NAME_WORDS || (n - KEY_WORDS) % NAME_WORDS)
        return wf_error(MPI_ERR_INTERN, "the remote leader sent %u words", n);
    n = (n - KEY_WORDS) / NAME_WORDS;
    procs = malloc(n * sizeof *procs);
    for (uint32_t i = 0; procs && i < n; i++, at += NAME_WORDS)
        if (!wf_job_find(&wf->rank->job, get_words(at), &procs[i])) {
            free(procs);
            *unmet = true;
            return wf_error(MPI_ERR_OTHER,
                            "process %u of the remote group is of a job that "
                            "this process has not met",
                            i);
        }
    *out = procs ? wf_group_create(wf, (int)n, procs) : NULL;
    return *out ? MPI_SUCCESS
                : wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
}

/* Makes the intercommunicator, without a context id, in *out. It takes over the
 * reference to the group. */
static int comm_of_group(struct wf_comm *local_comm, struct wf_group *remote,
                         struct wf_comm **out)
{
    int rc = check_disjoint(local_comm->local, remote);

    if (rc != MPI_SUCCESS) {
        wf_group_put(remote);
        return rc;
    }
    wf_group_get(local_comm->local);
    *out = wf_comm_create(local_comm->wf, local_comm->local, remote,
                          WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    if (!*out)
        return MPI_ERR_NO_MEM;
    wf_comm_inherit(*out, local_comm);
    return MPI_SUCCESS;
}

static int comm_of_words(struct wf_comm *local_comm, const uint32_t *words,
                         uint32_t n, struct wf_comm **out, bool *unmet)
{
    struct wf_instance *home = wf_home(local_comm->wf);
    struct wf_group *remote;
    int rc;

    wf_engine_switch(local_comm->wf, home); /* it knows other jobs */
    rc = group_of_words(local_comm->wf, words, n, &remote, unmet);
    wf_engine_switch(home, local_comm->wf);
    return rc == MPI_SUCCESS ? comm_of_group(local_comm, remote, out) : rc;
}

/* Plans the agreement: local ranks talk over local_comm, leaders over the
 * bridge. */
static void plan_inter(struct wf_derive_plan *p, struct wf_comm *local_comm,
                       const struct wf_bridge *b)
{
    wf_derive_init_plan(p, local_comm);
    p->inter = true;
    p->hint = NULL;
    p->scope.bridged = true;
    p->scope.leader = b->leader;
    p->scope.bridge = b->comm;
    p->scope.bridge_rank = b->rank;
    p->scope.bridge_tag = b->tag;
    p->scope.bridge_space = b->space;
    p->scope.others = b->others;
}

/* Whether all processes of both groups are of one job; all of them find the
 * same. */
static bool are_of_one_job(const struct wf_group *local, const uint32_t *words,
                           uint32_t n)
{
    uint32_t job = (uint32_t)(wf_group_name(local, 0) >> 32);
    bool same = true;

    for (int i = 1; i < local->size; i++)
        same &= (uint32_t)(wf_group_name(local, i) >> 32) == job;
    for (uint32_t i = KEY_WORDS; i + NAME_WORDS <= n; i += NAME_WORDS)
        same &= words[i] == job;
    return same;
}

/* Lets all processes of both groups know whether one of them does not know
 * another, as this one does not if it is `strange`. */
static int agree_on_unmet(const struct wf_derive_plan *p, bool strange,
                          bool *unmet)
{
    uint64_t known = !strange, input;
    int rc = wf_agree_run_over(&p->scope, &known, &input, 1);

    *unmet = rc == MPI_SUCCESS && !known;
    return rc == MPI_SUCCESS
               ? rc
               : wf_error(rc, "the groups could not agree on who has met");
}

int wf_intercomm_create(struct wf_comm *local_comm, const struct wf_bridge *b,
                        bool *unmet, MPI_Comm *newintercomm)
{
    struct wf_derive_plan p;
    uint32_t *mine = NULL, *theirs, n;
    bool strange = false;
    int agreed = MPI_SUCCESS;
    plan_inter(&p, local_comm, b);
    if (local_comm->rank == b->leader) {
        mine = describe_group(local_comm->local, b->key);
        if (!mine)
            return wf_error(MPI_ERR_NO_MEM, "no memory for a group");
    }
    int rc = wf_bridge_exchange_words(
        &p.scope, mine, count_words(local_comm->local), &theirs, &n);
    free(mine);
    if (rc != MPI_SUCCESS)
        return rc;
    if (n >= KEY_WORDS)
        p.key = get_words(theirs);
    rc = comm_of_words(local_comm, theirs, n, &p.result, &strange);
    p.scope.result = p.result;
    if (unmet && !are_of_one_job(local_comm->local, theirs, n))
        agreed = agree_on_unmet(&p, strange, unmet);
    free(theirs);
    if (unmet && *unmet) {
        if (p.result)
            wf_derive_discard(p.result);
        return MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS || (strange && agreed != MPI_SUCCESS))
        rc = agreed;
    p.failed = rc != MPI_SUCCESS;
    p.scope.result = p.failed ? NULL : p.result;
    return wf_derive_run(&p, rc, newintercomm);
}

int wf_intercomm_make(struct wf_comm *local_comm, const struct wf_bridge *b,
                      struct wf_group *remote, int rc, MPI_Comm *newintercomm)
{
    struct wf_derive_plan p;

    *newintercomm = MPI_COMM_NULL;
    plan_inter(&p, local_comm, b);
    p.key = b->key;
    if (rc == MPI_SUCCESS) {
        wf_group_get(remote);
        rc = comm_of_group(local_comm, remote, &p.result);
    }
    p.failed = rc != MPI_SUCCESS;
    p.scope.result = p.failed ? NULL : p.result;
    return wf_derive_run(&p, rc, newintercomm);
}

/* ---- merge --------------------------------------------------------------- */

static struct wf_group *concatenate_groups(const struct wf_group *a,
                                           const struct wf_group *b)
{
    size_t n = (size_t)a->size + (size_t)b->size;
    uint32_t *procs = malloc(n * sizeof *procs);
    if (!procs)
        return NULL;
    for (int i = 0; i < a->size; i++)
        procs[i] = wf_group_proc(a, i);
    for (int i = 0; i < b->size; i++)
        procs[a->size + i] = wf_group_proc(b, i);
    return wf_group_create(a->wf, (int)n, procs);
}

/* The group that passed high = false comes first; when both passed the same,
 * the order is free, and the group whose first process precedes comes first. */
static bool is_local_first(const struct wf_comm *comm, bool high,
                           bool their_high)
{
    if (high != their_high)
        return !high;
    return wf_job_precedes(&comm->wf->rank->job, wf_group_proc(comm->local, 0),
                           wf_group_proc(comm->peers, 0));
}

int wf_mpi_intercomm_merge(struct wf_instance *wf, struct wf_comm *intercomm,
                           int high, MPI_Comm *newintracomm)
{
    struct wf_derive_plan p;
    uint32_t mine = high != 0, *theirs, n;
    *newintracomm = MPI_COMM_NULL;
    if (!intercomm->inter)
        return wf_error(MPI_ERR_COMM, "the communicator is not an "
                                      "intercommunicator");
    wf_derive_init_plan(&p, intercomm);
    p.inter = false;
    int rc = wf_bridge_exchange_words(&p.scope, &mine, 1, &theirs, &n);
    if (rc != MPI_SUCCESS)
        return rc;
    bool first = is_local_first(intercomm, mine, n > 0 && theirs[0]);
    free(theirs);
    struct wf_group *all =
        first ? concatenate_groups(intercomm->local, intercomm->peers)
              : concatenate_groups(intercomm->peers, intercomm->local);
    if (all)
        p.result =
            wf_comm_create(wf, all, NULL, WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    if (p.result)
        wf_comm_inherit(p.result, intercomm);
    p.failed = !p.result;
    rc = p.failed ? wf_error(MPI_ERR_NO_MEM, "no memory for a communicator")
                  : MPI_SUCCESS;
    return wf_derive_run(&p, rc, newintracomm);
}
