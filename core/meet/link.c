/* The connection by which the roots of two groups meet: see link.h.
 *
 * Reads are of the bytes that the state waits for, never of more. The rest
 * of what it sends waits in memory until the kernel takes it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "boot/auth_inside.h"
#include "crypto/vendor.h"
#include "os/secret.h"
#include "process/rank.h"

enum { MAGIC = 8, AT_TAG = 8, AT_NONCE = 12, AT_MAC = 44, FRAME_LENGTH = 4 };
static const unsigned char magic[MAGIC] = "weftport";

static void compute_mac(unsigned char mac[WF_TOKEN], const unsigned char *key,
                        const void *bytes, size_t n)
{
    wf_vendor_crypto_auth_hmacsha256(mac, bytes, n, key);
    wf_secret_wipe_stack();
}

struct wf_meet_link *wf_link_create(int fd, const unsigned char *token,
                                    enum wf_link_state state)
{
    struct wf_meet_link *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    wf_list_init(&l->link);
    l->fd = fd;
    l->own_fd = true;
    l->state = state;
    memcpy(l->token, token, WF_TOKEN);
    return l;
}

void wf_link_set_options(int fd)
{
    int yes = 1, idle = 10, apart = 5, times = 6;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &apart, sizeof apart);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

/* Whether two addresses of one family are of one host: both are of loopback, or
 * they are equal. Connections to an own address have it at both ends. */
static bool is_one_host(const struct sockaddr_storage *a,
                        const struct sockaddr_storage *b)
{
    const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
    uint32_t x = ntohl(a4->sin_addr.s_addr), y = ntohl(b4->sin_addr.s_addr);

    if (a->ss_family == AF_INET)
        return x == y || (x >> 24 == 127 && y >> 24 == 127);
    return IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

bool wf_link_leaves_host(const struct wf_meet_link *l)
{
    struct sockaddr_storage here, there;
    socklen_t n = sizeof here, m = sizeof there;

    return getsockname(l->fd, (void *)&here, &n) == 0 &&
           getpeername(l->fd, (void *)&there, &m) == 0 &&
           (here.ss_family == AF_INET || here.ss_family == AF_INET6) &&
           here.ss_family == there.ss_family && !is_one_host(&here, &there);
}

static void free_buffer(struct wf_link_buffer *b)
{
    free(b->bytes);
    *b = (struct wf_link_buffer){0};
}

void wf_link_free(struct wf_meet_link *l)
{
    if (l->fd >= 0 && l->own_fd)
        close(l->fd);
    free_buffer(&l->in);
    free_buffer(&l->out);
    explicit_bzero(l, sizeof *l);
    free(l);
}

static void end_link(struct wf_meet_link *l, const char *why)
{
    if (l->state != WF_LINK_OVER)
        l->why = why;
    l->state = WF_LINK_OVER;
}

/* ---- buffers ------------------------------------------------------------- */

static bool ensure_room(struct wf_meet_link *l, struct wf_link_buffer *b,
                        size_t n)
{
    unsigned char *more;

    if (n <= b->room)
        return true;
    more = realloc(b->bytes, n);
    if (!more) {
        end_link(l, "no memory for a message of the roots");
        l->starved = true;
        return false;
    }
    b->bytes = more;
    b->room = n;
    return true;
}

static bool append_out(struct wf_meet_link *l, const void *bytes, size_t n)
{
    if (!ensure_room(l, &l->out, l->out.n + n))
        return false;
    memcpy(l->out.bytes + l->out.n, bytes, n);
    l->out.n += n;
    return true;
}

bool wf_link_error_is_temporary(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR ||
           error == EINPROGRESS;
}

static void write_out(struct wf_meet_link *l)
{
    while (l->state != WF_LINK_OVER && !wf_link_is_flushed(l)) {
        ssize_t n = send(l->fd, l->out.bytes + l->out.done,
                         l->out.n - l->out.done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && wf_link_error_is_temporary(errno))
            return;
        if (n < 0)
            end_link(l, "the other root has closed the connection");
        else
            l->out.done += (size_t)n;
    }
    if (wf_link_is_flushed(l))
        l->out.n = l->out.done = 0;
}

/* Read until `n` bytes are there. False: they are not. */
static bool read_in(struct wf_meet_link *l, size_t n)
{
    if (!ensure_room(l, &l->in, n))
        return false;
    while (l->in.n < n) {
        ssize_t got =
            recv(l->fd, l->in.bytes + l->in.n, n - l->in.n, MSG_DONTWAIT);
        if (got < 0 && wf_link_error_is_temporary(errno))
            return false;
        if (got <= 0) {
            end_link(l, "the other root has closed the connection");
            return false;
        }
        l->in.n += (size_t)got;
    }
    return true;
}

/* ---- handshake ----------------------------------------------------------- */

static bool put_nonce(struct wf_meet_link *l, unsigned char *at)
{
    if (wf_auth_fill_random(at, WF_TOKEN) == WEFT_OK)
        return true;
    end_link(l, "the system has no random bytes");
    return false;
}

static void say_hello(struct wf_instance *wf, struct wf_meet_link *l)
{
    memcpy(l->said, magic, MAGIC);
    wf_auth_put_u32(l->said + AT_TAG, wf->rank->job.tag);
    if (!put_nonce(l, l->said + AT_NONCE))
        return;
    compute_mac(l->said + AT_MAC, l->token, l->said, AT_MAC);
    if (append_out(l, l->said, WF_LINK_HELLO))
        l->state = WF_LINK_ASKED;
}

/* Compute the key of the pair, once both nonces are known. */
static void derive_key(struct wf_meet_link *l)
{
    unsigned char text[16 + WF_LINK_HELLO + WF_LINK_ANSWER] = "weft pair 1";

    memcpy(text + 16, l->said, sizeof l->said);
    compute_mac(l->key, l->token, text, sizeof text);
}

static bool is_code(const unsigned char *code, const unsigned char *key,
                    const void *bytes, size_t n)
{
    unsigned char mac[WF_TOKEN];

    compute_mac(mac, key, bytes, n);
    return wf_vendor_crypto_verify_32(mac, code) == 0;
}

static void answer_hello(struct wf_instance *wf, struct wf_meet_link *l)
{
    unsigned char *answer = l->said + WF_LINK_HELLO;

    memcpy(l->said, l->in.bytes, WF_LINK_HELLO);
    l->in.n = 0;
    if (memcmp(l->said, magic, MAGIC) != 0 ||
        !is_code(l->said + AT_MAC, l->token, l->said, AT_MAC)) {
        end_link(l, "it does not have the token of this port");
        return;
    }
    wf_auth_put_u32(answer, wf->rank->job.tag);
    if (!put_nonce(l, answer + 4))
        return;
    compute_mac(answer + 36, l->token, l->said, WF_LINK_HELLO + 36);
    if (append_out(l, answer, WF_LINK_ANSWER))
        l->state = WF_LINK_DOUBTED;
    derive_key(l);
}

static void answer_answer(struct wf_meet_link *l)
{
    unsigned char *answer = l->said + WF_LINK_HELLO, proof[WF_LINK_PROOF];

    memcpy(answer, l->in.bytes, WF_LINK_ANSWER);
    l->in.n = 0;
    if (!is_code(answer + 36, l->token, l->said, WF_LINK_HELLO + 36)) {
        end_link(l, "another process listens there");
        return;
    }
    derive_key(l);
    compute_mac(proof, l->key, l->said, sizeof l->said);
    if (append_out(l, proof, sizeof proof))
        l->state = WF_LINK_OPEN;
}

static void take_proof(struct wf_meet_link *l)
{
    l->in.n = 0;
    if (is_code(l->in.bytes, l->key, l->said, sizeof l->said))
        l->state = WF_LINK_OPEN;
    else
        end_link(l, "it repeats what another one has said");
}

static void finish_connect(struct wf_instance *wf, struct wf_meet_link *l)
{
    int error = 0;
    socklen_t n = sizeof error;
    struct sockaddr_storage at;
    socklen_t len = sizeof at;

    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0 || error)
        end_link(l, "nobody listens there");
    else if (getpeername(l->fd, (struct sockaddr *)&at, &len) == 0)
        say_hello(wf, l);
}

/* ---- frames -------------------------------------------------------------- */

/* Compute the code of a frame: it covers the direction, the number and the
 * length. */
static void compute_frame_code(const struct wf_meet_link *l, bool from_dialler,
                               uint64_t number, const unsigned char *frame,
                               size_t n, unsigned char code[WF_TOKEN])
{
    unsigned char label[16] = "f", digest[WF_TOKEN + sizeof label];

    label[1] = from_dialler;
    wf_auth_put_u64(label + 4, number);
    wf_auth_put_u32(label + 12, (uint32_t)n);
    compute_mac(digest, l->key, frame, n);
    memcpy(digest + WF_TOKEN, label, sizeof label);
    compute_mac(code, l->key, digest, sizeof digest);
}

bool wf_link_send(struct wf_meet_link *l, const void *bytes, size_t n)
{
    unsigned char head[WF_LINK_HEAD];

    WF_ASSERT(l->state == WF_LINK_OPEN || l->state == WF_LINK_OVER);
    if (l->state != WF_LINK_OPEN)
        return false;
    wf_auth_put_u32(head, (uint32_t)n);
    compute_frame_code(l, l->dialled, l->frames_out++, bytes, n,
                       head + FRAME_LENGTH);
    return append_out(l, head, sizeof head) && append_out(l, bytes, n);
}

static void take_frame(struct wf_meet_link *l)
{
    unsigned char code[WF_TOKEN];
    size_t n;

    if (l->framed || !read_in(l, WF_LINK_HEAD))
        return;
    n = wf_auth_get_u32(l->in.bytes);
    if (n > WF_FRAME_MAX) {
        end_link(l, "the other root has sent nonsense");
        return;
    }
    if (!read_in(l, WF_LINK_HEAD + n))
        return;
    compute_frame_code(l, !l->dialled, l->frames_in++,
                       l->in.bytes + WF_LINK_HEAD, n, code);
    if (wf_vendor_crypto_verify_32(code, l->in.bytes + FRAME_LENGTH) != 0)
        end_link(l, "a message of the other root was changed on its way");
    else
        l->framed = true;
}

const unsigned char *wf_link_frame(const struct wf_meet_link *l, size_t *n)
{
    WF_ASSERT(l->framed);
    *n = l->in.n - WF_LINK_HEAD;
    return l->in.bytes + WF_LINK_HEAD;
}

void wf_link_drop_frame(struct wf_meet_link *l)
{
    l->framed = false;
    l->in.n = 0;
}

/* ---- serving ------------------------------------------------------------- */

/* Whether the peer of an idle link has closed it. */
static void notice_end(struct wf_meet_link *l)
{
    char byte;
    ssize_t n = recv(l->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

    if (n == 0 || (n < 0 && !wf_link_error_is_temporary(errno)))
        end_link(l, "the other root has closed the connection");
}

void wf_link_serve(struct wf_instance *wf, struct wf_meet_link *l)
{
    enum wf_link_state before;

    if (l->until && l->state != WF_LINK_OPEN && wf_now(wf) >= l->until)
        end_link(l, "it took too long");
    do {
        before = l->state;
        if (before == WF_LINK_CALLING)
            finish_connect(wf, l);
        else if (before == WF_LINK_CALLED && read_in(l, WF_LINK_HELLO))
            answer_hello(wf, l);
        else if (before == WF_LINK_ASKED && read_in(l, WF_LINK_ANSWER))
            answer_answer(l);
        else if (before == WF_LINK_DOUBTED && read_in(l, WF_LINK_PROOF))
            take_proof(l);
        else if (before == WF_LINK_OPEN && !l->framed)
            take_frame(l);
        else if (before == WF_LINK_OPEN)
            notice_end(l);
        write_out(l);
    } while (l->state != before && l->state != WF_LINK_OVER);
}
