/* Operations during which torture_deaths lets a rank die: what makes
 * communicators, and what goes from one rank to another.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "deaths.h"

#include <string.h>

enum { PARTS = 4 };

/* ---- communicators ------------------------------------------------------- */

/* Use an object once if it was made; if it was not made, it must be null. */
static int use_comm(int rc, MPI_Comm *c, int i)
{
    int one = 1, sum = 0, n = 0;

    if (rc) {
        if (*c != MPI_COMM_NULL)
            say("wrong: a communicator in spite of an error");
        return rc;
    }
    MPI_Comm_size(*c, &n);
    rc = i % 3 ? MPI_SUCCESS
               : MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *c);
    if (!rc && i % 3 == 0 && sum != n)
        say("wrong data: %d members, not %d", sum, n);
    MPI_Comm_free(c);
    return rc;
}

static int comm_dup(int i)
{
    MPI_Comm c = MPI_COMM_NULL;

    return use_comm(MPI_Comm_dup(MPI_COMM_WORLD, &c), &c, i);
}

static int comm_idup(int i)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Request r;
    int rc = MPI_Comm_idup(MPI_COMM_WORLD, &c, &r);

    if (!rc)
        rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (rc)
        c = MPI_COMM_NULL; /* undefined after an error */
    return use_comm(rc, &c, i);
}

static int comm_split(int i)
{
    MPI_Comm c = MPI_COMM_NULL;
    int rc =
        MPI_Comm_split(MPI_COMM_WORLD, i / 2 % 2 ? 0 : job.rank % 2, 0, &c);

    return use_comm(rc, &c, i);
}

static int with_group(int i, bool parent)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group g;
    int rc;

    MPI_Comm_group(MPI_COMM_WORLD, &g);
    rc = parent ? MPI_Comm_create_group(MPI_COMM_WORLD, g, TAG, &c)
                : MPI_Comm_create_from_group(g, "deaths", MPI_INFO_NULL,
                                             MPI_ERRORS_RETURN, &c);
    MPI_Group_free(&g);
    return use_comm(rc, &c, i);
}

static int create_group(int i)
{
    return with_group(i, true);
}

static int from_group(int i)
{
    return with_group(i, false);
}

/* Even and odd ranks. */
static int begin_halves(void)
{
    return begin_plain() ||
           MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, 0, &mine.comm);
}

static int make_intercomm(int i)
{
    MPI_Comm inter = MPI_COMM_NULL, all = MPI_COMM_NULL;
    int rc = MPI_Intercomm_create(mine.comm, 0, MPI_COMM_WORLD,
                                  1 - job.rank % 2, TAG, &inter);

    if (!rc && i % 2) {
        rc = use_comm(MPI_Intercomm_merge(inter, job.rank % 2, &all), &all, i);
        if (rc) {
            MPI_Comm_free(&inter);
            return rc;
        }
    }
    return use_comm(rc, &inter, 1);
}

static int begin_inter(void)
{
    return begin_halves() ||
           MPI_Intercomm_create(mine.comm, 0, MPI_COMM_WORLD,
                                1 - job.rank % 2, TAG, &mine.comm);
}

static int inter_collectives(int i)
{
    int n = i % 2 ? LARGE / 4 : SMALL, others, rc;

    if (i % 3 == 0)
        return MPI_Barrier(mine.comm);
    MPI_Comm_remote_size(mine.comm, &others);
    rc = alltoall_of(i, n, mine.comm, others);
    for (int r = 0; !rc && r < others; r++)
        expect(mine.in + (size_t)r * (size_t)n, 2 * r + 1 - job.rank % 2, i, n);
    return rc;
}

/* ---- point to point: the victim with each of the others ------------------ */

enum mode { SEND, SSEND, TO_ME, ANY, PROBE, PROBE_ANY, IRECV };

static int length_of(int i)
{
    return i % 2 ? LARGE : SMALL;
}

static int survivor_receives(int i, enum mode mode)
{
    bool any = mode == ANY || mode == PROBE_ANY;
    int from = any ? MPI_ANY_SOURCE : job.victim, n = length_of(i), rc = 0;
    MPI_Status status;
    MPI_Request r;

    fill(i, n);
    if (mode == PROBE || mode == PROBE_ANY)
        rc = MPI_Probe(from, TAG, MPI_COMM_WORLD, &status);
    if (!rc && mode == IRECV) {
        rc = MPI_Irecv(mine.in, n, MPI_INT, from, TAG, MPI_COMM_WORLD, &r);
        if (!rc)
            rc = test_until_done(&r);
    } else if (!rc) {
        rc = MPI_Recv(mine.in, n, MPI_INT, from, TAG, MPI_COMM_WORLD, &status);
    }
    if (!rc)
        expect(mine.in, job.victim, i, n);
    return rc;
}

static int run_survivor(int i, enum mode mode)
{
    if (mode != SEND && mode != SSEND)
        return survivor_receives(i, mode);
    fill(i, length_of(i));
    return (mode == SEND ? MPI_Send : MPI_Ssend)(
        mine.out, length_of(i), MPI_INT, job.victim, TAG, MPI_COMM_WORLD);
}

static int run_victim(int i, enum mode mode)
{
    int n = length_of(i);

    fill(i, n);
    for (int r = 0; r < job.size; r++) {
        if (r == job.rank)
            continue;
        if (mode != SEND && mode != SSEND) {
            MPI_Send(mine.out, n, MPI_INT, r, TAG, MPI_COMM_WORLD);
            continue;
        }
        MPI_Recv(mine.in, n, MPI_INT, r, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        expect(mine.in, r, i, n);
    }
    return MPI_SUCCESS;
}

static int talk_to_peers(int i, enum mode mode)
{
    return (job.rank == job.victim ? run_victim : run_survivor)(i, mode);
}

static int send(int i) { return talk_to_peers(i, SEND); }
static int ssend(int i) { return talk_to_peers(i, SSEND); }
static int recv(int i) { return talk_to_peers(i, TO_ME); }
static int irecv(int i) { return talk_to_peers(i, IRECV); }
static int recv_any(int i) { return talk_to_peers(i, ANY); }
static int probe(int i) { return talk_to_peers(i, PROBE); }
static int probe_any(int i) { return talk_to_peers(i, PROBE_ANY); }

/* ---- partitioned: from the victim to the others -------------------------- */

static int begin_parts(void)
{
    int rc = begin_plain();

    if (job.rank != job.victim)
        return rc || MPI_Precv_init(mine.in, PARTS, LARGE / PARTS, MPI_INT,
                                    job.victim, TAG, MPI_COMM_WORLD,
                                    MPI_INFO_NULL, &mine.requests[0]);
    for (int r = 0, n = 0; r < job.size && !rc; r++)
        if (r != job.rank)
            rc = MPI_Psend_init(mine.out, PARTS, LARGE / PARTS, MPI_INT, r, TAG,
                                MPI_COMM_WORLD, MPI_INFO_NULL,
                                &mine.requests[n++]);
    return rc;
}

static int check_partitioned(int i)
{
    int n = job.rank == job.victim ? job.size - 1 : 1, rc = MPI_SUCCESS;

    fill(i, LARGE);
    for (int k = 0; k < n && !rc; k++)
        rc = MPI_Start(&mine.requests[k]);
    for (int k = 0; job.rank == job.victim && k < n; k++)
        MPI_Pready_range(0, PARTS - 1, mine.requests[k]);
    for (int k = 0; k < n && !rc; k++)
        rc = MPI_Wait(&mine.requests[k], MPI_STATUS_IGNORE);
    if (!rc && job.rank != job.victim)
        expect(mine.in, job.victim, i, LARGE);
    return rc;
}

const struct operation *find_between(const char *name)
{
    static const struct operation all[] = {
        {"comm_dup", begin_plain, comm_dup, false},
        {"comm_idup", begin_plain, comm_idup, false},
        {"comm_split", begin_plain, comm_split, false},
        {"create_group", begin_plain, create_group, false},
        {"from_group", begin_plain, from_group, false},
        {"intercomm", begin_halves, make_intercomm, true},
        {"inter_collectives", begin_inter, inter_collectives, false},
        {"send", begin_plain, send, false},
        {"ssend", begin_plain, ssend, false},
        {"recv", begin_plain, recv, false},
        {"irecv", begin_plain, irecv, false},
        {"recv_any", begin_plain, recv_any, false},
        {"probe", begin_plain, probe, false},
        {"probe_any", begin_plain, probe_any, false},
        {"partitioned", begin_parts, check_partitioned, false},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}
