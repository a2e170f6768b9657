/* A process registers for membarrier before its helper thread starts: after
 * that the kernel lets it wait, for 5 to 20 ms in the midst of its first calls.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/syscall.h>

enum { REGISTER_OWN = 1 << 4, LARGE = 1 << 20, CALLS = 1000 };

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static int registered, threads_then;

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;

    CHECK(tasks != NULL);
    for (struct dirent *e; (e = readdir(tasks));)
        n += e->d_name[0] != '.';
    closedir(tasks);
    return n;
}

long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_membarrier && (int)a[0] == REGISTER_OWN &&
        registered++ == 0)
        threads_then = count_threads();
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int main(int argc, char **argv)
{
    char *buf = calloc(1, LARGE);
    MPI_Request request;
    int flag, alone;

    MPI_Init(&argc, &argv);
    alone = count_threads();
    CHECK(buf != NULL);
    MPI_Irecv(buf, LARGE, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
    CHECK(count_threads() == alone + 1); /* the helper */
    for (int i = 0; i < CALLS; i++) /* alone, so that the lock is biased */
        MPI_Iprobe(0, 2, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    CHECK(registered > 0);
    CHECK(threads_then == alone);
    MPI_Send(buf, LARGE, MPI_BYTE, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(buf);
    MPI_Finalize();
    return 0;
}
