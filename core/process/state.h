/* The place where a rank tells its launcher what it waits for: report/state.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_STATE_H
#define WF_PROCESS_STATE_H

#include <stdint.h>

struct wf_state_head; /* report/state_page.h */

/* The mapped state page of a rank. */
struct wf_state {
    struct wf_state_head *head; /* NULL: there is no page */
    uint32_t place;             /* the index of this rank in its process */
};

#endif
