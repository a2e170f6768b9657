/* The beginning and the end of an instance (process/instance.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INSTANCE_H
#define WF_INSTANCE_H

#include "base.h"

struct wf_instance;

/* The parts of a new instance, which becomes the owner of boot and config. */
struct wf_instance_params {
    struct wf_boot *boot;
    struct wf_config *config;
    struct wf_ranks *ranks; /* NULL: the process holds one rank */
    bool threads;           /* several threads may call at the same time */
    uint64_t (*now_ns)(void *clock); /* NULL: CLOCK_MONOTONIC */
    void *clock;
};

/* Create an instance and exchange business cards with the other processes. The
 * world's communicators are created by wf_world_begin (group/comm.h). */
int wf_instance_create(const struct wf_instance_params *,
                       struct wf_instance **out);
/* End an instance in order: send what is left, leave the job together with the
 * other processes, free everything. */
int wf_instance_destroy(struct wf_instance *);
/* Let several threads enter from now on. No thread may be inside. */
void wf_instance_allow_threads(struct wf_instance *);
#endif
