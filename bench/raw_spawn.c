/* This program measures what starting processes costs without MPI: fork and
 * exec of n programs that end at once, then waiting for all. The duration of
 * the run is the result.
 *
 *   raw_spawn N PROGRAM
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    char *args[] = {argc == 3 ? argv[2] : NULL, NULL};
    pid_t pid;

    if (argc != 3)
        return 2;
    for (int i = 0; i < atoi(argv[1]); i++)
        if (posix_spawn(&pid, argv[2], NULL, NULL, args, environ) != 0)
            return 1;
    while (wait(NULL) > 0)
        ;
    return 0;
}
