/* Process sets (MPI-5.0 s11.3.2): names for groups of processes that need no
 * communicator.
 *
 *   mpi://WORLD   all processes of the job
 *   mpi://SELF    this process
 *   weft://NODE   the processes on the same node, where the launcher tells the
 *                 nodes
 *   others        those of the launcher (PMIx) that this process is in
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "boot/boot.h"
#include "core_api.h"
#include "group/group.h"
#include "object/error.h"
#include "object/info.h"
#include "object/session.h"
#include "process/rank.h"
#include "progress/launcher.h"

static struct wf_group *make_world_group(struct wf_instance *wf)
{
    return wf_group_create_regular(wf, (int)wf->rank->job.size, 0, 1);
}

static struct wf_group *make_self_group(struct wf_instance *wf)
{
    return wf_group_create_regular(wf, 1, wf->rank->id, 1);
}

static struct wf_group *make_node_group(struct wf_instance *wf)
{
    const uint32_t *node_of = wf->rank->boot->node_of;
    uint32_t *procs = malloc(wf->rank->job.size * sizeof *procs);
    int n = 0;
    if (!procs)
        return NULL;
    for (uint32_t i = 0; i < wf->rank->job.size; i++)
        if (node_of[i] == node_of[wf->rank->id])
            procs[n++] = i;
    return wf_group_create(wf, n, procs);
}

static const struct pset {
    const char *name;
    struct wf_group *(*group)(struct wf_instance *);
} psets[] = {
    {"mpi://WORLD", make_world_group},
    {"mpi://SELF", make_self_group},
    {"weft://NODE", make_node_group}, /* last: not always there */
};

/* The sets of a process: some of our own, then the launcher's. */
struct pset_list {
    int own, count;
    const struct wf_boot_pset *launched;
};

static int list_psets(struct wf_instance *wf, struct pset_list *list)
{
    uint32_t launched;
    int r = wf_launcher_psets(wf, &list->launched, &launched);
    if (r < 0)
        return wf_error(MPI_ERR_NO_MEM, "no memory for process sets");
    list->own = sizeof psets / sizeof psets[0] - !wf->rank->boot->node_of;
    list->count = list->own + (int)launched;
    return MPI_SUCCESS;
}

static const char *name_of_pset(const struct pset_list *list, int i)
{
    return i < list->own ? psets[i].name : list->launched[i - list->own].name;
}

static struct wf_group *make_launched_group(struct wf_instance *wf,
                                            const struct wf_boot_pset *set)
{
    uint32_t *procs = malloc(set->count * sizeof *procs);
    if (!procs)
        return NULL;
    memcpy(procs, set->ranks, set->count * sizeof *procs);
    return wf_group_create(wf, (int)set->count, procs);
}

/* Create the group of a process set, with a reference for the caller. */
static int make_group_of_pset(struct wf_session *session, const char *name,
                              struct wf_group **out)
{
    struct wf_instance *wf = session->wf;
    struct pset_list list;
    int rc = list_psets(wf, &list), i = 0;
    if (rc != MPI_SUCCESS)
        return rc;
    while (i < list.count && strcasecmp(name_of_pset(&list, i), name)) /* URI */
        i++;
    if (i == list.count)
        return wf_error(MPI_ERR_ARG,
                        "there is no process set '%s'; "
                        "MPI_Session_get_nth_pset tells which there are",
                        name);
    *out = i < list.own ? psets[i].group(wf)
                        : make_launched_group(wf, &list.launched[i - list.own]);
    if (!*out)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a group");
    wf_group_join_session(*out, session);
    return MPI_SUCCESS;
}

int wf_mpi_group_from_session_pset(struct wf_instance *wf,
                                   struct wf_session *session,
                                   const char *pset_name, MPI_Group *newgroup)
{
    struct wf_group *g;
    int rc = make_group_of_pset(session, pset_name, &g);
    *newgroup = rc == MPI_SUCCESS ? wf_group_handle(g) : MPI_GROUP_NULL;
    return rc;
}

int wf_mpi_session_get_num_psets(struct wf_instance *wf,
                                 struct wf_session *session,
                                 struct wf_info *info, int *npset_names)
{
    struct pset_list list;
    int rc = list_psets(wf, &list);
    if (rc == MPI_SUCCESS)
        *npset_names = list.count;
    return rc;
}

/* *pset_len counts the null character. It is the size of pset_name, and becomes
 * the size that the whole name takes. */
int wf_mpi_session_get_nth_pset(struct wf_instance *wf,
                                struct wf_session *session,
                                struct wf_info *info, int n, int *pset_len,
                                char *pset_name)
{
    struct pset_list list;
    int rc = list_psets(wf, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    if (n < 0 || n >= list.count)
        return wf_error(MPI_ERR_ARG, "n is %d, but there are %d process sets",
                        n, list.count);
    if (*pset_len < 0)
        return wf_error(MPI_ERR_ARG, "*pset_len is %d", *pset_len);
    if (*pset_len > 0)
        snprintf(pset_name, (size_t)*pset_len, "%s", name_of_pset(&list, n));
    *pset_len = (int)strlen(name_of_pset(&list, n)) + 1;
    return MPI_SUCCESS;
}

static int describe_group(const struct wf_group *g, MPI_Info *info)
{
    char size[16];
    struct wf_info *i = wf_info_create();
    snprintf(size, sizeof size, "%d", g->size);
    if (!i || wf_info_put(i, "mpi_size", size) != MPI_SUCCESS) {
        wf_info_destroy(i);
        return wf_error(MPI_ERR_NO_MEM, "no memory for an info object");
    }
    *info = (MPI_Info)i;
    return MPI_SUCCESS;
}

int wf_mpi_session_get_pset_info(struct wf_instance *wf,
                                 struct wf_session *session,
                                 const char *pset_name, MPI_Info *info)
{
    struct wf_group *g;
    int rc = make_group_of_pset(session, pset_name, &g);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = describe_group(g, info);
    wf_group_put(g);
    return rc;
}
