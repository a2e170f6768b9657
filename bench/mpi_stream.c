/* This program measures one-way streams: windows of nonblocking operations,
 * then a short answer.
 *
 *   mpi_stream FIRST LAST FACTOR WINDOW MS
 *
 * It prints bandwidth and message rate. A window is at most 4 MB or two
 * messages: short enough that the best one was not interrupted. Each of its
 * messages has its own buffer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { WINDOW_MAX = 256, SHARE = 4 << 20 };

struct window {
    char *base;
    int size, length, rank;
    MPI_Request reqs[WINDOW_MAX];
};

static int window_length(long size, int wanted)
{
    long fit = SHARE / size;

    return fit >= wanted ? wanted : fit > 2 ? (int)fit : 2;
}

static double one_window(void *what)
{
    struct window *w = what;
    double start = now_us();
    char answer = 0;

    for (int i = 0; i < w->length; i++) {
        char *buf = w->base + (size_t)i * (size_t)w->size;
        if (w->rank == 0)
            MPI_Isend(buf, w->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD,
                      &w->reqs[i]);
        else
            MPI_Irecv(buf, w->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                      &w->reqs[i]);
    }
    MPI_Waitall(w->length, w->reqs, MPI_STATUSES_IGNORE);
    if (w->rank == 0)
        MPI_Recv(&answer, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    else
        MPI_Send(&answer, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    return now_us() - start;
}

static void measure_sizes(struct window *w, double limit_us)
{
    static _Thread_local double v[BATCHES];
    int n = repeat_batches(one_window, w, limit_us, v);

    if (w->rank != 0)
        return;
    print_rates("gbs", w->size, v, n, w->length * (w->size / 1e3));
    print_rates("mps", w->size, v, n, w->length);
}

int main(int argc, char **argv)
{
    static _Thread_local struct window w;
    int wanted = argc == 6 ? atoi(argv[4]) : 0;
    long last = wanted ? atol(argv[2]) : 0;

    if (wanted < 1 || wanted > WINDOW_MAX || last < 1)
        return 2;
    w.base = allocate_buffer(last < SHARE / 2 ? SHARE : 2 * (size_t)last);
    w.rank = start_rank(&argc, &argv);
    for (long s = atol(argv[1]); s <= last; s = next_size(s, atol(argv[3]))) {
        w.size = (int)s;
        w.length = window_length(s, wanted);
        measure_sizes(&w, atof(argv[5]) * 1e3);
    }
    MPI_Finalize();
    return 0;
}
