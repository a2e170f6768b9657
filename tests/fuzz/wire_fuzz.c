/* Fuzz target: any bytes as containers from an authenticated peer.
 *
 * Input: records of 4 bytes (how much of the payload comes with the header,
 * how long the payload is), a header, a payload. The receiving process has
 * receives posted and sends under way, so that ids on the wire can be guessed,
 * and a window, on which the peer may operate. Whatever comes, nothing is read
 * beyond the header's own length, nothing is written outside a sink, and the
 * process ends in good order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "datatype/predefined.h"
#include "protocol/location.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/send.h"
#include "route/links.h"
#include "rma/epoch.h"
#include "rma/operation.h"
#include "rma/start.h"
#include "sim/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    REQUESTS = 12,
    BUFFER = 4096,
    RECORD = 4,
    PAYLOAD_MAX = 2048,
    WINDOW = 512
};

struct world {
    struct sim sim;
    struct wf_req *reqs[REQUESTS];
    uint8_t *buf[REQUESTS];
    struct wf_win *win;
    _Alignas(8) uint8_t memory[WINDOW], got[16];
};

static void post_receive(struct world *w)
{
    struct wf_comm *c = w->sim.ranks[0]->world;
    struct wf_type *byte = wf_type_of(MPI_BYTE);

    for (int i = 0; i < REQUESTS; i++) {
        w->buf[i] = calloc(1, BUFFER);
        if (i < 6)
            wf_irecv(c, w->buf[i], i < 3 ? 16 : BUFFER, byte,
                     i % 2 ? MPI_ANY_SOURCE : 1, i % 3 ? i : MPI_ANY_TAG,
                     WF_SPACE_P2P, &w->reqs[i]);
        else
            wf_isend(c, w->buf[i], i < 9 ? 16 : BUFFER, byte, 1, i,
                     WF_SPACE_P2P, i % 2 ? WF_SEND_SYNC : WF_SEND_STANDARD,
                     &w->reqs[i]);
    }
}

/* Makes the window; a result and an answer of the peer's are waited for. */
static void open_window(struct world *w)
{
    struct wf_instance *wf = w->sim.ranks[0];
    struct wf_type *byte = wf_type_of(MPI_BYTE);
    struct wf_rma_side got = {w->got, byte, sizeof w->got};
    struct wf_rma_call get = {.kind = WF_RMA_GET, .result = got, .target = got,
                              .bytes = sizeof w->got};
    int rc;

    w->win = sim_make_window(wf, (void *[]){w->memory, NULL}, 2, WINDOW);
    struct wf_win_peer *p = wf_win_reach(w->win, 1, &rc);
    if (!p || wf_leg_message.start(p, &get, NULL) != MPI_SUCCESS ||
        wf_rma_ask(p, WF_RMA_FLUSH) != MPI_SUCCESS)
        abort();
}

/* The payload that did not come with the header goes where the sink says. */
static void fill_buffer(struct weft_core *core, weft_sink *s, uint64_t from,
                 const uint8_t *payload, uint64_t plen)
{
    struct iovec v[4];
    uint64_t at = from;

    if (!s || s->len > plen || s->len < from)
        abort();
    while (at < s->len) {
        int n = s->seg(s, at, v, 4);
        if (n < 1)
            abort();
        for (int i = 0; i < n && at < s->len; i++) {
            uint64_t part = v[i].iov_len;
            if (part > s->len - at)
                part = s->len - at;
            memcpy(v[i].iov_base, payload + at, part);
            at += part;
        }
    }
    wf_host.rx_done(core, s, WEFT_OK);
}

/* One container; returns the bytes of input that it used. */
static size_t feed_container(struct wf_instance *wf, const uint8_t *in,
                             size_t n)
{
    struct weft_core *core = &wf->links->eps[wf->links->ep_count - 1];
    struct weft_loc *from = wf_location(wf, 1);
    uint32_t plen = (in[2] | (uint32_t)in[3] << 8) % PAYLOAD_MAX;
    uint8_t whole[WEFT_HDR] = {0};
    size_t rest = n - RECORD;
    weft_sink *sink = NULL;

    memcpy(whole, in + RECORD, rest < WEFT_HDR ? rest : WEFT_HDR);
    rest -= rest < WEFT_HDR ? rest : WEFT_HDR;
    if (plen > rest)
        plen = (uint32_t)rest;
    whole[4] = (uint8_t)plen;
    whole[5] = (uint8_t)(plen >> 8);
    whole[6] = whole[7] = 0;
    /* exactly as long as a plugin must provide */
    size_t head = weft_hdr_len(whole);
    uint8_t *hdr = malloc(head), *payload = malloc(plen ? plen : 1);
    memcpy(hdr, whole, head);
    memcpy(payload, in + n - rest, plen);
    size_t have = in[0] % 3 == 0 ? plen : plen ? in[1] % (plen + 1) : 0;
    int r = wf_host.rx(core, from, (const weft_hdr *)hdr, payload, have, &sink);
    if (r == WEFT_OK)
        fill_buffer(core, sink, have, payload, plen);
    else if (r == WEFT_DONE ? have != plen : r != WEFT_SKIP && r != WEFT_EAGAIN)
        abort();
    free(hdr);
    free(payload);
    return n - rest + plen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_options o = {.seed = 1, .ranks = 2, .max_payload = 1024,
                            .max_short = 8,
                            .config = "eager = 64\n"};
    struct world w = {0};
    size_t at = 0;

    sim_start(&w.sim, &o);
    post_receive(&w);
    open_window(&w);
    for (int i = 0; i < 64 && at + RECORD < size; i++)
        at += feed_container(w.sim.ranks[0], data + at, size - at);
    for (int i = 0; i < REQUESTS; i++)
        if (w.reqs[i] && i < 6)
            wf_req_withdraw(w.reqs[i]);
        else if (w.reqs[i])
            wf_req_release(w.reqs[i]);
    while (sim_step(&w.sim))
        ;
    sim_kill(&w.sim, 1); /* whatever still waits for it ends */
    sim_free_window(w.win);
    sim_stop(&w.sim);
    for (int i = 0; i < REQUESTS; i++)
        free(w.buf[i]);
    return 0;
}
