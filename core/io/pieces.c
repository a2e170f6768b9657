/* Pieces of a file, and windows of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "io/fs.h"
#include "io/view.h"
#include "object/error.h"
#include "os/tuning.h"
#include "report/assert.h"

enum { WORD = 64, RUNS = 64, ROOM_FIRST = 16 };

/* ---- lists --------------------------------------------------------------- */

static bool extend_last(struct wf_piece_list *l, uint64_t offset,
                        uint64_t bytes)
{
    struct wf_pieces *last = l->n ? &l->p[l->n - 1] : NULL;

    if (!last)
        return false;
    if (last->count == 1 && last->offset + last->bytes == offset) {
        last->bytes += bytes;
        return true;
    }
    if (last->bytes != bytes)
        return false;
    if (last->count == 1)
        last->stride = offset - last->offset;
    if (last->offset + last->count * last->stride != offset)
        return false;
    last->count++;
    return true;
}

static bool add_piece(struct wf_piece_list *l, uint64_t offset, uint64_t bytes)
{
    struct wf_pieces *more;

    if (extend_last(l, offset, bytes))
        return true;
    if (l->n == l->room) {
        uint64_t room = l->room ? 2 * l->room : ROOM_FIRST;
        more = realloc(l->p, (size_t)room * sizeof *more);
        if (!more)
            return false;
        l->p = more;
        l->room = room;
    }
    l->p[l->n++] = (struct wf_pieces){offset, bytes, 0, 1};
    return true;
}

bool wf_pieces_list(struct wf_piece_list *l, const struct wf_view *v,
                    uint64_t stream, uint64_t bytes)
{
    struct wf_run runs[RUNS];

    l->n = 0;
    while (bytes > 0) {
        int n = wf_view_list_runs(v, stream, bytes, runs, RUNS);

        WF_ASSERT(n > 0);
        for (int i = 0; i < n; i++) {
            if (!add_piece(l, runs[i].offset, runs[i].bytes))
                return false;
            stream += runs[i].bytes;
            bytes -= runs[i].bytes;
        }
    }
    return true;
}

void wf_pieces_free(struct wf_piece_list *l)
{
    free(l->p);
    *l = (struct wf_piece_list){NULL};
}

/* ---- windows ------------------------------------------------------------- */

static size_t count_words(uint64_t bytes)
{
    return (size_t)((bytes + WORD - 1) / WORD);
}

bool wf_window_place(struct wf_window *w, uint64_t first, uint64_t bytes)
{
    if (!w->buf || w->bytes < bytes) {
        wf_window_free(w);
        w->buf = malloc((size_t)bytes);
        w->used = malloc(count_words(bytes) * sizeof *w->used);
    }
    if (!w->buf || !w->used) {
        wf_window_free(w);
        return false;
    }
    memset(w->used, 0, count_words(bytes) * sizeof *w->used);
    w->first = first;
    w->bytes = bytes;
    w->end = UINT64_MAX;
    return true;
}

void wf_window_free(struct wf_window *w)
{
    free(w->buf);
    free(w->used);
    *w = (struct wf_window){NULL};
}

/* Whether one record lies between two offsets, and its pieces do not overlap.
 * Any numbers may be in it. */
static bool is_between(const struct wf_pieces *p, uint64_t first, uint64_t end)
{
    uint64_t length;

    return p->count > 0 && p->bytes > 0 && p->offset >= first &&
           (p->count == 1 || p->stride >= p->bytes) &&
           !__builtin_mul_overflow(p->count - 1, p->stride, &length) &&
           !__builtin_add_overflow(length, p->bytes, &length) &&
           p->offset < end && length <= end - p->offset;
}

bool wf_window_holds(const struct wf_window *w, const struct wf_pieces *p,
                     uint64_t n, uint64_t bytes)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (!is_between(&p[i], w->first, w->first + w->bytes))
            return false;
        if (p[i].count > bytes || sum > bytes)
            return false;
        sum += p[i].count * p[i].bytes; /* both fit the window */
    }
    return sum == bytes;
}

static void mark_piece(struct wf_window *w, uint64_t at, uint64_t bytes)
{
    while (bytes > 0) {
        uint64_t bit = at % WORD;
        uint64_t n = bytes < WORD - bit ? bytes : WORD - bit;
        uint64_t ones = n == WORD ? UINT64_MAX : (UINT64_C(1) << n) - 1;

        w->used[at / WORD] |= ones << bit;
        at += n;
        bytes -= n;
    }
}

void wf_window_mark(struct wf_window *w, const struct wf_pieces *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < p[i].count; k++)
            mark_piece(w, p[i].offset + k * p[i].stride - w->first, p[i].bytes);
}

void wf_window_put(struct wf_window *w, const struct wf_pieces *p, uint64_t n,
                   const char *data)
{
    for (uint64_t i = 0; i < n; i++) {
        char *to = w->buf + (p[i].offset - w->first);

        for (uint64_t k = 0; k < p[i].count; k++) {
            memcpy(to, data, (size_t)p[i].bytes);
            to += p[i].stride;
            data += p[i].bytes;
        }
    }
}

uint64_t wf_window_get(const struct wf_window *w, const struct wf_pieces *p,
                       uint64_t n, uint64_t end, char *data)
{
    char *from = data;

    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < p[i].count; k++) {
            uint64_t offset = p[i].offset + k * p[i].stride;
            uint64_t bytes = p[i].bytes;

            if (offset >= end)
                return (uint64_t)(data - from);
            if (bytes > end - offset)
                bytes = end - offset;
            memcpy(data, w->buf + (offset - w->first), (size_t)bytes);
            data += bytes;
        }
    return (uint64_t)(data - from);
}

/* ---- transfers ----------------------------------------------------------- */

/* Returns the first byte of the window from `at` on that is used (or not); its
 * length if there is none. */
static uint64_t find_used(const struct wf_window *w, uint64_t at, bool used)
{
    uint64_t flip = used ? 0 : UINT64_MAX;

    while (at < w->bytes) {
        uint64_t word = (w->used[at / WORD] ^ flip) >> at % WORD;

        if (word) {
            at += (uint64_t)__builtin_ctzll(word);
            return at < w->bytes ? at : w->bytes;
        }
        at += WORD - at % WORD;
    }
    return w->bytes;
}

/* Returns the end of a run of used bytes. Gaps up to `gap` bytes are part of
 * it. */
static uint64_t find_run_end(const struct wf_window *w, uint64_t at,
                             uint64_t gap)
{
    uint64_t end = find_used(w, at, false), next;

    while ((next = find_used(w, end, true)) < w->bytes && next - end <= gap)
        end = find_used(w, next, false);
    return end;
}

int wf_window_write(struct wf_window *w, struct wf_fs_file *f)
{
    uint64_t at = 0, end, done;
    int rc = MPI_SUCCESS;

    while (!rc && (at = find_used(w, at, true)) < w->bytes) {
        end = find_run_end(w, at, 0);
        struct iovec v = {w->buf + at, (size_t)(end - at)};

        rc = f->fs->pwritev(f, &v, 1, w->first + at, &done);
        if (rc)
            w->end = w->first + at + done;
        at = end;
    }
    return rc;
}

int wf_window_read(struct wf_window *w, struct wf_fs_file *f)
{
    uint64_t at = 0, end, done;
    int rc = MPI_SUCCESS;

    while (w->end == UINT64_MAX && (at = find_used(w, at, true)) < w->bytes) {
        end = find_run_end(w, at, WF_IO_GAP_READ);
        struct iovec v = {w->buf + at, (size_t)(end - at)};

        rc = f->fs->preadv(f, &v, 1, w->first + at, &done);
        if (done < end - at)
            w->end = w->first + at + done;
        at = end;
    }
    return rc;
}
