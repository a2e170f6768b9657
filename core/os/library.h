/* The installation of the library that the process uses.
 *
 *   libmpi_abi.so   around the place that it was loaded from; so it may be
 *                   moved
 *   libmpi.a        where it was installed (os/place.h); a program may lie
 *                   anywhere, and what is near it means nothing
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LIBRARY_H
#define WF_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the directory of the library, an absolute path, or NULL if it is not
 * known: the program was linked with the libmpi.a of a build tree. The text is
 * valid until the environment changes. */
const char *wf_library_dir(void);

/* Stores the path of the installation's mpi.ini. Returns false if it is not
 * known, also if mpirun has moved and so names its own (WEFT_LAUNCHER_INI). */
bool wf_library_ini(char *path, size_t n);

#endif
