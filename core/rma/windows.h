/* The windows of an engine, by context id: where a message finds its window.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_WINDOWS_H
#define WF_RMA_WINDOWS_H

#include "process/event_source.h"
#include "protocol/active.h"

struct wf_win;
struct wf_win_peer;

enum { WF_WIN_BUCKETS = 32 };

/* LOCK  the API section of the engine. */
struct wf_windows {
    struct wf_active_handler handler;
    struct wf_instance *wf;
    uint32_t count;
    struct wf_list buckets[WF_WIN_BUCKETS];
    struct wf_win *failed;         /* freed with an error; or NULL */
    struct wf_list listed;         /* peers whose list has messages */
    struct wf_event_source source; /* sends them; there while there are any */
};

/* Puts a window into the table of its engine, which is made with the first one
 * and freed with the last. False: out of memory. */
bool wf_windows_add(struct wf_win *);
void wf_windows_remove(struct wf_win *);
/* Keeps a window that was freed with an error, which is raised on it, until
 * there is another window. It drops the caller's reference then. */
void wf_windows_keep_failed(struct wf_win *);
/* Notes that a peer's list has messages: they leave with the next poll at the
 * latest. So a program that waits for something else, or looks at its memory
 * between calls, holds back no operation. */
void wf_windows_note_list(struct wf_win_peer *);
/* Returns the window with this context id, or NULL. */
struct wf_win *wf_windows_find(struct wf_windows *, uint32_t context);

#endif
