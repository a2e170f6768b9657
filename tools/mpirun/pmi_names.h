/* The part of the PMI-1 server that serves published names.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_PMI_NAMES_H
#define WF_MPIRUN_PMI_NAMES_H

struct job;
struct rank;

/* Serve publish_name, lookup_name or unpublish_name. */
void wf_pmi_name(struct job *, struct rank *, const char *line);
/* Remove what a rank has published, when its connection ends. */
void wf_pmi_forget_names(struct job *, const struct rank *);

#endif
