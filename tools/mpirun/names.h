/* A name table keeps the names that the processes of a launcher's jobs have
 * published (MPI_Publish_name), each until it is unpublished or its owner ends.
 *
 * An owner is a text: the index of a process of the own job ("r7"), or the
 * numbers of the child jobs that lead to it and then the index ("j2.r7").
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_NAMES_H
#define WF_MPIRUN_NAMES_H

#include <stddef.h>

struct name_table;

/* Serve a line of PMI-1 that is about a name, and write the answer. *table is
 * made when needed. */
void wf_name_serve(struct name_table **table, const char *owner,
                   const char *line, char *answer, size_t size);
/* Remove the names of an owner and of the jobs that belong to it. */
void wf_name_forget(struct name_table *, const char *owner);
void wf_name_free(struct name_table *);

#endif
