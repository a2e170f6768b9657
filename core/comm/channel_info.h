/* The info keys of real-time channels (channel.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_CHANNEL_INFO_H
#define WF_COMM_CHANNEL_INFO_H

#include "base.h"

struct wf_info;

/* The wishes of a program, from its info keys. */
struct wf_channel_terms {
    bool wanted;
    uint64_t bytes; /* of the largest message */
    uint64_t rate;  /* starts per second from one member to another */
};
/* Read the terms from the keys of info, which may be NULL. MPI_ERR_INFO_VALUE:
 * a value is none of its key's. */
int wf_channel_read(const struct wf_info *info, struct wf_channel_terms *);
/* The same for a communicator that gets no channel: only the values are
 * checked. */
int wf_channel_check(const struct wf_info *info);
/* Whether a key is one of those. */
bool wf_channel_has_key(const char *key);
/* Remove the keys from info, which may be NULL: they are not in force. */
void wf_channel_remove_keys(struct wf_info *info);
/* Put those that the terms say. */
void wf_channel_put_keys(struct wf_info *, const struct wf_channel_terms *);

#endif
