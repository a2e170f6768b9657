/* Handles that several threads use at once: each of them makes, duplicates and
 * frees what refers to the same object, and some of it ends while messages
 * still need it (MPI-5.0 s11.6.1). A count of references that two threads
 * change at once shows under a sanitizer, or as an object that is gone too
 * early.
 *
 *   types     a datatype that is freed right after the receive that uses it
 *   groups    of one communicator, compared with one that all have
 *   handlers  read, set and freed on one communicator
 *   operators, infos, attributes
 *   ended     a communicator that one thread frees while messages of all
 *             threads are under way on it
 *   levels    MPI_Is_thread_main, MPI_Query_thread
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 60, ENDS = 6, COUNT = 7, LARGE = 40000 };

static MPI_Comm shared;
static MPI_Datatype pairs; /* two integers of three */
static MPI_Group everybody;
static MPI_Op later;
static MPI_Info hints;
static MPI_Errhandler handler;
static int key, copies, rank, size, failures;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

/* ---- what all threads refer to ------------------------------------------- */

static void note_event(MPI_Comm *comm, int *code, ...)
{
}

static void take_later(void *in, void *inout, int *n, MPI_Datatype *type)
{
    for (int i = 0; i < *n; i++)
        if (((int *)in)[i] > ((int *)inout)[i])
            ((int *)inout)[i] = ((int *)in)[i];
}

static int check_copied(MPI_Datatype type, int k, void *extra, void *in,
                        void *out, int *flag)
{
    *(void **)out = in;
    *flag = 1;
    pthread_mutex_lock(&counting);
    copies++;
    pthread_mutex_unlock(&counting);
    return MPI_SUCCESS;
}

static int check_deleted(MPI_Datatype type, int k, void *value, void *extra)
{
    pthread_mutex_lock(&counting);
    copies--;
    pthread_mutex_unlock(&counting);
    return MPI_SUCCESS;
}

static void make_object(void)
{
    MPI_Datatype two;

    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 3 * sizeof(int), &pairs);
    MPI_Type_commit(&pairs);
    MPI_Type_free(&two);
    MPI_Type_create_keyval(check_copied, check_deleted, &key, NULL);
    MPI_Type_set_attr(pairs, key, &copies);
    copies = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    MPI_Comm_group(shared, &everybody);
    MPI_Op_create(take_later, 1, &later);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "key", "value");
    MPI_Comm_create_errhandler(note_event, &handler);
    MPI_Comm_set_errhandler(shared, handler);
}

/* The handler goes first: the communicator still refers to it. */
static void unmake_object(void)
{
    MPI_Errhandler_free(&handler);
    CHECK(MPI_Type_free(&pairs) == MPI_SUCCESS);
    CHECK(copies == 0);
    MPI_Type_free_keyval(&key);
    CHECK(MPI_Group_free(&everybody) == MPI_SUCCESS);
    CHECK(MPI_Op_free(&later) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&hints) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&shared) == MPI_SUCCESS);
}

/* ---- each thread --------------------------------------------------------- */

static void check_types(int me, int round)
{
    MPI_Datatype mine, inner;
    int out[3 * COUNT], in[3 * COUNT] = {0}, n[3], combiner;
    MPI_Aint bounds[2];
    MPI_Request request;

    for (int i = 0; i < 3 * COUNT; i++)
        out[i] = 1000 * me + round + i;
    MPI_Type_dup(pairs, &mine);
    MPI_Irecv(in, COUNT, mine, rank, me, shared, &request);
    MPI_Type_free(&mine);
    MPI_Send(out, COUNT, pairs, rank, me, shared);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3 * COUNT; i++)
        CHECK(in[i] == (i % 3 == 1 ? 0 : out[i]));
    MPI_Type_get_envelope(pairs, &n[0], &n[1], &n[2], &combiner);
    CHECK(combiner == MPI_COMBINER_RESIZED && n[2] == 1);
    MPI_Type_get_contents(pairs, 0, 2, 1, NULL, bounds, &inner);
    MPI_Type_commit(&inner);
    CHECK(MPI_Type_free(&inner) == MPI_SUCCESS);
}

static void check_groups(int me)
{
    MPI_Group all, one;
    int first = me % size, same = -1, members = -1;

    MPI_Comm_group(shared, &all);
    MPI_Group_compare(all, everybody, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_incl(everybody, 1, &first, &one);
    MPI_Group_size(one, &members);
    CHECK(members == 1);
    CHECK(MPI_Group_free(&all) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&one) == MPI_SUCCESS);
}

static void check_handlers(void)
{
    MPI_Errhandler now;

    MPI_Comm_get_errhandler(shared, &now);
    CHECK(now == handler);
    MPI_Errhandler_free(&now);
    MPI_Comm_set_errhandler(shared, handler);
}

static void operators_and_infos(int me)
{
    MPI_Info copy;
    char value[16];
    int a = me, b = THREADS, n = sizeof value, flag = 0;

    MPI_Reduce_local(&a, &b, 1, MPI_INT, later);
    CHECK(b == THREADS);
    MPI_Info_dup(hints, &copy);
    MPI_Info_get_string(copy, "key", &n, value, &flag);
    CHECK(flag && strcmp(value, "value") == 0);
    MPI_Info_free(&copy);
}

static void check_levels(int main_one)
{
    int is_main = -1, provided = -1;

    MPI_Is_thread_main(&is_main);
    CHECK(is_main == main_one);
    MPI_Query_thread(&provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
}

static void add_failures(void)
{
    pthread_mutex_lock(&counting);
    failures += job_failures;
    pthread_mutex_unlock(&counting);
}

static void *use_all(void *arg)
{
    int me = *(int *)arg;

    check_levels(0);
    for (int i = 0; i < ROUNDS; i++) {
        check_types(me, i);
        check_groups(me);
        check_handlers();
        operators_and_infos(me);
    }
    add_failures();
    return NULL;
}

/* ---- ended --------------------------------------------------------------- */

static MPI_Comm ending;
static pthread_barrier_t started;

static void *outlive_thread(void *arg)
{
    int me = *(int *)arg, n = me % 2 ? LARGE : 1;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int *out = malloc(2 * (size_t)n * sizeof *out), *in = out + n;
    MPI_Request requests[2];

    for (int i = 0; i < n; i++)
        out[i] = me + i;
    MPI_Irecv(in, n, MPI_INT, from, me, ending, &requests[0]);
    MPI_Isend(out, n, MPI_INT, to, me, ending, &requests[1]);
    pthread_barrier_wait(&started); /* from here on it is freed */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in[0] == me && in[n - 1] == me + n - 1);
    free(out);
    add_failures();
    return NULL;
}

static void start_case(pthread_t *threads, int *ids, void *(*what)(void *))
{
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        if (pthread_create(&threads[i], NULL, what, &ids[i]) != 0)
            abort();
    }
}

static void end_case(pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int ids[THREADS], provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    check_levels(1);
    make_object();
    start_case(threads, ids, use_all);
    end_case(threads);
    unmake_object();
    pthread_barrier_init(&started, NULL, THREADS + 1);
    for (int i = 0; i < ENDS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &ending);
        start_case(threads, ids, outlive_thread);
        pthread_barrier_wait(&started);
        CHECK(MPI_Comm_free(&ending) == MPI_SUCCESS);
        end_case(threads);
    }
    pthread_barrier_destroy(&started);
    job_failures += failures;
    return job_end();
}
