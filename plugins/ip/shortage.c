/* A call of the system fails because it is short of something for a while:
 * memory for sockets, descriptors. The call is tried again until that has lasted
 * for IP_SHORT_NS, and only then is it an error.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <sys/eventfd.h>

#include "ip.h"

bool wf_ip_short(int error)
{
    return error == ENOBUFS || error == ENOMEM || error == EMFILE ||
           error == ENFILE;
}

int wf_ip_short_status(int error)
{
    return error == ENOMEM || error == ENOBUFS ? WEFT_ENOMEM : WEFT_ESYS;
}

int wf_ip_reserve(void)
{
    return eventfd(0, EFD_CLOEXEC);
}

bool wf_ip_short_again(uint64_t *since, uint64_t now)
{
    if (!*since)
        *since = now;
    return now - *since < IP_SHORT_NS;
}
