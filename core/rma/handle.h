/* Windows as the bindings see them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_HANDLE_H
#define WF_RMA_HANDLE_H

#include "base.h"

struct wf_win;

/* Returns the window of a handle, or NULL. */
struct wf_win *wf_win_of(MPI_Win);
/* Returns the engine that the window is on. */
struct wf_instance *wf_win_engine(const struct wf_win *);

#endif
