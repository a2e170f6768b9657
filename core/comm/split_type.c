/* MPI_Comm_split_type splits by what processes share (MPI-5.0 s7.4.2).
 *
 * It knows the node, whose memory its processes can share (the standard's name
 * for it is "mpi_shared_memory"), the hardware that sysfs describes, and the
 * process sets. A process is in a communicator for one package, cache or core
 * only while it is bound to it; others get MPI_COMM_NULL.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/split.h"
#include "core_api.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "object/info.h"
#include "os/hardware.h"
#include "process/rank.h"

#define RESOURCE    "mpi_hw_resource_type"
#define PROCESS_SET "mpi_pset_name"
#define SHARED      "mpi_shared_memory"

/* Resources are numbered: the node, then those of hardware.h. */
enum { NODE, HARDWARE, RESOURCES = HARDWARE + WF_HARDWARE_TYPES };

static const char *name_of_resource(int resource)
{
    return resource == NODE ? WF_RESOURCE_NODE
                            : wf_hardware_name(resource - HARDWARE);
}

/* Finds a resource by name, with or without the provider in front; -1:
 * unknown. */
static int find_resource(const char *name)
{
    size_t n = strlen(WF_RESOURCE_PROVIDER);

    if (!strcmp(name, SHARED))
        return NODE;
    if (!strncmp(name, WF_RESOURCE_PROVIDER, n))
        name += n;
    for (int i = 0; i < RESOURCES; i++)
        if (!strcmp(name, name_of_resource(i)))
            return i;
    return -1;
}

/* ---- colors of parts ----------------------------------------------------- */

static void set_color(struct wf_split *s, uint64_t color)
{
    s->member = true;
    s->color_high = (uint32_t)(color >> 32);
    s->color_low = (uint32_t)color;
}

/* Returns a number that the processes of one part of the resource have in
 * common; 0: this process is in none. */
static uint64_t part_of(const struct wf_instance *wf, int resource)
{
    struct wf_cpus mine;
    int instance;

    if (resource == NODE)
        return wf->rank->node | !wf->rank->node;
    if (!wf_hardware_affinity(0, &mine))
        return 0;
    instance = wf_hardware_instance(WF_SYSFS, &mine, resource - HARDWARE);
    if (instance < 0)
        return 0;
    return (wf->rank->node ^ ((uint64_t)instance + 1)) * 0x9e3779b97f4a7c15u |
           1;
}

static void color_by_resource(const struct wf_instance *wf, struct wf_split *s,
                              const char *name)
{
    int resource = name ? find_resource(name) : -1;
    uint64_t part = resource < 0 ? 0 : part_of(wf, resource);

    if (part)
        set_color(s, part);
}

/* The color of a process set is a number that its members have in common. */
static void color_by_set(const struct wf_instance *wf, struct wf_split *s,
                         const char *name)
{
    if (!strcmp(name, "mpi://WORLD"))
        set_color(s, 0);
    else if (!strcmp(name, "mpi://SELF"))
        set_color(s, wf->rank->id);
    else if (!strcmp(name, "weft://NODE"))
        set_color(s, wf->rank->node);
}

/* Takes the color from the resource or from the process set; both keys at once
 * describe nothing. */
static void color_by_info(const struct wf_instance *wf, struct wf_split *s,
                          const struct wf_info *info)
{
    const char *set = wf_info_find(info, PROCESS_SET);
    const char *resource = wf_info_find(info, RESOURCE);

    if (!set)
        color_by_resource(wf, s, resource);
    else if (!resource)
        color_by_set(wf, s, set);
}

/* ---- the unguided split -------------------------------------------------- */

/* The parts that one process is in, as it sends them to the others. */
struct parts {
    uint64_t member; /* it asks for a part, that is, did not pass
                        MPI_UNDEFINED */
    uint64_t part[RESOURCES];
};
enum { WORDS = sizeof(struct parts) / sizeof(uint64_t) };

/* Finds the split_type of all members that pass another one than MPI_UNDEFINED,
 * which the others cannot know; MPI_UNDEFINED if there is none. */
static int agree_on_type(struct wf_comm *comm, int mine, int *agreed)
{
    int limits[2] = {mine, -mine}, most[2]; /* the second one: minus the
                                               minimum */
    int rc;

    *agreed = mine;
    if (comm->inter)
        return MPI_SUCCESS;
    if (mine == MPI_UNDEFINED)
        limits[0] = limits[1] = INT_MIN;
    rc = wf_mpi_allreduce(comm->wf, limits, most, 2, wf_type_of(MPI_INT),
                          wf_op_of(MPI_MAX), comm);
    if (rc || most[0] == INT_MIN)
        return rc;
    *agreed = most[0];
    if (most[0] == -most[1])
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG,
                    "the members pass different values of "
                    "split_type, such as %d and %d; all must pass the same, or "
                    "MPI_UNDEFINED",
                    -most[1], most[0]);
}

/* Returns whether a resource divides the members among n processes. */
static bool is_divider(const struct parts *all, int n, int resource)
{
    const struct parts *first = NULL;
    bool in_part = false, different = false;

    for (int i = 0; i < n; i++) {
        if (!all[i].member)
            continue;
        if (!first)
            first = &all[i];
        in_part |= all[i].part[resource] != 0;
        different |= all[i].part[resource] != first->part[resource];
    }
    return in_part && different;
}

/* Finds the largest resource that divides the members, or -1; the same in all
 * processes. */
static int find_divider(struct wf_comm *comm, bool member, int *resource)
{
    struct wf_type *type = wf_type_of(MPI_UINT64_T);
    struct parts mine = {.member = member};
    struct parts *all = malloc((size_t)comm->size * sizeof mine);
    int rc;

    if (!all)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %d processes",
                        comm->size);
    for (int i = 0; i < RESOURCES; i++)
        mine.part[i] = part_of(comm->wf, i);
    rc = wf_mpi_allgather(comm->wf, &mine, WORDS, type, all, WORDS, type, comm);
    *resource = -1;
    for (int i = RESOURCES - 1; !rc && i >= 0; i--)
        if (is_divider(all, comm->size, i))
            *resource = i;
    free(all);
    return rc;
}

/* Writes the resource that the unguided split used into the caller's info
 * object. */
static int write_resource(struct wf_comm *comm, struct wf_info *info,
                          int resource)
{
    char name[MPI_MAX_INFO_VAL];

    if (!info || info->read_only)
        return MPI_SUCCESS;
    snprintf(name, sizeof name, WF_RESOURCE_PROVIDER "%s",
             name_of_resource(resource));
    if (wf_info_put(info, RESOURCE, resource == NODE ? SHARED : name))
        wf_log(comm->wf, WF_LOG_WARN,
               "no memory to tell the resource of a split");
    return MPI_SUCCESS;
}

/* Splits by the largest resource that divides the members. An intercommunicator
 * is split by nodes only: each side only knows its own resources. */
static int split_unguided(struct wf_comm *comm, struct wf_split *s, bool member,
                          struct wf_info *info, MPI_Comm *newcomm)
{
    int resource = NODE, rc = MPI_SUCCESS;
    uint64_t part;

    if (!comm->inter)
        rc = find_divider(comm, member, &resource);
    if (rc)
        return rc;
    part = resource < 0 ? 0 : part_of(comm->wf, resource);
    if (part && member)
        set_color(s, part);
    s->strict = true;
    rc = wf_split(comm, s, newcomm);
    if (rc != MPI_SUCCESS || *newcomm == MPI_COMM_NULL)
        return rc;
    return write_resource(comm, info, resource);
}

static bool is_known_type(int split_type)
{
    return split_type == MPI_UNDEFINED || split_type == MPI_COMM_TYPE_SHARED ||
           split_type == MPI_COMM_TYPE_HW_UNGUIDED ||
           split_type == MPI_COMM_TYPE_HW_GUIDED ||
           split_type == MPI_COMM_TYPE_RESOURCE_GUIDED;
}

int wf_mpi_comm_split_type(struct wf_instance *wf, struct wf_comm *comm,
                           int split_type, int key, struct wf_info *info,
                           MPI_Comm *newcomm)
{
    struct wf_split s = {.key = key};
    int type, rc;

    if (!is_known_type(split_type))
        return wf_error(MPI_ERR_ARG, "split_type %d is not known", split_type);
    rc = agree_on_type(comm, split_type, &type);
    if (rc)
        return rc;
    if (type == MPI_COMM_TYPE_HW_UNGUIDED)
        return split_unguided(comm, &s, split_type != MPI_UNDEFINED, info,
                              newcomm);
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
        color_by_resource(wf, &s, SHARED);
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
        color_by_resource(wf, &s, wf_info_find(info, RESOURCE));
        break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        color_by_info(wf, &s, info);
        break;
    default: /* MPI_UNDEFINED */
        break;
    }
    return wf_split(comm, &s, newcomm);
}
