/* For job programs about files: each has a file name of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_IO_RIG_H
#define JOB_IO_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static _Thread_local int rank, size;
static _Thread_local char name[80];

enum { RW = MPI_MODE_CREATE | MPI_MODE_RDWR };

/* Chooses a name that no other job has. */
static inline void io_choose_name(const char *job)
{
    int pid = (int)getpid();

    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "%s.%d.tmp", job, pid);
}

/* MPI_Init, and such a name. */
static inline void io_begin(int *argc, char ***argv, const char *job)
{
    job_begin(argc, argv);
    io_choose_name(job);
}

static inline MPI_File open_file(int amode)
{
    MPI_File f = MPI_FILE_NULL;

    CHECK(!MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &f));
    return f;
}

static inline int open_class(int amode)
{
    MPI_File f = MPI_FILE_NULL;
    int rc = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &f);

    if (!rc)
        MPI_File_close(&f);
    return class_of(rc);
}

static inline int count_of(const MPI_Status *status, MPI_Datatype t)
{
    int n = -1;

    MPI_Get_count(status, t, &n);
    return n;
}

#endif
