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
#include "io/worker.h"
#include "object/errhandler.h"

static void free_state(struct wf_files *base)
{
    struct wf_files_state *s = (struct wf_files_state *)base;

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

struct wf_files_state *wf_files_state(struct wf_instance *wf)
{
    struct wf_files_state *s = (struct wf_files_state *)wf->rank->files;

    if (!s && (s = calloc(1, sizeof *s)) != NULL) {
        s->base.free = free_state;
        s->null_handler = wf_errhandler_of(MPI_ERRORS_RETURN);
        wf->rank->files = &s->base;
        wf_owner_register(wf, &wf_file_owner_kind);
    }
    return s;
}

void *wf_file_null(struct wf_instance *wf)
{
    struct wf_files_state *s = wf ? (void *)wf->rank->files : NULL;

    return s ? s->null_handler : wf_errhandler_of(MPI_ERRORS_RETURN);
}

void wf_files_count_open(struct wf_instance *wf)
{
    wf_files_state(wf)->open[wf->number]++;
}

void wf_files_count_close(struct wf_instance *wf)
{
    struct wf_files_state *s = wf_files_state(wf);

    WF_ASSERT(s && s->open[wf->number] > 0);
    if (--s->open[wf->number] == 0 && wf_io_end)
        wf_io_end(wf);
}
