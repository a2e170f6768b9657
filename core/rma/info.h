/* Hints of windows.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_INFO_H
#define WF_RMA_INFO_H

#include <stdbool.h>

struct wf_info;
struct wf_win;

/* Takes over the hints of info, which may be NULL. Returns an error class. */
int wf_win_set_hints(struct wf_win *, const struct wf_info *);

#endif
