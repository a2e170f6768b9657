/* A second thread, which does nothing, until the process ends: so that the
 * library cannot take the process for one that has a single thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SECOND_THREAD_H
#define SECOND_THREAD_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *do_nothing(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static inline void start_second_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 ||
        pthread_detach(thread) != 0) {
        fputs("the second thread cannot be started\n", stderr);
        abort();
    }
}

#endif
