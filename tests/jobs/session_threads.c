/* Threads that open sessions and create communicators at the same time are told
 * apart by their string tags.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdint.h>

#include "session.h"

enum { THREADS = 4, ROUNDS = 5 };

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

/* Each thread's communicators carry that thread's number and no other. */
static int wrong_numbers(MPI_Comm c, int number)
{
    int lowest, highest;
    MPI_Allreduce(&number, &lowest, 1, MPI_INT, MPI_MIN, c);
    MPI_Allreduce(&number, &highest, 1, MPI_INT, MPI_MAX, c);
    return lowest != number || highest != number;
}

static int one_round(int number)
{
    char tag[32];
    int wrong;
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    snprintf(tag, sizeof tag, "thread %d", number);
    wrong = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) != 0;
    wrong += MPI_Group_from_session_pset(s, "mpi://WORLD", &g) != 0;
    wrong += MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &c) != 0;
    MPI_Group_free(&g);
    wrong += wrong_numbers(c, number);
    MPI_Comm_disconnect(&c);
    return wrong + (MPI_Session_finalize(&s) != 0);
}

static void *run_rounds(void *arg)
{
    int number = (int)(intptr_t)arg, wrong = 0;
    for (int i = 0; i < ROUNDS; i++)
        wrong += one_round(number);
    pthread_mutex_lock(&counting);
    CHECK(wrong == 0);
    pthread_mutex_unlock(&counting);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_rounds, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return job_failures != 0;
}
