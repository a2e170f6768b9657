/* What starting processes costs without MPI: n times fork and exec of a
 * program that ends at once, then waiting for all.
 *
 *   raw_spawn N TIMES PROGRAM
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <spawn.h>
#include <sys/wait.h>

enum { TIMES_MAX = 100 };
extern char **environ;

int main(int argc, char **argv)
{
    static double v[TIMES_MAX];
    int n = argc == 4 ? atoi(argv[1]) : 0, times = n ? atoi(argv[2]) : 0;

    if (n < 1 || times < 1 || times > TIMES_MAX)
        return 2;
    for (int t = 0; t < times; t++) {
        char *args[] = {argv[3], NULL};
        double start = now_us();
        pid_t pid;
        for (int i = 0; i < n; i++)
            if (posix_spawn(&pid, argv[3], NULL, NULL, args, environ) != 0)
                return 1;
        while (wait(NULL) > 0)
            ;
        v[t] = (now_us() - start) / 1e3;
    }
    print_times("start_ms", n, v, times);
    return 0;
}
