/* Below MPI_THREAD_MULTIPLE, and at it where one thread is in MPI, messages
 * take no lock and no atomic read-modify-write.
 *
 *     no_lock LEVEL [beside]      two ranks over shared memory; with "beside"
 *                                 each has a second thread, which does nothing
 *
 * The processor is told to trap after each instruction of the calls under test;
 * the handler looks at the next one. One exchange of many must do without: an
 * instruction of the fast path is in all of them, and exchanges in which a rank
 * had to sleep do not count.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "../second_thread.h"

enum { SIZE = 8, WARM = 2000, LOOKS = 50 };

static long steps, locks;
static void *some_lock;

/* Of a lock prefix, or of an exchange with memory, which is locked without. */
static int is_locked(const unsigned char *at)
{
    for (;; at++)
        if (*at == 0xf0)
            return 1;
        else if (*at != 0x66 && *at != 0xf2 && *at != 0xf3 &&
                 (*at & 0xf0) != 0x40 &&
                 !memchr("\x2e\x36\x3e\x26\x64\x65", *at, 6))
            break;
    return (*at == 0x86 || *at == 0x87) && at[1] < 0xc0;
}

static void look_at(int sig, siginfo_t *info, void *context)
{
    void *at = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)sig;
    (void)info;
    steps++;
    if (is_locked(at)) {
        locks++;
        some_lock = at;
    }
}

/* The first trap is behind the instruction that follows the popfq. */
static inline void trap_instruction(int on)
{
    if (on)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq; nop" ::
                             : "memory", "cc");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::
                             : "memory", "cc");
}

/* Is it seen if there is one? */
static int can_see(void)
{
    static int word;

    trap_instruction(1);
    __atomic_fetch_add(&word, 1, __ATOMIC_ACQ_REL);
    trap_instruction(0);
    return locks == 1;
}

/* A message to the other rank and one that it has sent before. */
static void exchange_messages(int under_test, int rank)
{
    char out[SIZE] = {0}, in[SIZE];
    MPI_Request request;

    if (under_test)
        trap_instruction(1);
    MPI_Irecv(in, SIZE, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, SIZE, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(out, SIZE, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD);
    MPI_Recv(in, SIZE, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (under_test)
        trap_instruction(0);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = look_at, .sa_flags = SA_SIGINFO};
    long least = 1000;
    int rank, provided, seeing;

    MPI_Init_thread(&argc, &argv, atoi(argv[1]), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2)
        start_second_thread();
    sigaction(SIGTRAP, &action, NULL);
    seeing = can_see();
    for (int i = 0; i < WARM; i++)
        exchange_messages(0, rank);
    for (int i = 0; i < LOOKS; i++) {
        long before = locks;
        int looks = rank == 0 && least > 0;
        exchange_messages(looks, rank);
        if (looks && locks - before < least)
            least = locks - before;
    }
    if (rank == 0)
        printf(
            "level %d: %ld instructions, at least %ld locked in an exchange, "
            "one of them at %p\n",
            provided, steps, least, some_lock);
    MPI_Finalize();
    return !seeing || (rank == 0 && least != 0);
}
