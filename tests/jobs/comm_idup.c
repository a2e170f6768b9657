/* MPI_Comm_idup does not wait: many at once, of several communicators, in
 * orders that differ between processes, overlapping with other traffic.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static void many_of_one(void)
{
    enum { N = 100 };
    MPI_Comm c[N];
    MPI_Request q[N];
    for (int i = 0; i < N; i++)
        MPI_Comm_idup(MPI_COMM_WORLD, &c[i], &q[i]);
    check_talks(MPI_COMM_WORLD);
    MPI_Waitall(N, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; i++)
        check_talks(c[i]);
    for (int i = 0; i < N; i++)
        MPI_Comm_free(&c[i]);
}

/* Odd ranks duplicate B first while even ones wait in B with A's duplicate
 * pending: must not lock up (MPI-5.0 s6.12). */
static void crossed_orders(void)
{
    MPI_Comm a, b, da, db;
    MPI_Request q;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    for (int turn = 0; turn < 200; turn++) {
        if (rank_in(MPI_COMM_WORLD) % 2) {
            MPI_Comm_dup(b, &db);
            MPI_Comm_idup(a, &da, &q);
        } else {
            MPI_Comm_idup(a, &da, &q);
            MPI_Comm_dup(b, &db);
        }
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        check_talks(da);
        check_talks(db);
        MPI_Comm_free(&da);
        MPI_Comm_free(&db);
    }
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

/* Overlapping pairs of neighbours, all duplicated at once. */
static void check_overlapping(void)
{
    int r = rank_in(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    MPI_Comm even, odd, copy[8];
    MPI_Request q[8];
    MPI_Comm_split(MPI_COMM_WORLD, r / 2, 0, &even);
    MPI_Comm_split(MPI_COMM_WORLD, (r + n - 1) % n / 2, 0, &odd);
    for (int turn = 0; turn < 50; turn++) {
        for (int i = 0; i < 8; i++)
            MPI_Comm_idup((i + r) % 2 ? even : odd, &copy[i], &q[i]);
        MPI_Waitall(8, q, MPI_STATUSES_IGNORE);
        for (int kind = 0; kind < 2; kind++) /* copies of even, then of odd */
            for (int i = 0; i < 8; i++)
                if ((i + r) % 2 != kind)
                    check_talks(copy[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 8; i++)
            MPI_Comm_free(&copy[i]);
    }
    MPI_Comm_free(&even);
    MPI_Comm_free(&odd);
}

static void original_may_go(void)
{
    MPI_Comm a, b;
    MPI_Request q;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_idup(a, &b, &q);
    MPI_Comm_free(&a);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    check_talks(b);
    MPI_Comm_free(&b);
}

/* The hints that are given, instead of the original's. */
static void with_hints(void)
{
    char value[8] = "";
    int flag = 0, size = sizeof value;
    MPI_Info info, used;
    MPI_Request q;
    MPI_Comm c;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    CHECK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &c, &q) ==
          MPI_SUCCESS);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false"); /* too late */
    MPI_Info_free(&info);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    check_talks(c);
    MPI_Comm_get_info(c, &used);
    MPI_Info_get_string(used, "mpi_assert_no_any_tag", &size, value, &flag);
    CHECK(flag && !strcmp(value, "true"));
    MPI_Info_free(&used);
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    many_of_one();
    crossed_orders();
    check_overlapping();
    original_may_go();
    with_hints();
    return job_end();
}
