/* The progress threads, called helpers in names: see helper.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HELPER_H
#define WF_HELPER_H

#include "base.h"

struct wf_instance;

/* The progress threads that act at any time. A program gets them with
 * -Wl,-u,weft_helpers, which mpicc adds, or by a nonblocking call; a static one
 * without such a call has no progress thread, nor the thread functions of
 * libc. */
struct wf_helpers {
    /* Start those that the configuration asks for (core.progress,
     * transport.NAME.progress), if the section is on for good. Called once
     * nothing is done outside of the section any more. */
    void (*start)(struct wf_instance *);
};
extern const struct wf_helpers weft_helpers __attribute__((weak));

#endif
