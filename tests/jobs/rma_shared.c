/* Windows of MPI_Win_allocate_shared: where the memory of each member lies, and
 * that all load and store it; and what MPI_Win_shared_query says of the other
 * kinds of windows.
 *
 *   RMA_EXPECT   "shared": the members share memory; "apart": they do not, and
 *                the call says so to all of them; else either
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static _Thread_local int rank, size;
static _Thread_local MPI_Comm comm;

/* Bytes of a member: none, few, no multiple of a word, many. */
static MPI_Aint size_of_member(int member)
{
    static const MPI_Aint sizes[] = {24, 0, 5, 100003, 4096};

    return sizes[member % 5];
}

static int does_expect(const char *what)
{
    const char *value = getenv("RMA_EXPECT");

    return value && !strcmp(value, what);
}

/* Makes a window with sizes that differ; NULL: the members share nothing. */
static MPI_Win make_shared(MPI_Info info, void *base)
{
    MPI_Win win = MPI_WIN_NULL;
    int rc = MPI_Win_allocate_shared(size_of_member(rank), 1 + rank, info,
                                     comm, base, &win);
    int ok = rc == MPI_SUCCESS, all;

    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_SUM, comm);
    CHECK(all == 0 || all == size);
    CHECK(ok || class_of(rc) == MPI_ERR_RMA_SHARED);
    CHECK(!does_expect("shared") || ok);
    CHECK(!does_expect("apart") || !ok);
    if (ok)
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

/* Each fills its memory, and looks at that of all others. */
static void check_contents(MPI_Win win)
{
    unsigned char *base;
    MPI_Aint bytes;
    int unit;

    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int round = 0; round < 3; round++) {
        int writer = (rank + round) % size; /* also memory of others */
        CHECK(MPI_Win_shared_query(win, writer, &bytes, &unit, &base) ==
              MPI_SUCCESS);
        if (bytes > 0)
            memset(base, 'a' + writer + round, (size_t)bytes);
        MPI_Win_sync(win);
        MPI_Barrier(comm);
        MPI_Win_sync(win);
        int wrong = 0;
        for (int r = 0; r < size; r++) {
            MPI_Win_shared_query(win, r, &bytes, &unit, &base);
            for (MPI_Aint i = 0; i < bytes; i++)
                wrong += base[i] != (unsigned char)('a' + r + round);
        }
        CHECK(wrong == 0);
        MPI_Barrier(comm);
    }
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
}

static void check_layout(int contiguous)
{
    char *base, *own, *at, *before = NULL;
    MPI_Aint bytes, bytes_before = 0;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Count unit_c;
    MPI_Win win;
    int unit, flag, *flavor;

    if (!contiguous) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    }
    win = make_shared(info, &base);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    if (win == MPI_WIN_NULL)
        return;
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_SHARED);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &own, &flag);
    CHECK(flag && own == base);
    for (int r = 0; r < size; r++) {
        CHECK(MPI_Win_shared_query(win, r, &bytes, &unit, &at) == MPI_SUCCESS);
        CHECK(bytes == size_of_member(r) && unit == 1 + r);
        CHECK(size == 1 || !at == (!contiguous && !bytes));
        CHECK(!contiguous || r == 0 || at == before + bytes_before);
        CHECK(contiguous || (uintptr_t)at % 64 == 0);
        CHECK(r != rank || at == base || !bytes);
        before = at;
        bytes_before = bytes;
    }
    MPI_Win_shared_query(win, 0, &bytes, &unit, &before);
    CHECK(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &bytes, &unit_c, &at) ==
          MPI_SUCCESS);
    CHECK(bytes == size_of_member(0) && unit_c == 1 && at == before);
    CHECK(class_of(MPI_Win_shared_query(win, size, &bytes, &unit, &at)) ==
          MPI_ERR_RANK);
    check_contents(win);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
}

/* Nobody has memory: still a window, and a base. */
static void check_empty(void)
{
    MPI_Win win;
    MPI_Aint bytes = 7;
    int unit;
    char *base, *at;

    if (MPI_Win_allocate_shared_c(0, 4, MPI_INFO_NULL, comm, &base, &win))
        return;
    CHECK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &at) ==
          MPI_SUCCESS);
    CHECK(bytes == 0 && unit == 4);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    MPI_Win_free(&win);
}

/* Memory of the others can be asked for in any window that has some; that of
 * this process always. */
static void check_other_kinds(void)
{
    MPI_Win win;
    MPI_Aint bytes;
    long *base, *at, mine[4] = {rank};
    int unit, seen = 0;

    MPI_Win_allocate(32, 8, MPI_INFO_NULL, comm, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    base[1] = 100 + rank;
    MPI_Win_fence(0, win);
    for (int r = 0; r < size; r++) {
        CHECK(MPI_Win_shared_query(win, r, &bytes, &unit, &at) == MPI_SUCCESS);
        CHECK(unit == 8 && (at ? bytes == 32 && at[1] == 100 + r : bytes == 0));
        CHECK(at == base || r != rank);
        seen += at != NULL;
    }
    CHECK(!does_expect("shared") || seen == size);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Win_create(mine, 32, 8, MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int r = 0; r < size; r++) {
        CHECK(MPI_Win_shared_query(win, r, &bytes, &unit, &at) == MPI_SUCCESS);
        CHECK(r != rank || (at == mine && bytes == 32));
        CHECK(at || bytes == 0);
    }
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Win_shared_query(win, rank, &bytes, &unit, &at)) ==
          MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&win);
}

/* Operations beside loads and stores, and locks that exclude. */
static void check_operations(void)
{
    enum { TIMES = 200 };
    MPI_Win win;
    long *base, *first, one = 1, old;
    MPI_Aint bytes;
    int unit;

    if (MPI_Win_allocate_shared(16, 8, MPI_INFO_NULL, comm, &base, &win))
        return;
    base[0] = base[1] = 0;
    MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
    MPI_Barrier(comm);
    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        first[0]++; /* no operation: the lock alone protects it */
        CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 1, MPI_SUM, win);
        CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
        CHECK(old >= 0 && old < (long)TIMES * size);
    }
    MPI_Win_fence(0, win);
    CHECK(first[0] == (long)TIMES * size && first[1] == (long)TIMES * size);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    rank = rank_in(comm);
    size = size_of(comm);
    check_layout(1);
    check_layout(0);
    check_empty();
    check_operations();
    check_other_kinds();
    MPI_Comm_free(&comm);
    return job_end();
}
