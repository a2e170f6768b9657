/* The sending side of the PMI-1 server, for the files that serve requests.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_PMI_SERVER_H
#define WF_MPIRUN_PMI_SERVER_H

#include <stddef.h>

struct job;
struct rank;

enum { PMI_VALLEN = 1024 }; /* most characters of a value */

/* Send a line to a rank on this host or through its agent. If the rank takes no
 * line it has perhaps ended: its last messages are still there to be read, and
 * then the end. */
void wf_pmi_send(struct job *, struct rank *, const char *line, size_t n);

#endif
