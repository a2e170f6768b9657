/* This file reads the page of a process: any bytes give lines, and none gives
 * control characters that a terminal would obey. See state_report.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "state_report.h"

enum {
    THREADS_MOST = 64, /* lines of one rank */
    POLLS_STALE = 1    /* s; a poll before that is over */
};

static uint64_t read_word(const struct wf_state_slot *s, enum wf_state_word w)
{
    return wf_state_le(s->word[w]);
}

/* Copy a text as printable ASCII with an end, whatever it was. */
static void take_text(char *to, const char *from, size_t size)
{
    size_t i;

    for (i = 0; i + 1 < size && from[i]; i++)
        to[i] = from[i] < ' ' || from[i] > '~' ? '?' : from[i];
    to[i] = 0;
}

static int64_t rank_or_tag(uint64_t value)
{
    int64_t v = (int64_t)value;

    return value == WF_STATE_NOT_KNOWN || v < WF_STATE_ANY || v > INT32_MAX
               ? INT64_MAX
               : v;
}

static double seconds_between(uint64_t now, uint64_t then)
{
    return now > then ? (double)(now - then) / 1e9 : 0;
}

static void take_slot(struct rank_state *w, const struct wf_state_slot *s,
                      uint64_t now)
{
    uint64_t operation = read_word(s, WF_STATE_OPERATION);

    w->kind = (enum wf_state_kind)read_word(s, WF_STATE_KIND);
    w->operation = operation < WF_STATE_OPERATIONS
                       ? (enum wf_state_operation)operation
                       : WF_STATE_UNKNOWN;
    w->thread = read_word(s, WF_STATE_THREAD);
    w->seconds = seconds_between(now, read_word(s, WF_STATE_SINCE));
    w->failed_polls = read_word(s, WF_STATE_FAILED_POLLS);
    w->peer = rank_or_tag(read_word(s, WF_STATE_PEER));
    w->world_rank = rank_or_tag(read_word(s, WF_STATE_WORLD));
    w->tag = rank_or_tag(read_word(s, WF_STATE_TAG));
    w->bytes = read_word(s, WF_STATE_BYTES);
    w->context = read_word(s, WF_STATE_CONTEXT);
    w->number = read_word(s, WF_STATE_NUMBER);
    w->active = read_word(s, WF_STATE_ACTIVE);
    w->count = read_word(s, WF_STATE_COUNT);
    take_text(w->call, s->call, sizeof w->call);
    take_text(w->comm, s->comm, sizeof w->comm);
}

/* Returns whether this record is about the rank at `place` and up to date. */
static bool is_current(const struct wf_state_slot *s, int place, uint64_t now)
{
    uint64_t kind = read_word(s, WF_STATE_KIND);

    if (read_word(s, WF_STATE_PLACE) != (uint64_t)place)
        return false;
    return kind == WF_STATE_WAITS ||
           (kind == WF_STATE_POLLS &&
            seconds_between(now, read_word(s, WF_STATE_LAST)) < POLLS_STALE);
}

/* Keep the innermost wait of each thread, which began last; a call that only
 * polls does not count beside one that waits. */
static void keep_innermost(struct rank_state *out, int room, int *n,
                           const struct rank_state *w)
{
    for (int i = 0; i < *n; i++) {
        if (out[i].thread != w->thread)
            continue;
        if (w->kind == WF_STATE_POLLS)
            return;
        if (out[i].kind == WF_STATE_POLLS || w->seconds <= out[i].seconds)
            out[i] = *w;
        return;
    }
    if (*n < room)
        out[(*n)++] = *w;
}

bool wf_state_report_judge(struct wf_state_head *page, int ranks, int place,
                    uint64_t now, struct rank_state *out, int room, int *n)
{
    uint64_t slots = wf_state_slot_count((uint64_t)ranks);
    uint64_t phase = wf_state_le(wf_state_page_places(page)[place].phase);
    uint64_t pid = wf_state_le(page->pid), process = wf_state_le(page->process);
    struct rank_state common = {
        .phase = phase <= WF_STATE_BETWEEN ? (enum wf_state_phase)phase
                                           : WF_STATE_INSIDE,
        .entered = pid != 0,
        .pid = pid <= INT32_MAX ? (int)pid : 0,
        .process = process > ' ' && process < 127 ? (char)process : 0,
        .dropped =
            atomic_load_explicit(&page->dropped, memory_order_relaxed) != 0};

    *n = 0;
    for (uint64_t i = 0; i < slots; i++) {
        const struct wf_state_slot *s = &wf_state_page_slots(page, ranks)[i];
        struct rank_state w = common;
        if (!is_current(s, place, now))
            continue;
        take_slot(&w, s, now);
        keep_innermost(out, room, n, &w);
    }
    if (*n == 1)
        out[0].thread = 0;
    if (*n == 0)
        out[(*n)++] = common;
    return true;
}

static struct rank_state_line *add_line(struct rank_state_lines *lines)
{
    if (lines->n == lines->room) {
        size_t room = lines->room ? 2 * lines->room : 64;
        struct rank_state_line *list =
            realloc(lines->list, room * sizeof *list);
        if (!list)
            return NULL;
        lines->list = list;
        lines->room = room;
    }
    memset(&lines->list[lines->n], 0, sizeof *lines->list);
    return &lines->list[lines->n++];
}

/* Add what the system knows of a process on this host. */
static void look_at_process(const struct rank *r, struct rank_state *w)
{
    if (r->remote_page)
        return;
    w->pid = w->pid ? w->pid : r->pid;
    w->process = r->pid ? wf_state_page_process_state(w->pid) : 0;
}

static bool add_state(struct job *job, const struct rank *r, int rank,
                const struct rank_state *w, struct rank_state_lines *lines)
{
    struct rank_state_line *line = add_line(lines);

    if (!line)
        return false;
    line->rank = rank;
    line->state = *w;
    look_at_process(r, &line->state);
    wf_state_report_text(job, r, &line->state, false, line->text,
                         sizeof line->text);
    wf_state_report_text(job, r, &line->state, true, line->brief,
                         sizeof line->brief);
    return true;
}

bool wf_state_report_read(struct job *job, const struct rank *r,
                   struct rank_state_lines *lines)
{
    struct rank_state all[THREADS_MOST], nothing = {0};
    struct wf_state_head *page =
        r->ended            ? NULL
        : r->remote_page    ? r->remote_page
        : r->state_page < 0 ? NULL
                            : wf_state_page_read(r->state_page, r->rank_count);
    bool good = true;
    uint64_t now = page && page->now ? wf_state_le(page->now) : wf_job_now();

    for (int i = 0; good && i < r->rank_count; i++) {
        int n = 1;
        all[0] = nothing;
        if (page)
            good = wf_state_report_judge(page, r->rank_count, i, now, all,
                                         THREADS_MOST, &n);
        for (int k = 0; good && k < n; k++)
            good = add_state(job, r, r->id + i, &all[k], lines);
    }
    if (page != r->remote_page)
        free(page);
    return good;
}
