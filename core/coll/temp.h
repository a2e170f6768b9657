/* Scratch memory of schedules. Large blocks are kept: what is given back to the
 * system comes again as pages to be cleared, which takes longer than filling
 * them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_TEMP_H
#define WF_COLL_TEMP_H

#include <stddef.h>

struct wf_instance;

struct wf_temp {
    struct wf_temp *next;
    size_t bytes; /* of data */
    _Alignas(16) char data[];
};

/* Returns a block with room for at least that many bytes in its `data`, which
 * the caller gives back; NULL: out of memory. */
struct wf_temp *wf_temp_get(struct wf_instance *, size_t bytes);
void wf_temp_give_back(struct wf_instance *, struct wf_temp *);

#endif
