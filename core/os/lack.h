/* Errors of the system that pass.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LACK_H
#define WF_LACK_H

#include <errno.h>
#include <stdbool.h>

/* The system is short of what it may have again soon: memory or descriptors. */
static inline bool wf_is_lack(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE;
}

#endif
