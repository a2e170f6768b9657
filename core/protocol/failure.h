/* Failure of a location: when a peer, or the last connection to it, is gone,
 * everything that waits for it ends with WEFT_EPEER, or with the status of
 * what this process lacks. No operation waits for ever for a dead process: one
 * that died before it ever connected is noticed because long waits connect to
 * it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_FAILURE_H
#define WF_PROTOCOL_FAILURE_H

#include "protocol/request.h"

struct weft_loc;
struct wf_comm;
struct wf_instance;

/* A wait for a word that another process writes. That process is watched like
 * the peer of a request from wf_flag_wait_begin to wf_flag_wait_end. */
struct wf_flag_wait {
    struct wf_flag_wait *next;
    struct weft_loc *loc;
};

void wf_flag_wait_begin(struct wf_instance *, struct wf_flag_wait *);
void wf_flag_wait_end(struct wf_instance *, struct wf_flag_wait *);

/* Wait for a request as wf_wait does; it ends as well when `lost`, which finds
 * `context` in the request, says so after the loss of a process. */
int wf_wait_unless_lost(struct wf_req *, bool (*lost)(const struct wf_req *),
                        const void *context, MPI_Status *status);

/* Look for dead peers. */
void wf_failure_watch(struct wf_instance *);

/* Read the launcher's notices, and end the peers that have given this process
 * up. */
void wf_failure_hear_launcher(struct wf_instance *);

/* The peer, or the last connection to it, is gone. */
void wf_location_down(struct weft_loc *, int status, const char *why);

/* The peer is gone, as in wf_location_down; the plugins first give back the
 * containers that they hold. Not from a callback. */
void wf_location_end(struct weft_loc *, int status, const char *why);

/* The lowest process of the communicator that has failed, or NULL. */
const struct weft_loc *wf_any_failed(const struct wf_comm *);

/* Check that a receive may wait for any source: not once a member has failed,
 * for the message might have been its. 0, or the status of that member,
 * recorded. */
int wf_check_any_source(struct wf_comm *);

/* Connect to a peer that this process only listens to, so that its death is
 * noticed. */
void wf_location_watch(struct weft_loc *);

#endif
