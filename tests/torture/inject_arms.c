/* Two threads that arm the injector at the same time: a call that is to fail
 * once fails once.
 *
 * The second thread looks whether it is the first to arm, and is held up in the
 * backtrace that arming makes, until the first one has had its failure.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "inject.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static const struct inject first_call = {.kind = INJECT_MEMORY, .nth = 1};
static sem_t held, release;
static _Thread_local int late;

/* In the place of libc's. */
int backtrace(void **frames, int n)
{
    (void)frames;
    (void)n;
    if (late) {
        sem_post(&held);
        sem_wait(&release);
    }
    return 0;
}

static void *arm_late(void *unused)
{
    (void)unused;
    late = 1;
    inject_arm(&first_call);
    return NULL;
}

static int is_refused(void)
{
    void *volatile p = malloc(1);
    int refused = !p;

    free(p);
    return refused;
}

int main(void)
{
    pthread_t second;
    int before, after;

    sem_init(&held, 0, 0);
    sem_init(&release, 0, 0);
    if (pthread_create(&second, NULL, arm_late, NULL) != 0)
        return 2;
    sem_wait(&held);
    inject_arm(&first_call);
    before = is_refused();
    sem_post(&release);
    pthread_join(second, NULL);
    after = is_refused();
    inject_disarm();
    inject_disarm();
    if (!before || after)
        printf("the first call %s, one after it %s\n",
               before ? "is refused" : "is not refused",
               after ? "is refused, too" : "is not");
    return !before || after;
}
