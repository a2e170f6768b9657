/* Wrong calls of one-sided communication: each is an error of its class, which
 * belongs to the window, and leaves the window as it was.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static _Thread_local int rank, size;
static _Thread_local int handled; /* calls of the window's handler */

#define FAILS(class, call) CHECK(class_of(call) == (class))

static void on_error(MPI_Win *win, int *error, ...)
{
    handled++;
}

static MPI_Win make_window(MPI_Info info)
{
    MPI_Win win;
    long *base;

    MPI_Win_allocate(8 * sizeof *base, sizeof *base, info, MPI_COMM_WORLD,
                     &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

static void check_creation(void)
{
    MPI_Win win;
    long cells[4], *base;

    FAILS(MPI_ERR_SIZE, MPI_Win_create(cells, -1, 1, MPI_INFO_NULL,
                                       MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_DISP, MPI_Win_create(cells, 8, 0, MPI_INFO_NULL,
                                       MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_BASE, MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL,
                                       MPI_COMM_WORLD, &win));
    /* one is wrong, and all fail */
    int rc = MPI_Win_allocate(rank == size - 1 ? -1 : 8, 1, MPI_INFO_NULL,
                              MPI_COMM_WORLD, &base, &win);
    FAILS(rank == size - 1 ? MPI_ERR_SIZE : MPI_ERR_NOT_SAME, rc);
    win = MPI_WIN_NULL;
    FAILS(MPI_ERR_WIN, MPI_Win_free(&win));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, win));
}

static void check_epochs(void)
{
    MPI_Win win = make_window(MPI_INFO_NULL);
    MPI_Group group;
    MPI_Request q = NULL;
    long x = 0;

    MPI_Win_get_group(win, &group);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(1 << 20, win));
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Rput(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win,
                                     &q));
    CHECK(q == MPI_REQUEST_NULL);
    CHECK(MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win) == MPI_SUCCESS);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(group, 0, win));
    /* which opens one that is not used */
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(7, 0, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_SUCCESS);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    if (size > 1)
        FAILS(MPI_ERR_RMA_SYNC, MPI_Get(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG,
                                        win));
    CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(MPI_PROC_NULL, win) == MPI_SUCCESS);
    MPI_Group_free(&group);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
}

/* Displacements that are large, of which the unit makes bytes: 8 bytes here,
 * and 2^61 units of 8 bytes are 0 in 64 bits. */
static void check_displacements(MPI_Win win)
{
    static const MPI_Aint far[] = {(MPI_Aint)1 << 61, (MPI_Aint)1 << 60,
                                   INT64_MAX / 2, INT64_MAX};
    char text[MPI_MAX_ERROR_STRING];
    long x = 0;
    int length;

    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        FAILS(MPI_ERR_RMA_RANGE,
              MPI_Put(&x, 1, MPI_LONG, 0, far[i], 1, MPI_LONG, win));
        FAILS(MPI_ERR_RMA_RANGE,
              MPI_Get(&x, 1, MPI_LONG, 0, far[i], 1, MPI_LONG, win));
    }
    MPI_Error_string(MPI_Put(&x, 1, MPI_LONG, 0, 9, 1, MPI_LONG, win), text,
                     &length);
    CHECK(strstr(text, "1 elements at displacement 9 "));
    CHECK(strstr(text, "64 bytes that rank 0 has"));
    CHECK(strstr(text, "displacement unit is 8"));
}

static void check_arguments(void)
{
    MPI_Win win = make_window(MPI_INFO_NULL);
    MPI_Errhandler handler;
    MPI_Request q;
    MPI_Op op;
    long x[16] = {0}, y[16];
    double d = 0;

    MPI_Win_lock_all(0, win);
    FAILS(MPI_ERR_RANK, MPI_Put(x, 1, MPI_LONG, size, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_DISP, MPI_Put(x, 1, MPI_LONG, 0, -1, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(x, 1, MPI_LONG, 0, 8, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Get(x, 9, MPI_LONG, 0, 0, 9, MPI_LONG, win));
    check_displacements(win);
    FAILS(MPI_ERR_COUNT, MPI_Put(x, 1, MPI_LONG, 0, 0, 2, MPI_LONG, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(x, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(x, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_LONG,
                                win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(x, 1, MPI_LONG, 0, 0, 1, MPI_LONG,
                                     MPI_NO_OP, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE,
                                     MPI_BAND, win));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, 0, 1, MPI_LONG,
                                       MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&d, &d, y, MPI_DOUBLE, 0, 0, win));
    MPI_Op_create((MPI_User_function *)(void (*)(void))on_error, 1, &op);
    FAILS(MPI_ERR_OP, MPI_Accumulate(x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, op,
                                     win));
    MPI_Op_free(&op);
    /* nothing happens, and that is right */
    CHECK(MPI_Put(x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win) ==
          MPI_SUCCESS);
    CHECK(MPI_Put(NULL, 0, MPI_LONG, 0, 8, 0, MPI_LONG, win) == MPI_SUCCESS);
    CHECK(MPI_Rget(x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &q) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, y, 8, MPI_LONG, 0, 0,
                             8, MPI_LONG, MPI_NO_OP, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(MPI_PROC_NULL, win) == MPI_SUCCESS);
    MPI_Win_create_errhandler(on_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(x, 1, MPI_LONG, 0, 8, 1, MPI_LONG, win));
    CHECK(handled == 1);
    CHECK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER) == MPI_SUCCESS);
    CHECK(handled == 2);
    MPI_Errhandler_free(&handler);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void check_no_locks(void)
{
    MPI_Info info;
    MPI_Win win;
    char value[64];
    int n = sizeof value, flag;

    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "accumulate_ordering", "nonsense");
    win = make_window(info);
    MPI_Info_free(&info);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, value, 8));
    CHECK(MPI_Win_get_info(win, &info) == MPI_SUCCESS);
    MPI_Info_get_string(info, "no_locks", &n, value, &flag);
    CHECK(flag && !strcmp(value, "true"));
    n = sizeof value;
    MPI_Info_get_string(info, "accumulate_ordering", &n, value, &flag);
    CHECK(flag && !strcmp(value, "rar,raw,war,waw"));
    MPI_Info_free(&info);
    MPI_Win_free(&win);
}

static const struct {
    const char *key, *otherwise, *valid, *invalid;
} hints[] = {
    {"accumulate_ordering", "rar,raw,war,waw", "none", "rar,war,"},
    {"accumulate_ops", "same_op_no_op", "same_op", "same"},
    {"mpi_accumulate_granularity", "0", "8", "-1"},
    {"same_size", "false", "true", "maybe"},
    {"same_disp_unit", "false", "true", ""}};

enum { HINTS = sizeof hints / sizeof *hints };

static void check_hint(MPI_Win win, int i, const char *value)
{
    char found[64] = "";
    int n = sizeof found, flag;
    MPI_Info info;

    CHECK(MPI_Win_get_info(win, &info) == MPI_SUCCESS);
    MPI_Info_get_string(info, hints[i].key, &n, found, &flag);
    CHECK(flag && !strcmp(found, value));
    MPI_Info_free(&info);
}

/* A window has all hints; a value that makes no sense is ignored. */
static void check_hints(void)
{
    MPI_Info valid, invalid;
    MPI_Win win = make_window(MPI_INFO_NULL);

    MPI_Info_create(&valid);
    MPI_Info_create(&invalid);
    for (int i = 0; i < HINTS; i++) {
        check_hint(win, i, hints[i].otherwise);
        MPI_Info_set(valid, hints[i].key, hints[i].valid);
        MPI_Info_set(invalid, hints[i].key, hints[i].invalid);
    }
    CHECK(MPI_Win_set_info(win, invalid) == MPI_SUCCESS);
    for (int i = 0; i < HINTS; i++)
        check_hint(win, i, hints[i].otherwise);
    CHECK(MPI_Win_set_info(win, valid) == MPI_SUCCESS);
    CHECK(MPI_Win_set_info(win, invalid) == MPI_SUCCESS);
    for (int i = 0; i < HINTS; i++)
        check_hint(win, i, hints[i].valid);
    MPI_Win_free(&win);
    win = make_window(valid);
    for (int i = 0; i < HINTS; i++)
        check_hint(win, i, hints[i].valid);
    MPI_Info_free(&valid);
    MPI_Info_free(&invalid);
    MPI_Win_free(&win);
}

/* ---- objects ------------------------------------------------------------- */

static int delete_count(MPI_Win win, int keyval, void *value, void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static void check_attributes(void)
{
    MPI_Win win = make_window(MPI_INFO_NULL);
    int key, flag, deleted = 0, x, n;
    void *value;
    char name[MPI_MAX_OBJECT_NAME];

    CHECK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && *(MPI_Aint *)value == 8 * sizeof(long));
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag);
    CHECK(flag && *(int *)value == sizeof(long));
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
    CHECK(flag && *(int *)value == MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag);
    CHECK(flag && *(int *)value == MPI_WIN_UNIFIED);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
    CHECK(flag && value);
    FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, MPI_WIN_BASE, &x));
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_count, &key, &deleted);
    CHECK(MPI_Win_set_attr(win, key, &x) == MPI_SUCCESS);
    CHECK(MPI_Win_get_attr(win, key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && value == &x);
    CHECK(MPI_Win_set_name(win, "halo") == MPI_SUCCESS);
    CHECK(MPI_Win_get_name(win, name, &n) == MPI_SUCCESS);
    CHECK(n == 4 && !strcmp(name, "halo"));
    MPI_Win_free(&win);
    CHECK(deleted == 1);
    MPI_Win_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    if (size > 1)
        check_creation();
    check_epochs();
    check_arguments();
    check_no_locks();
    check_hints();
    check_attributes();
    return job_end();
}
