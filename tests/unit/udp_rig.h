/* The rig for the udp-reliable transport.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_RIG_H
#define UDP_RIG_H

#include "../../plugins/udp-reliable/udp.h"

#define RIG_PLUGIN weft_plugin_2_udp_reliable
#define RIG_NAME   "udp-reliable"
#define RIG_CFG    wf_udp_cfg

static inline struct wf_udp_cfg rig_defaults(void)
{
    return (struct wf_udp_cfg){.interface = "auto",
                               .window = 1 << 20,
                               .rcvbuf = 4 << 20,
                               .eager = 32 << 10,
                               .coalesce = 8 << 10,
                               .connect_timeout = 10000000000u,
                               .handshake_timeout = 2000000000u,
                               .unreachable = 5000000000u};
}

#include "ip_rig.h"

static inline struct sockaddr_storage address_of(const struct rig_side *s,
                                                 socklen_t *n)
{
    struct sockaddr_storage sa;

    *n = wf_ip_to_sockaddr(&s->ep->ip.use[0].addr, &sa);
    return sa;
}

#endif
