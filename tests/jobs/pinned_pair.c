/* Two ranks that the scheduler put on one CPU although there are more: they
 * give way to each other instead of sleeping in turn, so that both stay
 * runnable and can be moved apart.
 *
 * Asleep counts as a voluntary switch, giving way does not. Other work on the
 * machine makes ranks sleep: one undisturbed batch of many is enough.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "check.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

enum { BATCHES = 2000, CALLS = 50, FEW = CALLS / 5 };

static void share_one_cpu(void)
{
    cpu_set_t all, one;
    int cpu = 0;

    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* Other work on this CPU makes ranks use up their polls and sleep. Where that
 * is permitted the ranks go first. */
static void go_before_other_work(void)
{
    struct sched_param p = {.sched_priority = 1};

    if (sched_setscheduler(0, SCHED_RR, &p) != 0)
        printf("# not permitted to run before other work\n");
}

static int count_sleeps(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (int)u.ru_nvcsw;
}

int main(int argc, char **argv)
{
    int best = CALLS, in = 1, out, least;

    job_begin(&argc, &argv); /* sees all CPUs */
    share_one_cpu();
    go_before_other_work();
    for (int i = 0; i < BATCHES && best > FEW; i++) {
        int before = count_sleeps();
        for (int k = 0; k < CALLS; k++)
            MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        in = count_sleeps() - before;
        MPI_Allreduce(&in, &least, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        best = least < best ? least : best;
        in = 1;
    }
    CHECK(best <= FEW);
    return job_end();
}
