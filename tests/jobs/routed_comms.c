/* Two ranks, for launch_routes.py: communicators with names, of which routes
 * speak. Rank 0, which sends, prints how many containers went through each
 * transport, as lines
 *
 *   RANK WHAT TRANSPORT CONTAINERS
 *
 * The messages of each communicator must come in order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"
#include "strided_view.h"

enum { MESSAGES = 60, LONG = 200000, ROUNDS = 20 };

static const char *const transports[] = {"self", "shm", "tcp", "second"};

static unsigned long long sent_by(const char *transport)
{
    unsigned long long value = 0;
    char name[64];
    int index, count;
    MPI_T_pvar_session s;
    MPI_T_pvar_handle h;

    snprintf(name, sizeof name, "%s.messages_sent", transport);
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) !=
        MPI_SUCCESS)
        return 0;
    MPI_T_pvar_session_create(&s);
    MPI_T_pvar_handle_alloc(s, index, NULL, &h, &count);
    MPI_T_pvar_read(s, h, &value);
    MPI_T_pvar_session_free(&s);
    return value;
}

static unsigned long long before[4];

static void note_counts(void)
{
    for (int i = 0; i < 4; i++)
        before[i] = sent_by(transports[i]);
}

static void print_counts(const char *what)
{
    for (int i = 0; i < 4; i++)
        printf("%d %s %s %llu\n", rank_in(MPI_COMM_WORLD), what, transports[i],
               sent_by(transports[i]) - before[i]);
}

/* A failure ends the job: nobody would take its place. */
static void must_succeed(int rc)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &n);
    fprintf(stderr, "%s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Short, eager and long ones mixed, all with one tag; half of them by name, the
 * others from anybody. */
static void send_in_order(MPI_Comm comm, const char *what)
{
    static int out[LONG], in[LONG];
    int rank = rank_in(comm), length;
    MPI_Request r;
    MPI_Status status;

    note_counts();
    for (int i = 0; i < MESSAGES; i++) {
        length = i % 7 == 0 ? LONG : i % 3 ? 1 : 3000;
        out[0] = i;
        if (rank == 0 && i % 2)
            must_succeed(MPI_Send(out, length, MPI_INT, 1, 5, comm));
        if (rank == 0 && i % 2 == 0) {
            must_succeed(MPI_Isend(out, length, MPI_INT, 1, 5, comm, &r));
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        if (rank == 1 && i % 4 == 3)
            MPI_Probe(0, 5, comm, &status);
        if (rank == 1) {
            MPI_Recv(in, LONG, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, 5, comm,
                     &status);
            CHECK(in[0] == i);
            MPI_Get_count(&status, MPI_INT, &out[1]);
            CHECK(out[1] == length);
        }
    }
    if (rank == 1) /* it has all of them */
        MPI_Ssend(out, 1, MPI_INT, 0, 6, comm);
    else
        MPI_Recv(in, 1, MPI_INT, 1, 6, comm, MPI_STATUS_IGNORE);
    if (rank == 0)
        print_counts(what);
}

/* Many short ones of both communicators wait, and are taken from the other end:
 * those of one do not matter to those of the other. */
static void take_from_both(MPI_Comm a, MPI_Comm b)
{
    int value, rank = rank_in(a);

    for (int i = 0; i < MESSAGES && rank == 0; i++) {
        MPI_Send(&i, 1, MPI_INT, 1, 7, a);
        MPI_Send(&i, 1, MPI_INT, 1, 7, b);
    }
    for (int i = 0; i < MESSAGES && rank == 1; i++) {
        MPI_Recv(&value, 1, MPI_INT, 0, 7, b, MPI_STATUS_IGNORE);
        CHECK(value == i);
    }
    for (int i = 0; i < MESSAGES && rank == 1; i++) {
        MPI_Recv(&value, 1, MPI_INT, 0, 7, a, MPI_STATUS_IGNORE);
        CHECK(value == i);
    }
}

static void add_up(MPI_Comm comm, const char *what)
{
    static int out[5000], in[5000];

    note_counts();
    for (int i = 0; i < ROUNDS; i++) {
        out[0] = i;
        must_succeed(MPI_Allreduce(out, in, i % 2 ? 5000 : 1, MPI_INT, MPI_SUM,
                                   comm));
        CHECK(in[0] == 2 * i);
        must_succeed(MPI_Bcast(out, 5000, MPI_INT, i % 2, comm));
    }
    MPI_Barrier(comm);
    if (rank_in(comm) == 0)
        print_counts(what);
}

/* Operations of both ranks on a window of the communicator, short and long,
 * which the program does not lose. */
static void operate_window(MPI_Comm comm, const char *what)
{
    static int out[LONG];
    int rank = rank_in(comm), old, n, one = 1;
    int *memory = NULL;
    MPI_Win win;

    must_succeed(MPI_Win_allocate(LONG * sizeof *memory, sizeof *memory,
                               MPI_INFO_NULL, comm, &memory, &win));
    memset(memory, 0, LONG * sizeof *memory);
    MPI_Barrier(comm);
    note_counts();
    for (int i = 0; i < LONG; i++)
        out[i] = i;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win);
        n = i % 5 ? 3000 : LONG - 1;
        must_succeed(MPI_Put(out + 1, n, MPI_INT, !rank, 1, n, MPI_INT, win));
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[0] == (rank ? 0 : 2 * ROUNDS));
    for (int i = 1; i < LONG; i++)
        CHECK(memory[i] == i);
    if (rank == 0)
        print_counts(what);
    MPI_Win_free(&win);
}

/* Collective accesses in two phases to a file of the communicator. */
static void write_together(MPI_Comm comm, const char *path, const char *what)
{
    char out[6400], in[6400];
    int rank = rank_in(comm);
    MPI_File f;

    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    f = open_strided_on(comm, path, 64, "enable", "enable");
    MPI_Barrier(comm);
    note_counts();
    memset(out, 'a' + rank, sizeof out);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(!MPI_File_write_at_all(f, i * 100, out, sizeof out, MPI_BYTE,
                                     MPI_STATUS_IGNORE));
        CHECK(!MPI_File_read_at_all(f, i * 100, in, sizeof in, MPI_BYTE,
                                    MPI_STATUS_IGNORE));
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
    if (rank == 0)
        print_counts(what);
    MPI_File_close(&f);
}

int main(int argc, char **argv)
{
    MPI_Comm solver;
    int provided;

    job_begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &solver);
    MPI_Comm_set_name(solver, "solver of x");
    send_in_order(MPI_COMM_WORLD, "world");
    send_in_order(solver, "solver");
    take_from_both(MPI_COMM_WORLD, solver);
    add_up(MPI_COMM_WORLD, "world_sum");
    add_up(solver, "solver_sum");
    operate_window(MPI_COMM_WORLD, "world_window");
    operate_window(solver, "solver_window");
    write_together(MPI_COMM_WORLD, argv[1], "world_file");
    write_together(solver, argv[1], "solver_file");
    MPI_Comm_free(&solver);
    MPI_T_finalize();
    return job_end();
}
