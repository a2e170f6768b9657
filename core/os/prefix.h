/* The installation to which a program of Weft belongs: DIR of DIR/bin/mpirun.
 * layout.h says where in it the other parts are, as paths relative to a part.
 *
 * Only mpirun and weft-info use this. A user's program lies anywhere, and what
 * is near it means nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PREFIX_H
#define WF_PREFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Stores the path that a relative path of layout.h means in an absolute
 * directory. An absolute path is stored as it is. */
bool wf_prefix_resolve(const char *directory, const char *relative, char *path,
                      size_t n);

/* Stores the path that a relative path of layout.h means in the directory of
 * this program. Returns false if that directory does not have its usual name,
 * or if no readable file is there. */
bool wf_prefix_path(const char *relative, char *path, size_t n);

#endif
