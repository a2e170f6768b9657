/* Files at MPI_THREAD_MULTIPLE: threads of each rank access one file at the
 * same time, by themselves and by the shared pointer, and each thread a file of
 * its own together with its like in the other ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 3, TIMES = 25, EACH = 40, PART = THREADS * TIMES * EACH };

static int rank, size;
static char path[100];
static MPI_File common;

struct thread {
    pthread_t id;
    int number, wrong;
    MPI_Comm comm;
};

#define RIGHT(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            t->wrong++;                                                        \
        }                                                                      \
    } while (0)

static void fill_block(int *data, int thread, int turn)
{
    for (int i = 0; i < EACH; i++)
        data[i] = ((rank * THREADS + thread) * TIMES + turn) * EACH + i;
}

/* Blocking, then nonblocking accesses of a part that no other thread has. */
static void access_own_part(struct thread *t, int turn)
{
    int data[EACH], back[EACH];
    MPI_Offset at =
        ((rank * THREADS + t->number) * TIMES + turn) * (MPI_Offset)EACH;
    MPI_Status status;
    MPI_Request r;
    int n = -1;

    fill_block(data, t->number, turn);
    if (turn % 2) {
        RIGHT(!MPI_File_iwrite_at(common, at, data, EACH, MPI_INT, &r));
        RIGHT(!MPI_Wait(&r, &status));
    } else {
        RIGHT(!MPI_File_write_at(common, at, data, EACH, MPI_INT, &status));
    }
    MPI_Get_count(&status, MPI_INT, &n);
    RIGHT(n == EACH);
    memset(back, 0, sizeof back);
    if (turn % 3) {
        RIGHT(!MPI_File_iread_at(common, at, back, EACH, MPI_INT, &r));
        RIGHT(!MPI_Wait(&r, &status));
    } else {
        RIGHT(!MPI_File_read_at(common, at, back, EACH, MPI_INT, &status));
    }
    RIGHT(!memcmp(data, back, sizeof data));
}

/* Behind what all threads have by offset. */
static void append_blocks(struct thread *t, int turn)
{
    int data[EACH];
    MPI_Request r;

    fill_block(data, t->number, turn);
    if (turn % 2) {
        RIGHT(!MPI_File_iwrite_shared(common, data, EACH, MPI_INT, &r));
        RIGHT(!MPI_Wait(&r, MPI_STATUS_IGNORE));
    } else {
        RIGHT(!MPI_File_write_shared(common, data, EACH, MPI_INT,
                                     MPI_STATUS_IGNORE));
    }
}

static void access_together(struct thread *t)
{
    char name[120];
    int data[EACH], back[EACH];
    MPI_Offset at = rank * (MPI_Offset)sizeof data;
    MPI_Request r;
    MPI_File f;

    snprintf(name, sizeof name, "%s-%d", path, t->number);
    RIGHT(!MPI_File_open(t->comm, name,
                         MPI_MODE_CREATE | MPI_MODE_RDWR |
                             MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &f));
    for (int turn = 0; turn < TIMES; turn++) {
        fill_block(data, t->number, turn);
        RIGHT(!MPI_File_iwrite_at_all(f, at, data, EACH, MPI_INT, &r));
        RIGHT(!MPI_Wait(&r, MPI_STATUS_IGNORE));
        memset(back, 0, sizeof back);
        RIGHT(!MPI_File_read_at_all(f, at, back, EACH, MPI_INT,
                                    MPI_STATUS_IGNORE));
        RIGHT(!memcmp(data, back, sizeof data));
        RIGHT(!MPI_File_write_ordered(f, data, EACH, MPI_INT,
                                      MPI_STATUS_IGNORE));
        RIGHT(!MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
    }
    RIGHT(!MPI_File_close(&f));
}

/* The first files of the rank are opened by several threads. */
static void *share_files(void *arg)
{
    access_together(arg);
    return NULL;
}

static void *share_common_file(void *arg)
{
    struct thread *t = arg;

    for (int turn = 0; turn < TIMES; turn++) {
        access_own_part(t, turn);
        append_blocks(t, turn);
    }
    return NULL;
}

static void run_threads(struct thread *threads, void *(*run)(void *))
{
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i].id, NULL, run, &threads[i]));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        CHECK(!threads[i].wrong);
    }
}

/* Each block that was appended is there once, and whole. */
static void check_appended(void)
{
    enum { BLOCKS = THREADS * TIMES };
    char *seen = calloc((size_t)size, BLOCKS);
    MPI_Offset end;

    CHECK(!MPI_File_get_position_shared(common, &end));
    CHECK(end == 2 * (MPI_Offset)size * PART);
    for (int i = 0; i < size * BLOCKS; i++) {
        int data[EACH], first;

        CHECK(!MPI_File_read_at(common, size * (MPI_Offset)PART + i * EACH,
                                data, EACH, MPI_INT, MPI_STATUS_IGNORE));
        first = data[0] / EACH;
        CHECK(data[0] % EACH == 0 && first >= 0 && first < size * BLOCKS &&
              !seen[first]++);
        for (int k = 1; k < EACH; k++)
            CHECK(data[k] == data[0] + k);
    }
    free(seen);
}

int main(int argc, char **argv)
{
    static struct thread threads[THREADS];
    int provided, pid = (int)getpid();

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "io_threads.%d.tmp", pid);
    for (int i = 0; i < THREADS; i++) {
        threads[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm);
    }
    run_threads(threads, share_files);
    CHECK(!MPI_File_open(MPI_COMM_WORLD, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR |
                             MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &common));
    CHECK(!MPI_File_set_view(common, 0, MPI_INT, MPI_INT, "native",
                             MPI_INFO_NULL));
    CHECK(!MPI_File_seek_shared(common, size * (MPI_Offset)PART,
                                MPI_SEEK_SET));
    run_threads(threads, share_common_file);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&threads[i].comm);
    MPI_Barrier(MPI_COMM_WORLD);
    check_appended();
    CHECK(!MPI_File_close(&common));
    return job_end();
}
