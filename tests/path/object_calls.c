/* Calls that ask an object, and tests of many requests, for short_path.py to
 * count instructions in rank 0. Each counted_* function makes one MPI call, in
 * the round that its name ends with: tests poll, and find more to do in one
 * round than in another.
 *
 * The requests are receives for which nothing comes until they are cancelled.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stddef.h>

enum { TIMES = 8, ROUNDS = 4, PENDING = 64 };

/* Never merged with a function of the same text. */
#if __has_attribute(noipa)
#define COUNTED __attribute__((noipa)) static
#else
#define COUNTED __attribute__((noinline)) static
#endif
#define COUNTED_ROUND(name, round, ...)                                        \
    COUNTED void counted_##name##_##round(void)                                \
    {                                                                          \
        __VA_ARGS__;                                                           \
    }
#define COUNTED_CALL(name, ...) COUNTED_ROUND(name, 0, __VA_ARGS__)
#define COUNTED_ROUNDS(name, ...)                                              \
    COUNTED_ROUND(name, 0, __VA_ARGS__)                                        \
    COUNTED_ROUND(name, 1, __VA_ARGS__)                                        \
    COUNTED_ROUND(name, 2, __VA_ARGS__)                                        \
    COUNTED_ROUND(name, 3, __VA_ARGS__)                                        \
    static void (*const name##_rounds[ROUNDS])(void) = {                       \
        counted_##name##_0, counted_##name##_1, counted_##name##_2,            \
        counted_##name##_3}

static MPI_Request pending[PENDING];
static MPI_Status status, statuses[PENDING];
static MPI_Group group, made;
static int keyval, number, flag, indices[PENDING];
static char bytes[PENDING];
static void *value;

COUNTED_CALL(comm_rank, MPI_Comm_rank(MPI_COMM_WORLD, &number))
COUNTED_CALL(type_size, MPI_Type_size(MPI_DOUBLE, &number))
COUNTED_CALL(get_count, MPI_Get_count(&status, MPI_DOUBLE, &number))
COUNTED_CALL(group_rank, MPI_Group_rank(group, &number))
COUNTED_CALL(comm_group, MPI_Comm_group(MPI_COMM_WORLD, &made))
COUNTED_CALL(group_free, MPI_Group_free(&made))
COUNTED_CALL(get_attr,
             MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag))
COUNTED_CALL(set_attr, MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, bytes))
COUNTED_ROUNDS(testany, MPI_Testany(PENDING, pending, &number, &flag, &status));
COUNTED_ROUNDS(testall, MPI_Testall(PENDING, pending, &flag, statuses));
COUNTED_ROUNDS(testsome,
               MPI_Testsome(PENDING, pending, &number, indices, statuses));

static void ask_objects(void)
{
    MPI_Sendrecv(bytes, 8, MPI_BYTE, 0, 1, statuses, 8, MPI_BYTE, 0, 1,
                 MPI_COMM_SELF, &status);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN,
                           &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, bytes);
    for (int i = 0; i < TIMES; i++) {
        counted_comm_rank_0();
        counted_type_size_0();
        counted_get_count_0();
        counted_group_rank_0();
        counted_comm_group_0();
        counted_group_free_0();
        counted_set_attr_0();
        counted_get_attr_0();
    }
    MPI_Group_free(&group);
    MPI_Comm_free_keyval(&keyval);
}

static void test_requests(void)
{
    for (int i = 0; i < PENDING; i++)
        MPI_Irecv(&bytes[i], 1, MPI_BYTE, 1, i, MPI_COMM_WORLD, &pending[i]);
    for (int i = 0; i < TIMES; i++) {
        testany_rounds[i % ROUNDS]();
        testall_rounds[i % ROUNDS]();
        testsome_rounds[i % ROUNDS]();
    }
    for (int i = 0; i < PENDING; i++)
        MPI_Cancel(&pending[i]);
    MPI_Waitall(PENDING, pending, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        ask_objects();
        test_requests();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
