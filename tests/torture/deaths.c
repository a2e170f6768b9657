/* One rank dies while all ranks repeat an operation; the others go on until MPI
 * says so. Each then talks to every other survivor, point to point, and
 * finishes.
 *
 *   torture_deaths OPERATION SEED
 *
 * SEED says which rank dies, after how many repetitions, and how many
 * microseconds later: 0 is before it calls, so that it does not take part. A
 * survivor prints "left MS" when its operation has failed with
 * MPI_ERR_PROC_ABORTED, and how long that call took, "wrong ..." for anything
 * that must not happen, and "done" before it leaves main. One that never
 * returns is ended by its alarm clock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "deaths.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { HANG_S = 30, WARM_MOST = 24, DELAY_MOST = 3000, TALK = 30000 };

_Thread_local struct job job;
static int mates = 1; /* ranks of one process: they die together */

void say(const char *format, ...)
{
    char text[256];
    va_list args;
    int n;

    va_start(args, format);
    n = snprintf(text, sizeof text, "%d ", job.rank);
    n += vsnprintf(text + n, sizeof text - (size_t)n - 1, format, args);
    va_end(args);
    text[n++] = '\n';
    if (write(STDOUT_FILENO, text, (size_t)n) != n)
        _exit(4);
}

static void on_hang(int signal)
{
    static const char text[] = "hang: an MPI call does not return\n";

    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    if (getenv("DEATHS_CORE"))
        abort();
    _exit(3);
}

static void kill_self(int signal)
{
    kill(getpid(), SIGKILL);
}

/* Die in that many microseconds; 0: now. */
static void die_after(unsigned us)
{
    struct itimerval when = {.it_value.tv_usec = us};

    if (!us)
        kill_self(0);
    signal(SIGALRM, kill_self);
    setitimer(ITIMER_REAL, &when, NULL);
}

bool is_dead(int rank)
{
    return rank / mates == job.victim / mates;
}

static unsigned draw_number(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % n;
}

struct plan {
    unsigned warm, delay;
};

static struct plan draw_plan(unsigned seed)
{
    struct plan p;

    draw_number(&seed, 2);
    job.victim = (int)draw_number(&seed, (unsigned)job.size);
    p.warm = draw_number(&seed, WARM_MOST);
    p.delay = draw_number(&seed, 3) ? 1 + draw_number(&seed, DELAY_MOST) : 0;
    return p;
}

/* How the operation ends for this rank, the first time that it fails. */
static bool has_failed(int error, double since, bool before)
{
    int class = MPI_SUCCESS;

    if (error == MPI_SUCCESS)
        return false;
    MPI_Error_class(error, &class);
    if (class == MPI_ERR_PROC_ABORTED && before)
        return true;
    if (class == MPI_ERR_PROC_ABORTED)
        say("left %.0f", (MPI_Wtime() - since) * 1000);
    else
        say("wrong class %d", class);
    return true;
}

enum { CALLS_MORE = 40 /* after the victim has set its clock */ };

static void repeat_call(const struct operation *op, const struct plan *plan)
{
    int end = (int)plan->warm + CALLS_MORE;
    bool left = false;
    double since;

    for (int i = 0; !left || (op->to_the_end && i < end); i++) {
        if (job.rank == job.victim && i == (int)plan->warm)
            die_after(plan->delay);
        if (job.rank == job.victim && op->to_the_end && i == end - 1)
            die_after(0);
        since = MPI_Wtime();
        left |= has_failed(op->run(i), since, left);
    }
}

static void talk_to(int other, int *out, int *in)
{
    MPI_Status status;
    int got = 0;

    for (int i = 0; i < TALK; i++) {
        out[i] = job.rank * 7 + i;
        in[i] = -1;
    }
    for (int n = 1; n <= TALK; n += TALK - 1) {
        if (MPI_Sendrecv(out, n, MPI_INT, other, 99, in, n, MPI_INT, other, 99,
                         MPI_COMM_WORLD, &status))
            say("wrong: survivor %d does not talk", other);
        MPI_Get_count(&status, MPI_INT, &got);
        for (int i = 0; i < n; i++)
            if (got != n || in[i] != other * 7 + i) {
                say("wrong: data of survivor %d", other);
                return;
            }
    }
}

/* In rounds of disjoint pairs. */
static void talk_to_all(void)
{
    int *out = malloc(2 * TALK * sizeof *out);

    for (int round = 0; round < job.size; round++) {
        int other = (round - job.rank + job.size) % job.size;
        if (other != job.rank && !is_dead(other))
            talk_to(other, out, out + TALK);
    }
    free(out);
}

/* Before MPI_Init a rank knows itself only from the launcher. */
static void die_at_start(const char *name, unsigned seed)
{
    const char *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");

    if (strcmp(name, "init") || !rank || !size)
        return;
    job.size = atoi(size);
    struct plan plan = draw_plan(seed);
    if (atoi(rank) == job.victim)
        die_after(plan.delay * 10);
}

static void begin_case(int *argc, char ***argv, const char *name, unsigned seed)
{
    const char *ranks = getenv("WEFT_PROCESS_RANKS");

    if (ranks && atoi(ranks) > 0)
        mates = atoi(ranks);
    signal(SIGALRM, on_hang);
    alarm(HANG_S);
    die_at_start(name, seed);
    if (MPI_Init(argc, argv))
        say("wrong: MPI_Init failed");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
}

/* MPI_Finalize is the operation: a few barriers, and out. */
static void finish_early(const struct plan *plan)
{
    if (job.rank == job.victim)
        die_after(plan->delay);
    for (unsigned i = 0; i < plan->warm; i++)
        if (MPI_Barrier(MPI_COMM_WORLD))
            break;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    const struct operation *op = find_operation(name);
    struct plan plan;

    if (!op)
        return 2;
    begin_case(&argc, &argv, name, seed);
    plan = draw_plan(seed);
    if (!op->run) {
        finish_early(&plan);
    } else if (op->begin && op->begin()) {
        say("wrong: it does not begin");
    } else {
        repeat_call(op, &plan);
        talk_to_all();
    }
    if (MPI_Finalize())
        say("wrong: MPI_Finalize failed");
    say("done");
    return 0;
}
