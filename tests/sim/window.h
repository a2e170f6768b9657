/* Windows of the ranks of a simulated job, over MPI_COMM_WORLD, without the
 * collective calls that make one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_WINDOW_H
#define SIM_WINDOW_H

#include <stdlib.h>

#include "rma/win.h"
#include "sim/fabric.h"

/* Makes the window of one rank; bases: of all. Each has so many bytes. */
static inline struct wf_win *sim_make_window(struct wf_instance *wf,
                                             void *const *bases, int ranks,
                                             uint64_t bytes)
{
    struct wf_win *win = wf_win_begin(wf, (size_t)ranks);

    if (!win)
        abort();
    win->comm = wf->world;
    wf_comm_get(win->comm);
    win->flavor = MPI_WIN_FLAVOR_CREATE;
    win->unit = 1;
    win->base = bases[win->comm->rank];
    win->size = (MPI_Aint)bytes;
    for (int i = 0; i < ranks; i++)
        win->members[i] = (struct wf_win_member){.size = bytes, .unit = 1};
    if (!wf_windows_add(win))
        abort();
    return win;
}

static inline void sim_free_window(struct wf_win *win)
{
    wf_windows_remove(win);
    wf_win_put(win);
}

#endif
