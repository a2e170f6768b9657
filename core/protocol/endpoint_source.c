/* An endpoint as an event source of the progress engine: the functions of the
 * plugin are those of the source.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/endpoint_source.h"

#include <errno.h>
#include <stdio.h>

#include "config/config.h"
#include "process/endpoint.h"
#include "process/instance.h"
#include "progress/source.h"

bool wf_endpoint_has_descriptor(const struct weft_core *c)
{
    return WEFT_HAS(c->ops, weft_ops, event) && WEFT_HAS(c->ops, weft_ops, arm);
}

/* The descriptor that becomes readable when the endpoint has news; -1: there is
 * none. */
static int find_descriptor(const struct weft_core *c)
{
    int fd = -1;

    if (!wf_endpoint_has_descriptor(c))
        return -1;
    return c->ops->event(c->ep, &fd) < 0 ? -1 : fd;
}

int wf_endpoint_add_source(struct weft_core *c)
{
    struct wf_event_source *s = &c->source;
    /* self has news only when this process calls it */
    bool has_peers = c->attr.caps & (WEFT_CAP_LOCAL | WEFT_CAP_REMOTE);
    int r;

    s->name = c->config ? c->config->name : "endpoint";
    s->object = c->ep;
    s->poll = c->ops->progress;
    s->fd = find_descriptor(c);
    s->blind = has_peers && s->fd < 0;
    if (has_peers && s->fd >= 0)
        s->arm = c->ops->arm;
    r = wf_source_add(c->wf, s, c->index);
    if (r == 0)
        wf_source_count_arrivals(c->wf, s, &c->rx_count);
    else if (c->refusal)
        snprintf(c->refusal, WF_REFUSAL_MAX,
                 "nothing to sleep on (epoll, eventfd): %s", strerror(errno));
    return r;
}
