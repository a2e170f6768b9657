/* One of two jobs that meet by a port: launch_ports.py starts both.
 *
 *   ports_pair serve TIMES [WHAT]     opens a port, prints its name, accepts
 *   ports_pair call TIMES [WHAT] NAME connects
 *
 * WHAT: all   everything that an intercommunicator can do, each time
 *       none  only meet, talk and part
 *       kept  count descriptors and memory over the cycles, too
 *       dies  the client dies in the first cycle
 *       late  the server accepts when a line comes from its standard input
 *       stay  free the communicator: MPI_Finalize ends the connection
 *
 * The exit status is 2 if they cannot meet.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <unistd.h>

#include "check.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const int counts_memory = 0; /* the sanitizer keeps some */
#else
static const int counts_memory = 1;
#endif

static long resident_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;

    if (f && fscanf(f, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Every process of one side sends to every one of the other, both ways. */
static void check_messages(MPI_Comm inter, int elements)
{
    int me = rank_in(inter), peers, wrong = 0;
    int *out = malloc((size_t)elements * sizeof *out);
    int *in = malloc((size_t)elements * sizeof *in);

    MPI_Comm_remote_size(inter, &peers);
    for (int i = 0; i < elements; i++)
        out[i] = 1000 * me + i;
    for (int p = 0; p < peers; p++) {
        MPI_Request r[2];
        MPI_Status s;
        MPI_Irecv(in, elements, MPI_INT, p, 7, inter, &r[0]);
        MPI_Isend(out, elements, MPI_INT, p, 7, inter, &r[1]);
        MPI_Wait(&r[0], &s);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        CHECK(s.MPI_SOURCE == p);
        for (int i = 0; i < elements; i++)
            wrong += in[i] != 1000 * p + i;
    }
    CHECK(wrong == 0);
    free(in);
    free(out);
}

static void check_collectives(MPI_Comm inter)
{
    int me = rank_in(inter), peers, sum = -1, *all;

    MPI_Comm_remote_size(inter, &peers);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == peers * (peers - 1) / 2);
    all = malloc((size_t)peers * sizeof *all);
    MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < peers; i++)
        CHECK(all[i] == i);
    free(all);
    MPI_Barrier(inter);
}

static void check_window(MPI_Comm comm)
{
    int me = rank_in(comm), n = size_of(comm), *base, got = -1;
    MPI_Win win;

    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &base,
                     &win);
    *base = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&me, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(*base == (me + n - 1) % n);
    MPI_Get(&got, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(got == me);
    MPI_Win_free(&win);
}

/* The merged communicator: all of both jobs. */
static void check_merged(MPI_Comm inter, int serves)
{
    int mine = size_of(inter), peers, flag;
    MPI_Comm all, half;

    MPI_Comm_remote_size(inter, &peers);
    MPI_Intercomm_merge(inter, !serves, &all);
    CHECK(size_of(all) == mine + peers);
    CHECK(rank_in(all) == rank_in(inter) + (serves ? 0 : peers));
    check_talks(all);
    for (int i = 0; i < 20; i++) /* shared memory, where there is some */
        check_talks(all);
    check_window(all);
    MPI_Comm_split(all, rank_in(all) % 2, 0, &half);
    check_talks(half);
    MPI_Comm_test_inter(all, &flag);
    CHECK(!flag);
    MPI_Comm_disconnect(&half);
    MPI_Comm_disconnect(&all);
    CHECK(all == MPI_COMM_NULL);
}

static void check_all(MPI_Comm inter, int serves)
{
    MPI_Comm twin;

    check_messages(inter, 1);
    check_messages(inter, 3000);
    check_messages(inter, 300000);
    check_collectives(inter);
    MPI_Comm_dup(inter, &twin);
    check_messages(twin, 10);
    check_collectives(twin);
    MPI_Comm_disconnect(&twin);
    check_merged(inter, serves);
}

/* The client is killed while the server waits for it. */
static void check_death(MPI_Comm inter, int serves)
{
    int token = 0, rc;

    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    /* The client dies when all members have met it: a server that still waits
     * for its own others then would fail in MPI_Comm_accept. */
    MPI_Barrier(inter);
    if (!serves) {
        MPI_Send(&token, 1, MPI_INT, 0, 1, inter);
        raise(SIGKILL);
    }
    if (rank_in(inter) == 0)
        CHECK(MPI_Recv(&token, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    rc = MPI_Recv(&token, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE);
    CHECK(class_of(rc) == MPI_ERR_PROC_ABORTED);
    CHECK(MPI_Barrier(inter) != MPI_SUCCESS);
    check_talks(MPI_COMM_WORLD); /* which goes on */
}

int main(int argc, char **argv)
{
    char name[MPI_MAX_PORT_NAME] = "", line[8];
    int serves, times, descriptors = 0;
    const char *what;
    long memory = 0;
    MPI_Comm inter, parent;

    job_begin(&argc, &argv);
    serves = strcmp(argv[1], "serve") == 0;
    times = atoi(argv[2]);
    what = argv[3];
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    if (serves && rank_in(MPI_COMM_WORLD) == 0) {
        MPI_Open_port(MPI_INFO_NULL, name);
        printf("%s\n", name);
        fflush(stdout);
        if (strcmp(what, "late") == 0)
            CHECK(fgets(line, sizeof line, stdin));
    } else if (!serves) {
        strcpy(name, argv[4]);
    }
    for (int i = 0; i < times; i++) {
        double before = MPI_Wtime();
        int rc = (serves ? MPI_Comm_accept : MPI_Comm_connect)(
            name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        if (rc != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING];
            int length;
            MPI_Error_string(rc, text, &length);
            fprintf(stderr, "%d: %s\n", class_of(rc) == MPI_ERR_PORT, text);
            MPI_Finalize();
            return 2;
        }
        if (getenv("SHOW_TIMES") && rank_in(MPI_COMM_WORLD) == 0)
            fprintf(stderr, "met in %.0f us\n", 1e6 * (MPI_Wtime() - before));
        if (strcmp(what, "all") == 0 || strcmp(what, "stay") == 0)
            check_all(inter, serves);
        else if (i == 0 && strcmp(what, "dies") == 0)
            check_death(inter, serves);
        else if (strcmp(what, "kept") != 0 || i % 100 == 0)
            check_collectives(inter);
        if (strcmp(what, "stay") == 0)
            MPI_Comm_free(&inter);
        else
            MPI_Comm_disconnect(&inter);
        if (i == times / 2) {
            descriptors = job_descriptors();
            memory = resident_kb();
        }
    }
    if (strcmp(what, "kept") == 0) {
        CHECK(job_descriptors() <= descriptors);
        CHECK(!counts_memory || resident_kb() <= memory + 256);
    }
    if (serves && rank_in(MPI_COMM_WORLD) == 0)
        MPI_Close_port(name);
    return job_end();
}
