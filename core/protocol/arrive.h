/* The arrival unit matches a container and decides where its payload goes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ARRIVE_H
#define WF_PROTOCOL_ARRIVE_H

#include "base.h"

struct weft_core;
struct weft_loc;

/* Deliver a container that a plugin has received. */
int wf_arrive(struct weft_core *, struct weft_loc *, const weft_hdr *,
              const void *data, size_t have, weft_sink **sink);

/* Tell the plugin to stop reading, for lack of memory. Returns WEFT_EAGAIN. */
int wf_arrive_stalled(struct weft_core *, struct weft_loc *);

/* Deliver a container that is neither sequenced nor checksummed, or whose
 * numbers and sums were checked. */
int wf_arrive_plain(struct weft_core *, struct weft_loc *, const weft_hdr *,
                    const void *data, size_t have, weft_sink **sink);

/* The same for a whole message with a short header, which is in registers:
 * WEFT_DONE or WEFT_EAGAIN. */
int wf_arrive_words(struct weft_core *, struct weft_loc *, uint64_t h0,
                    uint64_t h1, uint64_t h2, const void *data);

#endif
