/* Pieces of a file, and windows of it (core/io/pieces.c), beside an array of
 * bytes; and records with any numbers in them, as another process may send.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include "../dice.h"
#include "io/fs.h"
#include "io/pieces.h"
#include "io/view.h"
#include "object/error.h"

enum { WINDOW = 1000, FIRST = 5000, MANY = 40 };

static struct wf_window window;

static int open_case(void **state)
{
    assert_true(wf_window_place(&window, FIRST, WINDOW));
    return enter_directory(state);
}

static int close_case(void **state)
{
    wf_window_free(&window);
    return leave_directory(state);
}

/* Random pieces that grow; returns their bytes. */
static uint64_t roll_pieces(struct wf_pieces *p, uint64_t *n)
{
    uint64_t at = FIRST + roll_dice(50), bytes = 0;

    for (*n = 0; *n < MANY; (*n)++) {
        struct wf_pieces *q = &p[*n];

        q->offset = at;
        q->bytes = 1 + roll_dice(90);
        q->count = 1 + roll_dice(4);
        q->stride = q->bytes + roll_dice(70);
        at += (q->count - 1) * q->stride + q->bytes;
        if (at > FIRST + WINDOW)
            break;
        bytes += q->count * q->bytes;
        at += roll_dice(60);
    }
    return bytes;
}

static void model_put(char *model, const struct wf_pieces *p, uint64_t n,
                      const char *data)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < p[i].count; k++)
            for (uint64_t b = 0; b < p[i].bytes; b++)
                model[p[i].offset + k * p[i].stride + b - FIRST] = *data++;
}

static struct wf_fs_file *open_file(void)
{
    struct wf_fs_open how = {"file", MPI_MODE_RDWR | MPI_MODE_CREATE, 0600};
    struct wf_fs_file *f = NULL;

    assert_int_equal(wf_fs_posix.open(&how, &f), MPI_SUCCESS);
    return f;
}

/* Data go through a window to the file and back; what is between stays. */
static void windows_write_pieces_and_nothing_else(void **state)
{
    struct wf_fs_file *f = open_file();
    char model[WINDOW], data[WINDOW], got[WINDOW], file[WINDOW];
    struct iovec v = {model, WINDOW}, back = {file, WINDOW};
    struct wf_pieces p[MANY];
    uint64_t n, bytes, done;

    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < WINDOW; i++) {
            model[i] = (char)roll_dice(255);
            data[i] = (char)roll_dice(255);
        }
        f->fs->pwritev(f, &v, 1, FIRST, &done);
        bytes = roll_pieces(p, &n);
        assert_true(wf_window_place(&window, FIRST, WINDOW));
        assert_true(wf_window_holds(&window, p, n, bytes));
        wf_window_mark(&window, p, n);
        wf_window_put(&window, p, n, data);
        assert_int_equal(wf_window_write(&window, f), MPI_SUCCESS);
        assert_true(window.end == UINT64_MAX);
        model_put(model, p, n, data);
        f->fs->preadv(f, &back, 1, FIRST, &done);
        assert_memory_equal(file, model, WINDOW);

        assert_true(wf_window_place(&window, FIRST, WINDOW));
        memset(window.buf, 0, WINDOW);
        wf_window_mark(&window, p, n);
        assert_int_equal(wf_window_read(&window, f), MPI_SUCCESS);
        assert_int_equal(wf_window_get(&window, p, n, window.end, got), bytes);
        assert_memory_equal(got, data, bytes);
    }
    f->fs->close(f);
}

/* A file that ends inside the window: what is in front of its end counts. */
static void a_read_stops_at_the_end_of_the_file(void **state)
{
    struct wf_fs_file *f = open_file();
    char data[WINDOW] = {0};
    struct wf_pieces p = {FIRST, 10, 30, 20};

    wf_window_mark(&window, &p, 1);
    for (uint64_t size = 0; size <= 600; size += 7) {
        uint64_t want = size / 30 * 10 + (size % 30 < 10 ? size % 30 : 10);
        assert_int_equal(f->fs->truncate(f, FIRST + size), MPI_SUCCESS);
        window.end = UINT64_MAX;
        assert_int_equal(wf_window_read(&window, f), MPI_SUCCESS);
        assert_int_equal(wf_window_get(&window, &p, 1, window.end, data),
                         size >= 580 ? 200 : want);
    }
    f->fs->close(f);
}

static void records_that_make_no_sense_are_refused(void **state)
{
    static const uint64_t odd[] = {0, 1, 10, WINDOW, FIRST - 1, FIRST,
                                   FIRST + WINDOW - 1, FIRST + WINDOW,
                                   INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
    enum { ODD = sizeof odd / sizeof *odd };
    struct wf_pieces good[2] = {{FIRST, 10, 20, 3}, {FIRST + 100, 5, 0, 1}};

    assert_true(wf_window_holds(&window, good, 2, 35));
    assert_false(wf_window_holds(&window, good, 2, 34));
    assert_false(wf_window_holds(&window, good, 1, 35));
    for (int i = 0; i < ODD * ODD * ODD * ODD; i++) {
        struct wf_pieces p = {odd[i % ODD], odd[i / ODD % ODD],
                              odd[i / ODD / ODD % ODD],
                              odd[i / ODD / ODD / ODD]};
        for (int k = 0; k < ODD; k++) {
            if (!wf_window_holds(&window, &p, 1, odd[k]))
                continue;
            assert_true(p.offset >= FIRST && p.count <= WINDOW &&
                        p.bytes <= WINDOW);
            assert_int_equal(p.count * p.bytes, odd[k]);
            wf_window_mark(&window, &p, 1); /* the sanitizer looks on */
        }
    }
}

/* ---- lists --------------------------------------------------------------- */

static void linear_views_have_one_piece(void **state)
{
    struct wf_view v = {.linear = true, .start = 77};
    struct wf_piece_list l = {NULL};

    assert_true(wf_pieces_list(&l, &v, 23, 1000));
    assert_int_equal(l.n, 1);
    assert_int_equal(l.p->offset, 100);
    assert_int_equal(l.p->bytes, 1000);
    assert_int_equal(l.p->count, 1);
    assert_true(wf_pieces_list(&l, &v, 0, 0));
    assert_int_equal(l.n, 0);
    wf_pieces_free(&l);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_case, close_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(windows_write_pieces_and_nothing_else),
        CASE(a_read_stops_at_the_end_of_the_file),
        CASE(records_that_make_no_sense_are_refused),
        CASE(linear_views_have_one_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
