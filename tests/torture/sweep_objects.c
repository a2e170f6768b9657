/* The phases of sweep_job that are objects which a rank makes by itself.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sweep_job.h"

#define WORLD MPI_COMM_WORLD

static void on_error(MPI_Comm *c, int *rc, ...)
{
    (void)c;
    (void)rc;
}

static void sum_of(void *in, void *inout, int *n, MPI_Datatype *t)
{
    (void)t;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void check_objects(void)
{
    char value[8];
    int there, key, *seen, one[] = {0}, n, len = sizeof value;
    MPI_Info info;
    MPI_Errhandler h;
    MPI_Op op;
    MPI_Group g, part;
    RETRY(MPI_Info_create(&info));
    RETRY(MPI_Info_set(info, "color", "red"));
    RETRY(MPI_Info_get_string(info, "color", &len, value, &there));
    RIGHT(there && !strcmp(value, "red"));
    RETRY(MPI_Info_free(&info));
    RETRY(MPI_Comm_create_errhandler(on_error, &h));
    RETRY(MPI_Errhandler_free(&h));
    RETRY(MPI_Op_create(sum_of, 1, &op));
    RETRY(MPI_Op_free(&op));
    RETRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN,
                                 &key, NULL));
    RETRY(MPI_Comm_set_attr(WORLD, key, &n));
    RETRY(MPI_Comm_get_attr(WORLD, key, &seen, &there));
    RIGHT(there && seen == &n);
    RETRY(MPI_Comm_delete_attr(WORLD, key));
    RETRY(MPI_Comm_free_keyval(&key));
    RETRY(MPI_Comm_group(WORLD, &g));
    RETRY(MPI_Group_incl(g, 1, one, &part));
    RETRY(MPI_Comm_set_name(WORLD, "everybody"));
    RETRY(MPI_Group_free(&g));
    RETRY(MPI_Group_free(&part));
    RETRY(MPI_Add_error_class(&n));
    RETRY(MPI_Add_error_code(n, &there));
    RETRY(MPI_Add_error_string(there, "too much"));
}

/* Every way to make a group. */
static void check_groups(void)
{
    MPI_Group w, g[7];
    int one[] = {1}, range[1][3] = {{0, 1, 1}}, n, to[] = {-1}, how;
    RETRY(MPI_Comm_group(WORLD, &w));
    RETRY(MPI_Group_incl(w, 1, one, &g[0]));
    RETRY(MPI_Group_excl(w, 1, one, &g[1]));
    RETRY(MPI_Group_range_incl(w, 1, range, &g[2]));
    RETRY(MPI_Group_range_excl(w, 1, range, &g[3]));
    RETRY(MPI_Group_union(g[0], g[1], &g[4]));
    RETRY(MPI_Group_intersection(w, g[0], &g[5]));
    RETRY(MPI_Group_difference(w, g[0], &g[6]));
    RETRY(MPI_Group_size(g[4], &n));
    RIGHT(n == 2);
    RETRY(MPI_Group_translate_ranks(w, 1, one, g[4], to));
    RIGHT(to[0] == 0);
    RETRY(MPI_Group_compare(g[4], w, &how));
    RIGHT(how == MPI_SIMILAR);
    for (int i = 0; i < 7; i++)
        if (g[i] != MPI_GROUP_EMPTY)
            RETRY(MPI_Group_free(&g[i]));
    RETRY(MPI_Group_free(&w));
}

/* Attributes of communicators and datatypes, their copies, and infos. */
static void check_attributes(void)
{
    enum { N = 40 };
    int key[N], type_key, there, n;
    char name[MPI_MAX_INFO_KEY];
    MPI_Info info, copy, used;
    MPI_Datatype t, d;
    for (int i = 0; i < N; i++) {
        RETRY(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN,
                                     &key[i], NULL));
        RETRY(MPI_Comm_set_attr(MPI_COMM_SELF, key[i], &key[i]));
    }
    for (int i = 0; i < N; i++) {
        RETRY(MPI_Comm_delete_attr(MPI_COMM_SELF, key[i]));
        RETRY(MPI_Comm_free_keyval(&key[i]));
    }
    RETRY(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN,
                                 &type_key, NULL));
    RETRY(MPI_Type_contiguous(3, MPI_INT, &t));
    RETRY(MPI_Type_set_attr(t, type_key, &n));
    RETRY(MPI_Type_dup(t, &d));
    int *seen = NULL;
    RETRY(MPI_Type_get_attr(d, type_key, &seen, &there));
    RIGHT(there && seen == &n);
    RETRY(MPI_Type_set_name(d, "three ints"));
    RETRY(MPI_Type_free(&d));
    RETRY(MPI_Type_free(&t));
    RETRY(MPI_Type_free_keyval(&type_key));
    RETRY(MPI_Info_create(&info));
    RETRY(MPI_Info_set(info, "color", "red"));
    RETRY(MPI_Info_set(info, "taste", "sour"));
    RETRY(MPI_Info_set(info, "color", "a longer text than it was before"));
    RETRY(MPI_Info_dup(info, &copy));
    RETRY(MPI_Info_get_nkeys(copy, &n));
    RIGHT(n == 2);
    RETRY(MPI_Info_get_nthkey(copy, 1, name));
    RETRY(MPI_Info_delete(copy, name));
    RETRY(MPI_Comm_set_info(MPI_COMM_SELF, info));
    RETRY(MPI_Comm_get_info(MPI_COMM_SELF, &used));
    RETRY(MPI_Info_free(&used));
    RETRY(MPI_Info_free(&copy));
    RETRY(MPI_Info_free(&info));
}

/* The types that t was made of are made, read and freed. */
static void read_contents(MPI_Datatype *t)
{
    int ints, addresses, types, inner, how, i[64];
    MPI_Aint a[64];
    MPI_Datatype of[64];
    MPI_Aint lower, extent;
    RETRY(MPI_Type_get_envelope(*t, &ints, &addresses, &types, &how));
    RETRY(MPI_Type_get_contents(*t, 64, 64, 64, i, a, of));
    for (int j = 0; j < types; j++) {
        RETRY(MPI_Type_get_envelope(of[j], &ints, &addresses, &inner, &how));
        if (how != MPI_COMBINER_NAMED)
            RETRY(MPI_Type_free(&of[j]));
    }
    RETRY(MPI_Type_get_extent(*t, &lower, &extent));
    RETRY(MPI_Type_commit(t));
    RETRY(MPI_Type_free(t));
}

/* Every way to make a datatype that datatypes leaves out. */
static void check_types(void)
{
    int two[] = {2, 1}, at[] = {0, 3}, all[] = {4, 4}, part[] = {2, 2};
    int how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int usual[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    int grid[] = {2, 1}, corner[] = {1, 1};
    MPI_Aint bytes[] = {0, 16};
    MPI_Datatype t, pair, of[] = {MPI_INT, MPI_CHAR};
    RETRY(MPI_Type_contiguous(2, MPI_INT, &pair));
    RETRY(MPI_Type_contiguous(3, pair, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_hvector(2, 1, 24, pair, &t));
    read_contents(&t);
    RETRY(MPI_Type_indexed(2, two, at, pair, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_hindexed(2, two, bytes, pair, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_indexed_block(2, 1, at, pair, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_hindexed_block(2, 1, bytes, pair, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_struct(2, two, bytes, of, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_resized(pair, -4, 32, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_subarray(2, all, part, corner, MPI_ORDER_C,
                                   MPI_INT, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_darray(2, sweep_rank, 2, all, how, usual, grid,
                                 MPI_ORDER_C, MPI_INT, &t));
    read_contents(&t);
    RETRY(MPI_Type_create_f90_integer(4, &t));
    RETRY(MPI_Type_free(&pair));
}

const struct sweep_phase sweep_objects[] = {
    {"objects", check_objects, 0},
    {"groups", check_groups, 0},
    {"attributes", check_attributes, 0},
    {"types", check_types, 0},
    {NULL, NULL, 0}};
