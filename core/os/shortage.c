/* Waiting for memory.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/shortage.h"

#include <poll.h>
#include <stddef.h>

bool wf_shortage_wait(unsigned *attempts)
{
    enum { PAUSE_MS = 1, ATTEMPTS = 2000 };

    poll(NULL, 0, PAUSE_MS);
    return ++*attempts <= ATTEMPTS;
}
