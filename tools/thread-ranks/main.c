/* `mpicc -fthread-ranks` links this file in: main runs once in each rank
 * thread.
 *
 * The linker's --wrap=main makes the C library start this function. If mpirun
 * gave the process one rank, or did not start it, the program's main runs as
 * usual. Each rank has an argument vector of its own, which it may permute; the
 * strings are shared.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpix.h"

int __real_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp);

struct program {
    int argc;
    char **argv, **envp;
    atomic_int status; /* the first that is not 0 */
};

static int rank_main(void *arg)
{
    struct program *p = arg;
    size_t bytes = ((size_t)p->argc + 1) * sizeof *p->argv;
    char **argv = malloc(bytes);
    int good = 0, status;

    if (!argv) { /* the other ranks would wait for this one */
        fputs(
            "weft rank thread: main failed: MPI_ERR_NO_MEM: no memory for its "
            "arguments\n",
            stderr);
        _Exit(EXIT_FAILURE);
    }
    memcpy(argv, p->argv, bytes);
    status = __real_main(p->argc, argv, p->envp);
    free(argv);
    if (status)
        atomic_compare_exchange_strong(&p->status, &good, status);
    return status;
}

int __wrap_main(int argc, char **argv, char **envp)
{
    struct program p = {.argc = argc, .argv = argv, .envp = envp};
    const char *ranks = secure_getenv("WEFT_PROCESS_RANKS");

    if (!ranks || atoi(ranks) <= 1)
        return __real_main(argc, argv, envp);
    if (MPIX_Run_ranks(0, rank_main, &p, NULL) != MPI_SUCCESS)
        return 1;
    return atomic_load(&p.status);
}
