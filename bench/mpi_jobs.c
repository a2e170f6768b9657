/* This program measures messages between two jobs beside those inside one.
 *
 *   mpi_jobs MS          ratio of the round trips, by bytes
 *
 * Rank 0 spawns a copy of the program, and plays with rank 1 of its own job and
 * with the copy in turn. Both are bound to the same CPU, and the one whose turn
 * it is not is blocked in MPI_Recv.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { LAST = 65536, FACTOR = 16, FIRST_ROUNDS = 50 };

/* One who answers: process `rank` of the communicator, to rank 0. */
struct partner {
    MPI_Comm comm;
    int rank;
};

struct order {
    int rounds, bytes; /* no rounds: it is over */
};

static char *buffer;

static void send_order(const struct partner *p, int rounds, int bytes)
{
    struct order o = {rounds, bytes};

    MPI_Send(&o, sizeof o, MPI_BYTE, p->rank, 1, p->comm);
}

/* Play the rounds twice, of which the first ones warm up. Returns the time of a
 * round trip. */
static double time_rounds(const struct partner *p, int rounds, int bytes)
{
    double start = 0;

    send_order(p, rounds, bytes);
    for (int i = 0; i < 2 * rounds; i++) {
        if (i == rounds)
            start = now_us();
        MPI_Send(buffer, bytes, MPI_BYTE, p->rank, 2, p->comm);
        MPI_Recv(buffer, bytes, MPI_BYTE, p->rank, 2, p->comm,
                 MPI_STATUS_IGNORE);
    }
    return (now_us() - start) / rounds;
}

static void answer_rounds(MPI_Comm comm)
{
    struct order o;

    for (;;) {
        MPI_Recv(&o, sizeof o, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
        if (o.rounds == 0)
            return;
        for (int i = 0; i < 2 * o.rounds; i++) {
            MPI_Recv(buffer, o.bytes, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE);
            MPI_Send(buffer, o.bytes, MPI_BYTE, 0, 2, comm);
        }
    }
}

/* Time both partners in turn; the first one of a pair changes. */
static void compare_partners(const struct partner *inside,
                             const struct partner *between, int bytes,
                             double limit_us)
{
    static double v[BATCHES];
    double begin = now_us(), one = time_rounds(inside, FIRST_ROUNDS, bytes);
    int rounds = (int)(BATCH_US / one) + 1, n = 0;

    while (n < BATCHES && (n == 0 || now_us() - begin < limit_us)) {
        double first = time_rounds(n % 2 ? between : inside, rounds, bytes),
               second = time_rounds(n % 2 ? inside : between, rounds, bytes);
        v[n] = n % 2 ? first / second : second / first;
        n++;
    }
    print_times("ratio", bytes, v, n);
}

static void measure_jobs(char **argv)
{
    const struct partner inside = {MPI_COMM_WORLD, 1};
    struct partner between = {MPI_COMM_NULL, 0};

    MPI_Comm_spawn(argv[0], &argv[1], 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                   &between.comm, MPI_ERRCODES_IGNORE);
    for (long bytes = 1; bytes <= LAST; bytes = next_size(bytes, FACTOR))
        compare_partners(&inside, &between, (int)bytes, atof(argv[1]) * 1e3);
    send_order(&inside, 0, 0);
    send_order(&between, 0, 0);
    MPI_Comm_disconnect(&between.comm);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int rank;

    if (argc != 2)
        return 2;
    buffer = allocate_buffer(LAST);
    rank = start_rank(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        bind_rank(1);
        answer_rounds(parent);
        MPI_Comm_disconnect(&parent);
    } else if (rank == 1) {
        answer_rounds(MPI_COMM_WORLD);
    } else {
        measure_jobs(argv);
    }
    MPI_Finalize();
    return 0;
}
