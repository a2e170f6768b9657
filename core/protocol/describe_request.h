/* The description of a wait for a request, for the state page.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DESCRIBE_REQUEST_H
#define WF_DESCRIBE_REQUEST_H

struct wf_req;
struct wf_wait;

/* Describe the wait for one request. */
void wf_wait_describe_request(const struct wf_req *, struct wf_wait *);

#endif
