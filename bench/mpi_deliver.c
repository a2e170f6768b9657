/* This program measures how soon a message is in the memory of a process that
 * computes.
 *
 *   mpi_deliver MS        for so many ms of each size, 8 B to 1 MB
 *   mpi_deliver MS LONG   the same beside LONG ms of computation, not 10
 *
 *      rank 0                               rank 1
 *                <------- ready ----------- MPI_Irecv, MPI_Send
 *      pauses                               computes, and looks at the
 *      MPI_Send ------- its time -------->  last byte of each page
 *                                           MPI_Wait, if they are not all there
 *
 * It prints the time from the call of MPI_Send until all bytes are seen (us).
 * Where nothing moves messages while the program computes, it is what is left
 * of the computation. percent: how many were there before it was over. Both
 * ranks read the same clock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "compute.h"
#include "repeat.h"

#include <stdint.h>

enum {
    COMPUTE_MS = 10,
    PAUSE_US = 4000, /* longer than a progress thread keeps away */
    LOOKS = 100,     /* turns of the computation between two looks */
    PAGE = 4096,
    DATA = 1,
    READY
};

static const int sizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576};
enum { SIZES = sizeof sizes / sizeof sizes[0], LARGEST = 1048576 };

struct target {
    char *buf;
    int size, rank;
    double computing_us;
    long runs, in_time; /* so far, of this size */
};

/* The mark is the last byte of the message, and of each page of it. The time of
 * the send is in the first 7 bytes: 2000 years of nanoseconds are less. */
enum { MARK = 0x5a };

static void mark_pages(struct target *t, char mark)
{
    for (int i = PAGE - 1; i < t->size; i += PAGE)
        t->buf[i] = mark;
    t->buf[t->size - 1] = mark;
}

static int is_marked(const volatile char *at)
{
    return *at == MARK;
}

static int is_all_there(const struct target *t)
{
    if (!is_marked(t->buf + t->size - 1))
        return 0;
    for (int i = PAGE - 1; i < t->size; i += PAGE)
        if (!is_marked(t->buf + i))
            return 0;
    return 1;
}

static double time_of_send(const struct target *t)
{
    uint64_t ns = 0;

    memcpy(&ns, t->buf, 7);
    return (double)ns / 1e3;
}

static void send_once(struct target *t)
{
    char ready;
    uint64_t ns;

    mark_pages(t, MARK);
    MPI_Recv(&ready, 1, MPI_CHAR, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sleep_us(PAUSE_US);
    ns = (uint64_t)(now_us() * 1e3);
    memcpy(t->buf, &ns, 7);
    MPI_Send(t->buf, t->size, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
}

static double receive_once(struct target *t)
{
    MPI_Request req;
    char ready = 1;
    double end, seen = 0;

    mark_pages(t, 0);
    MPI_Irecv(t->buf, t->size, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &req);
    MPI_Send(&ready, 1, MPI_CHAR, 0, READY, MPI_COMM_WORLD);
    for (end = now_us() + t->computing_us; now_us() < end;) {
        compute_turns(LOOKS);
        if (!seen && is_all_there(t))
            seen = now_us();
    }
    t->runs++;
    t->in_time += seen != 0;
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    if (!seen)
        seen = now_us();
    return seen - time_of_send(t);
}

/* Returns the time that rank 1 saw. */
static double time_delivery(void *target)
{
    struct target *t = target;
    double took = 0;

    if (t->rank == 0)
        send_once(t);
    else if (t->rank == 1)
        took = receive_once(t);
    MPI_Bcast(&took, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    return took;
}

/* Rank 1 knows. */
static double percent_in_time(const struct target *t)
{
    double percent = t->runs ? 100.0 * (double)t->in_time / (double)t->runs : 0;

    MPI_Bcast(&percent, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    return percent;
}

int main(int argc, char **argv)
{
    static _Thread_local double v[BATCHES];
    struct target t = {.buf = allocate_buffer(LARGEST)};

    if (argc != 2 && argc != 3)
        return 2;
    t.computing_us = 1e3 * (argc > 2 ? atof(argv[2]) : COMPUTE_MS);
    t.rank = start_rank(&argc, &argv);
    for (int i = 0; i < SIZES; i++) {
        t.size = sizes[i];
        int n = repeat_batches(time_delivery, &t, atof(argv[1]) * 1e3, v);
        double percent = percent_in_time(&t);
        if (t.rank == 0) {
            print_times("us", t.size, v, n);
            print_times("percent", t.size, &percent, 1);
        }
        t.runs = t.in_time = 0;
    }
    MPI_Finalize();
    return 0;
}
