/* Waits for words of shared windows, and the locks that are such words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_MAP_WAIT_H
#define WF_RMA_MAP_WAIT_H

#include "rma/map.h"

/* A process is gone: those that wait for it do not wait for ever. */
void wf_map_lose(struct wf_win *, struct weft_loc *);
/* Prepares map->waiting. False: out of memory. */
bool wf_map_init_waiting(struct wf_win *);

/* The lock on a member, and on all, as words; see lock.c. */
int wf_map_lock(struct wf_win_peer *, bool exclusive);
void wf_map_unlock(struct wf_win_peer *, bool exclusive);
int wf_map_lock_all(struct wf_win *);
void wf_map_unlock_all(struct wf_win *);

#endif
