/* Communicators are queried here; they get names and hints, and are freed
 * (MPI-5.0 s7.4.1, s7.4.3, s7.4.4, s7.6.1, s7.8).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/query.h"

#include <stdio.h>

#include "comm/channel.h"
#include "comm/channel_info.h"
#include "config/config.h"
#include "core_api.h"
#include "group/comm.h"
#include "group/contact.h"
#include "group/group_query.h"
#include "object/attr.h"
#include "object/error.h"
#include "object/info.h"
#include "process/rank.h"

int wf_mpi_comm_size(struct wf_instance *wf, struct wf_comm *comm, int *size)
{
    *size = comm->size;
    return MPI_SUCCESS;
}

int wf_mpi_comm_rank(struct wf_instance *wf, struct wf_comm *comm, int *rank)
{
    *rank = comm->rank;
    return MPI_SUCCESS;
}

int wf_mpi_comm_test_inter(struct wf_instance *wf, struct wf_comm *comm,
                           int *flag)
{
    *flag = comm->inter;
    return MPI_SUCCESS;
}

int wf_mpi_comm_remote_size(struct wf_instance *wf, struct wf_comm *comm,
                            int *size)
{
    if (!comm->inter)
        return wf_error(MPI_ERR_COMM, "an intracommunicator has no remote "
                                      "group");
    *size = comm->peers->size;
    return MPI_SUCCESS;
}

/* Different contexts with the same groups are congruent; the worse of local
 * and remote group decides (s7.4.1, s7.6.1). */
int wf_mpi_comm_compare(struct wf_instance *wf, struct wf_comm *comm1,
                        struct wf_comm *comm2, int *result)
{
    int remote = MPI_IDENT;
    *result = comm1 == comm2 ? MPI_IDENT : MPI_UNEQUAL;
    if (comm1 == comm2 || comm1->inter != comm2->inter)
        return MPI_SUCCESS;
    int rc = wf_group_compare(comm1->local, comm2->local, result);
    if (rc == MPI_SUCCESS && comm1->inter)
        rc = wf_group_compare(comm1->peers, comm2->peers, &remote);
    if (*result == MPI_UNEQUAL || remote == MPI_UNEQUAL)
        *result = MPI_UNEQUAL;
    else if (*result == MPI_SIMILAR || remote == MPI_SIMILAR)
        *result = MPI_SIMILAR;
    else
        *result = MPI_CONGRUENT;
    return rc;
}

/* ---- names --------------------------------------------------------------- */

int wf_mpi_comm_set_name(struct wf_instance *wf, struct wf_comm *comm,
                         const char *comm_name)
{
    snprintf(comm->name, sizeof comm->name, "%s", comm_name);
    return MPI_SUCCESS;
}

int wf_mpi_comm_get_name(struct wf_instance *wf, struct wf_comm *comm,
                         char *comm_name, int *resultlen)
{
    *resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s",
                          comm ? comm->name : "MPI_COMM_NULL");
    return MPI_SUCCESS;
}

/* ---- hints --------------------------------------------------------------- */

/* These are the hints that Weft knows; all are false unless the program sets
 * them. The first two are checked. Where overtaking is allowed a message goes
 * by the lane of its size at once (protocol/send.c). The last saves nothing: a
 * message carries its length, and one that breaks the promise may not write
 * beyond the buffer, so that there is no comparison to leave out. It is checked
 * where core.exact_length asks for it. */
static const struct {
    const char *key;
    uint8_t bit;
} known[] = {{"mpi_assert_no_any_tag", WF_ASSERT_NO_ANY_TAG},
             {"mpi_assert_no_any_source", WF_ASSERT_NO_ANY_SOURCE},
             {"mpi_assert_allow_overtaking", WF_ASSERT_OVERTAKING},
             {"mpi_assert_exact_length", WF_ASSERT_EXACT}};

enum { KNOWN = sizeof known / sizeof *known };

void wf_comm_update_hints(struct wf_comm *comm)
{
    comm->asserts = 0;
    if (!comm->channel)
        wf_channel_remove_keys(comm->info);
    for (int i = 0; i < KNOWN; i++)
        if (wf_info_is_true(comm->info, known[i].key))
            comm->asserts |= known[i].bit;
    if (!comm->wf->rank->options->exact_length)
        comm->asserts &= (uint8_t)~WF_ASSERT_EXACT;
    /* the fast path, which uses contacts, does not check it */
    if (comm->asserts & WF_ASSERT_EXACT)
        comm->contact_end = 0;
}

/* The value of a known hint is ignored if it is not a boolean. */
static bool is_ignored(const struct wf_info_entry *e)
{
    if (wf_channel_has_key(e->key))
        return true; /* a channel is made with its communicator */
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(e->key, known[i].key))
            return !wf_info_is_boolean(e->value);
    return false;
}

/* Hints that were set before and are not mentioned stay (s7.4.4). */
int wf_mpi_comm_set_info(struct wf_instance *wf, struct wf_comm *comm,
                         struct wf_info *info)
{
    if (!info)
        return wf_error(MPI_ERR_INFO, "info is MPI_INFO_NULL");
    if (!comm->info && !(comm->info = wf_info_create()))
        return wf_error(MPI_ERR_NO_MEM, "no memory for hints");
    int rc = wf_channel_check(info);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; i < info->count && rc == MPI_SUCCESS; i++)
        if (!is_ignored(&info->list[i]))
            rc =
                wf_info_put(comm->info, info->list[i].key, info->list[i].value);
    wf_comm_update_hints(comm);
    return rc;
}

/* Hints that are not set are false; the kinds of memory are those of the
 * library, whatever the program asserts to need of them (s11.4.3). */
static int complete_hints(struct wf_info *info)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < KNOWN && rc == MPI_SUCCESS; i++) {
        const char *value = wf_info_find(info, known[i].key);
        if (!value || !wf_info_is_boolean(value))
            rc = wf_info_put(info, known[i].key, "false");
    }
    return rc;
}

int wf_mpi_comm_get_info(struct wf_instance *wf, struct wf_comm *comm,
                         MPI_Info *info_used)
{
    struct wf_info *copy = wf_info_copy(comm->info);
    return wf_info_answer(copy, copy ? complete_hints(copy) : MPI_ERR_NO_MEM,
                          info_used);
}

/* ---- freeing ------------------------------------------------------------- */

/* Pending operations hold the object; the handle becomes invalid at once
 * (s7.4.3). */
int wf_mpi_comm_free(struct wf_instance *wf, MPI_Comm *comm)
{
    struct wf_comm *c = wf_comm_of(wf, *comm);
    if (!c)
        return wf_error(MPI_ERR_COMM, "the handle is not a communicator");
    if (c == wf_home(wf)->world || c == wf_home(wf)->self)
        return wf_error(MPI_ERR_COMM, "%s cannot be freed", c->name);
    int rc = wf_attr_delete_all(wf, WF_KIND_COMM, *comm, &c->attrs);
    if (rc != MPI_SUCCESS)
        return rc;
    c->freed = true;
    wf_contacts_drop(c);
    wf_comm_put(c);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
