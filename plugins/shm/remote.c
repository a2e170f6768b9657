/* Operations on memory of a peer: an area of its mem_alloc, which this process
 * has mapped. The process that starts one carries it out, so it is complete at
 * once, here and there, and the death of the peer ends none halfway.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm.h"

int wf_shm_mr_expose(weft_ep *ep, void *base, size_t len, uint32_t access,
                     weft_mr **mr)
{
    (void)access; /* whoever maps an area may do all of it */
    *mr = wf_shm_area_of(ep, base, len);
    return *mr ? WEFT_OK : WEFT_ENOTSUP;
}

/* The address of a range of an area. It stays mapped until the owner frees it
 * or the pair ends; a caller that needs it longer maps it again. */
void *wf_shm_rkey_map(weft_rkey *k, uint64_t at, size_t len)
{
    uint64_t from = at - k->at;
    if (!k->base || at < k->at || from > k->bytes || len > k->bytes - from)
        return NULL;
    return (char *)k->base + from;
}

int wf_shm_rma(weft_peer *p, weft_rma *r)
{
    size_t len = r->width ? r->width : r->one.iov_len;
    void *at = NULL;
    if (p->fault || p->state != SHM_UP)
        return WEFT_ELINK; /* the keys are gone, or will be */
    if (r->kind != WEFT_RMA_FLUSH) {
        at = r->rkey->id ? wf_shm_rkey_map(r->rkey, r->raddr, len) : NULL;
        if (!at)
            return WEFT_EINVAL;
    }
    weft_rma_perform(r, at);
    return WEFT_DONE;
}
