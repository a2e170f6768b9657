/* Endpoints of a process that was alone, and meets another job: see
 * endpoints_late.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/endpoints_late.h"

#include "config/config.h"
#include "config/transports.h"
#include "process/rank.h"
#include "protocol/endpoints.h"
#include "route/links.h"

int wf_endpoints_open_late(struct wf_instance *home)
{
    const struct wf_transport_config *t;
    int n = wf_config_transports(home->rank->config, &t), worst = 0;

    for (int i = 0; i < n; i++) {
        int r = wf_endpoints_open_one(home, &t[i]);
        worst = r != 0 ? r : worst;
    }
    return worst;
}
