/* The windows of an engine, by context id: where a message finds its window.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_WINDOWS_H
#define WF_RMA_WINDOWS_H

#include "protocol/active.h"

struct wf_win;

enum { WF_WIN_BUCKETS = 32 };

/* LOCK  the API section of the engine. */
struct wf_windows {
    struct wf_active_handler handler;
    struct wf_instance *wf;
    uint32_t count;
    struct wf_list buckets[WF_WIN_BUCKETS];
};

/* Puts a window into the table of its engine, which is made with the first one
 * and freed with the last. False: out of memory. */
bool wf_windows_add(struct wf_win *);
void wf_windows_remove(struct wf_win *);
/* Returns the window with this context id, or NULL. */
struct wf_win *wf_windows_find(struct wf_windows *, uint32_t context);

#endif
