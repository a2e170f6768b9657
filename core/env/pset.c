/* Process sets (MPI-5.0 s11.3.2): names for groups of processes that need no
 * communicator.
 *
 *   mpi://WORLD   all processes of the job
 *   mpi://SELF    this process
 *   weft://NODE   the processes on the same node, where the launcher tells the
 *                 nodes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "boot/boot.h"
#include "core_api.h"
#include "group/group.h"
#include "object/error.h"
#include "object/info.h"
#include "object/session.h"
#include "process/rank.h"

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

static int count_psets(const struct wf_instance *wf)
{
    int n = sizeof psets / sizeof psets[0];
    return wf->rank->boot->node_of ? n : n - 1;
}

/* Create the group of a process set, with a reference for the caller. */
static int make_group_of_pset(struct wf_session *session, const char *name,
                              struct wf_group **out)
{
    struct wf_instance *wf = session->wf;
    int i = 0;
    while (i < count_psets(wf) && strcasecmp(psets[i].name, name)) /* a URI */
        i++;
    if (i == count_psets(wf))
        return wf_error(MPI_ERR_ARG,
                        "there is no process set '%s'; "
                        "MPI_Session_get_nth_pset tells which there are",
                        name);
    *out = psets[i].group(wf);
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
    *npset_names = count_psets(wf);
    return MPI_SUCCESS;
}

/* *pset_len counts the null character. It is the size of pset_name, and becomes
 * the size that the whole name takes. */
int wf_mpi_session_get_nth_pset(struct wf_instance *wf,
                                struct wf_session *session,
                                struct wf_info *info, int n, int *pset_len,
                                char *pset_name)
{
    if (n < 0 || n >= count_psets(wf))
        return wf_error(MPI_ERR_ARG, "n is %d, but there are %d process sets",
                        n, count_psets(wf));
    if (*pset_len < 0)
        return wf_error(MPI_ERR_ARG, "*pset_len is %d", *pset_len);
    if (*pset_len > 0)
        snprintf(pset_name, (size_t)*pset_len, "%s", psets[n].name);
    *pset_len = (int)strlen(psets[n].name) + 1;
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
