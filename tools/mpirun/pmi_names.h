/* Requests for published names, from ranks of this job and of its child jobs.
 * The mpirun that the user has started keeps the names (names.h); launchers of
 * child jobs pass requests up, and answers down, with the owner of the request.
 * A request that names a server is passed on to that one (name_client.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_PMI_NAMES_H
#define WF_MPIRUN_PMI_NAMES_H

struct job;
struct rank;

enum { NAME_OWNER_MOST = 128 };

/* Serve publish_name, lookup_name or unpublish_name of a rank. */
void wf_pmi_name(struct job *, struct rank *, const char *line);
/* Remove what a rank has published, when its connection ends. */
void wf_pmi_forget_names(struct job *, struct rank *);

/* Serve a request of an owner. */
void wf_name_request(struct job *, const char *owner, const char *line);
/* Remove the names of an owner. */
void wf_name_drop(struct job *, const char *owner);
/* Take an answer for an owner to it. */
void wf_name_deliver(struct job *, const char *owner, const char *answer);

#endif
