/* The installation to which a program of Weft belongs: DIR of DIR/bin/mpirun.
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

/* "DIR/rest" into path, if this program is DIR/bin/NAME and that exists. */
bool wf_prefix_path(const char *rest, char *path, size_t n);

#endif
