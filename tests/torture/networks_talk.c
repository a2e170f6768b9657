/* Pairs of ranks that talk while the network between them breaks.
 *
 *   networks_talk FOLDER          on two hosts, two ranks or four
 *
 * Rank r of the first half talks to rank r + size/2, each pair on a
 * communicator of its own: the first pair all the time, the second, if there is
 * one, a little, and then again when the file FOLDER/go is there. A pair whose
 * first rank sees FOLDER/stop says a last round and is done. Before the fault
 * each rank makes FOLDER/ready.RANK. Every message is checked: its number, its
 * length and its bytes. At the end each rank prints
 *
 *   rank R rounds N class C at T call NAME: TEXT
 *
 * with C the name of the error class, or none; T is CLOCK_MONOTONIC in seconds.
 * A message that is lost, doubled, altered or out of order is "wrong:" and ends
 * the job.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    WINDOW = 8,
    LONGEST = 200000,
    FIRST_ROUNDS = 8,
    LAST_ROUNDS = 4,
    HEAD = 5, /* tags */
    BODY = 6,
    REST_NS = 1000000, /* between two rounds */
};

static const int sizes[] = {8, 0, 1000, 20000, 64, LONGEST, 4, 70000, 5000};
static unsigned char out[WINDOW][LONGEST], in[WINDOW][LONGEST], want[LONGEST];
static const char *folder;
static MPI_Comm pair;
static int rank, me; /* in the world, in the pair */

static struct {
    long rounds;
    char class[MPI_MAX_ERROR_STRING], text[MPI_MAX_ERROR_STRING];
    const char *call;
    double at;
} outcome = {.class = "none", .call = "-"};

static double clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest_for(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void check_wrong(const char *what, long n)
{
    printf("wrong: rank %d: message %ld: %s\n", rank, n, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static char *path_of(char *to, size_t n, const char *name)
{
    snprintf(to, n, "%s/%s", folder, name);
    return to;
}

static int is_there(const char *name)
{
    char path[512];

    return access(path_of(path, sizeof path, name), F_OK) == 0;
}

static void make_file(const char *name)
{
    char path[512];
    int fd = open(path_of(path, sizeof path, name), O_CREAT | O_WRONLY, 0600);

    if (fd < 0)
        check_wrong(strerror(errno), 0);
    close(fd);
}

/* The first error of this rank; its caller stops talking. */
static int has_failed(int r, const char *call)
{
    int class, n;
    char text[MPI_MAX_ERROR_STRING], *end;

    if (r == MPI_SUCCESS)
        return 0;
    if (strcmp(outcome.class, "none"))
        return 1;
    outcome.at = clock_now();
    outcome.call = call;
    MPI_Error_class(r, &class);
    MPI_Error_string(class, text, &n);
    if ((end = strchr(text, ':')))
        *end = 0;
    snprintf(outcome.class, sizeof outcome.class, "%s", text);
    MPI_Error_string(r, outcome.text, &n);
    for (char *c = outcome.text; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return 1;
}

/* ---- contents ------------------------------------------------------------ */

static int size_of(long n)
{
    return sizes[n % (long)(sizeof sizes / sizeof *sizes)];
}

static void fill_buffer(unsigned char *data, long n, int from)
{
    for (int i = 0, size = size_of(n); i < size; i++)
        data[i] = (unsigned char)(n + n / 251 + i * 7 + i / 256 + from * 91);
}

static void check_result(const unsigned char *data, const MPI_Status *s, long n)
{
    int count;

    MPI_Get_count(s, MPI_BYTE, &count);
    if (count != size_of(n))
        check_wrong("another length, so another message", n);
    fill_buffer(want, n, !me);
    if (memcmp(data, want, (size_t)count))
        check_wrong("altered", n);
}

/* ---- a round ------------------------------------------------------------- */

/* Each request ends, also beside one that failed; true: all are well. */
static int all_end(int n, MPI_Request *r, MPI_Status *s)
{
    int e = MPI_Waitall(n, r, s), first = MPI_SUCCESS;

    if (e == MPI_SUCCESS)
        return 1;
    for (int i = 0; i < n; i++) {
        int one = e == MPI_ERR_IN_STATUS ? s[i].MPI_ERROR : e;
        if (one == MPI_ERR_PENDING)
            one = s[i].MPI_ERROR = MPI_Wait(&r[i], &s[i]);
        if (one != MPI_SUCCESS && first == MPI_SUCCESS)
            first = one;
    }
    if (e != MPI_ERR_IN_STATUS)
        first = e;
    has_failed(first, "MPI_Waitall");
    return 0;
}

/* WINDOW messages each way, in order whatever the receives name. */
static int cross_messages(long round)
{
    int any = round % 3 == 1;
    long first = round * WINDOW;
    MPI_Request r[2 * WINDOW];
    MPI_Status s[2 * WINDOW];

    for (int i = 0; i < 2 * WINDOW; i++)
        r[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < WINDOW; i++)
        if (has_failed(MPI_Irecv(in[i], LONGEST, MPI_BYTE,
                             any ? MPI_ANY_SOURCE : !me,
                             any ? MPI_ANY_TAG : BODY, pair, &r[i]),
                   "MPI_Irecv"))
            break;
    for (int i = 0; i < WINDOW && r[WINDOW - 1] != MPI_REQUEST_NULL; i++) {
        fill_buffer(out[i], first + i, me);
        if (has_failed(MPI_Isend(out[i], size_of(first + i), MPI_BYTE, !me,
                                 BODY, pair, &r[WINDOW + i]),
                       "MPI_Isend"))
            break;
    }
    if (!all_end(2 * WINDOW, r, s) || strcmp(outcome.class, "none"))
        return 0;
    for (int i = 0; i < WINDOW; i++)
        check_result(in[i], &s[i], first + i);
    return 1;
}

static int add_up(long round)
{
    long mine[100], sum[100];

    for (int i = 0; i < 100; i++)
        mine[i] = round * 1000 + i + me;
    if (has_failed(MPI_Allreduce(mine, sum, 100, MPI_LONG, MPI_SUM, pair),
               "MPI_Allreduce"))
        return 0;
    for (int i = 0; i < 100; i++)
        if (sum[i] != 2 * (round * 1000 + i) + 1)
            check_wrong("a sum is altered", round);
    return 1;
}

/* The first of the pair says which round this is, and whether more follow. */
static int exchange_head(long round, int *more)
{
    long words[2] = {round, *more};
    MPI_Status s;

    if (me == 0)
        return !has_failed(MPI_Send(words, 2, MPI_LONG, 1, HEAD, pair),
                       "MPI_Send");
    if (has_failed(MPI_Recv(words, 2, MPI_LONG, round % 2 ? 0 : MPI_ANY_SOURCE,
                        HEAD, pair, &s),
               "MPI_Recv"))
        return 0;
    if (words[0] != round)
        check_wrong("a round is lost or doubled", round);
    *more = (int)words[1];
    return 1;
}

static int talk_once(int more)
{
    long round = outcome.rounds;

    if (!exchange_head(round, &more) || !cross_messages(round) ||
        (round % 4 == 3 && !add_up(round)))
        return -1;
    outcome.rounds++;
    rest_for(REST_NS);
    return more;
}

/* Until the first one sees the file, and LAST_ROUNDS more. -1: an error. */
static int talk_to_peers(const char *until)
{
    int more = 1, last = LAST_ROUNDS;

    while (more > 0) {
        if (me == 0 && is_there(until))
            last--;
        more = talk_once(last > 0);
    }
    return more;
}

static void wait_for(const char *name)
{
    while (!is_there(name))
        rest_for(REST_NS);
}

/* Call MPI until the peer has got everything: messages may have to be sent
 * again, which takes a call. */
static void help_until(const char *until)
{
    int any;

    while (!is_there(until)) {
        MPI_Iprobe(!me, HEAD, pair, &any, MPI_STATUS_IGNORE);
        rest_for(REST_NS);
    }
}

static void play_part(int idle, int partner)
{
    char name[32];

    for (int i = 0; i < FIRST_ROUNDS; i++)
        if (talk_once(1) < 0)
            return;
    snprintf(name, sizeof name, "ready.%d", rank);
    make_file(name);
    if (idle && me == 0) { /* the other one waits in MPI_Recv */
        snprintf(name, sizeof name, "ready.%d", partner);
        help_until(name);
        wait_for("go");
    }
    talk_to_peers("stop");
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = argv[1];
    if (argc != 2 || size % 2) {
        fprintf(stderr, "usage: networks_talk FOLDER, ranks in pairs\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % (size / 2), rank, &pair);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(pair, &me);
    play_part(rank % (size / 2) == 1, (rank + size / 2) % size);
    printf("rank %d rounds %ld class %s at %.3f call %s: %s\n", rank,
           outcome.rounds, outcome.class, outcome.at, outcome.call,
           outcome.text);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
