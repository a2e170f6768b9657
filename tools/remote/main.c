/* weft-remote: which half this is. See remote.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "remote.h"

int main(int argc, char **argv)
{
    int status;

    signal(SIGPIPE, SIG_IGN); /* write says EPIPE, and EFBIG */
    signal(SIGXFSZ, SIG_IGN);
    status = argc == 2 && strcmp(argv[1], "--far") == 0
                 ? remote_far()
                 : remote_near(argc, argv);
    fflush(NULL);
    _exit(status); /* the system takes back what the job had */
}
