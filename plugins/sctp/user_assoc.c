/* Associations of libusrsctp: opening, messages, and what is known of them.
 *
 * DESIGN  Both sides connect: they have agreed on the link already (call.c),
 * and the protocol joins crossed INITs. An association is one address of the
 * family AF_CONN, which is only a pointer. To the protocol there is one path;
 * path.c handles several.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if __has_include(<usrsctp.h>)
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "user_assoc.h"
#include "weft_transport.h"

/* The library has these, but its installed header does not. */
#ifndef SCTP_INTERLEAVING_SUPPORTED
#define SCTP_INTERLEAVING_SUPPORTED 0x00001206
#endif
#ifndef SCTP_GET_SNDBUF_USE
#define SCTP_GET_SNDBUF_USE 0x00001101
struct sctp_sockstat {
    sctp_assoc_t ss_assoc_id;
    uint32_t ss_total_sndbuf;
    uint32_t ss_total_recv_buf;
};
#endif

enum {
    PORT = 5000,
    CONTROL_SHARE = 4, /* of the send buffer, never taken by bulk */
    CHUNK_COST = 256,  /* bytes that the stack counts beside those of a chunk */
    WINDOWS = 4
};

static int set_option(struct wf_sctp_user_assoc *a, int option, const void *v,
                      socklen_t n)
{
    return a->lib->setsockopt(a->so, IPPROTO_SCTP, option, v, n);
}

static int set_int_option(struct wf_sctp_user_assoc *a, int option, int v)
{
    return set_option(a, option, &v, sizeof v);
}

static int set_buffer(struct wf_sctp_user_assoc *a, int option, uint32_t bytes)
{
    int v = (int)bytes;

    return a->lib->setsockopt(a->so, SOL_SOCKET, option, &v, sizeof v);
}

static int set_options(struct wf_sctp_user_assoc *a,
                       const struct wf_sctp_user_settings *s)
{
    struct sctp_initmsg init = {.sinit_num_ostreams = SCTP_STREAMS,
                                .sinit_max_instreams = SCTP_STREAMS};
    struct sctp_paddrparams path = {.spp_assoc_id = SCTP_FUTURE_ASSOC,
                                    .spp_pathmtu = s->mtu - USER_HEAD,
                                    .spp_flags =
                                        SPP_PMTUD_DISABLE | SPP_HB_DISABLE};
    struct sctp_event event = {.se_assoc_id = SCTP_FUTURE_ASSOC,
                               .se_type = SCTP_ASSOC_CHANGE,
                               .se_on = 1};
    struct sctp_assoc_value interleave = {SCTP_FUTURE_ASSOC, 1};
    struct sctp_assoc_value schedule = {SCTP_FUTURE_ASSOC, SCTP_SS_PRIORITY};
    struct linger abrupt = {.l_onoff = 1};

    if (a->lib->set_non_blocking(a->so, 1) < 0 ||
        a->lib->setsockopt(a->so, SOL_SOCKET, SO_LINGER, &abrupt,
                              sizeof abrupt) < 0 ||
        set_int_option(a, SCTP_NODELAY, 1) < 0 ||
        set_int_option(a, SCTP_RECVRCVINFO, 1) < 0 ||
        set_option(a, SCTP_INITMSG, &init, sizeof init) < 0 ||
        set_option(a, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) < 0 ||
        set_option(a, SCTP_EVENT, &event, sizeof event) < 0 ||
        set_option(a, SCTP_PLUGGABLE_SS, &schedule, sizeof schedule) < 0 ||
        set_buffer(a, SO_SNDBUF, s->room) < 0 ||
        set_buffer(a, SO_RCVBUF, s->window) < 0)
        return -1;
    /* an older stack has no I-DATA, and does without */
    interleave.assoc_value = !s->old;
    if (set_int_option(a, SCTP_FRAGMENT_INTERLEAVE, 2) == 0)
        set_option(a, SCTP_INTERLEAVING_SUPPORTED, &interleave,
                   sizeof interleave);
    return 0;
}

static int connect_assoc(struct wf_sctp_user_assoc *a)
{
    struct sockaddr_conn at = {
        .sconn_family = AF_CONN, .sconn_port = htons(PORT), .sconn_addr = a};

    if (a->lib->bind(a->so, (struct sockaddr *)&at, sizeof at) < 0)
        return -1;
    if (a->lib->connect(a->so, (struct sockaddr *)&at, sizeof at) < 0 &&
        errno != EINPROGRESS)
        return -1;
    return 0;
}

int wf_sctp_user_open(struct wf_sctp_user_assoc *a,
                      const struct wf_sctp_user_settings *s)
{
    int rc = WEFT_OK;

    a->lib = wf_sctp_stack_library();
    a->check = s->check;
    a->muted = false;
    a->full = true;
    a->window = a->window_now = s->window;
    a->room = s->room;
    a->sent = a->acked_any = a->progress = false;
    a->retransmitted = 0;
    a->retransmitted_before = 0;
    wf_sctp_stack_lock();
    a->lib->register_address(a);
    a->so = a->lib->socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0,
                              NULL);
    if (!a->so || set_options(a, s) < 0 || connect_assoc(a) < 0) {
        rc = WEFT_ENOMEM;
        if (a->so)
            a->lib->close(a->so);
        a->lib->deregister_address(a);
        a->so = NULL;
    }
    wf_sctp_stack_unlock();
    return rc;
}

void wf_sctp_user_close(struct wf_sctp_user_assoc *a)
{
    if (!a->so)
        return;
    wf_sctp_stack_lock();
    a->muted = true;
    a->lib->close(a->so);
    a->lib->deregister_address(a);
    wf_sctp_stack_unlock();
    a->so = NULL;
}

int wf_sctp_user_send(struct wf_sctp_user_assoc *a,
                      const struct wf_sctp_message *m, const void *data,
                      bool bulk)
{
    struct sctp_sndinfo info = {.snd_sid = m->stream,
                                .snd_ppid = htonl(m->kind)};
    ssize_t n;
    int error;

    wf_sctp_stack_lock();
    if (a->full == bulk) {
        a->full = !bulk;
        set_buffer(a, SO_SNDBUF,
                   a->room - (bulk ? a->room / CONTROL_SHARE : 0));
    }
    n = a->lib->sendv(a->so, data, m->n, NULL, 0, &info, sizeof info,
                         SCTP_SENDV_SNDINFO, 0);
    error = errno;
    wf_sctp_stack_unlock();
    if (n == (ssize_t)m->n)
        return WEFT_OK;
    return n < 0 && (error == EWOULDBLOCK || error == EAGAIN ||
                     error == ENOBUFS || error == ENOMEM)
               ? WEFT_EAGAIN
               : WEFT_ELINK;
}

/* Headers go before payload: else payload would arrive before its
 * announcement. */
static void rank_streams(struct wf_sctp_user_assoc *a)
{
    wf_sctp_stack_lock();
    for (int i = SCTP_HEADERS; i < SCTP_STREAMS; i++) {
        struct sctp_stream_value v = {.stream_id = (uint16_t)i,
                                      .stream_value = 1};
        set_option(a, SCTP_SS_VALUE, &v, sizeof v);
    }
    wf_sctp_stack_unlock();
}

static enum wf_sctp_event
handle_notification(struct wf_sctp_user_assoc *a,
                    const union sctp_notification *note, size_t n)
{
    if (n < sizeof note->sn_assoc_change ||
        note->sn_header.sn_type != SCTP_ASSOC_CHANGE)
        return SCTP_MESSAGE; /* of no interest; n is 0 */
    switch (note->sn_assoc_change.sac_state) {
    case SCTP_COMM_UP:
        rank_streams(a);
        return SCTP_UP;
    case SCTP_RESTART: /* this transport never restarts */
    case SCTP_COMM_LOST:
    case SCTP_SHUTDOWN_COMP:
    case SCTP_CANT_STR_ASSOC:
        return SCTP_DOWN;
    default:
        return SCTP_MESSAGE;
    }
}

enum wf_sctp_event wf_sctp_user_receive(struct wf_sctp_user_assoc *a, void *buf,
                                        size_t room, struct wf_sctp_message *m)
{
    struct sctp_rcvinfo info;
    socklen_t len = sizeof info;
    unsigned type = 0;
    int flags = 0, error;
    ssize_t n;

    m->n = 0;
    wf_sctp_stack_lock();
    n = a->lib->recvv(a->so, buf, room, NULL, NULL, &info, &len, &type,
                         &flags);
    error = errno;
    wf_sctp_stack_unlock();
    if (n < 0)
        return error == EWOULDBLOCK || error == EAGAIN ||
                       error == EINPROGRESS || error == ENOTCONN
                   ? SCTP_NOTHING
                   : SCTP_DOWN;
    if (flags & MSG_NOTIFICATION)
        return handle_notification(a, buf, (size_t)n);
    if (n == 0 || !(flags & MSG_EOR) || type != SCTP_RECVV_RCVINFO)
        return SCTP_DOWN; /* the end, or a foreign message */
    m->stream = info.rcv_sid;
    m->kind = ntohl(info.rcv_ppid);
    m->n = (size_t)n;
    return SCTP_MESSAGE;
}

static int get_option(struct wf_sctp_user_assoc *a, int option, void *v,
                      socklen_t n)
{
    memset(v, 0, n);
    return a->lib->getsockopt(a->so, IPPROTO_SCTP, option, v, &n);
}

uint32_t wf_sctp_user_unacked(struct wf_sctp_user_assoc *a)
{
    struct sctp_sockstat s;
    int rc;

    wf_sctp_stack_lock();
    rc = get_option(a, SCTP_GET_SNDBUF_USE, &s, sizeof s);
    wf_sctp_stack_unlock();
    return rc == 0 ? s.ss_total_sndbuf : 0;
}

uint32_t wf_sctp_user_take_retransmitted(struct wf_sctp_user_assoc *a)
{
    uint32_t n;

    wf_sctp_stack_lock();
    n = a->retransmitted;
    a->retransmitted_before += n;
    a->retransmitted = 0;
    wf_sctp_stack_unlock();
    return n;
}

uint64_t wf_sctp_user_retransmissions(struct wf_sctp_user_assoc *a)
{
    uint64_t n;

    wf_sctp_stack_lock();
    n = a->retransmitted_before + a->retransmitted;
    wf_sctp_stack_unlock();
    return n;
}

uint32_t wf_sctp_user_rtt_ms(struct wf_sctp_user_assoc *a)
{
    struct sctp_status s;
    int rc;

    wf_sctp_stack_lock();
    rc = get_option(a, SCTP_STATUS, &s, sizeof s);
    wf_sctp_stack_unlock();
    return rc == 0 ? s.sstat_primary.spinfo_srtt : 0;
}

/* Returns the receive buffer that an association needs. With a window of 0 the
 * stack drops every chunk of a message that it does not know yet
 * (sctp_process_a_data_chunk, I-DATA), also the one for which all others wait:
 * then nothing is ever read, and the window stays 0. USER_SLACK above what
 * waits is enough for that chunk, and too little for the peer to take it for an
 * open window. A peer that keeps to the offered window does not come near the
 * limit. */
static uint32_t buffer_needed(uint32_t window, const struct sctp_sockstat *held,
                              const struct sctp_status *count)
{
    uint64_t need = USER_SLACK + held->ss_total_recv_buf +
                    (uint64_t)count->sstat_penddata * CHUNK_COST;
    uint64_t most = (uint64_t)window * WINDOWS;

    return (uint32_t)(need < window ? window : need < most ? need : most);
}

void wf_sctp_user_make_room(struct wf_sctp_user_assoc *a)
{
    struct sctp_sockstat held;
    struct sctp_status count;
    uint32_t room = a->window;

    wf_sctp_stack_lock();
    if (get_option(a, SCTP_GET_SNDBUF_USE, &held, sizeof held) == 0 &&
        held.ss_total_recv_buf > 0 &&
        get_option(a, SCTP_STATUS, &count, sizeof count) == 0)
        room = buffer_needed(a->window, &held, &count);
    if (room != a->window_now && set_buffer(a, SO_RCVBUF, room) == 0)
        a->window_now = room;
    wf_sctp_stack_unlock();
}
#endif
