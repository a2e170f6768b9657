/* The installation to which a program of Weft belongs: DIR of DIR/bin/mpirun.
 * layout.h says where in it the other parts are, as ways that begin at a part.
 *
 * Only mpirun and weft-info ask. A user's program lies anywhere, and what is
 * near it means nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PREFIX_H
#define WF_PREFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Follow a way of layout.h that begins in an absolute directory. */
bool wf_prefix_follow(const char *directory, const char *way, char *path,
                      size_t n);

/* Follow one that begins in the directory of this program, which must have its
 * usual name; false also if nothing is there. */
bool wf_prefix_path(const char *way, char *path, size_t n);

#endif
