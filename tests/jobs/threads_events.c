/* A tool registers for events and ends its registrations while other threads
 * send and receive: no message is lost or altered, and no callback runs after
 * its registration has ended.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

enum { THREADS = 3, MESSAGES = 600, ROUNDS = 60 };

struct watcher {
    atomic_int events, after_end, ended;
};

static void count_event(MPI_T_event_instance e, MPI_T_event_registration r,
                        MPI_T_cb_safety safety, void *arg)
{
    struct watcher *w = arg;
    int process;
    w->events += MPI_T_event_read(e, 0, &process) == MPI_SUCCESS;
    w->after_end += w->ended;
}

static void note_end(MPI_T_event_registration r, MPI_T_cb_safety safety,
                     void *arg)
{
    struct watcher *w = arg;
    w->ended = 1;
}

static void *exchange_numbers(void *arg)
{
    int id = *(int *)arg, rank = rank_in(MPI_COMM_WORLD);
    int size = size_of(MPI_COMM_WORLD), in;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < MESSAGES; i++) {
        int out = (rank * THREADS + id) * MESSAGES + i;
        MPI_Sendrecv(&out, 1, MPI_INT, to, id, &in, 1, MPI_INT, from, id,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == (from * THREADS + id) * MESSAGES + i);
    }
    return NULL;
}

static void *watch_and_end(void *arg)
{
    static const char *const names[] = {"message.match", "message.send_eager",
                                        "message.unexpected"};
    static struct watcher all[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        MPI_T_event_registration r;
        int index;
        CHECK(MPI_T_event_get_index(names[i % 3], &index) == MPI_SUCCESS);
        CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) ==
              MPI_SUCCESS);
        CHECK(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_THREAD_SAFE,
                                            MPI_INFO_NULL, &all[i],
                                            count_event) == MPI_SUCCESS);
        sched_yield();
        CHECK(MPI_T_event_handle_free(r, &all[i], note_end) == MPI_SUCCESS);
    }
    for (int i = 0; i < ROUNDS; i++)
        CHECK(all[i].after_end == 0);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS], tool;
    int id[THREADS], provided;
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) {
        id[i] = i;
        pthread_create(&t[i], NULL, exchange_numbers, &id[i]);
    }
    pthread_create(&tool, NULL, watch_and_end, NULL);
    pthread_join(tool, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    return job_end();
}
