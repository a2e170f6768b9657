/* This program measures what threads cost and what they gain.
 *
 *   mpi_threads rate FORM threads N MS    N threads of rank 0 send to ranks
 *                                         1..N (Balaji et al. 2010, figure 2a)
 *   mpi_threads rate FORM processes N MS  ranks 0..N-1 send to N..2N-1 (2b)
 *   mpi_threads rate FORM beside N MS     the same at MPI_THREAD_MULTIPLE, and
 *                                         each has a thread that sleeps
 *   mpi_threads pong LEVEL T MS           T threads of rank 0 in ping-pong with
 *                                         T of rank 1, each pair for itself
 *
 *   mpi_threads self N MS                 N threads of a rank, each with itself
 *                                         on a communicator of its own
 *
 *   mpi_threads pairs MS                  the first half of the ranks in ping-
 *                                         pong with the second, in pairs:
 *                                         all messages together
 *
 * FORM is null (everything goes to and comes from MPI_PROC_NULL), blocking or
 * nonblocking. A receiver posts 128 receives and acknowledges, its sender then
 * sends 128 messages of no bytes; so none is unexpected. Threads get
 * MPI_THREAD_MULTIPLE even where there is one, processes MPI_THREAD_SINGLE;
 * LEVEL is single or multiple. pairs may be started with ranks that are
 * threads; each rank has its CPU, as far as there are so many.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

#include <pthread.h>

#include "../tests/second_thread.h"

enum { THREADS_MAX = 64, BURST = 128, ROUNDS = 64, PONGS = 1000, ACK = 7,
       ECHOES = 400000 };

enum form { FORM_NULL, FORM_BLOCKING, FORM_NONBLOCKING };

/* A lane is one thread's part. */
struct lane {
    MPI_Comm comm;
    enum form form;
    int peer, cpu;
    int first; /* of a ping-pong */
    double start, end; /* of its loop, us */
};

struct team {
    struct lane lanes[THREADS_MAX];
    int size;
    void *(*work)(void *lane);
};

/* ---- senders and receivers ---------------------------------------------- */

static void send_burst(const struct lane *l)
{
    MPI_Request reqs[BURST];

    for (int i = 0; i < BURST; i++)
        if (l->form == FORM_NONBLOCKING)
            MPI_Isend(NULL, 0, MPI_BYTE, l->peer, i, l->comm, &reqs[i]);
        else
            MPI_Send(NULL, 0, MPI_BYTE, l->peer, i, l->comm);
    if (l->form == FORM_NONBLOCKING)
        MPI_Waitall(BURST, reqs, MPI_STATUSES_IGNORE);
}

static void *send_all(void *lane)
{
    struct lane *l = lane;
    l->start = now_us();

    for (int i = 0; i < ROUNDS; i++) {
        MPI_Recv(NULL, 0, MPI_BYTE, l->peer, ACK, l->comm, MPI_STATUS_IGNORE);
        send_burst(l);
    }
    l->end = now_us();
    return NULL;
}

static void receive_all(const struct lane *l)
{
    MPI_Request reqs[BURST];

    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < BURST; k++)
            MPI_Irecv(NULL, 0, MPI_BYTE, l->peer, k, l->comm, &reqs[k]);
        MPI_Send(NULL, 0, MPI_BYTE, l->peer, ACK, l->comm);
        MPI_Waitall(BURST, reqs, MPI_STATUSES_IGNORE);
    }
}

/* ---- ping-pong ----------------------------------------------------------- */

static void *run_pong(void *lane)
{
    struct lane *l = lane;
    l->start = now_us();
    char byte = 0;

    for (int i = 0; i < PONGS; i++)
        if (l->first) {
            MPI_Send(&byte, 1, MPI_BYTE, l->peer, 0, l->comm);
            MPI_Recv(&byte, 1, MPI_BYTE, l->peer, 0, l->comm,
                     MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&byte, 1, MPI_BYTE, l->peer, 0, l->comm,
                     MPI_STATUS_IGNORE);
            MPI_Send(&byte, 1, MPI_BYTE, l->peer, 0, l->comm);
        }
    l->end = now_us();
    return NULL;
}

/* Send messages to the own rank, each with a receive posted first. */
static void *run_echo(void *lane)
{
    struct lane *l = lane;
    l->start = now_us();
    char in = 0, out = 0;
    MPI_Request r;

    for (int i = 0; i < ECHOES; i++) {
        MPI_Irecv(&in, 1, MPI_BYTE, l->peer, 0, l->comm, &r);
        MPI_Send(&out, 1, MPI_BYTE, l->peer, 0, l->comm);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    l->end = now_us();
    return NULL;
}

/* ---- teams --------------------------------------------------------------- */

static struct team *starting;
static pthread_barrier_t all_there; /* to start threads takes longer than some
                                       of what is measured */

static void *start_bound(void *lane)
{
    struct lane *l = lane;

    bind_rank(l->cpu);
    pthread_barrier_wait(&all_there);
    return starting->work(l);
}

/* Returns the mean time of a lane, or the time from the first one's start to
 * the last one's end, because rates are of all together. */
static double elapsed_of(const struct team *t)
{
    double sum = 0, start = t->lanes[0].start, end = t->lanes[0].end;

    for (int i = 0; i < t->size; i++) {
        const struct lane *l = &t->lanes[i];
        sum += l->end - l->start;
        start = l->start < start ? l->start : start;
        end = l->end > end ? l->end : end;
    }
    return t->work == run_pong ? sum / t->size : end - start;
}

/* Run every lane as a thread; if there is only one, in the calling thread. */
static double run_team(struct team *t)
{
    pthread_t threads[THREADS_MAX];

    starting = t;
    pthread_barrier_init(&all_there, NULL, (unsigned)t->size);
    for (int i = 0; i < t->size; i++)
        if (pthread_create(&threads[i], NULL, start_bound, &t->lanes[i]) != 0) {
            perror("mpi_threads: pthread_create");
            exit(1);
        }
    for (int i = 0; i < t->size; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all_there);
    return elapsed_of(t);
}

static double one_batch(void *what)
{
    struct team *t = what;

    MPI_Barrier(MPI_COMM_WORLD);
    if (t->work && t->size == 1) { /* no threads: perhaps it is one */
        t->work(&t->lanes[0]);
        return elapsed_of(t);
    }
    if (t->work)
        return run_team(t);
    receive_all(&t->lanes[0]);
    return 0;
}

static void lay_out_rate(struct team *t, enum form form, int threads, int n,
                         int rank)
{
    int senders = threads ? 1 : n;

    t->size = threads && rank == 0 ? n : 1;
    t->work = rank < senders || form == FORM_NULL ? send_all : NULL;
    for (int i = 0; i < t->size; i++) {
        int peer = rank >= senders ? (threads ? 0 : rank - n)
                   : threads       ? i + 1
                                   : rank + n;
        t->lanes[i] = (struct lane){MPI_COMM_WORLD, form,
                                    form == FORM_NULL ? MPI_PROC_NULL : peer,
                                    i, 0, 0, 0};
    }
}

static void lay_out_own(struct team *t, void *(*work)(void *), int n, int rank,
                        int peer)
{
    t->size = n;
    t->work = work;
    for (int i = 0; i < n; i++) {
        t->lanes[i] = (struct lane){
            .peer = peer, .cpu = rank + i, .first = rank == 0};
        MPI_Comm_dup(MPI_COMM_WORLD, &t->lanes[i].comm);
    }
}

/* Make pairs of ranks; returns how many. */
static int lay_out_pairs(struct team *t, int rank)
{
    int size, n;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = size / 2;
    if (size % 2) {
        fprintf(stderr, "mpi_threads: %d ranks are no pairs\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    t->size = 1;
    t->work = run_pong;
    t->lanes[0] = (struct lane){.comm = MPI_COMM_WORLD,
                                .peer = rank < n ? rank + n : rank - n,
                                .first = rank < n};
    return n;
}

static int form_of(const char *word)
{
    static const char *const words[] = {"null", "blocking", "nonblocking"};

    for (int i = 0; i < 3; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

/* Start MPI at the thread level, or end with status 77 and measure nothing. */
static int start_level(int *argc, char ***argv, int level)
{
    int rank, got;

    MPI_Init_thread(argc, argv, level, &got);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (got < level) {
        fprintf(stderr, "mpi_threads: no MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
    bind_rank(rank);
    return rank;
}

int main(int argc, char **argv)
{
    static _Thread_local struct team t;
    static _Thread_local double v[BATCHES];
    int pairs = argc == 3 && strcmp(argv[1], "pairs") == 0;
    int rates = argc == 6 && strcmp(argv[1], "rate") == 0;
    int selves = argc == 4 && strcmp(argv[1], "self") == 0;
    int pongs = argc == 5 && strcmp(argv[1], "pong") == 0;
    int n = rates || pongs || selves ? atoi(argv[argc - 2]) : pairs;
    int rank, batches;
    int form = rates ? form_of(argv[2]) : 0;
    const char *kind = rates || pongs ? argv[argc - 3] : "";
    int threads = strcmp(kind, "threads") == 0,
        beside = strcmp(kind, "beside") == 0;
    int multiple = threads || beside || selves || strcmp(kind, "multiple") == 0;
    double limit_us = n ? atof(argv[argc - 1]) * 1e3 : 0;

    if (n < 1 || n > THREADS_MAX || form < 0)
        return 2;
    rank = start_level(&argc, &argv,
                       multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (beside)
        start_second_thread();
    if (pairs)
        n = lay_out_pairs(&t, rank);
    else if (rates)
        lay_out_rate(&t, form, threads, n, rank);
    else
        lay_out_own(&t, selves ? run_echo : run_pong, n, rank,
                    selves ? rank : 1 - rank);
    batches = repeat_batches(one_batch, &t, limit_us, v);
    if (rank == 0 && pairs)
        print_rates("mps", 0, v, batches, 2.0 * n * PONGS);
    else if (rank == 0 && rates)
        print_rates("mps", 0, v, batches, (double)n * ROUNDS * BURST);
    else if (rank == 0 && selves)
        print_rates("mps", 0, v, batches, (double)n * ECHOES);
    else if (rank == 0) {
        for (int i = 0; i < batches; i++)
            v[i] /= 2 * PONGS;
        print_times("us", 0, v, batches);
    }
    MPI_Finalize();
    return 0;
}
