/* For job programs: count what is wrong, say it, and agree on the exit status.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_CHECK_H
#define JOB_CHECK_H

#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int job_failures;

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            job_failures++;                                                    \
        }                                                                      \
    } while (0)

static inline int rank_in(MPI_Comm c)
{
    int r;
    MPI_Comm_rank(c, &r);
    return r;
}

static inline int size_of(MPI_Comm c)
{
    int n;
    MPI_Comm_size(c, &n);
    return n;
}

static inline int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* Did a collective call find that another member has another count? */
static inline int has_other_count(int code)
{
    int class = class_of(code);
    return class == MPI_ERR_COUNT || class == MPI_ERR_TRUNCATE;
}

/* Of n, and as drawn by every rank that began with the same seed. */
static inline unsigned draw_from(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % n;
}

/* Every member adds its rank: proves that the members can talk. */
static inline void check_talks(MPI_Comm c)
{
    int r = rank_in(c), n = size_of(c), sum = -1;
    CHECK(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS);
    CHECK(sum == n * (n - 1) / 2);
}

/* Open descriptors of this process. */
static inline int job_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static int job_descriptors_before = -1;

/* MPI_Init with errors returned; job_end then looks for lost descriptors. */
static inline void job_begin(int *argc, char ***argv)
{
    if (!getenv("WEFT_PROCESS_RANKS")) /* others open theirs meanwhile */
        job_descriptors_before = job_descriptors();
    MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* The status of main: not 0 in every rank when any rank failed. */
static inline int job_end(void)
{
    int all;
    MPI_Allreduce(&job_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (job_descriptors_before >= 0 &&
        job_descriptors() > job_descriptors_before) {
        fprintf(stderr, "descriptors: %d before MPI_Init, %d after "
                "MPI_Finalize\n", job_descriptors_before, job_descriptors());
        all = 1;
    }
    return all ? 1 : 0;
}

#endif
