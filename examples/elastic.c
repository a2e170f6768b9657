/* A service with workers that come, go and die while it works.
 *
 *   mpirun -n 1 ./elastic                 the server: prints its port first
 *   mpirun -n 1 ./elastic PORT [TASKS]    a worker: leaves after so many tasks
 *
 *   server, thread 2    MPI_Comm_accept --> MPI_COMM_SELF: "here is one more"
 *   server, thread 1    waits for whoever says something first
 *      worker --> ASK, with the result of its last task;  LEAVE;  or it dies
 *      worker <-- a task, or STOP
 *
 * Each worker is a job of its own, so its death is an error on the communicator
 * with it and touches nothing else: its task goes to another worker. The work
 * is to count the primes below LIMIT, a range per task.
 *
 *   mpicc elastic.c -o elastic -pthread
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TASKS = 64,
    RANGE = 50000, /* numbers of a task */
    WORKERS = 64,  /* at once */
    NONE = -1,
    STOP = -2,
    ASK = 1,
    LEAVE = 2, /* tags of a worker's messages */
    NEW = 3    /* tag of the accepting thread */
};

/* ---- the work ------------------------------------------------------------ */

static int is_prime(int n)
{
    for (int d = 2; d * d <= n; d++)
        if (n % d == 0)
            return 0;
    return n > 1;
}

static int count_primes(int task)
{
    int found = 0;

    for (int i = 0; i < RANGE; i++)
        found += is_prime(task * RANGE + i);
    return found;
}

/* ---- the server ---------------------------------------------------------- */

/* requests[i] receives from worker i; the last one from the other thread. */
static MPI_Comm workers[WORKERS];
static MPI_Request requests[WORKERS + 1];
static struct {
    int task, primes; /* of the last task; NONE: there was none */
} asked[WORKERS];
static int at_work[WORKERS]; /* task that the worker has, or NONE */
static int idle[WORKERS];    /* it has asked for one */
static MPI_Comm newcomer;
static int waiting[TASKS], tasks_waiting, tasks_left = TASKS, primes;

static void *accept_workers(void *port)
{
    MPI_Comm worker;

    /* MPI_Close_port ends the call with an error. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &worker) ==
           MPI_SUCCESS)
        MPI_Send(&worker, sizeof worker, MPI_BYTE, 0, NEW, MPI_COMM_SELF);
    return NULL;
}

static void listen_to_thread(void)
{
    MPI_Irecv(&newcomer, sizeof newcomer, MPI_BYTE, 0, NEW, MPI_COMM_SELF,
              &requests[WORKERS]);
}

static void remove_dead_worker(int w, int error);

static void listen_to_worker(int w)
{
    int rc = MPI_Irecv(&asked[w], 2, MPI_INT, 0, MPI_ANY_TAG, workers[w],
                       &requests[w]);

    if (rc != MPI_SUCCESS)
        remove_dead_worker(w, rc);
}

static void add_worker(void)
{
    int w = 0;

    while (w < WORKERS && workers[w] != MPI_COMM_NULL)
        w++;
    if (w == WORKERS) {
        int stop = STOP;
        MPI_Send(&stop, 1, MPI_INT, 0, ASK, newcomer);
        MPI_Comm_disconnect(&newcomer);
    } else {
        workers[w] = newcomer;
        at_work[w] = NONE;
        MPI_Comm_set_errhandler(workers[w], MPI_ERRORS_RETURN);
        printf("worker %d comes\n", w);
        listen_to_worker(w);
    }
    listen_to_thread();
}

/* Forgets a worker that has left or died: another one gets its task. */
static void remove_worker(int w, const char *how)
{
    printf("worker %d %s\n", w, how);
    if (at_work[w] != NONE)
        waiting[tasks_waiting++] = at_work[w];
    at_work[w] = NONE;
    idle[w] = 0;
    MPI_Comm_disconnect(&workers[w]);
}

static void remove_dead_worker(int w, int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    MPI_Error_string(error, text, &n);
    fprintf(stderr, "elastic: %s\n", text);
    remove_worker(w, "is gone");
}

static void take_result(int w)
{
    if (asked[w].task != NONE) {
        primes += asked[w].primes;
        tasks_left--;
    }
    at_work[w] = NONE;
}

/* Gives tasks to those who have asked for one. Each is listened to all the
 * time, so the death of an idle one is noticed, too. */
static void give_tasks(void)
{
    for (int w = 0; w < WORKERS && tasks_waiting > 0; w++) {
        int task = waiting[tasks_waiting - 1], rc;

        if (!idle[w])
            continue;
        idle[w] = 0;
        rc = MPI_Send(&task, 1, MPI_INT, 0, ASK, workers[w]);
        if (rc == MPI_SUCCESS) {
            tasks_waiting--;
            at_work[w] = task;
        } /* else its request ends with the error, too */
    }
}

static void serve_workers(void)
{
    MPI_Status status;
    int w, rc;

    while (tasks_left > 0) {
        rc = MPI_Waitany(WORKERS + 1, requests, &w, &status);
        if (w == WORKERS) {
            add_worker();
        } else if (rc != MPI_SUCCESS) {
            remove_dead_worker(w, rc);
        } else {
            take_result(w);
            if (status.MPI_TAG == LEAVE) {
                remove_worker(w, "leaves");
            } else {
                idle[w] = 1;
                listen_to_worker(w);
            }
        }
        give_tasks();
        fflush(stdout);
    }
}

static void dismiss_workers(void)
{
    int stop = STOP;

    for (int w = 0; w < WORKERS; w++) {
        if (workers[w] == MPI_COMM_NULL)
            continue;
        MPI_Send(&stop, 1, MPI_INT, 0, ASK, workers[w]);
        if (requests[w] != MPI_REQUEST_NULL) {
            MPI_Cancel(&requests[w]);
            MPI_Wait(&requests[w], MPI_STATUS_IGNORE);
        }
        MPI_Comm_disconnect(&workers[w]);
    }
    MPI_Cancel(&requests[WORKERS]);
    MPI_Wait(&requests[WORKERS], MPI_STATUS_IGNORE);
}

static void run_server(void)
{
    char port[MPI_MAX_PORT_NAME];
    pthread_t thread;

    for (int w = 0; w < WORKERS; w++) {
        workers[w] = MPI_COMM_NULL;
        requests[w] = MPI_REQUEST_NULL;
    }
    for (int t = 0; t < TASKS; t++)
        waiting[tasks_waiting++] = t;
    MPI_Open_port(MPI_INFO_NULL, port);
    printf("%s\n", port);
    fflush(stdout);
    listen_to_thread();
    pthread_create(&thread, NULL, accept_workers, port);
    serve_workers();
    MPI_Close_port(port);
    pthread_join(thread, NULL);
    dismiss_workers();
    printf("%d primes below %d\n", primes, TASKS * RANGE);
}

/* ---- a worker ------------------------------------------------------------ */

static void run_worker(const char *port, int most)
{
    int result[2] = {NONE, 0}, task;
    MPI_Comm server;

    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &server);
    for (int done = 0;; done++) {
        MPI_Send(result, 2, MPI_INT, 0, done == most ? LEAVE : ASK, server);
        if (done == most)
            break;
        MPI_Recv(&task, 1, MPI_INT, 0, ASK, server, MPI_STATUS_IGNORE);
        if (task == STOP)
            break;
        printf("task %d\n", task);
        fflush(stdout);
        result[0] = task;
        result[1] = count_primes(task);
    }
    MPI_Comm_disconnect(&server);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (argc > 1)
        run_worker(argv[1], argc > 2 ? atoi(argv[2]) : TASKS);
    else if (provided < MPI_THREAD_MULTIPLE)
        fprintf(stderr, "elastic: the server needs MPI_THREAD_MULTIPLE\n");
    else
        run_server();
    MPI_Finalize();
    return 0;
}
