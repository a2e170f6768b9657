/* Ranks that are threads of one process: MPIX_Run_ranks, and what each rank
 * has for itself.
 *
 * A failed check in a rank thread ends the program: cmocka's own checks jump.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check_in_ranks.h"
#include "mpix.h"

enum { RANKS = 6, LARGE = 300000 };

static int begin_case(int *size)
{
    int rank, flag;
    MPI_Initialized(&flag);
    CHECK(!flag);
    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return rank;
}

static void end_case(void)
{
    int flag;
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    MPI_Finalized(&flag);
    CHECK(flag);
}

/* ---- messages ------------------------------------------------------------ */

static void send_around(int rank, int size, int n)
{
    int *out = malloc(sizeof(int) * (size_t)n), *in = calloc((size_t)n, 4);
    for (int i = 0; i < n; i++)
        out[i] = rank * 1000003 + i;
    MPI_Sendrecv(out, n, MPI_INT, (rank + 1) % size, n, in, n, MPI_INT,
                 (rank + size - 1) % size, n, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK(in[i] == (rank + size - 1) % size * 1000003 + i);
    free(in);
    free(out);
}

static int pass_ring(void *arg)
{
    int size, rank = begin_case(&size), sum;
    CHECK(size == *(int *)arg);
    int most = size > RANKS ? 3000 : LARGE;
    for (int n = 1; n < most; n = n * 7 + 1)
        send_around(rank, size, n);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    end_case();
    return 100 + rank;
}

static void each_thread_is_a_rank(void **state)
{
    int n = RANKS, results[RANKS];
    for (int again = 0; again < 3; again++) {
        assert_int_equal(MPIX_Run_ranks(n, pass_ring, &n, results),
                         MPI_SUCCESS);
        for (int i = 0; i < n; i++)
            assert_int_equal(results[i], 100 + i);
    }
}

static void one_rank_needs_no_thread(void **state)
{
    int one = 1, result;
    assert_int_equal(MPIX_Run_ranks(0, pass_ring, &one, &result), MPI_SUCCESS);
    assert_int_equal(result, 100);
}

/* More than a mailbox holds, of sizes that do not divide it, to one that reads
 * late. */
static int flood_peer(void *arg)
{
    enum { MESSAGES = 400, BYTES = 3001 };
    static _Thread_local char buf[BYTES];
    int size, rank = begin_case(&size), next[RANKS] = {0};
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank && i < MESSAGES; i++) {
        int n = 1 + i * 53 % BYTES;
        memset(buf, rank + i, (size_t)n);
        MPI_Send(buf, n, MPI_CHAR, 0, i, MPI_COMM_WORLD);
    }
    for (int i = 0; !rank && i < MESSAGES * (size - 1); i++) {
        int n;
        MPI_Recv(buf, BYTES, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
        int from = status.MPI_SOURCE, k = next[from]++;
        MPI_Get_count(&status, MPI_CHAR, &n);
        CHECK(status.MPI_TAG == k && n == 1 + k * 53 % BYTES);
        CHECK(buf[0] == (char)(from + k) && buf[n - 1] == (char)(from + k));
    }
    end_case();
    return 0;
}

static void full_mailboxes_lose_nothing(void **state)
{
    assert_int_equal(MPIX_Run_ranks(RANKS, flood_peer, NULL, NULL),
                     MPI_SUCCESS);
}

/* Far more ranks than processors start, meet and end: a thousand in one
 * process. Sanitizers have less room for threads. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { MANY = 150 };
#else
enum { MANY = 1000 };
#endif

static void many_ranks_meet(void **state)
{
    int n = MANY;
    assert_int_equal(MPIX_Run_ranks(n, pass_ring, &n, NULL), MPI_SUCCESS);
}

/* ---- what a rank has for itself ------------------------------------------ */

static int forget_all(MPI_Comm comm, int key, void *value, void *extra)
{
    *(int *)extra += (int)(intptr_t)value;
    return MPI_SUCCESS;
}

static void check_attributes(int rank)
{
    int key, flag, deleted = 0;
    void *value;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_all, &key, &deleted);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)(intptr_t)(rank + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(flag && (intptr_t)value == rank + 1);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    CHECK(deleted == rank + 1);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
    CHECK(!flag); /* MPI-5.0 s11.10.3: there is no number */
}

/* Rank 0 goes on after an error; the others' handler is untouched. */
static void error_handlers(int rank)
{
    MPI_Errhandler now;
    if (rank == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        CHECK(MPI_Send(&rank, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD) !=
              MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
    CHECK(now == (rank == 0 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL));
}

static void error_codes(int rank)
{
    int code = 0;
    for (int i = 0; i <= rank; i++)
        MPI_Add_error_class(&code);
    CHECK(code == MPI_ERR_LASTCODE + 1 + rank);
}

static void send_buffered(int rank, int size)
{
    char *buffer = malloc(MPI_BSEND_OVERHEAD + 100);
    void *back;
    int in, n;
    MPI_Buffer_attach(buffer, MPI_BSEND_OVERHEAD + 100);
    MPI_Bsend(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    CHECK(in == (rank + size - 1) % size);
    MPI_Buffer_detach(&back, &n);
    CHECK(back == buffer);
    free(buffer);
}

static void check_communicators(int rank, int size)
{
    MPI_Comm half;
    int sum, members;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_size(half, &members);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(members == (size + 1 - rank % 2) / 2);
    for (int r = rank % 2; r < size; r += 2)
        sum -= r;
    CHECK(sum == 0);
    MPI_Comm_free(&half);
}

static int own_things(void *arg)
{
    int size, rank = begin_case(&size), main_thread;
    MPI_Is_thread_main(&main_thread);
    CHECK(main_thread);
    check_attributes(rank);
    error_handlers(rank);
    error_codes(rank);
    send_buffered(rank, size);
    check_communicators(rank, size);
    end_case();
    return 0;
}

static void a_rank_has_its_own_state(void **state)
{
    assert_int_equal(MPIX_Run_ranks(RANKS, own_things, NULL, NULL),
                     MPI_SUCCESS);
}

static int with_session(void *arg)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int size, sum, one = 1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL,
                               MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(size == RANKS && sum == RANKS);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    return 0;
}

static void sessions_end_with_their_thread(void **state)
{
    assert_int_equal(MPIX_Run_ranks(RANKS, with_session, NULL, NULL),
                     MPI_SUCCESS);
}

/* ---- levels -------------------------------------------------------------- */

static const int asked[][2] = {
    {MPI_THREAD_SINGLE, MPI_THREAD_SINGLE},
    {MPI_THREAD_FUNNELED, MPI_THREAD_FUNNELED},
    {MPI_THREAD_SERIALIZED, MPI_THREAD_FUNNELED},
    {MPI_THREAD_MULTIPLE, MPI_THREAD_FUNNELED},
    {MPIX_THREAD_AS_RANK, MPIX_THREAD_AS_RANK},
    {MPIX_THREAD_FILTERED, MPIX_THREAD_FILTERED},
};

static int level_of(void *arg)
{
    const int *pair = arg;
    int provided;
    MPI_Init_thread(NULL, NULL, pair[0], &provided);
    CHECK(provided == pair[1]);
    MPI_Query_thread(&provided);
    CHECK(provided == pair[1]);
    end_case();
    return 0;
}

static void levels_say_what_a_rank_thread_may(void **state)
{
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        assert_int_equal(MPIX_Run_ranks(3, level_of, (void *)asked[i], NULL),
                         MPI_SUCCESS);
}

/* A thread that is no rank acts as one that was given the level. */
static void *act_as_rank(void *arg)
{
    int rank, main_thread, flag;
    MPI_Initialized(&flag);
    MPI_Is_thread_main(&main_thread);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(flag && !main_thread);
    for (int i = 0; i < 1000; i++)
        MPI_Send(&rank, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
    return NULL;
}

static int check_filtered(void *arg)
{
    int provided, rank, who;
    pthread_t thread;
    MPI_Status status;
    MPI_Init_thread(NULL, NULL, MPIX_THREAD_FILTERED, &provided);
    CHECK(provided == MPIX_THREAD_FILTERED);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        pthread_create(&thread, NULL, act_as_rank, NULL);
    for (int i = 0; rank == 0 && i < 1000; i++) {
        MPI_Recv(&who, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &status);
        CHECK(status.MPI_SOURCE == who);
    }
    if (rank == 0)
        pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    end_case();
    return 0;
}

static void filtered_lets_other_threads_in(void **state)
{
    assert_int_equal(MPIX_Run_ranks(4, check_filtered, NULL, NULL),
                     MPI_SUCCESS);
}

/* Without that level a thread that is no rank is told so. */
static void *expect_refusal(void *arg)
{
    int rank;
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_ERR_OTHER);
    return NULL;
}

static int check_unfiltered(void *arg)
{
    int size, rank = begin_case(&size);
    pthread_t thread;
    pthread_create(&thread, NULL, expect_refusal, NULL);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    end_case();
    return rank;
}

static void otherwise_they_are_refused(void **state)
{
    setenv("WEFT_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
    assert_int_equal(MPIX_Run_ranks(2, check_unfiltered, NULL, NULL),
                     MPI_SUCCESS);
    unsetenv("WEFT_INITIAL_ERRHANDLER");
}

/* ---- refusals ------------------------------------------------------------ */

static int check_nested(void *arg)
{
    int size, rank = begin_case(&size);
    CHECK(MPIX_Run_ranks(2, pass_ring, NULL, NULL) == MPI_ERR_OTHER);
    end_case();
    return rank;
}

static void misuse_is_named(void **state)
{
    setenv("WEFT_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
    assert_int_equal(MPIX_Run_ranks(-1, pass_ring, NULL, NULL), MPI_ERR_ARG);
    assert_int_equal(MPIX_Run_ranks(2, NULL, NULL, NULL), MPI_ERR_ARG);
    assert_int_equal(MPIX_Run_ranks(100000, pass_ring, NULL, NULL),
                     MPI_ERR_ARG);
    assert_int_equal(MPIX_Run_ranks(3, check_nested, NULL, NULL), MPI_SUCCESS);
    unsetenv("WEFT_INITIAL_ERRHANDLER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_is_a_rank),
        cmocka_unit_test(one_rank_needs_no_thread),
        cmocka_unit_test(full_mailboxes_lose_nothing),
        cmocka_unit_test(many_ranks_meet),
        cmocka_unit_test(a_rank_has_its_own_state),
        cmocka_unit_test(sessions_end_with_their_thread),
        cmocka_unit_test(levels_say_what_a_rank_thread_may),
        cmocka_unit_test(filtered_lets_other_threads_in),
        cmocka_unit_test(otherwise_they_are_refused),
        cmocka_unit_test(misuse_is_named),
    };
    setenv("WEFT_INI", "-", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
