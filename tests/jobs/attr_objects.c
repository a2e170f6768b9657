/* Attributes of datatypes, and those of communicators under their first names:
 * what copies, what is deleted, and in which order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

/* deprecated functions have to work, too */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static char story[64]; /* what the callbacks did */
static int extra_state;

static void tell_peer(const char *what)
{
    strncat(story, what, sizeof story - strlen(story) - 1);
}

static int was_told(const char *what)
{
    int same = strcmp(story, what) == 0;

    if (!same)
        fprintf(stderr, "told '%s' instead of '%s'\n", story, what);
    story[0] = 0;
    return same;
}

static int type_copy(MPI_Datatype t, int key, void *extra, void *in, void *out,
                     int *flag)
{
    CHECK(extra == &extra_state && t != MPI_DATATYPE_NULL);
    tell_peer("c");
    tell_peer(in);
    *(void **)out = in;
    *flag = strcmp(in, "b") != 0; /* that one stays behind */
    return MPI_SUCCESS;
}

static int type_delete(MPI_Datatype t, int key, void *value, void *extra)
{
    CHECK(extra == &extra_state && t != MPI_DATATYPE_NULL);
    tell_peer("d");
    tell_peer(value);
    return MPI_SUCCESS;
}

static const char *type_value(MPI_Datatype t, int key)
{
    void *value = NULL;
    int flag = -1;

    CHECK(MPI_Type_get_attr(t, key, &value, &flag) == MPI_SUCCESS);
    return flag ? value : NULL;
}

static void of_types(void)
{
    int key[3];
    MPI_Datatype t, copy;

    for (int i = 0; i < 3; i++)
        CHECK(MPI_Type_create_keyval(
                  i < 2 ? type_copy : MPI_TYPE_NULL_COPY_FN, type_delete,
                  &key[i], &extra_state) == MPI_SUCCESS);
    MPI_Type_contiguous(3, MPI_INT, &t);
    CHECK(!type_value(t, key[0]));
    MPI_Type_set_attr(t, key[0], "a");
    MPI_Type_set_attr(t, key[1], "b");
    MPI_Type_set_attr(t, key[2], "x");
    CHECK(was_told(""));
    MPI_Type_set_attr(t, key[2], "y"); /* the old value goes */
    CHECK(was_told("dx"));
    CHECK(!strcmp(type_value(t, key[1]), "b"));
    MPI_Type_dup(t, &copy);
    CHECK(strlen(story) == 4); /* in no order that the standard knows */
    story[0] = 0;
    CHECK(!strcmp(type_value(copy, key[0]), "a"));
    CHECK(!type_value(copy, key[1]) && !type_value(copy, key[2]));
    CHECK(MPI_Type_delete_attr(t, key[1]) == MPI_SUCCESS && was_told("db"));
    MPI_Type_free(&t); /* the newest first */
    CHECK(was_told("dyda"));
    for (int i = 0; i < 3; i++)
        MPI_Type_free_keyval(&key[i]);
    CHECK(key[0] == MPI_KEYVAL_INVALID);
    MPI_Type_free(&copy); /* a key lives as long as its values */
    CHECK(was_told("da"));
}

static int comm_copy(MPI_Comm c, int key, void *extra, void *in, void *out,
                     int *flag)
{
    CHECK(extra == &extra_state);
    tell_peer("c");
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int comm_delete(MPI_Comm c, int key, void *value, void *extra)
{
    tell_peer("d");
    tell_peer(value);
    return MPI_SUCCESS;
}

static void of_communicators(void)
{
    void *value = NULL;
    int key, flag;
    MPI_Comm copy;

    CHECK(MPI_Keyval_create(comm_copy, comm_delete, &key, &extra_state) ==
          MPI_SUCCESS);
    MPI_Attr_put(MPI_COMM_SELF, key, "s");
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    CHECK(was_told("c"));
    MPI_Attr_get(copy, key, &value, &flag);
    CHECK(flag && !strcmp(value, "s"));
    CHECK(MPI_Attr_delete(copy, key) == MPI_SUCCESS && was_told("ds"));
    MPI_Comm_get_attr(copy, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&copy);
    MPI_Attr_delete(MPI_COMM_SELF, key);
    CHECK(was_told("ds"));
    MPI_Keyval_free(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    of_types();
    of_communicators();
    return job_end();
}
