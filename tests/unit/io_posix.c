/* Files of the operating system (core/io/posix.c, lock.c, identify.c) over a
 * file system of faults.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include <pthread.h>

#include "../fake/file_faults.h"
#include "io/fs.h"
#include "io/fs_error.h"
#include "object/error.h"

enum { BYTES = 10000, BLOCKS = 2500 };

static char data[BYTES], back[BYTES];

static int open_case(void **state)
{
    no_file_faults();
    for (int i = 0; i < BYTES; i++)
        data[i] = (char)(i * 7 + i / 251);
    memset(back, 0, sizeof back);
    return enter_directory(state);
}

static int close_case(void **state)
{
    no_file_faults();
    return leave_directory(state);
}

static int open_as(const char *path, int amode, struct wf_fs_file **f)
{
    struct wf_fs_open how = {path, amode, 0644};

    return wf_fs_posix.open(&how, f);
}

static struct wf_fs_file *open_new(void)
{
    struct wf_fs_file *f = NULL;

    assert_int_equal(open_as("file", MPI_MODE_RDWR | MPI_MODE_CREATE, &f),
                     MPI_SUCCESS);
    return f;
}

static uint64_t size_of(struct wf_fs_file *f)
{
    uint64_t n = 0;

    assert_int_equal(f->fs->size(f, &n), MPI_SUCCESS);
    return n;
}

/* Cuts a buffer into blocks of different lengths, some of them empty. */
static int cut_blocks(char *buf, size_t n, struct iovec *v)
{
    size_t at = 0;
    int count = 0;

    for (; at < n; count++) {
        size_t len = (size_t)(count % 5) * 3;
        if (count == BLOCKS - 1 || len > n - at)
            len = n - at;
        v[count] = (struct iovec){buf + at, len};
        at += len;
    }
    return count;
}

static void write_all(struct wf_fs_file *f)
{
    static struct iovec v[BLOCKS];
    uint64_t done = 0;
    int n = cut_blocks(data, BYTES, v);

    assert_true(n > 1024); /* more than one call can take */
    assert_int_equal(f->fs->pwritev(f, v, n, 100, &done), MPI_SUCCESS);
    assert_int_equal(done, BYTES);
}

static void read_all(struct wf_fs_file *f)
{
    static struct iovec v[BLOCKS];
    uint64_t done = 0;

    memset(back, 0, sizeof back);
    assert_int_equal(
        f->fs->preadv(f, v, cut_blocks(back, BYTES, v), 100, &done),
        MPI_SUCCESS);
    assert_int_equal(done, BYTES);
    assert_memory_equal(back, data, BYTES);
}

static void close_file(struct wf_fs_file *f)
{
    assert_int_equal(f->fs->close(f), MPI_SUCCESS);
}

static void blocks_go_to_one_run_of_the_file(void **state)
{
    struct wf_fs_file *f = open_new();

    write_all(f);
    read_all(f);
    assert_int_equal(size_of(f), 100 + BYTES);
    close_file(f);
}

/* ---- short transfers ----------------------------------------------------- */

static void short_counts_are_continued(void **state)
{
    static const size_t most[] = {1, 2, 7, 1000, 4096};
    struct wf_fs_file *f = open_new();

    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        file_faults.most = most[i];
        write_all(f);
        read_all(f);
        assert_true(file_faults.transfers >= 2 * (BYTES / most[i]));
        no_file_faults();
    }
    close_file(f);
}

static void a_signal_between_is_no_error(void **state)
{
    struct wf_fs_file *f = open_new();

    for (unsigned every = 2; every < 6; every++) {
        file_faults.error = EINTR;
        file_faults.every = every;
        file_faults.most = 999;
        write_all(f);
        read_all(f);
        assert_true(file_faults.failed > 2);
        assert_int_equal(f->fs->truncate(f, BYTES), MPI_SUCCESS);
        assert_int_equal(f->fs->allocate(f, BYTES), MPI_SUCCESS);
        assert_int_equal(f->fs->sync(f), MPI_SUCCESS);
        assert_int_equal(f->fs->lock(f, WF_FS_EXCLUSIVE, 0, 1), MPI_SUCCESS);
        assert_int_equal(f->fs->unlock(f, 0, 1), MPI_SUCCESS);
    }
    close_file(f);
}

static void a_read_ends_at_the_end_of_the_file(void **state)
{
    struct wf_fs_file *f = open_new();
    struct iovec v = {back, BYTES};
    uint64_t done = 1;

    assert_int_equal(f->fs->preadv(f, &v, 1, 0, &done), MPI_SUCCESS);
    assert_int_equal(done, 0);
    write_all(f);
    for (size_t most = 0; most < 3000; most += 999) {
        file_faults.most = most;
        assert_int_equal(f->fs->preadv(f, &v, 1, 200, &done), MPI_SUCCESS);
        assert_int_equal(done, BYTES - 100);
        assert_memory_equal(back, data + 100, BYTES - 100);
    }
    close_file(f);
}

/* ---- errors -------------------------------------------------------------- */

static void writing_fails_at(struct wf_fs_file *f, int error, int class)
{
    static struct iovec v[BLOCKS];
    uint64_t done = 0;

    no_file_faults();
    file_faults.has_fails_at = true;
    file_faults.fails_at = 5100;
    file_faults.at_error = error;
    assert_int_equal(
        f->fs->pwritev(f, v, cut_blocks(data, BYTES, v), 100, &done), class);
    assert_int_equal(done, 5000);
    assert_int_equal(size_of(f), 5100);
    assert_non_null(strstr(wf_error_last()->text, "'file' at byte 5100"));
}

static void what_was_written_before_an_error_is_told(void **state)
{
    struct wf_fs_file *f = open_new();

    writing_fails_at(f, ENOSPC, MPI_ERR_NO_SPACE);
    writing_fails_at(f, EIO, MPI_ERR_IO);
    writing_fails_at(f, EDQUOT, MPI_ERR_QUOTA);
    writing_fails_at(f, 0, MPI_ERR_IO); /* nothing is taken, without an errno */
    close_file(f);
}

static void reading_fails_with_what_came_before(void **state)
{
    struct wf_fs_file *f = open_new();
    struct iovec v = {back, BYTES};
    uint64_t done = 0;

    write_all(f);
    file_faults.has_fails_at = true;
    file_faults.fails_at = 300;
    file_faults.at_error = EIO;
    assert_int_equal(f->fs->preadv(f, &v, 1, 100, &done), MPI_ERR_IO);
    assert_int_equal(done, 200);
    assert_memory_equal(back, data, 200);
    close_file(f);
}

static void a_forgotten_file_is_opened_again_once(void **state)
{
    struct wf_fs_file *f = open_new();
    struct iovec v = {data, BYTES};
    uint64_t done = 0;

    file_faults.error = ESTALE;
    file_faults.every = 1;
    file_faults.times = 1;
    write_all(f);
    assert_int_equal(file_faults.failed, 1);
    no_file_faults();
    read_all(f);
    file_faults.error = ESTALE;
    file_faults.every = 1; /* for ever */
    assert_int_equal(f->fs->pwritev(f, &v, 1, 0, &done), MPI_ERR_IO);
    assert_int_equal(file_faults.failed, 2);
    no_file_faults();
    assert_int_equal(unlink("file"), 0);
    file_faults.error = ESTALE;
    file_faults.every = 1;
    file_faults.times = 1; /* it cannot be opened again */
    assert_int_equal(f->fs->pwritev(f, &v, 1, 0, &done), MPI_ERR_NO_SUCH_FILE);
    close_file(f);
}

/* Every n-th call fails, for each n: no operation says that it has succeeded
 * where its call has failed, and the counts are right. */
static void faults_of_every_call_are_reported(void **state)
{
    struct wf_fs_file *f = open_new();
    struct iovec v = {data, BYTES};
    uint64_t done = 0;

    for (unsigned every = 1; every < 40; every++) {
        int failed = 0;
        no_file_faults();
        file_faults.most = 1000;
        file_faults.error = EIO;
        file_faults.every = every;
        for (int i = 0; i < 5; i++) {
            int rc = f->fs->pwritev(f, &v, 1, 0, &done);
            failed += rc != MPI_SUCCESS;
            assert_int_equal(rc == MPI_SUCCESS, done == BYTES);
            assert_int_equal(done % 1000, 0);
            failed += f->fs->sync(f) != MPI_SUCCESS;
            failed += f->fs->truncate(f, BYTES) != MPI_SUCCESS;
            failed += f->fs->allocate(f, BYTES) != MPI_SUCCESS;
        }
        assert_int_equal(failed, file_faults.failed);
        assert_true(failed > 0);
    }
    close_file(f);
}

static void classes_of_errnos(void **state)
{
    static const int pairs[][2] = {
        {ENOENT, MPI_ERR_NO_SUCH_FILE}, {EEXIST, MPI_ERR_FILE_EXISTS},
        {EACCES, MPI_ERR_ACCESS},       {EPERM, MPI_ERR_ACCESS},
        {ENOSPC, MPI_ERR_NO_SPACE},     {EFBIG, MPI_ERR_NO_SPACE},
        {EDQUOT, MPI_ERR_QUOTA},        {EROFS, MPI_ERR_READ_ONLY},
        {EBUSY, MPI_ERR_FILE_IN_USE},   {EBADF, MPI_ERR_FILE},
        {ENAMETOOLONG, MPI_ERR_BAD_FILE}, {EISDIR, MPI_ERR_BAD_FILE},
        {EIO, MPI_ERR_IO},              {ESTALE, MPI_ERR_IO},
        {ENOLCK, MPI_ERR_IO},           {ENOMEM, MPI_ERR_NO_MEM}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(wf_fs_error_class(pairs[i][0]), pairs[i][1]);
}

static void open_tells_why_not(void **state)
{
    struct wf_fs_file *f = open_new();
    char name[400];

    close_file(f);
    assert_int_equal(open_as("none", MPI_MODE_RDONLY, &f),
                     MPI_ERR_NO_SUCH_FILE);
    assert_non_null(strstr(wf_error_last()->text, "'none'"));
    assert_int_equal(open_as("file",
                             MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                             &f),
                     MPI_ERR_FILE_EXISTS);
    assert_int_equal(open_as(".", MPI_MODE_RDONLY, &f), MPI_ERR_BAD_FILE);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(open_as(name, MPI_MODE_RDONLY, &f), MPI_ERR_BAD_FILE);
    assert_int_equal(wf_fs_posix.remove("none"), MPI_ERR_NO_SUCH_FILE);
    assert_int_equal(wf_fs_posix.remove("file"), MPI_SUCCESS);
}

static void access_follows_the_mode(void **state)
{
    struct wf_fs_file *f = open_new(), *g;
    struct iovec v = {back, 1};
    uint64_t done;

    close_file(f);
    assert_int_equal(open_as("file", MPI_MODE_RDONLY, &f), MPI_SUCCESS);
    assert_int_equal(open_as("file", MPI_MODE_WRONLY, &g), MPI_SUCCESS);
    assert_int_equal(f->fs->pwritev(f, &v, 1, 0, &done), MPI_ERR_FILE);
    assert_int_equal(f->fs->preadv(g, &v, 1, 0, &done), MPI_ERR_FILE);
    assert_int_equal(f->fs->lock(f, WF_FS_EXCLUSIVE, 0, 8), MPI_SUCCESS);
    assert_int_equal(f->fs->unlock(f, 0, 8), MPI_SUCCESS);
    assert_int_equal(f->fs->lock(g, WF_FS_SHARED, 0, 8), MPI_SUCCESS);
    close_file(f);
    close_file(g);
}

/* ---- sizes --------------------------------------------------------------- */

static void sizes_are_set(void **state)
{
    struct wf_fs_file *f = open_new();
    struct stat st;

    assert_int_equal(f->fs->truncate(f, 1u << 20), MPI_SUCCESS);
    assert_int_equal(size_of(f), 1u << 20);
    assert_int_equal(f->fs->allocate(f, 4096), MPI_SUCCESS); /* not shorter */
    assert_int_equal(size_of(f), 1u << 20);
    assert_int_equal(f->fs->allocate(f, 1u << 21), MPI_SUCCESS);
    assert_int_equal(size_of(f), 1u << 21);
    assert_int_equal(stat("file", &st), 0);
    assert_true(st.st_blocks * 512 >= 1 << 21);
    assert_int_equal(f->fs->allocate(f, 0), MPI_SUCCESS);
    assert_int_equal(f->fs->truncate(f, 10), MPI_SUCCESS);
    assert_int_equal(size_of(f), 10);
    assert_int_equal(f->fs->truncate(f, UINT64_MAX), MPI_ERR_NO_SPACE);
    assert_int_equal(f->fs->allocate(f, UINT64_MAX), MPI_ERR_NO_SPACE);
    close_file(f);
}

/* Beyond 32 bits, in a file with a hole. */
static void offsets_have_63_bits(void **state)
{
    struct wf_fs_file *f = open_new();
    uint64_t at = (UINT64_C(1) << 33) + 5, done;
    struct iovec v = {data, 100}, r = {back, 200};

    assert_int_equal(f->fs->pwritev(f, &v, 1, at, &done), MPI_SUCCESS);
    assert_int_equal(size_of(f), at + 100);
    assert_int_equal(f->fs->preadv(f, &r, 1, at, &done), MPI_SUCCESS);
    assert_int_equal(done, 100);
    assert_memory_equal(back, data, 100);
    assert_int_equal(f->fs->pwritev(f, &v, 1, UINT64_MAX - 50, &done),
                     MPI_ERR_NO_SPACE);
    close_file(f);
}

/* One block of more than Linux moves by one call, of which the first part is
 * refused. */
static void a_call_is_asked_for_what_it_can_move(void **state)
{
    struct wf_fs_file *f = open_new();
    struct iovec v = {data, (size_t)0x7ffff000 + 1000};
    uint64_t done = 0;

    file_faults.has_fails_at = true;
    file_faults.fails_at = 0;
    file_faults.at_error = EIO;
    assert_int_equal(f->fs->pwritev(f, &v, 1, 0, &done), MPI_ERR_IO);
    assert_int_equal(file_faults.asked_most, 0x7ffff000);
    close_file(f);
}

/* ---- locks --------------------------------------------------------------- */

static void no_locks_are_told_in_plain_words(void **state)
{
    struct wf_fs_file *f = open_new();

    file_faults.lock_error = ENOLCK;
    assert_int_equal(f->fs->lock(f, WF_FS_SHARED, 0, 8), MPI_ERR_IO);
    assert_non_null(strstr(wf_error_last()->text, "has no locks"));
    assert_non_null(strstr(wf_error_last()->text, "io_locks"));
    f->locks = WF_FS_LOCKS_NEVER;
    assert_int_equal(f->fs->lock(f, WF_FS_SHARED, 0, 8), MPI_SUCCESS);
    assert_int_equal(f->fs->unlock(f, 0, 8), MPI_SUCCESS);
    close_file(f);
}

struct taker {
    struct wf_fs_file *f;
    uint64_t first;
    _Atomic bool *flag;
    bool seen;
};

static void *take_and_look(void *arg)
{
    struct taker *t = arg;

    if (t->f->fs->lock(t->f, WF_FS_EXCLUSIVE, t->first, 10) != MPI_SUCCESS)
        abort();
    t->seen = *t->flag;
    if (t->f->fs->unlock(t->f, t->first, 10) != MPI_SUCCESS)
        abort();
    return NULL;
}

/* Two files of one process exclude each other, in a range alone, and a lock
 * outlives the close of a third one. */
static void locks_belong_to_the_open_file(void **state)
{
    struct wf_fs_file *a = open_new(), *b = open_new();
    _Atomic bool flag = false;
    struct taker far = {b, 1000, &flag, true}, near = {b, 5, &flag, false};
    pthread_t t;

    assert_int_equal(a->fs->lock(a, WF_FS_EXCLUSIVE, 0, 10), MPI_SUCCESS);
    close_file(open_new());
    take_and_look(&far); /* another range is free */
    assert_false(far.seen);
    assert_int_equal(pthread_create(&t, NULL, take_and_look, &near), 0);
    flag = true;
    assert_int_equal(a->fs->unlock(a, 0, 10), MPI_SUCCESS);
    pthread_join(t, NULL);
    assert_true(near.seen);
    assert_int_equal(a->fs->lock(a, WF_FS_EXCLUSIVE, 7, 0), MPI_SUCCESS);
    assert_int_equal(a->fs->lock(a, WF_FS_SHARED, 7, UINT64_MAX), MPI_SUCCESS);
    assert_int_equal(a->fs->unlock(a, 0, 0), MPI_SUCCESS);
    take_and_look(&near);
    close_file(a);
    close_file(b);
}

static void the_file_system_has_a_name_and_a_block(void **state)
{
    struct wf_fs_file *f = open_new();
    struct wf_fs_identity id = {.name = NULL};

    assert_int_equal(f->fs->identify(f, &id), MPI_SUCCESS);
    assert_non_null(id.name);
    assert_true(id.block >= 4096 && !(id.block & (id.block - 1)));
    close_file(f);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_case, close_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(blocks_go_to_one_run_of_the_file),
        CASE(short_counts_are_continued),
        CASE(a_signal_between_is_no_error),
        CASE(a_read_ends_at_the_end_of_the_file),
        CASE(what_was_written_before_an_error_is_told),
        CASE(reading_fails_with_what_came_before),
        CASE(a_forgotten_file_is_opened_again_once),
        CASE(faults_of_every_call_are_reported),
        CASE(classes_of_errnos),
        CASE(open_tells_why_not),
        CASE(access_follows_the_mode),
        CASE(sizes_are_set),
        CASE(offsets_have_63_bits),
        CASE(a_call_is_asked_for_what_it_can_move),
        CASE(no_locks_are_told_in_plain_words),
        CASE(locks_belong_to_the_open_file),
        CASE(the_file_system_has_a_name_and_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
