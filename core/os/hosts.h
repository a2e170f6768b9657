/* Names from /etc/hosts, without the resolver.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HOSTS_H
#define WF_HOSTS_H

#include <stddef.h>

/* Stores the address of `host`, a numeric address or a name in /etc/hosts, as a
 * sockaddr of the family (0: any). Returns WEFT_OK, or WEFT_EUNREACH. */
int wf_hosts_lookup(const char *host, int family, void *sockaddr_out,
                    size_t *len);

#endif
