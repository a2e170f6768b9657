/* Where the installation of libmpi.a is: texts inside it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PLACE_H
#define WF_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Return the directory of libmpi.a, and the path of mpi.ini; both are "" in a
 * program of the build tree. */
const char *wf_place_library(void);
const char *wf_place_ini(void);

/* Stores "FROM:TO", by which mpirun and weft-info say that their installation
 * is no longer where it was installed: library directories, before and now. */
bool wf_place_moved(char *text, size_t n);

#endif
