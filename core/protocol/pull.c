/* Pull: a rendezvous in which the receiver fetches the payload.
 *
 *      sender                                     receiver
 *      NOTIFY|RKEY length, send_id,
 *             payload: address, packed rkey  -->  matched: get() straight from
 *                                                 the sender's memory
 *                                <-- FIN send_id  when get() is done
 *
 * A pull takes one message less than a push, and needs no work of the sender's
 * CPU. The sender only offers it; a receiver that cannot pull (layout with
 * holes, no room in the transport) approves as for a push, and the sender
 * pushes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/pull.h"

#include "config/config.h"
#include "process/rank.h"
#include "protocol/message.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/traced.h"
#include "route/location.h"

static bool can_get(const struct weft_core *core)
{
    return core->attr.caps & WEFT_CAP_GET && WEFT_HAS(core->ops, weft_ops, get);
}

static bool needs_key(const struct weft_core *core)
{
    return !(core->attr.caps & WEFT_CAP_NO_MR);
}

/* Register the buffer and pack its rkey. Returns the bytes of the key; 0:
 * failure. */
static size_t pack_key(struct wf_p2p *p, struct weft_core *core, uint8_t *key)
{
    size_t n = WF_CONTROL_MAX - sizeof(uint64_t);

    if (core->attr.rkey_len > n || !WEFT_HAS(core->ops, weft_ops, mr_pack) ||
        core->ops->mr_reg(core->ep, p->block, p->bytes, &p->pull.mr) < 0)
        return 0;
    if (core->ops->mr_pack(core->ep, p->pull.mr, key, &n) >= 0)
        return n;
    core->ops->mr_dereg(core->ep, p->pull.mr);
    return 0;
}

/* Clear the fields that tell what has to be released; the others are set before
 * they are used. */
static void clear_pull(struct wf_pull *pull)
{
    pull->core = NULL;
    pull->mr = NULL;
    pull->rkey = NULL;
}

size_t wf_pull_offer(struct wf_p2p *p, uint8_t key[static WF_CONTROL_MAX])
{
    struct weft_core *core = p->loc->lane[p->lane].core;
    uint64_t address = wf_le64((uintptr_t)p->block);
    size_t n = 0;

    clear_pull(&p->pull);
    if (p->req.wf->rank->options->rndv == WF_RNDV_PUSH || !can_get(core) ||
        p->loc->order || !p->bytes || p->bytes < core->attr.min_get ||
        !wf_type_is_contiguous(p->type))
        return 0;
    WF_ASSERT(!p->pull.mr && !p->pull.rkey);
    memcpy(key, &address, sizeof address);
    if (needs_key(core) && !(n = pack_key(p, core, key + sizeof address)))
        return 0;
    p->pull.core = core;
    return sizeof address + n;
}

static bool open_key(struct wf_p2p *p, weft_peer *peer, const uint8_t *key,
                     size_t n)
{
    struct weft_core *core = p->pull.core;

    if (!needs_key(core))
        return true;
    return WEFT_HAS(core->ops, weft_ops, rkey_open) &&
           core->ops->rkey_open(peer, key, n, &p->pull.rkey) >= 0;
}

bool wf_pull_start(struct wf_p2p *p, struct weft_loc *from,
                   struct weft_core *core, uint64_t send_id, const uint8_t *key,
                   size_t n)
{
    weft_get *rma = &p->pull.rma;
    uint64_t address;
    int r;

    p->pull = (struct wf_pull){.core = core, .send_id = send_id};
    if (n < sizeof address || !p->expected || !can_get(core) ||
        !wf_type_is_contiguous(p->type) || !from->peers[core->index] ||
        !open_key(p, from->peers[core->index], key + sizeof address,
                  n - sizeof address))
        return false;
    memcpy(&address, key, sizeof address);
    WF_ASSERT(p->expected <= p->bytes);
    rma->size = sizeof *rma;
    rma->one = (struct iovec){p->block, p->expected};
    rma->raddr = wf_le64(address);
    rma->rkey = p->pull.rkey;
    if (WF_TRACING(p->req.wf))
        wf_trace_note(p->req.wf, WF_TRACE_PULL,
                      &(struct wf_trace_about){.peer = wf_trace_peer(from),
                                               .bytes = p->expected});
    r = core->ops->get(from->peers[core->index], rma);
    if (r == WEFT_DONE)
        wf_pull_done(rma, WEFT_OK);
    if (r < 0)
        wf_pull_release(p);
    return r >= 0;
}

void wf_pull_release(struct wf_p2p *p)
{
    struct wf_pull *pull = &p->pull;

    if (pull->mr)
        pull->core->ops->mr_dereg(pull->core->ep, pull->mr);
    if (pull->rkey)
        pull->core->ops->rkey_close(p->loc->peers[pull->core->index],
                                    pull->rkey);
    clear_pull(pull);
}

void wf_pull_done(weft_get *rma, int status)
{
    struct wf_pull *pull = wf_container(rma, struct wf_pull, rma);
    struct wf_p2p *p = wf_container(pull, struct wf_p2p, pull);
    struct wf_wire w;

    WF_ASSERT(p->req.type == WF_REQ_RECV && pull->core && p->loc);
    wf_wire_init(&w, WF_FIN, 0);
    w.d = wf_le64(pull->send_id);
    if (WF_TRACING(p->req.wf))
        wf_trace_note(p->req.wf, WF_TRACE_PULLED,
                      &(struct wf_trace_about){.peer = wf_trace_peer(p->loc),
                                               .bytes = p->expected});
    wf_pull_release(p);
    if (status >= 0)
        wf_message_send_control(p->loc, &w, true);
    wf_receive_finish(p,
                      status < 0 ? wf_req_mark_link_lost(&p->req, status) : 0);
}
