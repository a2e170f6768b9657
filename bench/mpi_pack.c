/* This program measures derived datatypes: packing, and sending beside packing
 * by hand and sending.
 *
 *   mpi_pack pack|unpack CASE MS   MPI_Pack or MPI_Unpack on one rank: gbs
 *   mpi_pack external|unexternal CASE MS   the same with external32
 *   mpi_pack send CASE MS          two ranks back and forth, half of a trip:
 *                                  us     of the derived type
 *                                  hand   that divided by the time of packing
 *                                         by hand, sending bytes, unpacking
 *   mpi_pack check CASE MS         do type and loop mean the same bytes?
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

#include <stddef.h>

#include "pack_cases.h"

struct job {
    struct pack_data data;
    MPI_Datatype type;
    int count; /* elements of the type */
    int unpack, external, rank;
    long times;
};

/* ---- types ------------------------------------------------------------- */

static MPI_Datatype box_type(const struct pack_case *c)
{
    int starts[PACK_DIMS] = {0};
    MPI_Datatype t;

    MPI_Type_create_subarray(c->dims, c->of, c->n, starts, MPI_ORDER_C,
                             MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype record_type(void)
{
    int lengths[3] = {1, 1, 1};
    MPI_Aint at[3] = {offsetof(struct record, d), offsetof(struct record, i),
                      offsetof(struct record, c)};
    MPI_Datatype of[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, t, whole;

    MPI_Type_create_struct(3, lengths, at, of, &t);
    MPI_Type_create_resized(t, 0, sizeof(struct record), &whole);
    MPI_Type_free(&t);
    return whole;
}

static MPI_Datatype transpose_type(int n)
{
    MPI_Datatype column, one, t;

    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &one);
    MPI_Type_contiguous(n, one, &t);
    MPI_Type_free(&column);
    MPI_Type_free(&one);
    return t;
}

static MPI_Datatype fields_type(int n)
{
    int lengths[3] = {1, 3, 2}, at[3] = {0, 3, 8};
    MPI_Datatype row, t;

    MPI_Type_indexed(3, lengths, at, MPI_DOUBLE, &row);
    MPI_Type_create_hvector(n, 1, 24 * sizeof(double), row, &t);
    MPI_Type_free(&row);
    return t;
}

static MPI_Datatype plain_type(const struct pack_data *p)
{
    const int *n = p->c->n;
    MPI_Datatype t;

    if (p->c->kind == VECTOR)
        MPI_Type_vector(n[0], n[1], n[2], MPI_DOUBLE, &t);
    else if (p->c->kind == PIXELS)
        MPI_Type_vector(n[0], 3, 4, MPI_BYTE, &t);
    else if (p->c->kind == INDEXED)
        MPI_Type_create_indexed_block(n[0], n[1], p->at, MPI_DOUBLE, &t);
    else
        MPI_Type_indexed(n[0], p->length, p->at, MPI_DOUBLE, &t);
    return t;
}

static void make_type(struct job *j)
{
    const struct pack_case *c = j->data.c;

    j->count = 1;
    switch (c->kind) {
    case RECORDS:
        j->type = record_type();
        j->count = c->n[0];
        break;
    case BOX:
        j->type = box_type(c);
        break;
    case TRANSPOSE:
        j->type = transpose_type(c->n[0]);
        break;
    case FIELDS:
        j->type = fields_type(c->n[0]);
        break;
    default:
        j->type = plain_type(&j->data);
    }
    MPI_Type_commit(&j->type);
}

/* ---- batches ----------------------------------------------------------- */

static void by_type(struct job *j)
{
    int at = 0, n = (int)j->data.bytes;

    if (j->unpack)
        MPI_Unpack(j->data.packed, n, &at, j->data.user, j->count, j->type,
                   MPI_COMM_SELF);
    else
        MPI_Pack(j->data.user, j->count, j->type, j->data.packed, n, &at,
                 MPI_COMM_SELF);
}

static void by_external(struct job *j)
{
    MPI_Aint at = 0, n = (MPI_Aint)j->data.bytes;

    if (j->unpack)
        MPI_Unpack_external("external32", j->data.packed, n, &at, j->data.user,
                            j->count, j->type);
    else
        MPI_Pack_external("external32", j->data.user, j->count, j->type,
                          j->data.packed, n, &at);
}

static double time_packs(void *what)
{
    struct job *j = what;
    double start = now_us();

    for (long i = 0; i < j->times; i++)
        if (j->external)
            by_external(j);
        else
            by_type(j);
    return (now_us() - start) / (double)j->times;
}

static void send_case(struct job *j, int hand)
{
    if (hand) {
        by_hand(&j->data, 0);
        MPI_Send(j->data.packed, (int)j->data.bytes, MPI_BYTE, 1 - j->rank, 1,
                 MPI_COMM_WORLD);
    } else
        MPI_Send(j->data.user, j->count, j->type, 1 - j->rank, 1,
                 MPI_COMM_WORLD);
}

static void receive_case(struct job *j, int hand)
{
    if (hand) {
        MPI_Recv(j->data.packed, (int)j->data.bytes, MPI_BYTE, 1 - j->rank, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        by_hand(&j->data, 1);
    } else
        MPI_Recv(j->data.user, j->count, j->type, 1 - j->rank, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double time_trips(struct job *j, int hand)
{
    double start = now_us();

    for (long i = 0; i < j->times; i++) {
        if (j->rank == 0)
            send_case(j, hand);
        receive_case(j, hand);
        if (j->rank == 1)
            send_case(j, hand);
    }
    return (now_us() - start) / (double)(2 * j->times);
}

static double hand[BATCHES + WARM_UP];
static int hands;

/* Measure both in turn, so that disturbances of the machine affect both. */
static double time_both(void *what)
{
    double us = time_trips(what, 0);

    if (hands < BATCHES + WARM_UP)
        hand[hands++] = time_trips(what, 1);
    return us;
}

static double only_type(void *what)
{
    return time_trips(what, 0);
}

/* ---- modes ------------------------------------------------------------- */

static void measure_pack(struct job *j, double limit_us)
{
    static double v[BATCHES];
    int n;

    j->times = 1;
    j->times = calibrate_batch(time_packs, j, BATCH_US);
    n = repeat_batches(time_packs, j, limit_us, v);
    print_rates("gbs", 0, v, n, (double)j->data.bytes / 1e3);
}

static void measure_send(struct job *j, double limit_us)
{
    static double v[BATCHES];
    int n;

    j->times = 1;
    j->times = calibrate_batch(only_type, j, BATCH_US);
    n = repeat_batches(time_both, j, limit_us, v);
    if (j->rank != 0)
        return;
    print_times("us", 0, v, n);
    qsort(hand, (size_t)hands, sizeof *hand, compare_doubles);
    printf("hand 0 %.4g %.4g\n", v[0] / hand[0], v[n / 2] / hand[hands / 2]);
}

/* Check that random bytes survive both ways, there and back. */
static int check_case(struct job *j)
{
    struct pack_data *p = &j->data;
    char *before = malloc(p->user_bytes), *bytes = malloc(p->bytes);
    int same;

    for (size_t i = 0; i < p->user_bytes; i++)
        p->user[i] = (char)rand();
    memcpy(before, p->user, p->user_bytes);
    by_hand(p, 0);
    memcpy(bytes, p->packed, p->bytes);
    memset(p->packed, 0, p->bytes);
    j->unpack = 0;
    by_type(j);
    same = memcmp(bytes, p->packed, p->bytes) == 0;
    memset(p->user, 0, p->user_bytes);
    by_hand(p, 1);
    memcpy(before, p->user, p->user_bytes);
    memset(p->user, 0, p->user_bytes);
    j->unpack = 1;
    by_type(j);
    same = same && memcmp(before, p->user, p->user_bytes) == 0;
    free(before);
    free(bytes);
    if (!same)
        fprintf(stderr, "bench: %s: type and loop differ\n", p->c->name);
    return !same;
}

int main(int argc, char **argv)
{
    int rc = 0;

    if (argc != 4)
        return 2;
    struct job j = {.data = pack_make(argv[2])};

    j.unpack = strncmp(argv[1], "un", 2) == 0;
    j.external = strstr(argv[1], "external") != NULL;
    j.rank = start_rank(&argc, &argv);
    make_type(&j);
    if (strcmp(argv[1], "send") == 0)
        measure_send(&j, atof(argv[3]) * 1e3);
    else if (strcmp(argv[1], "check") == 0)
        rc = check_case(&j);
    else
        measure_pack(&j, atof(argv[3]) * 1e3);
    MPI_Type_free(&j.type);
    free(j.data.user);
    free(j.data.packed);
    free(j.data.at);
    free(j.data.length);
    MPI_Finalize();
    return rc;
}
