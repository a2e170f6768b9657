/* This program imitates Yama in its own system calls: a process can be reached
 * only by its ancestors, and by descendants of a process that it names (prctl,
 * PR_SET_PTRACER). The named process stands in the name of its first thread,
 * where others can read it.
 *
 *   helper_yama job      the launcher is named: a message is read by the side
 *                        that waits, while the sender computes
 *   helper_yama job receiver   the same, written: the receiver computes, and
 *                        its helper only notices the end
 *   helper_yama any      any process is named
 *   helper_yama no       no process is named: messages arrive all the same
 *   helper_yama off      without Yama no process is named, and all may read
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "computing.h"
#include "../fake/yama_scope.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/uio.h>

enum { LARGE = 16 << 20 };

typedef ssize_t other_memory(pid_t, const struct iovec *, unsigned long,
                             const struct iovec *, unsigned long,
                             unsigned long);
other_memory __real_process_vm_readv, __real_process_vm_writev;
other_memory __wrap_process_vm_readv, __wrap_process_vm_writev;
int __wrap_prctl(int option, unsigned long who, ...);

static const char *mode = "off";
static unsigned long named;
static int times_named, moved, rank;

static int is_mode(const char *which)
{
    return strcmp(mode, which) == 0;
}

/* ---- what the kernel would do -------------------------------------------- */

static long read_number(const char *format, int pid, const char *scan)
{
    char path[64], text[512] = "";
    long n = 0;
    FILE *f;

    snprintf(path, sizeof path, format, pid);
    f = fopen(path, "r");
    if (!f)
        return 0;
    (void)!fread(text, 1, sizeof text - 1, f);
    fclose(f);
    return sscanf(text, scan, &n) == 1 ? n : 0;
}

static int descends_from(long from, long pid)
{
    while (pid > 0 && pid != from)
        pid = read_number("/proc/%d/stat", (int)pid, "%*d (%*[^)]) %*c %ld");
    return pid == from;
}

/* May this process reach that one? */
static int may_reach(pid_t pid)
{
    long who = read_number("/proc/%d/comm", pid, "yama %ld");

    return is_mode("off") || descends_from(getpid(), pid) || who == -1 ||
           (who > 0 && descends_from(who, getpid()));
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to,
                                unsigned long n, const struct iovec *from,
                                unsigned long m, unsigned long flags)
{
    ssize_t got = -1;

    errno = EPERM;
    if (may_reach(pid))
        got = __real_process_vm_readv(pid, to, n, from, m, flags);
    moved += got > 1; /* one byte is the transport's question */
    return got;
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *from,
                                 unsigned long n, const struct iovec *to,
                                 unsigned long m, unsigned long flags)
{
    ssize_t put = -1;

    errno = EPERM;
    if (may_reach(pid))
        put = __real_process_vm_writev(pid, from, n, to, m, flags);
    moved += put > 0;
    return put;
}

/* Weft calls it for nothing else. */
int __wrap_prctl(int option, unsigned long who, ...)
{
    char name[32];
    int n = snprintf(name, sizeof name, "yama %ld", (long)who);
    int fd = __real_open("/proc/self/comm", O_WRONLY | O_CLOEXEC);

    CHECK(option == PR_SET_PTRACER);
    CHECK(write(fd, name, (size_t)n) == n);
    close(fd);
    named = who;
    times_named++;
    return 0;
}

/* ---- messages ------------------------------------------------------------ */

static void transfer_data(unsigned char *buf, int computes)
{
    MPI_Request q;
    int wrong = 0;

    for (int i = 0; i < LARGE; i++)
        buf[i] = (unsigned char)(rank == 0 ? i * 13 + (i >> 8) + computes : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Isend(buf, LARGE, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &q);
    } else {
        if (computes == 1)
            MPI_Probe(0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(buf, LARGE, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &q);
    }
    if (rank == computes)
        compute_until_called();
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (rank == 1 - computes)
        computing_call(computes);
    for (int i = 0; i < LARGE && rank == 1; i++)
        wrong += buf[i] != (unsigned char)(i * 13 + (i >> 8) + computes);
    CHECK(wrong == 0);
}

/* Does the kernel beneath let us? */
static int real_kernel_lets(void)
{
    uint64_t at[2], here = (uintptr_t)&rank;
    int it, both, one;
    struct iovec to = {&it, sizeof it}, from = {NULL, sizeof it};

    MPI_Allgather(&here, 1, MPI_UINT64_T, at, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    from.iov_base = (void *)(uintptr_t)at[1 - rank];
    one = __real_process_vm_readv(pids[1 - rank], &to, 1, &from, 1, 0) > 0;
    MPI_Allreduce(&one, &both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return both;
}

int main(int argc, char **argv)
{
    unsigned char *buf = malloc(LARGE);
    int computes = argc > 2 && !strcmp(argv[2], "receiver");

    mode = argc > 1 ? argv[1] : mode;
    scope = is_mode("off") ? 0 : '1';
    computing_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!real_kernel_lets()) {
        printf("left out: the kernel does not let processes read each other\n");
    } else if (is_mode("no")) {
        transfer_data(buf, -1);
        CHECK(times_named == 0 && moved == 0);
    } else {
        transfer_data(buf, computes);
        CHECK(rank == computes || moved > 0);
        CHECK(times_named == !is_mode("off"));
        CHECK(!is_mode("any") || named == PR_SET_PTRACER_ANY);
        CHECK(!is_mode("job") ||
              (named > 1 && named != (unsigned long)getpid() &&
               descends_from((long)named, getpid())));
    }
    free(buf);
    return job_end();
}
