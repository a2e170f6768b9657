/* This program measures the cases of mpi_io by plain system calls, where these
 * have something to compare with: one process, or two that do the same.
 *
 *   raw_io CASE MS DIR     the file is DIR/bench-io.data, deleted at the end;
 *                          a case of more ranks (CASE RANKS MS DIR) has nothing
 *
 * shared: both write to one open file description, whose offset the kernel
 * keeps. interleaved: a call for each piece. Of two processes the operations of
 * both count, for one that holds the lock of a file may keep the other from it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_cases.h"
#include "raw.h"

#include <fcntl.h>

static char path[4096], *buffer;
static int fd, who;
static long times = 1;
static _Atomic long *others; /* operations of the other process */

static void check_result(long got, const char *what)
{
    if (got >= 0)
        return;
    fprintf(stderr, "raw_io: ");
    perror(what);
    unlink(path);
    exit(1);
}

static void operate_open(int piece)
{
    close(fd);
    fd = open(path, O_RDWR);
}

static void operate_write(int piece)
{
    check_result(pwrite(fd, buffer, SMALL, 0), "pwrite");
}

static void operate_read(int piece)
{
    check_result(pread(fd, buffer, SMALL, 0), "pread");
}

static void operate_locked(int piece)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = BLOCK};

    check_result(fcntl(fd, F_OFD_SETLKW, &lock), "locking");
    check_result(pwrite(fd, buffer, BLOCK, 0), "pwrite");
    lock.l_type = F_UNLCK;
    check_result(fcntl(fd, F_OFD_SETLK, &lock), "unlocking");
}

static void operate_shared(int piece)
{
    check_result(write(fd, buffer, RECORD), "write");
}

static void operate_large_write(int piece)
{
    check_result(pwrite(fd, buffer, LARGE, (off_t)who * LARGE), "pwrite");
}

static void operate_large_read(int piece)
{
    check_result(pread(fd, buffer, LARGE, (off_t)who * LARGE), "pread");
}

static void operate_interleaved(int piece)
{
    for (long at = 0; at < SHARE; at += piece)
        check_result(
            pwrite(fd, buffer + at, (size_t)piece, 2 * at + who * piece),
            "pwrite");
}

/* bytes: of one process; 0: the result is a time. */
static const struct {
    const char *name;
    void (*operate)(int piece);
    int bytes, piece, processes;
} cases[] = {{"open-close", operate_open, 0, 0, 1},
             {"write-at-8", operate_write, 0, 0, 1},
             {"read-at-8", operate_read, 0, 0, 1},
             {"atomic-4K", operate_locked, 0, 0, 1},
             {"shared-100", operate_shared, 0, 0, 2},
             {"write-16M", operate_large_write, LARGE, 0, 2},
             {"read-16M", operate_large_read, LARGE, 0, 2},
             {"interleaved-64", operate_interleaved, SHARE, 64, 2},
             {"interleaved-1K", operate_interleaved, SHARE, 1 << 10, 2},
             {"interleaved-64K", operate_interleaved, SHARE, 64 << 10, 2}};

enum { CASES = sizeof cases / sizeof *cases };

struct test {
    int what;
    double limit_us;
};

static double run_batch(void *arg)
{
    const struct test *t = arg;
    int processes = cases[t->what].processes;
    long before = *others, all;
    double begin = now_us();

    for (long n = 0; n < times; n++)
        cases[t->what].operate(cases[t->what].piece);
    all = times + (who ? 0 : *others - before);
    return (now_us() - begin) * processes / (double)all;
}

static void measure_side(void *arg)
{
    static double v[BATCHES];
    struct test *t = arg;
    double took = run_batch(t);
    int n;

    took = run_batch(t);
    times = took < BATCH_US                 ? (long)(BATCH_US / took) + 1
            : cases[t->what].bytes == LARGE ? 4 /* of both, about */
                                            : 1;
    n = repeat_batches(run_batch, t, t->limit_us, v);
    if (cases[t->what].bytes)
        print_rates("gbs", 0, v, n,
                    1e-3 * cases[t->what].bytes * cases[t->what].processes);
    else
        print_times("us", 0, v, n);
}

/* The other process does the same until it is killed. */
static void operate_for_ever(void *arg)
{
    who = 1;
    for (;; ++*others)
        run_batch(arg);
}

int main(int argc, char **argv)
{
    struct test t = {0};

    if (argc == 5)
        return 0;
    if (argc != 4) {
        fprintf(stderr, "usage: raw_io CASE MS DIR\n");
        return 2;
    }
    while (t.what < CASES && strcmp(cases[t.what].name, argv[1]) != 0)
        t.what++;
    if (t.what == CASES)
        return 0; /* there is nothing to compare with */
    t.limit_us = atof(argv[2]) * 1e3;
    snprintf(path, sizeof path, "%s/" BENCH_FILE, argv[3]);
    buffer = allocate_buffer(LARGE);
    others = shared_memory(sizeof *others);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    check_result(fd, path);
    operate_large_write(0);
    check_result(pwrite(fd, buffer, LARGE, LARGE), "pwrite");
    if (cases[t.what].processes == 2)
        return in_two(measure_side, operate_for_ever, &t) | unlink(path);
    bind_rank(0);
    measure_side(&t);
    return unlink(path);
}
