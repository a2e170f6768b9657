/* For job programs that do the same in several threads.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_NUMBERED_THREADS_H
#define JOB_NUMBERED_THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERED_THREADS_MOST = 64 };

/* Runs n threads and waits for them; each gets a pointer to its number. */
static inline void run_numbered_threads(int n, void *(*work)(void *number))
{
    pthread_t threads[NUMBERED_THREADS_MOST];
    int numbers[NUMBERED_THREADS_MOST];

    for (int i = 0; i < n; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) {
            fprintf(stderr, "no thread %d\n", i);
            abort();
        }
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

#endif
