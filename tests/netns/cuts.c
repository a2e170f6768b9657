/* Traffic whose every message is checked, while somebody breaks the network.
 *
 *   netns_cuts KIND SECONDS [tell]
 *   KIND: pingpong, stream, alltoall, bulk, accumulate
 *
 * bulk: messages of 4 MB, one after the other, each answered. accumulate: rank
 * 0 adds to a window of rank 1, and fetches what it has added; the sums tell
 * whether each operation was applied once. The receiver (of a stream: rank 1,
 * else rank 0) prints how many messages there were and the times, in
 * milliseconds, in which nothing came: those of 20 ms and more, and the
 * longest. With `tell` it says on stderr when there was traffic for a second.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 32,
    LONGEST = 300000,
    BULK = 4 << 20,
    GO = 1,
    STOP = 2,
    GAPS = 4096,
    STEADY = 50 /* messages in the first second, at least */
};

static const int sizes[] = {8, 0, 1000, 20000, 64, 300000, 4, 5000};
static unsigned char out[WINDOW][LONGEST], in[LONGEST];
static double begin, end, last, gaps[GAPS], longest;
static long messages, pauses;
static int rank, ranks, tells;

static int size_of(long n)
{
    return sizes[n % (long)(sizeof sizes / sizeof *sizes)];
}

static void fill_buffer(unsigned char *data, long n, int from)
{
    for (int i = 0, size = size_of(n); i < size; i++)
        data[i] = (unsigned char)(n + n / 251 + i * 7 + i / 256 + from);
}

static void check_wrong(const char *what, long n)
{
    fprintf(stderr, "rank %d: message %ld: %s\n", rank, n, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check_result(const unsigned char *data, const MPI_Status *s, long n)
{
    static unsigned char want[LONGEST];
    int count;

    MPI_Get_count(s, MPI_BYTE, &count);
    if (count != size_of(n))
        check_wrong("another length, so another message", n);
    fill_buffer(want, n, s->MPI_SOURCE);
    if (memcmp(data, want, (size_t)count))
        check_wrong("altered", n);
    messages++;
}

/* Something came; true while there is time. */
static int advance_clock(void)
{
    double now = MPI_Wtime(), gap = (now - last) * 1000;

    if (gap >= 20)
        gaps[pauses++ % GAPS] = gap;
    if (gap > longest)
        longest = gap;
    last = now;
    if (tells && messages >= STEADY && now - begin >= 1) {
        fputs("there was traffic for a second\n", stderr);
        tells = 0;
    }
    return now < end;
}

static void receive_message(int from, long n, int *more)
{
    MPI_Status s;

    MPI_Recv(in, LONGEST, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    check_result(in, &s, n);
    *more = s.MPI_TAG == GO;
}

static void run_pingpong(void)
{
    int more = 1;

    for (long n = 0; more; n++) {
        if (rank == 0)
            more = advance_clock();
        else
            receive_message(0, n, &more);
        fill_buffer(out[0], n, rank);
        MPI_Send(out[0], size_of(n), MPI_BYTE, !rank, more ? GO : STOP,
                 MPI_COMM_WORLD);
        if (rank == 0)
            receive_message(1, n, &more);
    }
}

static void send_stream(void)
{
    MPI_Request r[WINDOW];
    int more = 1;

    for (long n = 0; more; n += WINDOW) {
        if (rank == 0)
            more = MPI_Wtime() < end;
        for (int i = 0; i < WINDOW; i++) {
            if (rank == 0) {
                fill_buffer(out[i], n + i, 0);
                MPI_Isend(out[i], size_of(n + i), MPI_BYTE, 1,
                          more ? GO : STOP, MPI_COMM_WORLD, &r[i]);
            } else {
                receive_message(0, n + i, &more);
                advance_clock();
            }
        }
        if (rank == 0)
            MPI_Waitall(WINDOW, r, MPI_STATUSES_IGNORE);
        messages += rank == 0 ? WINDOW : 0;
    }
}

static void bulk_word(uint32_t *data, long n, int check_it)
{
    for (size_t i = 0; i < BULK / sizeof *data; i++) {
        uint32_t want = (uint32_t)(n * 7919 + (long)i * 31);
        if (check_it && data[i] != want)
            check_wrong("altered", n);
        data[i] = want;
    }
}

static void run_bulk(void)
{
    uint32_t *data = malloc(BULK);
    MPI_Status s;
    int more = 1;

    for (long n = 0; more; n++, messages++) {
        if (rank == 0) {
            more = advance_clock();
            bulk_word(data, n, 0);
            MPI_Send(data, BULK, MPI_BYTE, 1, more ? GO : STOP, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, &s);
        } else {
            MPI_Recv(data, BULK, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            bulk_word(data, n, 1);
            more = s.MPI_TAG == GO;
            MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
        }
    }
    free(data);
}

static void run_alltoall(void)
{
    enum { INTS = 3000 };
    int *to = malloc(sizeof(int) * INTS * (size_t)ranks);
    int *from = malloc(sizeof(int) * INTS * (size_t)ranks);
    int more = 1;

    for (int n = 0; more; n++) {
        int count = n % 3 == 0 ? 1 : n % 3 == 1 ? 100 : INTS;
        more = advance_clock();
        for (int i = 0; i < count * ranks; i++)
            to[i] = n * 31 + rank * 1000 + i;
        MPI_Alltoall(to, count, MPI_INT, from, count, MPI_INT, MPI_COMM_WORLD);
        for (int k = 0; k < ranks; k++)
            for (int i = 0; i < count; i++)
                if (from[k * count + i] !=
                    n * 31 + k * 1000 + rank * count + i)
                    check_wrong("altered", n);
        messages += ranks;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    free(to);
    free(from);
}

/* ---- one-sided ----------------------------------------------------------- */

enum { WORDS = 20000, ADDED = 40 };

/* Small ones, a large one in pieces now and then, and one whose result is
 * known. */
static void add_to_window(MPI_Win win, long *want, const long *ones, long n)
{
    int at = (int)(n * 37 % WORDS);
    long old = -1;

    for (int i = 0; i < ADDED; i++) {
        int where = (at + i * 11) % WORDS;
        MPI_Accumulate(ones, 1, MPI_LONG, 1, where, 1, MPI_LONG, MPI_SUM, win);
        want[where]++;
    }
    for (int i = 0; n % 20 == 0 && i < WORDS; i++)
        want[i]++;
    if (n % 20 == 0)
        MPI_Accumulate(ones, WORDS, MPI_LONG, 1, 0, WORDS, MPI_LONG, MPI_SUM,
                       win);
    MPI_Fetch_and_op(ones, &old, MPI_LONG, 1, at, MPI_SUM, win);
    MPI_Win_flush(1, win);
    if (old != want[at]++)
        check_wrong("an accumulate is lost, or was applied twice", n);
    messages += ADDED + 1;
}

static void run_accumulate(void)
{
    long *want = calloc(WORDS, sizeof *want), *base;
    long *ones = malloc(WORDS * sizeof *ones);
    MPI_Win win;

    MPI_Win_allocate(rank == 1 ? WORDS * (MPI_Aint)sizeof *base : 0,
                     sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int i = 0; i < WORDS; i++)
        ones[i] = 1;
    if (rank == 0) {
        MPI_Win_lock_all(0, win);
        for (long n = 0; advance_clock(); n++)
            add_to_window(win, want, ones, n);
        MPI_Win_unlock_all(win);
    }
    MPI_Bcast(want, WORDS, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 1 && memcmp(base, want, WORDS * sizeof *want))
        check_wrong("the sums are wrong", 0);
    MPI_Win_free(&win);
    free(want);
    free(ones);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    tells = argc == 4 && !strcmp(argv[3], "tell");
    if (argc != 3 + tells)
        check_wrong("usage: netns_cuts KIND SECONDS [tell]", 0);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = last = MPI_Wtime();
    end = last + atof(argv[2]);
    if (!strcmp(argv[1], "alltoall"))
        run_alltoall();
    else if (!strcmp(argv[1], "accumulate"))
        run_accumulate();
    else if (rank < 2)
        (!strcmp(argv[1], "stream") ? send_stream
         : !strcmp(argv[1], "bulk") ? run_bulk
                                    : run_pingpong)();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == !strcmp(argv[1], "stream")) {
        advance_clock();
        printf("messages %ld longest %.1f gaps", messages, longest);
        for (long i = 0; i < pauses && i < GAPS; i++)
            printf(" %.0f", gaps[i]);
        puts("");
    }
    MPI_Finalize();
    return 0;
}
