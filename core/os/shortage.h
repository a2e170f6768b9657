/* Errors of the system that may pass: memory or descriptors are short.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHORTAGE_H
#define WF_SHORTAGE_H

#include <errno.h>
#include <stdbool.h>

/* Tells whether an error means a shortage that may pass soon. */
static inline bool wf_is_shortage(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE;
}

/* Waits a moment for a little memory, which others may give back, where an
 * error would leave other processes waiting. False: two seconds have not been
 * enough. *attempts is 0 at first. */
bool wf_shortage_wait(unsigned *attempts);

#endif
