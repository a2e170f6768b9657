/* Every operation on windows, under every synchronisation, with what must be in
 * memory afterwards.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { CELLS = 64, LARGE = 40000 /* elements, more than goes inline */ };

static _Thread_local int rank, size;

static long *make_window(int n, MPI_Win *win)
{
    long *base;

    MPI_Win_allocate(n * (MPI_Aint)sizeof *base, sizeof *base, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, win);
    MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
    for (int i = 0; i < n; i++)
        base[i] = 1000 * rank + i;
    MPI_Barrier(MPI_COMM_WORLD); /* nobody stores before that */
    return base;
}

/* ---- fence --------------------------------------------------------------- */

static void check_fence(int n)
{
    MPI_Win win;
    long *base = make_window(2 * n, &win);
    long *out = malloc((size_t)n * sizeof *out);
    long *in = malloc((size_t)n * sizeof *in);
    int to = (rank + 1) % size, from = (rank + size - 1) % size, wrong = 0;

    for (int i = 0; i < n; i++)
        out[i] = 7 * rank + i;
    CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win) == MPI_SUCCESS);
    CHECK(MPI_Put(out, n, MPI_LONG, to, n, n, MPI_LONG, win) == MPI_SUCCESS);
    CHECK(MPI_Get(in, n, MPI_LONG, to, 0, n, MPI_LONG, win) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    for (int i = 0; i < n; i++)
        wrong += base[n + i] != 7 * from + i || in[i] != 1000 * to + i ||
                 base[i] != 1000 * rank + i;
    CHECK(wrong == 0);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    for (int round = 0; round < 3; round++) {
        MPI_Accumulate(out, n, MPI_LONG, to, n, n, MPI_LONG, MPI_SUM, win);
        CHECK(MPI_Win_fence(round == 2 ? MPI_MODE_NOSUCCEED : 0, win) ==
              MPI_SUCCESS);
    }
    for (int i = 0; i < n; i++)
        wrong += base[n + i] != 4L * (7 * from + i);
    CHECK(wrong == 0);
    free(in);
    free(out);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
}

/* ---- locks --------------------------------------------------------------- */

/* A counter that all increment, under one kind of lock each time. */
static void check_counter(int exclusive)
{
    enum { TIMES = 20 };
    MPI_Win win;
    long *base = make_window(CELLS, &win), value = -1, one = 1;

    for (int i = 0; i < TIMES; i++) {
        int target = i % size;
        MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target,
                     0, win);
        if (exclusive) {
            MPI_Get(&value, 1, MPI_LONG, target, 3, 1, MPI_LONG, win);
            CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
            value++;
            MPI_Put(&value, 1, MPI_LONG, target, 3, 1, MPI_LONG, win);
        } else {
            MPI_Fetch_and_op(&one, &value, MPI_LONG, target, 3, MPI_SUM, win);
            CHECK(MPI_Win_flush_local(target, win) == MPI_SUCCESS);
            CHECK(value >= 1000 * target + 3);
        }
        CHECK(MPI_Win_unlock(target, win) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(base[3] == 1000 * rank + 3 +
                         (long)size * (TIMES / size + (rank < TIMES % size)));
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

static void check_lock_all(void)
{
    MPI_Win win;
    long *base = make_window(CELLS, &win), old, swap, expect;

    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    for (int t = 0; t < size; t++) {
        long mine = 10 + rank;
        MPI_Put(&mine, 1, MPI_LONG, t, rank % CELLS, 1, MPI_LONG, win);
        MPI_Win_flush_local(t, win);
    }
    CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_sync(win) == MPI_SUCCESS);
    for (int t = 0; t < size && t < CELLS; t++)
        CHECK(base[t] == 10 + t);
    MPI_Barrier(MPI_COMM_WORLD);
    /* one of all wins */
    expect = 1000 * (size - 1) + CELLS - 1;
    swap = -rank - 1;
    MPI_Compare_and_swap(&swap, &expect, &old, MPI_LONG, size - 1, CELLS - 1,
                         win);
    CHECK(MPI_Win_flush(size - 1, win) == MPI_SUCCESS);
    int won = old == expect, all;
    MPI_Allreduce(&won, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1 && (won || (old <= -1 && old >= -size)));
    CHECK(MPI_Win_flush_local_all(win) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    MPI_Win_free(&win);
}

/* Large operations keep their order with small ones. */
static void check_order(void)
{
    MPI_Win win;
    int to = (rank + 1) % size, from = (rank + size - 1) % size, wrong = 0;
    long *base = make_window(LARGE, &win), *out = malloc(LARGE * sizeof *out);
    long *old = malloc(LARGE * sizeof *old), last = 5;

    for (int i = 0; i < LARGE; i++)
        out[i] = i;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    MPI_Accumulate(out, LARGE, MPI_LONG, to, 0, LARGE, MPI_LONG, MPI_REPLACE,
                   win);
    MPI_Accumulate(&last, 1, MPI_LONG, to, LARGE - 1, 1, MPI_LONG, MPI_REPLACE,
                   win);
    MPI_Get_accumulate(out, LARGE, MPI_LONG, old, LARGE, MPI_LONG, to, 0, LARGE,
                       MPI_LONG, MPI_SUM, win);
    MPI_Accumulate(&last, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
    CHECK(MPI_Win_unlock(to, win) == MPI_SUCCESS);
    for (int i = 0; i < LARGE - 1; i++)
        wrong += old[i] != i;
    CHECK(wrong == 0 && old[LARGE - 1] == 5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 1; i < LARGE - 1; i++)
        wrong += base[i] != 2L * i;
    CHECK(wrong == 0 && base[0] == 5 && base[LARGE - 1] == LARGE - 1 + 5);
    MPI_Win_unlock(rank, win);
    (void)from;
    free(old);
    free(out);
    MPI_Win_free(&win);
}

/* ---- groups -------------------------------------------------------------- */

static void check_groups(int use_test)
{
    MPI_Win win;
    MPI_Group all, to_group, from_group;
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag = 0;
    long *base = make_window(CELLS, &win), value = 77 + rank, in = -1;

    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &to, &to_group);
    MPI_Group_incl(all, 1, &from, &from_group);
    for (int round = 0; round < 3; round++) {
        CHECK(MPI_Win_post(from_group, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_start(to_group, 0, win) == MPI_SUCCESS);
        value += 100;
        MPI_Put(&value, 1, MPI_LONG, to, 5, 1, MPI_LONG, win);
        MPI_Get(&in, 1, MPI_LONG, to, 6, 1, MPI_LONG, win);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
        CHECK(in == 1000 * to + 6);
        if (!use_test)
            CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
        for (flag = !use_test; !flag;)
            CHECK(MPI_Win_test(win, &flag) == MPI_SUCCESS);
        CHECK(base[5] == 77 + from + 100 * (round + 1));
    }
    MPI_Group_free(&all);
    MPI_Group_free(&to_group);
    MPI_Group_free(&from_group);
    MPI_Win_free(&win);
}

/* ---- requests ------------------------------------------------------------ */

static void check_requests(int n)
{
    MPI_Win win;
    MPI_Request q[4];
    int to = (rank + 1) % size, wrong = 0;
    long *base = make_window(4 * n, &win);
    long *out = malloc((size_t)n * sizeof *out), *in = calloc((size_t)n, 8),
         *old = calloc((size_t)n, 8);

    for (int i = 0; i < n; i++)
        out[i] = 3 * i;
    MPI_Win_lock_all(0, win);
    CHECK(MPI_Rput(out, n, MPI_LONG, to, 0, n, MPI_LONG, win, &q[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Rget(in, n, MPI_LONG, to, n, n, MPI_LONG, win, &q[1]) ==
          MPI_SUCCESS);
    CHECK(MPI_Raccumulate(out, n, MPI_LONG, to, 2 * n, n, MPI_LONG, MPI_SUM,
                          win, &q[2]) == MPI_SUCCESS);
    CHECK(MPI_Rget_accumulate(out, n, MPI_LONG, old, n, MPI_LONG, to, 3 * n, n,
                              MPI_LONG, MPI_MAX, win, &q[3]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(4, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; i++)
        wrong += in[i] != 1000 * to + n + i || old[i] != 1000 * to + 3 * n + i;
    CHECK(wrong == 0);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < n; i++) {
        long was = 1000 * rank + 3 * n + i;
        wrong += base[i] != 3 * i ||
                 base[2 * n + i] != 1000 * rank + 2 * n + i + 3 * i ||
                 base[3 * n + i] != (was > 3 * i ? was : 3 * i);
    }
    CHECK(wrong == 0);
    MPI_Win_unlock(rank, win);
    free(out);
    free(in);
    free(old);
    MPI_Win_free(&win);
}

/* ---- dynamic windows ----------------------------------------------------- */

static void check_dynamic(void)
{
    MPI_Win win;
    MPI_Aint at, *addresses = malloc((size_t)size * sizeof *addresses);
    long *a = calloc(16, sizeof *a), *b = calloc(16, sizeof *b);
    long value = 500 + rank, in = 0;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(win, a, 16 * sizeof *a) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, b, 16 * sizeof *b) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_attach(win, a + 3, 8)) == MPI_ERR_RMA_ATTACH);
    MPI_Get_address(a, &at);
    MPI_Allgather(&at, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Put(&value, 1, MPI_LONG, to, MPI_Aint_add(addresses[to], 8), 1,
            MPI_LONG, win);
    CHECK(MPI_Win_flush(to, win) == MPI_SUCCESS);
    MPI_Get(&in, 1, MPI_LONG, to, MPI_Aint_add(addresses[to], 8), 1, MPI_LONG,
            win);
    CHECK(MPI_Win_flush(to, win) == MPI_SUCCESS);
    CHECK(in == value);
    /* beyond what is attached: the target survives and says so */
    MPI_Get(&in, 1, MPI_LONG, to, (MPI_Aint)64, 1, MPI_LONG, win);
    CHECK(class_of(MPI_Win_flush(to, win)) == MPI_ERR_RMA_RANGE);
    MPI_Put(&value, 1, MPI_LONG, to, (MPI_Aint)64, 1, MPI_LONG, win);
    CHECK(class_of(MPI_Win_flush(to, win)) == MPI_ERR_RMA_RANGE);
    long *large = calloc(LARGE, sizeof *large);
    MPI_Put(large, LARGE, MPI_LONG, to, (MPI_Aint)64, LARGE, MPI_LONG, win);
    CHECK(class_of(MPI_Win_flush(to, win)) == MPI_ERR_RMA_RANGE);
    MPI_Get(large, LARGE, MPI_LONG, to, (MPI_Aint)64, LARGE, MPI_LONG, win);
    CHECK(class_of(MPI_Win_flush(to, win)) == MPI_ERR_RMA_RANGE);
    free(large);
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(a[1] == 500 + from);
    CHECK(MPI_Win_detach(win, a) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_detach(win, a)) == MPI_ERR_RMA_ATTACH);
    CHECK(MPI_Win_detach(win, b) == MPI_SUCCESS);
    MPI_Win_free(&win);
    free(a);
    free(b);
    free(addresses);
}

/* ---- datatypes ----------------------------------------------------------- */

static void check_types(void)
{
    MPI_Win win;
    MPI_Datatype column, list;
    int to = (rank + 1) % size, from = (rank + size - 1) % size, wrong = 0;
    long *base = make_window(CELLS, &win), out[8], in[8];
    int blocks[3] = {1, 2, 5}, displs[3] = {40, 32, 50};

    MPI_Type_vector(8, 1, 4, MPI_LONG, &column);
    MPI_Type_commit(&column);
    MPI_Type_indexed(3, blocks, displs, MPI_LONG, &list);
    MPI_Type_commit(&list);
    for (int i = 0; i < 8; i++)
        out[i] = 90 + 10 * rank + i;
    MPI_Win_fence(0, win);
    MPI_Put(out, 8, MPI_LONG, to, 1, 1, column, win);
    MPI_Accumulate(out, 8, MPI_LONG, to, 0, 1, list, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 8; i++) {
        static const int at[8] = {40, 32, 33, 50, 51, 52, 53, 54};
        long value = 90 + 10 * from + i;
        wrong += base[1 + 4 * i] != value && 1 + 4 * i < 32;
        if (at[i] % 4 != 1)
            wrong += base[at[i]] != 1000 * rank + at[i] + value;
    }
    CHECK(wrong == 0);
    MPI_Win_fence(0, win);
    MPI_Get(in, 8, MPI_LONG, to, 1, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 7; i++)
        wrong += in[i] != 90 + 10 * rank + i;
    CHECK(wrong == 0);
    MPI_Type_free(&column);
    MPI_Type_free(&list);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    check_fence(1);
    check_fence(100);
    check_fence(LARGE);
    check_counter(0);
    check_counter(1);
    check_lock_all();
    check_order();
    check_groups(0);
    check_groups(1);
    check_requests(4);
    check_requests(LARGE);
    check_dynamic();
    check_types();
    return job_end();
}
