/* The caller of MPI can be seen from inside it, and an exception thrown by an
 * error handler reaches the caller of MPI, which goes on using it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

static int failures;

static void expect(bool so, const char *what)
{
    if (so)
        return;
    std::printf("not so: %s\n", what);
    failures++;
}

/* ---- exceptions --------------------------------------------------------- */

static void throw_it(MPI_Comm *, int *code, ...)
{
    throw std::runtime_error(std::to_string(*code));
}

static void free_and_throw(MPI_Comm *comm, int *code, ...)
{
    MPI_Comm_free(comm);
    throw std::runtime_error(std::to_string(*code));
}

static void throw_session(MPI_Session *, int *code, ...)
{
    throw std::runtime_error(std::to_string(*code));
}

/* Whether call() ended by an exception of this error class. */
template <class Call> static bool throws(int error, Call call)
{
    try {
        call();
    } catch (const std::runtime_error &e) {
        return std::to_string(error) == e.what();
    }
    return false;
}

static MPI_Comm with_handler(MPI_Comm_errhandler_function *function)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    return comm;
}

static void truncate(MPI_Comm comm)
{
    int two[2] = {1, 2}, one;
    MPI_Request request;
    MPI_Isend(two, 2, MPI_INT, 0, 0, comm, &request);
    bool thrown = throws(MPI_ERR_TRUNCATE, [&] {
        MPI_Recv(&one, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    });
    expect(thrown, "MPI_Recv throws MPI_ERR_TRUNCATE");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exceptions()
{
    MPI_Comm comm = with_handler(throw_it);
    for (int i = 0; i < 100; i++) {
        expect(throws(MPI_ERR_RANK,
                      [&] { MPI_Send(&i, 1, MPI_INT, 7, 0, comm); }),
               "MPI_Send throws MPI_ERR_RANK");
        truncate(comm);
        expect(throws(MPI_ERR_OTHER,
                      [&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); }),
               "MPI_Comm_call_errhandler throws");
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < 100; i++) {
        comm = with_handler(free_and_throw);
        expect(throws(MPI_ERR_ROOT,
                      [&] { MPI_Bcast(&i, 1, MPI_INT, 7, comm); }),
               "MPI_Bcast throws MPI_ERR_ROOT after its communicator is freed");
    }
}

static void exception_of_session()
{
    MPI_Errhandler handler;
    MPI_Session session;
    MPI_Group group;
    MPI_Session_create_errhandler(throw_session, &handler);
    MPI_Session_init(MPI_INFO_NULL, handler, &session);
    bool thrown = throws(MPI_ERR_ARG, [&] {
        MPI_Group_from_session_pset(session, "mpi://nothing", &group);
    });
    expect(thrown, "MPI_Group_from_session_pset throws MPI_ERR_ARG");
    MPI_Session_finalize(&session);
    MPI_Errhandler_free(&handler);
}

/* ---- backtraces --------------------------------------------------------- */

extern "C" int receive_in();
enum { FRAMES = 64, DEEP = 3 };
static volatile sig_atomic_t seen;
static sem_t looked;
static pthread_t receiver;

static bool is(const Dl_info &frame, const char *function)
{
    return frame.dli_sname && std::strcmp(frame.dli_sname, function) == 0;
}

/* Notes that, from main by receive_in, functions of the library were called
 * that have called each other. */
static void look(int)
{
    void *frames[FRAMES];
    Dl_info here, frame;
    int inside = 0, n = backtrace(frames, FRAMES), i = 0;
    dladdr((void *)receive_in, &here);
    for (; i < n && dladdr(frames[i], &frame) && !is(frame, "receive_in"); i++)
        inside += frame.dli_fbase == here.dli_fbase;
    for (; i < n && dladdr(frames[i], &frame) && !is(frame, "main");)
        i++;
    if (i < n && inside > DEEP) /* this function is the first */
        seen = 1;
    sem_post(&looked);
}

/* Interrupts the receiver until it was seen in MPI_Recv, and ends that. */
static void *interrupt(void *)
{
    int x = 5;
    for (time_t end = time(NULL) + 100; !seen && time(NULL) < end;) {
        pthread_kill(receiver, SIGUSR1);
        while (sem_wait(&looked) != 0)
            continue;
    }
    MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    return NULL;
}

extern "C" __attribute__((noinline)) int receive_in()
{
    int x = 0;
    MPI_Recv(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return x;
}

static void backtraces()
{
    pthread_t thread;
    void *frame;
    struct sigaction action = {};
    action.sa_handler = look;
    action.sa_flags = SA_RESTART;
    backtrace(&frame, 1); /* the first call may allocate */
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&looked, 0, 0);
    receiver = pthread_self();
    pthread_create(&thread, NULL, interrupt, NULL);
    expect(receive_in() == 5, "the message arrives");
    pthread_join(thread, NULL);
    expect(seen, "main is seen through MPI_Recv");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    exceptions();
    exception_of_session();
    backtraces(); /* and no section was left entered */
    MPI_Finalize();
    return failures != 0;
}
