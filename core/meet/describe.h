/* A group, as its root describes it to the root of another one.
 *
 *   "WFG1"  rank of the root  number of members
 *   each: job tag  index  size of the job  bytes of the card  card
 *
 * All numbers have 32 bits, little-endian.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_DESCRIBE_H
#define WF_MEET_DESCRIBE_H

#include "base.h"

struct wf_comm;
struct wf_group;
struct wf_instance;

/* Describes the group of an intracommunicator: collective. At root *bytes is
 * malloc'ed. */
int wf_describe_group(struct wf_comm *, int root, unsigned char **bytes,
                      size_t *n);

/* Another group, as this process knows it. */
struct wf_met_group {
    struct wf_group *group;
    int root;
    uint32_t *numbers; /* of its members */
};

/* Makes the members of a description known; `key` is that of the pair. They
 * stay connected until wf_met_group_drop, or longer if a communicator names
 * them. Called in the section of the first engine. */
int wf_describe_adopt(struct wf_instance *home, const void *bytes, size_t n,
                      const unsigned char *key, struct wf_met_group *);
/* Forgets those of these processes of other jobs that no communicator names.
 * Either nothing is on its way to them or from them, or it is abrupt: one that
 * still waits for this process counts it as lost. */
void wf_describe_forget(struct wf_instance *home, const uint32_t *numbers,
                        int n, bool abrupt);
/* Ends that; members that no communicator names, because no one was made, are
 * forgotten abruptly. */
void wf_met_group_drop(struct wf_instance *home, struct wf_met_group *);

#endif
