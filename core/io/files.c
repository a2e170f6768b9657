/* The state of this chapter in a rank, and the error handler of
 * MPI_FILE_NULL.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/files.h"

#include <stdlib.h>

#include "io/datarep.h"
#include "io/file.h"
#include "io/owner.h"
#include "io/wait.h"
#include "io/worker.h"
#include "object/env.h"
#include "object/errhandler.h"

static struct wf_file *first_open(struct wf_files_state *s, int engine)
{
    struct wf_list *l = &s->open[engine];

    return wf_list_empty(l) ? NULL
                            : wf_container(l->next, struct wf_file, link);
}

static bool has_no_task(void *engine)
{
    return !wf_io_is_idle || wf_io_is_idle(engine);
}

/* Whether no access to the files of a list is under way. */
static bool are_idle(void *files)
{
    const struct wf_list *list = files;

    for (const struct wf_list *l = list->next; l != list; l = l->next)
        if (wf_container(l, struct wf_file, link)->under_way)
            return false;
    return true;
}

/* Waits until no thread accesses a file that the program has left open, and for
 * a time until collective accesses have ended: others may not have joined one.
 * Members that have no access under way serve this one until all are here. */
static void finish_state(struct wf_files *base)
{
    struct wf_files_state *s = (struct wf_files_state *)base;

    for (int i = 0; i < WF_ENGINES_ALL; i++) {
        struct wf_file *f = first_open(s, i);

        if (f)
            WF_SECTION(api, f->wf) {
                wf_file_wait_at_end(f, are_idle, &s->open[i]);
                wf_file_wait(f, UINT32_MAX, has_no_task, f->wf);
            }
    }
}

/* Releases the files that the program has left open, but for those of which a
 * collective access is unfinished. */
static void release_files(struct wf_files_state *s)
{
    for (int i = 0; i < WF_ENGINES_ALL; i++) {
        struct wf_list *l = s->open[i].next, *next;

        for (; l != &s->open[i]; l = next) {
            struct wf_file *f = wf_container(l, struct wf_file, link);
            struct wf_instance *wf = f->wf;

            next = l->next;
            WF_SECTION(api, wf)
                s->release(f);
        }
    }
}

static void free_state(struct wf_files *base)
{
    struct wf_files_state *s = (struct wf_files_state *)base;

    release_files(s);
    while (s->lost) {
        struct wf_file *f = s->lost;

        s->lost = f->next_lost;
        wf_file_put(f);
    }
    wf_errhandler_put(s->null_handler);
    for (struct wf_datarep *rep; (rep = s->registered);) {
        s->registered = rep->next;
        free(rep);
    }
    free(s);
}

static struct wf_files *make_state(void)
{
    struct wf_files_state *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->base.finish = finish_state;
    s->base.free = free_state;
    for (int i = 0; i < WF_ENGINES_ALL; i++)
        wf_list_init(&s->open[i]);
    s->null_handler = wf_errhandler_of(MPI_ERRORS_RETURN);
    return &s->base;
}

struct wf_files_state *wf_files_find_state(struct wf_instance *wf)
{
    struct wf_files *s = NULL;

    if (wf && wf->rank->env)
        WF_SECTION(objects, wf->rank->env)
            s = wf->rank->files;
    return (struct wf_files_state *)s;
}

struct wf_files_state *wf_files_state(struct wf_instance *wf)
{
    struct wf_files *s;

    WF_SECTION(objects, wf->rank->env) {
        s = wf->rank->files;
        if (!s)
            wf->rank->files = s = make_state();
    }
    if (s)
        wf_owner_register(wf, &wf_file_owner_kind);
    return (struct wf_files_state *)s;
}

void *wf_file_null(struct wf_instance *wf)
{
    struct wf_files_state *s = wf_files_find_state(wf);

    return s ? s->null_handler : wf_errhandler_of(MPI_ERRORS_RETURN);
}

void wf_files_note_open(struct wf_file *f, void (*release)(struct wf_file *))
{
    struct wf_files_state *s = wf_files_state(f->wf);

    wf_list_append(&s->open[f->wf->number], &f->link);
    WF_SECTION(objects, f->wf->rank->env)
        s->release = release;
}

void wf_files_note_close(struct wf_file *f)
{
    wf_list_remove(&f->link);
    if (wf_list_empty(&wf_files_state(f->wf)->open[f->wf->number]) && wf_io_end)
        wf_io_end(f->wf);
}
