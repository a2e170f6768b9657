/* Handles shortages: a system call fails because memory for sockets or
 * descriptors are short for a while. The call is tried again until the shortage
 * has lasted for IP_SHORTAGE_NS, and only then is it an error.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <sys/eventfd.h>

#include "ip.h"

bool wf_ip_is_shortage(int error)
{
    return error == ENOBUFS || error == ENOMEM || error == EMFILE ||
           error == ENFILE;
}

int wf_ip_shortage_status(int error)
{
    return error == ENOMEM || error == ENOBUFS ? WEFT_ENOMEM : WEFT_ESYS;
}

int wf_ip_open_reserve(void)
{
    return eventfd(0, EFD_CLOEXEC);
}

bool wf_ip_retry_shortage(uint64_t *since, uint64_t now)
{
    if (!*since)
        *since = now;
    return now - *since < IP_SHORTAGE_NS;
}
