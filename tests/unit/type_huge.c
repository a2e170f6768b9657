/* Counts, sizes and extents beyond 2^31, in little memory.
 *
 *   far    an address range in which only pages that are used exist: types
 *          whose few bytes lie gigabytes apart
 *   long   more than 2 GB of addresses, all of one megabyte: data of any count
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_in_ranks.h"
#include "mpix.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the _x forms */

#define GB (INT64_C(1) << 30)
#define MANY (2 * GB + 4097)

enum { PAGE = 1 << 20 };

static char *far_memory(int64_t size)
{
    char *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

static int64_t long_size(void)
{
    return (MANY + PAGE - 1) / PAGE * PAGE;
}

/* The same megabyte again and again. */
static char *long_memory(void)
{
    FILE *f = tmpfile();
    char *base = far_memory(long_size());
    CHECK(f && ftruncate(fileno(f), PAGE) == 0);
    for (int64_t at = 0; at < long_size(); at += PAGE)
        CHECK(mmap(base + at, PAGE, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, fileno(f), 0) == base + at);
    fclose(f);
    return base;
}

static void long_free(char *p)
{
    munmap(p, (size_t)long_size());
}

/* ---- types --------------------------------------------------------------- */

/* Four ints, 3 GB from one to the next. */
static void elements_lie_gigabytes_apart(int64_t stride)
{
    char *from = far_memory(4 * 3 * GB), *to = far_memory(4 * 3 * GB);
    int packed[4] = {0}, n = 0;
    MPI_Count at = 0, lb, extent, n_x = 0;
    MPI_Datatype t;
    MPI_Status status;
    for (int i = 0; i < 4; i++)
        memcpy(from + i * stride, &(int){i + 7}, sizeof(int));
    MPI_Type_create_hvector_c(4, 1, stride, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Type_get_extent_c(t, &lb, &extent);
    CHECK(extent == 3 * stride + 4);
    CHECK(MPI_Pack_c(from, 1, t, packed, sizeof packed, &at, MPI_COMM_SELF) ==
          MPI_SUCCESS);
    for (int i = 0; i < 4; i++)
        CHECK(packed[i] == i + 7);
    CHECK(MPI_Sendrecv(from, 1, t, 0, 0, to, 1, t, 0, 0, MPI_COMM_SELF,
                       &status) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++)
        CHECK(memcmp(to + i * stride, &packed[i], sizeof(int)) == 0);
    MPI_Get_elements(&status, t, &n);
    MPI_Get_elements_x(&status, t, &n_x);
    CHECK(n == 4 && n_x == 4);
    MPI_Type_free(&t);
    munmap(from, 4 * 3 * GB);
    munmap(to, 4 * 3 * GB);
}

static void what_int_cannot_say_is_undefined(void)
{
    MPI_Datatype half, t;
    MPI_Status status;
    MPI_Count size, lb, extent;
    MPI_Aint small_lb, small_extent;
    int n;
    MPI_Type_contiguous(1 << 30, MPI_INT, &half);
    MPI_Type_contiguous(3, half, &t);
    MPI_Type_size(t, &n);
    MPI_Type_size_c(t, &size);
    CHECK(n == MPI_UNDEFINED && size == 12 * GB);
    MPI_Type_size_x(t, &size);
    CHECK(size == 12 * GB);
    MPI_Type_get_extent(t, &small_lb, &small_extent);
    MPI_Type_get_true_extent_c(t, &lb, &extent);
    CHECK(small_extent == 12 * GB && extent == 12 * GB);
    CHECK(MPI_Pack_size(1, t, MPI_COMM_SELF, &n) == MPI_ERR_VALUE_TOO_LARGE);
    CHECK(MPI_Pack_size_c(5, t, MPI_COMM_SELF, &size) == MPI_SUCCESS);
    CHECK(size >= 60 * GB);
    MPI_Status_set_elements_c(&status, MPI_BYTE, 12 * GB);
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == MPI_UNDEFINED);
    MPI_Get_count_c(&status, MPI_BYTE, &size);
    CHECK(size == 12 * GB);
    MPI_Get_count(&status, t, &n);
    CHECK(n == 1);
    MPI_Get_elements(&status, t, &n);
    MPI_Get_elements_c(&status, t, &size);
    CHECK(n == MPI_UNDEFINED && size == 3 * GB);
    MPI_Type_free(&half);
    MPI_Type_free(&t);
}

/* A byte at the same place again and again is data of any count. */
static void positions_beyond_2_to_31(void)
{
    char *out = far_memory(4 * GB), byte = 42, back = 0;
    MPI_Count at = 3 * GB;
    MPI_Datatype still;
    MPI_Type_create_resized(MPI_BYTE, 0, 0, &still);
    MPI_Type_commit(&still);
    CHECK(MPI_Pack_c(&byte, 1000, still, out, 4 * GB, &at, MPI_COMM_SELF) ==
          MPI_SUCCESS);
    CHECK(at == 3 * GB + 1000 && out[3 * GB + 999] == 42);
    at = 3 * GB;
    CHECK(MPI_Unpack_c(out, 4 * GB, &at, &back, 1, MPI_BYTE, MPI_COMM_SELF) ==
          MPI_SUCCESS);
    CHECK(at == 3 * GB + 1 && back == 42);
    at = 3 * GB;
    CHECK(MPI_Pack_external_c("external32", &byte, 3, still, out, 4 * GB,
                              &at) == MPI_SUCCESS);
    CHECK(at == 3 * GB + 3);
    at = 4 * GB - 1;
    CHECK(MPI_Pack_c(&byte, 2, still, out, 4 * GB, &at, MPI_COMM_SELF) ==
          MPI_ERR_TRUNCATE);
    MPI_Type_free(&still);
    munmap(out, 4 * GB);
}

static int check_alone(void *arg)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    elements_lie_gigabytes_apart(3 * GB - 4);
    what_int_cannot_say_is_undefined();
    positions_beyond_2_to_31();
    MPI_Finalize();
    return 0;
}

/* ---- data ---------------------------------------------------------------- */

static void send_and_receive(int rank, char *data)
{
    MPI_Status status;
    MPI_Count n = 0;
    int small = 0;
    memset(data, rank ? 0 : 5, PAGE);
    if (rank == 0) {
        MPI_Send_c(data, MANY, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv_c(data, MANY, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count_c(&status, MPI_BYTE, &n);
        MPI_Get_count(&status, MPI_BYTE, &small);
        CHECK(n == MANY && small == MPI_UNDEFINED);
        CHECK(data[0] == 5 && data[PAGE - 1] == 5);
    }
}

static void check_broadcast(int rank, char *data)
{
    memset(data, rank ? 0 : 6, PAGE);
    MPI_Bcast_c(data, MANY, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(data[0] == 6 && data[PAGE - 1] == 6);
}

/* Bytes are added as often as the megabyte repeats. */
static void reduce_local(char *data)
{
    unsigned char *one = (unsigned char *)long_memory();
    memset(one, 1, PAGE);
    memset(data, 0, PAGE);
    CHECK(MPI_Reduce_local_c(one, data, MANY, MPI_UNSIGNED_CHAR, MPI_SUM) ==
          MPI_SUCCESS);
    CHECK((unsigned char)data[PAGE - 1] == MANY / PAGE % 256);
    CHECK((unsigned char)data[0] == (MANY / PAGE + 1) % 256);
    long_free((char *)one);
}

static int make_pair(void *arg)
{
    int rank;
    char *data = long_memory();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    send_and_receive(rank, data);
    check_broadcast(rank, data);
    if (rank == 0)
        reduce_local(data);
    long_free(data);
    MPI_Finalize();
    return 0;
}

static void run_case(int ranks, int (*f)(void *))
{
    assert_int_equal(MPIX_Run_ranks(ranks, f, NULL, NULL), MPI_SUCCESS);
}

static void types_may_be_larger_than_int(void **state)
{
    run_case(1, check_alone);
}

static void messages_may_be_longer_than_int(void **state)
{
    run_case(2, make_pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_may_be_larger_than_int),
        cmocka_unit_test(messages_may_be_longer_than_int),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
