/* A member could not make a communicator that others have made, and tells them
 * (core/protocol/death.h). Its word comes through the engine of the parent; it
 * counts in the engine of the child, and for members that it did not reach.
 *
 * The last rank plays that member: it makes the child like the others, and then
 * says what it would say.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include "group/comm.h"
#include "progress/engines.h"
#include "protocol/death.h"
#include "protocol/message.h"
#include "protocol/queues.h"
#include "route/links.h"

static int rank, size;

static struct wf_comm *find_comm(MPI_Comm c)
{
    return wf_comm_of(wf_current(), c);
}

/* Through the engine of the parent, to the first `to` members. */
static void tell_peer(MPI_Comm parent, uint64_t origin, int to)
{
    struct wf_instance *wf = find_comm(parent)->wf;
    struct wf_wire w;

    wf_enter_api(wf);
    for (int i = 0; i < to; i++) {
        wf_wire_init(&w, WF_UNMADE, 0);
        w.a = wf_le64(origin);
        wf_message_send_control(wf_links_find(wf->links, i), &w, true);
    }
    wf_leave_api(wf);
}

/* Collectives on the child end, in all that wait for the last rank. */
static void check_unmade(MPI_Comm parent, MPI_Comm child, int to)
{
    check_talks(child);
    check_talks(parent); /* all have ended that */
    if (rank == size - 1)
        tell_peer(parent, find_comm(child)->origin, to);
    else
        CHECK(class_of(MPI_Barrier(child)) == MPI_ERR_PROC_ABORTED);
    check_talks(parent);
}

/* A child on another engine than its parent, where there are several. */
static MPI_Comm child_elsewhere(MPI_Comm parent)
{
    MPI_Comm child, other;

    MPI_Comm_dup(parent, &child);
    while (wf_engines(find_comm(parent)->wf) &&
           find_comm(child)->wf == find_comm(parent)->wf) {
        MPI_Comm_dup(parent, &other);
        MPI_Comm_free(&child);
        child = other;
    }
    return child;
}

static void check_news(int to)
{
    MPI_Comm child = child_elsewhere(MPI_COMM_WORLD);

    check_unmade(MPI_COMM_WORLD, child, to);
    MPI_Comm_free(&child);
}

/* When the parent has gone, its id and those of its agreements come again, and
 * are not taken for those of before. */
static void check_again(void)
{
    MPI_Comm parent, child, again;
    uint32_t context;

    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_dup(parent, &child);
    context = find_comm(parent)->context;
    check_unmade(parent, child, size - 1);
    MPI_Comm_free(&child);
    MPI_Comm_free(&parent);
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    CHECK(find_comm(again)->context == context);
    MPI_Comm_dup(again, &child);
    check_talks(child);
    MPI_Comm_free(&child);
    MPI_Comm_free(&again);
}

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    check_news(size - 1);
    check_news(1);
    check_again();
    return job_end();
}
