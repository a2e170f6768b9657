/* This program checks what MPI tells a program about its start, and memory: the
 * same answers before MPI_Init, between and after MPI_Finalize (MPI-5.0
 * s11.2.1, s9.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdint.h>

#include "check.h"

static const char *const keys[] = {"command", "argv", "maxprocs", "soft",
                                   "host",    "arch", "wdir",     "file",
                                   "thread_level"};

static int value_of(MPI_Info info, const char *key, char *value)
{
    int size = MPI_MAX_INFO_VAL, flag;
    MPI_Info_get_string(info, key, &size, value, &flag);
    return flag;
}

static void is_same(MPI_Info a, MPI_Info b)
{
    char va[MPI_MAX_INFO_VAL], vb[MPI_MAX_INFO_VAL];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int in_a = value_of(a, keys[i], va), in_b = value_of(b, keys[i], vb);
        CHECK(in_a == in_b);
        if (in_a && in_b)
            CHECK(!strcmp(va, vb));
    }
}

static void allocate_memory(void)
{
    MPI_Info hints;
    char *p;
    MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &p);
    memset(p, 1, 1 << 20);
    MPI_Free_mem(p);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "mpi_minimum_memory_alignment", "4096");
    MPI_Alloc_mem(10, hints, &p);
    CHECK(p && (uintptr_t)p % 4096 == 0);
    MPI_Free_mem(p);
    MPI_Alloc_mem(0, hints, &p);
    MPI_Free_mem(p);
    MPI_Info_free(&hints);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Alloc_mem(INTPTR_MAX, MPI_INFO_NULL, &p) == MPI_ERR_NO_MEM);
}

int main(int argc, char **argv)
{
    MPI_Info before, now;
    char n[MPI_MAX_INFO_VAL];
    int status;
    MPI_Info_create_env(argc, argv, &before);
    MPI_Init(&argc, &argv);
    MPI_Info_create_env(argc, argv, &now);
    is_same(before, now);
    is_same(before, MPI_INFO_ENV);
    CHECK(!value_of(now, "maxprocs", n) ||
          atoi(n) == size_of(MPI_COMM_WORLD));
    MPI_Info_free(&now);
    allocate_memory();
    status = job_end();
    MPI_Info_create_env(argc, argv, &now);
    is_same(before, now);
    MPI_Info_free(&now);
    MPI_Info_free(&before);
    return status || job_failures;
}
