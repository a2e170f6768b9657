/* Duplicates: separate messages, copied attributes, inherited handlers, no
 * names and no hints; thousands of them, alive and one after the other.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static int copied, deleted;

static int copy_data(MPI_Comm c, int key, void *extra, void *in, void *out,
                int *flag)
{
    (void)c, (void)key, (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_object(MPI_Comm c, int key, void *value, void *extra)
{
    void *seen;
    int flag;
    (void)extra;
    deleted++;
    MPI_Comm_get_attr(c, key, &seen, &flag);
    CHECK(flag && seen == value);
    return MPI_SUCCESS;
}

static int refuse_call(MPI_Comm c, int key, void *extra, void *in, void *out,
                  int *flag)
{
    (void)c, (void)key, (void)in, (void)out;
    *flag = 0;
    return *(int *)extra == rank_in(MPI_COMM_WORLD) ? MPI_ERR_INTERN
                                                    : MPI_SUCCESS;
}

/* A message sent on the original is not received on the duplicate. */
static void separate_messages(void)
{
    MPI_Comm c;
    int n = size_of(MPI_COMM_WORLD), r = rank_in(MPI_COMM_WORLD);
    int a = 1, b = 2, x = 0, y = 0;
    MPI_Request q[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Irecv(&x, 1, MPI_INT, (r + n - 1) % n, 5, c, &q[0]);
    MPI_Irecv(&y, 1, MPI_INT, (r + n - 1) % n, 5, MPI_COMM_WORLD, &q[1]);
    MPI_Send(&a, 1, MPI_INT, (r + 1) % n, 5, MPI_COMM_WORLD);
    MPI_Send(&b, 1, MPI_INT, (r + 1) % n, 5, c);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    CHECK(x == 2 && y == 1);
    MPI_Comm_free(&c);
}

static void what_is_copied(void)
{
    MPI_Comm a, b;
    MPI_Errhandler e;
    MPI_Info info;
    int key, flag, len, nkeys, value = 42;
    void *got;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_create_keyval(copy_data, delete_object, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_set_attr(a, key, &value);
    MPI_Comm_set_name(a, "parent");
    MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_set_info(a, info);
    MPI_Comm_dup(a, &b);
    MPI_Comm_get_attr(b, key, &got, &flag);
    CHECK(flag && got == &value && copied == 1);
    MPI_Comm_get_name(b, name, &len);
    CHECK(len == 0);
    MPI_Comm_get_errhandler(b, &e);
    CHECK(e == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&e);
    MPI_Comm_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
    MPI_Comm_free(&b);
    CHECK(deleted == 1);
    MPI_Comm_dup_with_info(a, info, &b);
    MPI_Info_free(&info);
    MPI_Comm_get_info(b, &info);
    MPI_Info_get_nkeys(info, &nkeys);
    CHECK(nkeys == 5);
    MPI_Info_free(&info);
    MPI_Comm_free(&b);
    MPI_Comm_free(&a);
    CHECK(deleted == 3);
}

static void set_hint(MPI_Comm c, const char *key, const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_set_info(c, info);
    MPI_Info_free(&info);
}

static int in_force(MPI_Comm c, const char *key, const char *expected)
{
    char value[16];
    int flag, length = sizeof value;
    MPI_Info info;

    MPI_Comm_get_info(c, &info);
    MPI_Info_get_string(info, key, &length, value, &flag);
    MPI_Info_free(&info);
    return flag && strcmp(value, expected) == 0;
}

/* An invalid value of a known hint is ignored, and not returned as in force. */
static void senseless_promises(void)
{
    MPI_Comm c, d;
    MPI_Info info;

    MPI_Comm_dup(MPI_COMM_SELF, &c);
    set_hint(c, "mpi_assert_no_any_tag", "perhaps");
    CHECK(in_force(c, "mpi_assert_no_any_tag", "false"));
    set_hint(c, "mpi_assert_no_any_tag", "true");
    set_hint(c, "mpi_assert_no_any_tag", "perhaps");
    CHECK(in_force(c, "mpi_assert_no_any_tag", "true"));
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_exact_length", "perhaps");
    MPI_Comm_dup_with_info(c, info, &d);
    CHECK(in_force(d, "mpi_assert_exact_length", "false"));
    MPI_Info_free(&info);
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
}

/* Promises about receives are checked, until they are taken back; all hints
 * that MPI names have a value. */
static void check_promises(void)
{
    char value[8], kinds[32];
    int flag, length = sizeof value, kinds_length = sizeof kinds, x = 7;
    MPI_Request r;
    MPI_Info info;
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_SELF, &c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Comm_get_info(c, &info);
    MPI_Info_get_string(info, "mpi_assert_exact_length", &length, value, &flag);
    CHECK(flag && strcmp(value, "false") == 0);
    MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &kinds_length, kinds,
                        &flag);
    CHECK(flag && strcmp(kinds, "mpi,system") == 0);
    MPI_Info_free(&info);
    set_hint(c, "mpi_assert_no_any_tag", "true");
    set_hint(c, "mpi_assert_no_any_source", "true");
    CHECK(class_of(MPI_Irecv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, c, &r)) ==
          MPI_ERR_TAG);
    CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, c,
                            MPI_STATUS_IGNORE)) == MPI_ERR_TAG);
    CHECK(class_of(MPI_Iprobe(MPI_ANY_SOURCE, 1, c, &flag,
                              MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
    MPI_Isend(&x, 1, MPI_INT, 0, 3, c, &r);
    CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 3, c,
                            MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
    set_hint(c, "mpi_assert_no_any_source", "false");
    CHECK(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 3, c, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    /* the partner is known now, so that this is a short way */
    CHECK(class_of(MPI_Irecv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, c, &r)) ==
          MPI_ERR_TAG);
    set_hint(c, "mpi_assert_no_any_source", "true");
    CHECK(class_of(MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 3, c, &r)) ==
          MPI_ERR_RANK);
    MPI_Comm_free(&c);
}

/* A copy function that fails in one process fails the call in all. */
static void failure_is_common(void)
{
    MPI_Comm a, b = MPI_COMM_WORLD;
    int key, who = size_of(MPI_COMM_WORLD) - 1, rc;
    MPI_Comm_create_keyval(refuse_call, MPI_COMM_NULL_DELETE_FN, &key, &who);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(a, key, NULL);
    rc = MPI_Comm_dup(a, &b);
    CHECK(rc == (rank_in(MPI_COMM_WORLD) == who ? MPI_ERR_INTERN
                                                : MPI_ERR_NOT_SAME));
    CHECK(b == MPI_COMM_NULL);
    MPI_Comm_delete_attr(a, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_dup(a, &b);
    check_talks(b);
    MPI_Comm_free(&b);
    MPI_Comm_free(&a);
}

static void dup_thousands(void)
{
    enum { ALIVE = 2500, TURNS = 2500 };
    static MPI_Comm c[ALIVE];
    for (int i = 0; i < ALIVE; i++)
        MPI_Comm_dup(i ? c[i - 1] : MPI_COMM_WORLD, &c[i]);
    check_talks(c[0]);
    check_talks(c[ALIVE - 1]);
    for (int i = 0; i < ALIVE; i += 2)
        MPI_Comm_free(&c[i]);
    for (int i = 0; i < ALIVE; i += 2)
        MPI_Comm_dup(MPI_COMM_WORLD, &c[i]);
    check_talks(c[ALIVE / 2]);
    for (int i = 0; i < ALIVE; i++)
        MPI_Comm_free(&c[i]);
    for (int i = 0; i < TURNS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &c[0]);
        MPI_Comm_free(&c[0]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    separate_messages();
    what_is_copied();
    check_promises();
    senseless_promises();
    failure_is_common();
    dup_thousands();
    return job_end();
}
