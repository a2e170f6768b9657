/* Windows of calls that find theirs inline (core/api/rules.py, APART).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CHECK_WIN_H
#define WF_CHECK_WIN_H

#include "rma/win.h"

/* wf_win_of and wf_win_engine inline. */
static inline struct wf_win *wf_api_win(MPI_Win h)
{
    struct wf_win *win = (struct wf_win *)h;

    return wf_likely(wf_is_object(h, WF_KIND_WIN)) && !win->freed ? win : NULL;
}

static inline struct wf_instance *wf_api_win_engine(const struct wf_win *win)
{
    return win->wf;
}

#endif
