/* Ranks that wait in a given call for ever, for launch_state_report.py: rank 0
 * does what the argument says, the others compute. The test ends the job.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 4096 };

static char buffer[4][BYTES];
static MPI_Comm ocean; /* ranks in reverse order */
static int me, size;

static void for_ever(void)
{
    for (;;)
        pause();
}

static void post_receive(MPI_Request *r, int n)
{
    for (int i = 0; i < n; i++)
        MPI_Irecv(buffer[i], 100 + i, MPI_CHAR, 1, 20 + i, MPI_COMM_WORLD,
                  &r[i]);
}

static void recv_plain(void)
{
    MPI_Recv(buffer, BYTES, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void recv_large_count(void)
{
    MPI_Recv_c(buffer, BYTES, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void recv_ocean(void)
{
    MPI_Recv(buffer, 8, MPI_CHAR, 0, 3, ocean, MPI_STATUS_IGNORE);
}

static void check_ssend(void)
{
    MPI_Ssend(buffer, 16, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
}

static void send_large(void)
{
    static char big[64 << 20];

    MPI_Send(big, sizeof big, MPI_CHAR, 1, 9, MPI_COMM_WORLD);
}

static void check_sendrecv(void)
{
    MPI_Sendrecv(buffer[0], 1, MPI_CHAR, 1, 30, buffer[1], 2, MPI_CHAR, 1, 31,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_one(void)
{
    MPI_Request r;

    post_receive(&r, 1);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void wait_all(void)
{
    MPI_Request r[4];

    post_receive(r, 3);
    r[3] = MPI_REQUEST_NULL;
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void wait_any(void)
{
    MPI_Request r[2];
    int i;

    post_receive(r, 2);
    MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE);
}

static void wait_some(void)
{
    MPI_Request r[2];
    int n, list[2];

    post_receive(r, 2);
    MPI_Waitsome(2, r, &n, list, MPI_STATUSES_IGNORE);
}

static void wait_barrier(void)
{
    MPI_Request r;

    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void probe_message(void)
{
    MPI_Status s;

    MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &s);
}

static void check_mprobe(void)
{
    MPI_Message m;
    MPI_Status s;

    MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s);
}

static void call_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_bcast(void)
{
    MPI_Bcast(buffer, 8, MPI_CHAR, 0, ocean);
}

static void call_allreduce(void)
{
    double in = 1, out;

    MPI_Allreduce_c(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Its own call of MPI is over when the one that calls it waits. */
static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in,
                          void *out, int *flag)
{
    char byte = 0;

    *flag = 0;
    return MPI_Bcast(&byte, 1, MPI_CHAR, 0, MPI_COMM_SELF);
}

static void dup_attribute(void)
{
    int key;
    MPI_Comm copy;

    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
}

static void comm_dup(void)
{
    MPI_Comm copy;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
}

/* Rank 1 accepts at another port than the one at which rank 0 calls. */
static void accept_client(void)
{
    char name[MPI_MAX_PORT_NAME], other[MPI_MAX_PORT_NAME];
    MPI_Comm peer;

    MPI_Open_port(MPI_INFO_NULL, name);
    MPI_Open_port(MPI_INFO_NULL, other);
    MPI_Send(other, sizeof other, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer);
}

static void connect_server(void)
{
    char name[MPI_MAX_PORT_NAME];
    MPI_Comm peer;

    MPI_Recv(name, sizeof name, MPI_CHAR, 1, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer);
}

static void finalize_case(void)
{
    MPI_Finalize();
}

static void check_finalized(void)
{
    MPI_Finalize();
    for_ever();
}

static void is_busy(void)
{
    volatile unsigned long n = 0;

    for (;;)
        n++;
}

static void test_receive(void)
{
    MPI_Request r;
    int flag = 0;

    post_receive(&r, 1);
    while (!flag)
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
}

static void check_testall(void)
{
    MPI_Request r[2];
    int flag = 0;

    post_receive(r, 2);
    while (!flag)
        MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
}

static void check_iprobe(void)
{
    int flag = 0;

    while (!flag)
        MPI_Iprobe(1, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void *receive_second(void *arg)
{
    MPI_Recv(buffer[1], 1, MPI_CHAR, 1, 42, ocean, MPI_STATUS_IGNORE);
    return arg;
}

static void two_threads(void)
{
    pthread_t t;

    pthread_create(&t, NULL, receive_second, NULL);
    MPI_Recv(buffer[0], 1, MPI_CHAR, 1, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *check_nothing(void *arg)
{
    return arg;
}

/* To start a thread all signals are blocked for a moment. */
static void start_threads(void)
{
    pthread_t t;

    for (;;)
        if (pthread_create(&t, NULL, check_nothing, NULL) == 0)
            pthread_join(t, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} calls[] = {
    {"recv", recv_plain},
    {"recv_c", recv_large_count},
    {"ocean", recv_ocean},
    {"ssend", check_ssend},
    {"send", send_large},
    {"sendrecv", check_sendrecv},
    {"wait", wait_one},
    {"waitall", wait_all},
    {"waitany", wait_any},
    {"waitsome", wait_some},
    {"ibarrier", wait_barrier},
    {"probe", probe_message},
    {"mprobe", check_mprobe},
    {"barrier", call_barrier},
    {"bcast", call_bcast},
    {"allreduce_c", call_allreduce},
    {"comm_dup", comm_dup},
    {"accept", accept_client},
    {"connect", connect_server},
    {"dup_attribute", dup_attribute},
    {"finalize", finalize_case},
    {"finalized", check_finalized},
    {"sleep", for_ever},
    {"busy", is_busy},
    {"test", test_receive},
    {"testall", check_testall},
    {"iprobe", check_iprobe},
    {"threads", two_threads},
    {"start_threads", start_threads},
};

static void start_case(const char *what)
{
    int level, wanted = strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE
                                                     : MPI_THREAD_FUNNELED;

    MPI_Init_thread(NULL, NULL, wanted, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - me, &ocean);
    MPI_Comm_set_name(ocean, "ocean");
    printf("ready\n");
    fflush(stdout);
}

/* Argument 1: what rank 0 does, or of a list "a,b,c" each rank its own. */
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "sleep";
    char list[200], *mine, *rest = list;

    snprintf(list, sizeof list, "%s", what);
    mine = strtok_r(rest, ",", &rest);
    if (strcmp(what, "before") == 0) {
        const char *rank = getenv("PMI_RANK");
        if (rank && rank[0] == '0')
            for_ever();
        MPI_Init(NULL, NULL);
        MPI_Recv(buffer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    start_case(mine);
    for (int i = 0; i < me && mine; i++)
        mine = strtok_r(NULL, ",", &rest);
    for (size_t i = 0; mine && i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, mine) == 0)
            calls[i].run();
    for_ever();
    return 0;
}
