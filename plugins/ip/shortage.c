/* A call of the system fails because it is short of something for a while:
 * memory for sockets, descriptors. The call is tried again until that has lasted
 * for IP_SHORT_NS, and only then is it an error.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>

#include "ip.h"

bool wf_ip_short(int error)
{
    return error == ENOBUFS || error == ENOMEM || error == EMFILE ||
           error == ENFILE;
}

bool wf_ip_short_again(uint64_t *since, uint64_t now)
{
    if (!*since)
        *since = now;
    return now - *since < IP_SHORT_NS;
}
