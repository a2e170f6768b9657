/* The rig for the tcp transport.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TCP_RIG_H
#define TCP_RIG_H

#include "../../plugins/tcp/tcp.h"

#define RIG_PLUGIN weft_plugin_2_tcp
#define RIG_NAME   "tcp"
#define RIG_CFG    wf_tcp_cfg

static inline struct wf_tcp_cfg rig_defaults(void)
{
    return (struct wf_tcp_cfg){.interface = "auto",
                               .eager = 64 << 10,
                               .frame = 512 << 10,
                               .coalesce = 8 << 10,
                               .connect_timeout = 5000000000u,
                               .handshake_timeout = 2000000000u,
                               .detect = 10000000000u,
                               .congestion = "auto"};
}

#include "ip_rig.h"

#endif
