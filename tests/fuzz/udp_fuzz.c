/* Fuzz target: any bytes as packets of udp-reliable: for a flow with data under
 * way, and as words of the handshake of callers and called.
 *
 * Input: records of 4 bytes (what is done with it, the time that passes, how
 * many bytes of the input are its packet or, with the highest bit, its word)
 * and that many bytes. Whatever comes, a flow delivers no byte that was not in
 * a packet, and its books agree; and of callers nothing remains when all is
 * over.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "../../plugins/ip/call.h"
#include "../../plugins/udp-reliable/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD = 4, PARTIES = 3, WINDOW = 64 << 10 };

static uint64_t now;
static uint8_t choice; /* of the record */

static void check_success(bool holds)
{
    if (!holds)
        abort();
}

/* ---- a flow -------------------------------------------------------------- */

static size_t deliver_message(void *ctx, const uint8_t *data, size_t n)
{
    return choice & 4 ? n / 2 : n;
}

static bool place_of(void *ctx, uint64_t offset, const uint8_t *data, size_t n)
{
    return choice & 8;
}

static void send_all(struct wf_udp_flow *f)
{
    static struct wf_udp_flow_out out;
    static uint8_t scratch[FLOW_PACKET_MAX];

    out.scratch = scratch;
    for (int i = 0; wf_udp_flow_next_packet(f, now, &out); i++) {
        check_success(i < FLOW_PACKETS && out.len + out.pad <= FLOW_PACKET_MAX);
        wf_udp_flow_sent(f, now, &out);
    }
}

static void post_receive(struct wf_udp_flow *f)
{
    static const uint8_t payload[1000];
    weft_hdr hdr;
    weft_tx tx = {.hdr = &hdr, .len = sizeof payload};

    memset(&hdr, 0, sizeof hdr);
    ((uint8_t *)&hdr)[3] = WEFT_HDR_SHORT >> 8;
    wf_udp_flow_copy(f, &tx, payload);
}

static void books_agree(const struct wf_udp_flow *f)
{
    uint64_t flying = 0;
    uint32_t lost = 0;

    for (uint64_t i = f->oldest; i < f->number; i++) {
        const struct wf_udp_flow_sent *s = &f->packet[i % FLOW_PACKETS];
        flying += s->state == SENT_FLYING ? s->len : 0;
        lost += s->state == SENT_LOST;
    }
    check_success(flying == f->flying && lost == f->lost);
    check_success(f->una <= f->sent && f->sent <= f->end &&
                  f->next <= f->whole);
    check_success(f->whole <= f->next + WINDOW && f->congestion > 0);
}

static void on_packet(struct wf_udp_flow *f, const uint8_t *bytes, size_t n)
{
    struct wf_udp_packet k;
    size_t head = wf_udp_packet_unpack(&k, bytes, n);

    check_success(head <= n);
    if (head && (k.type == UDP_DATA || k.type == UDP_ACK))
        wf_udp_flow_take_packet(f, now, &k, bytes + head, n - head);
    if (f->paused && choice & 16)
        wf_udp_flow_resume_delivery(f, now);
    if (choice & 32)
        post_receive(f);
    wf_udp_flow_expire(f, now);
    send_all(f);
    while (wf_udp_flow_return_lent(f, false))
        ;
    books_agree(f);
}

/* ---- callers ------------------------------------------------------------- */

static struct wf_ip_calls calls;
static struct wf_ip_watch watch;
static struct wf_ip_peer peer[PARTIES];
static struct wf_ip_party party[PARTIES];

static int auth_step(weft_core *c, weft_auth **auth, const void *in, size_t n,
                     void *out, size_t *out_n, uint32_t *whom)
{
    static const int answers[] = {WEFT_EAGAIN, WEFT_OK, WEFT_EAUTH,
                                  WEFT_EUNREACH};
    int rc = answers[choice >> 6];

    if (!out) {
        *auth = NULL;
        return WEFT_OK;
    }
    memset(out, choice, WEFT_AUTH_MSG);
    *out_n = WEFT_AUTH_MSG;
    *auth = rc == WEFT_EAGAIN ? (weft_auth *)&calls : NULL;
    *whom = choice % (PARTIES + 1);
    return rc;
}

static uint64_t clock_of(weft_core *c)
{
    return now;
}

static uint64_t mac64(weft_core *c, uint64_t nonce, const struct iovec *v,
                      int n)
{
    return nonce;
}

static int locate_peer(weft_core *c, uint32_t id)
{
    return WEFT_EUNREACH;
}

static void take_line(weft_core *c, int level, const char *fmt, ...)
{
}

static void say_something(weft_ep *ep, const struct wf_ip_path *to,
                const struct wf_ip_word *w, const void *body, size_t n)
{
    check_success(n == 0 || n == WEFT_AUTH_MSG);
}

static int is_up(weft_ep *ep, struct wf_ip_party *p, const struct wf_ip_call *c)
{
    return choice & 16 ? WEFT_ENOMEM : WEFT_OK;
}

static void has_failed(struct wf_ip_party *p, int status, const char *why)
{
    p->ip->state = PEER_BROKEN;
}

static void forget_all(struct wf_ip_party *p)
{
    for (uint32_t i = 0; i < calls.ids_n; i++)
        if (calls.ids[i].party == p)
            calls.ids[i].party = NULL;
    wf_ip_hang_up(&calls, p);
    p->ip->state = PEER_IDLE;
}

static void forget_party(struct wf_ip_party *p, uint32_t id)
{
    forget_all(p);
}

static struct wf_ip_party *find_party(weft_ep *ep, uint32_t id)
{
    return id < PARTIES ? &party[id] : NULL;
}

static const weft_host host = {.size = sizeof host,
                               .auth_step = auth_step,
                               .mac64 = mac64,
                               .now_ns = clock_of,
                               .locate = locate_peer,
                               .log = take_line};
static void ask_nobody(struct wf_ip_party *p)
{
}

static const struct wf_ip_call_ops ops = {.say = say_something,
                                          .up = is_up,
                                          .failed = has_failed,
                                          .doubted = ask_nobody,
                                          .forgotten = forget_party,
                                          .left = forget_all,
                                          .party = find_party};

static struct wf_ip_path make_path(uint8_t port)
{
    struct wf_ip_addr a = {.family = 4, .port = port, .ip = {127, 0, 0, 1}};
    struct wf_ip_path p = {.socket = 0};

    p.to_len = wf_ip_to_sockaddr(&a, &p.to);
    return p;
}

static void dial_peer(struct wf_ip_party *p)
{
    struct wf_ip_path path = make_path(7);
    struct wf_ip_call *c = wf_ip_call_new(&calls, &path);

    if (!c)
        return;
    c->party = p;
    c->dialled = true;
    p->calls++;
    p->ip->state = PEER_DIALLING;
}

static uint32_t some_id(uint8_t b)
{
    return calls.ids_n ? calls.ids[b % calls.ids_n].id : b;
}

static void on_word(const uint8_t *b, size_t n)
{
    struct wf_ip_path path = make_path(b[1] & 1 ? 7 : 8);
    struct wf_ip_word w = {.verb =
                               (enum wf_ip_verb)(IP_HELLO + b[0] % IP_RESET),
                           .to = some_id(b[2]),
                           .from = b[3] & 3,
                           .coded = b[3] & 4};
    static const uint8_t body[WEFT_AUTH_MSG];
    struct wf_ip_party *p = &party[b[1] % PARTIES];

    if (choice & 32 && p->ip->state == PEER_BROKEN)
        forget_all(p);
    if (choice & 2 && p->ip->state == PEER_IDLE)
        dial_peer(p);
    wf_ip_calls_run_timers(&calls, now);
    wf_ip_take_word(&calls, &path, &w, body, n & 1 ? 0 : WEFT_AUTH_MSG);
    check_success(calls.pending <= IP_PENDING_MAX && calls.pending >= 0);
}

static void begin_calls(void)
{
    memset(party, 0, sizeof party);
    memset(peer, 0, sizeof peer);
    for (uint32_t i = 0; i < PARTIES; i++) {
        peer[i].id = i;
        party[i].ip = &peer[i];
    }
    watch = (struct wf_ip_watch){.local = true};
    calls = (struct wf_ip_calls){.ops = &ops,
                                 .host = &host,
                                 .watch = &watch,
                                 .me = 1,
                                 .connect_timeout = 1000000,
                                 .handshake_timeout = 100000000};
}

static void end_calls(void)
{
    wf_ip_calls_free(&calls);
    for (uint32_t i = 0; i < PARTIES; i++) {
        check_success(party[i].calls == 0 && !party[i].parked);
        free(party[i].why);
    }
    check_success(calls.pending == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct wf_udp_flow_config cfg = {.packet = 1400,
                                           .window = WINDOW,
                                           .burst = 32 << 10,
                                           .ack_delay = 100000,
                                           .probe_after = 1000000};
    struct wf_udp_flow f;

    check_success(wf_udp_flow_open(&f, &cfg) == WEFT_OK);
    f.deliver = deliver_message;
    f.place = place_of;
    now = 1000000;
    begin_calls();
    for (int i = 0; i < 20; i++)
        post_receive(&f);
    send_all(&f);
    for (size_t at = 0; size - at >= RECORD;) {
        const uint8_t *r = data + at;
        size_t n = (size_t)(r[2] | (r[3] & 0x7f) << 8);
        at += RECORD;
        n = n < size - at ? n : size - at;
        choice = r[0];
        now += (uint64_t)r[1] << (r[0] & 1 ? 20 : 12);
        if (n >= RECORD && r[3] & 0x80)
            on_word(data + at, n);
        else
            on_packet(&f, data + at, n);
        at += n;
    }
    end_calls();
    wf_udp_flow_close(&f);
    return 0;
}
