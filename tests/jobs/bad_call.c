/* One mistake of a program, named by the argument: bad_calls.py reads what is
 * said about it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>

#include "check.h"

static int rank;
static int data[64];

static void to_a_rank_that_is_not(void)
{
    MPI_Send(data, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
}

static void large_to_a_rank_that_is_not(void)
{
    MPI_Send_c(data, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
}

static void more_than_an_int_to_a_rank_that_is_not(void)
{
    MPI_Send_c(data, (MPI_Count)INT_MAX + 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
}

static void large_from_a_root_that_is_not(void)
{
    MPI_Bcast_c(data, 1, MPI_INT, 7, MPI_COMM_WORLD);
}

/* The handler's own call is of the int form. */
static void call_again(MPI_Comm *comm, int *code, ...)
{
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_ARE_FATAL);
    MPI_Send(data, 1, MPI_INT, 8, 0, *comm);
}

static void large_whose_handler_calls(void)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(call_again, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send_c(data, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
}

/* After one that returned, the int form has its own name. */
static void small_after_large(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send_c(data, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Bcast(data, 1, MPI_INT, 7, MPI_COMM_WORLD);
}

static void into_too_small_a_buffer(void)
{
    if (rank == 0)
        MPI_Send(data, 10, MPI_INT, 1, 3, MPI_COMM_WORLD);
    else
        MPI_Recv(data, 5, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void with_a_freed_communicator(void)
{
    MPI_Comm c, old;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    old = c;
    MPI_Comm_free(&c);
    MPI_Barrier(old);
}

static void with_a_type_that_is_none(void)
{
    static const long nothing[] = {-1, -1, -1, -1, -1, -1, -1, -1};
    MPI_Datatype type = (MPI_Datatype)nothing;

    MPI_Type_commit(&type);
}

static void a_send(void)
{
    if (rank == 0)
        MPI_Send(data, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void a_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void a_dup(void)
{
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_free(&c);
}

static void a_communicator_of_a_group(void)
{
    MPI_Group g;
    MPI_Comm c;

    MPI_Comm_group(MPI_COMM_WORLD, &g);
    MPI_Comm_create_group(MPI_COMM_WORLD, g, 5, &c);
}

static MPI_Comm dup_exact(void)
{
    MPI_Info info;
    MPI_Comm c;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_exact_length", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &c);
    MPI_Info_free(&info);
    return c;
}

static void send_or_receive(int count, MPI_Comm c)
{
    if (rank == 0)
        MPI_Send(data, count, MPI_INT, 1, 3, c);
    else
        MPI_Recv(data, 8, MPI_INT, 0, 3, c, MPI_STATUS_IGNORE);
}

/* After a message that fits, by which the two know each other. */
static void send_shorter(int count, int posted)
{
    MPI_Comm c = dup_exact();
    MPI_Request r;

    send_or_receive(8, c);
    if (rank == 1 && posted)
        MPI_Irecv(data, 8, MPI_INT, 0, 3, c, &r);
    MPI_Barrier(c);
    if (rank == 1 && posted)
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    else
        send_or_receive(count, c);
    MPI_Barrier(c);
    MPI_Comm_free(&c);
}

static void shorter_than_promised(void)
{
    send_shorter(4, 0);
}

static void shorter_than_posted(void)
{
    send_shorter(4, 1);
}

static void nothing_where_posted(void)
{
    send_shorter(0, 1);
}

static int nothing_to_query(void *state, MPI_Status *status)
{
    (void)state;
    (void)status;
    return MPI_SUCCESS;
}

/* Messages that the program has given up. */
static void give_up_messages(void)
{
    MPI_Request r[2];

    if (rank == 1) {
        MPI_Irecv(data, 5, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(data, 6, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
    } else {
        MPI_Isend(data, 3, MPI_INT, 1, 8, MPI_COMM_WORLD, &r[0]);
        MPI_Issend(data, 4, MPI_INT, 1, 9, MPI_COMM_WORLD, &r[1]);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* These are objects that a program may not free. */
static void leave_unfinished(void)
{
    MPI_Request never;

    MPI_Psend_init(data, 1, 1, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &never);
    if (rank == 1) {
        MPI_Ibarrier(MPI_COMM_WORLD, &never);
        MPI_Grequest_start(nothing_to_query, NULL, NULL, NULL, &never);
    } else {
        MPI_Start(&never);
    }
}

static void other_collectives(void)
{
    if (rank == 0)
        MPI_Bcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void other_counts(void)
{
    MPI_Bcast(data, rank == 0 ? 64 : 4, MPI_INT, 0, MPI_COMM_WORLD);
}

static void a_request_that_is_not_persistent(void)
{
    MPI_Request r;

    MPI_Irecv(data, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r);
    MPI_Start(&r);
}

static void a_sum_of_characters(void)
{
    MPI_Allreduce(data, data + 1, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
}

static void use_characters_in_a_window(int swap)
{
    char *base, zero[] = "", result;
    MPI_Win win;

    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    if (swap)
        MPI_Compare_and_swap("x", zero, &result, MPI_CHAR, 0, 0, win);
    else
        MPI_Accumulate("x", 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, MPI_MAX, win);
    MPI_Win_free(&win);
}

static void a_maximum_of_characters(void)
{
    use_characters_in_a_window(0);
}

static void a_swap_of_characters(void)
{
    use_characters_in_a_window(1);
}

static void a_grid_that_is_too_large(void)
{
    int dims[] = {5, 5}, periods[] = {0, 0};
    MPI_Comm c;

    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c);
}

static void dimensions_that_do_not_divide(void)
{
    int dims[] = {0, 5};

    MPI_Dims_create(7, 2, dims);
}

static void of_the_program(void)
{
    int code;

    MPI_Add_error_code(MPI_ERR_OTHER, &code);
    MPI_Add_error_string(code, "the rows are not sorted");
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
}

static void of_a_class(void)
{
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG);
}

static const struct {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    {"of_the_program", of_the_program},
    {"of_a_class", of_a_class},
    {"to_a_rank_that_is_not", to_a_rank_that_is_not},
    {"large_to_a_rank_that_is_not", large_to_a_rank_that_is_not},
    {"more_than_an_int_to_a_rank_that_is_not",
     more_than_an_int_to_a_rank_that_is_not},
    {"large_from_a_root_that_is_not", large_from_a_root_that_is_not},
    {"large_whose_handler_calls", large_whose_handler_calls},
    {"small_after_large", small_after_large},
    {"into_too_small_a_buffer", into_too_small_a_buffer},
    {"with_a_freed_communicator", with_a_freed_communicator},
    {"a_send", a_send},
    {"a_barrier", a_barrier},
    {"a_dup", a_dup},
    {"a_communicator_of_a_group", a_communicator_of_a_group},
    {"other_collectives", other_collectives},
    {"with_a_type_that_is_none", with_a_type_that_is_none},
    {"shorter_than_promised", shorter_than_promised},
    {"shorter_than_posted", shorter_than_posted},
    {"nothing_where_posted", nothing_where_posted},
    {"unmatched", give_up_messages},
    {"unfinished", leave_unfinished},
    {"other_counts", other_counts},
    {"a_request_that_is_not_persistent", a_request_that_is_not_persistent},
    {"a_grid_that_is_too_large", a_grid_that_is_too_large},
    {"a_sum_of_characters", a_sum_of_characters},
    {"a_maximum_of_characters", a_maximum_of_characters},
    {"a_swap_of_characters", a_swap_of_characters},
    {"dimensions_that_do_not_divide", dimensions_that_do_not_divide},
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "before_init") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Init(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        if (argc > 1 && strcmp(argv[1], mistakes[i].name) == 0)
            mistakes[i].make();
    MPI_Finalize();
    return 0;
}
