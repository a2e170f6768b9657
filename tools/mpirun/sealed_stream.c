/* This file sends and receives sealed texts: see sealed_stream.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sealed_stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "crypto/cipher.h"
#include "crypto/vendor.h"
#include "job.h"

enum {
    HELLO_HEAD = 8,
    HELLO = HELLO_HEAD + STREAM_NONCE,
    RECORD_HEAD = 4,
    RECORD_MORE = RECORD_HEAD + WF_CIPHER_TAG,
    READ_SIZE = 4096,
    UNSENT_MOST = 1 << 20, /* bytes for an end that does not read */
    SILENCE_S = 20         /* until an end that is gone counts as such */
};

static const char hello_head[HELLO_HEAD] = "WFTN\1";

static void end_stream(struct sealed_stream *s, const char *why)
{
    if (!s->over)
        snprintf(s->why, sizeof s->why, "%s", why);
    s->over = true;
}

/* ---- out ----------------------------------------------------------------- */

static void flush_output(struct job *job, struct sealed_stream *s)
{
    struct epoll_event e = {EPOLLIN, {.ptr = &s->source}};

    while (!s->over && s->left.at < s->left.end) {
        ssize_t n = send(s->source.fd, s->left.data + s->left.at,
                         s->left.end - s->left.at, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
            break;
        if (n < 0 && errno != EINTR)
            end_stream(s, strerror(errno));
        if (n > 0)
            wf_bytes_take(&s->left, (size_t)n);
    }
    if (s->left.at < s->left.end)
        e.events |= EPOLLOUT;
    if (s->armed != (e.events != EPOLLIN))
        (void)epoll_ctl(job->epoll, EPOLL_CTL_MOD, s->source.fd, &e);
    s->armed = e.events != EPOLLIN;
}

/* Returns a place for n bytes more, which are then sent; or NULL. */
static char *add_output(struct sealed_stream *s, size_t n)
{
    char *at;

    if (s->over || s->left.end - s->left.at > UNSENT_MOST ||
        !wf_bytes_grow(&s->left, n)) {
        end_stream(s, "it takes nothing, or there is no memory");
        return NULL;
    }
    at = s->left.data + s->left.end;
    s->left.end += n;
    return at;
}

static void send_record(struct job *job, struct sealed_stream *s,
                        const char *text, size_t n)
{
    char *at = add_output(s, RECORD_MORE + n);
    struct wf_cipher_text t = {.ad = at,
                               .ad_n = RECORD_HEAD,
                               .in = text,
                               .out = at ? at + RECORD_HEAD : NULL,
                               .n = n};

    if (!at)
        return;
    wf_number_write(at, (uint32_t)n);
    weft_cipher.seal(s->out_key, s->out_count++, &t,
                     (unsigned char *)at + RECORD_HEAD + n);
    flush_output(job, s);
}

void wf_stream_send(struct job *job, struct sealed_stream *s, const char *text)
{
    if (s->proved && strlen(text) <= STREAM_TEXT)
        send_record(job, s, text, strlen(text));
}

static void send_hello(struct job *job, struct sealed_stream *s)
{
    char *at = add_output(s, HELLO);

    if (!at)
        return;
    memcpy(at, hello_head, HELLO_HEAD);
    memcpy(at + HELLO_HEAD, s->nonces[!s->calls], STREAM_NONCE);
    flush_output(job, s);
}

/* ---- the keys ------------------------------------------------------------ */

static struct wf_cipher_key *make_key(const struct sealed_stream *s,
                                      const char *direction)
{
    unsigned char text[32 + 2 * STREAM_NONCE] = {0}, bytes[WF_CIPHER_KEY];
    struct wf_cipher_key *key;

    snprintf((char *)text, 32, "weft names 1 %s", direction);
    memcpy(text + 32, s->nonces, sizeof s->nonces);
    wf_vendor_crypto_auth_hmacsha256(bytes, text, sizeof text, s->key);
    key = weft_cipher.key(WF_CIPHER_CHACHA20, bytes);
    explicit_bzero(bytes, sizeof bytes);
    return key;
}

/* Both nonces are known: make the keys, and prove that this end has them. */
static void open_stream(struct job *job, struct sealed_stream *s)
{
    struct wf_cipher_key *keys[2] = {make_key(s, "caller"),
                                     make_key(s, "listener")};

    explicit_bzero(s->key, sizeof s->key);
    s->out_key = keys[!s->calls];
    s->in_key = keys[s->calls];
    if (!keys[0] || !keys[1]) {
        end_stream(s, "there is no memory");
        return;
    }
    s->open = true;
    send_record(job, s, "", 0);
}

/* ---- in ------------------------------------------------------------------ */

static void take_hello(struct job *job, struct sealed_stream *s,
                       const char *bytes)
{
    if (memcmp(bytes, hello_head, HELLO_HEAD) != 0) {
        end_stream(s, "it is no name server of this version of Weft");
        return;
    }
    memcpy(s->nonces[s->calls], bytes + HELLO_HEAD, STREAM_NONCE);
    if (!s->calls)
        send_hello(job, s);
    open_stream(job, s);
}

static void take_record(struct job *job, struct sealed_stream *s, char *bytes,
                        size_t n)
{
    char text[STREAM_TEXT + 1];
    struct wf_cipher_text t = {.ad = bytes,
                               .ad_n = RECORD_HEAD,
                               .in = bytes + RECORD_HEAD,
                               .out = text,
                               .n = n};

    if (!weft_cipher.open(s->in_key, s->in_count++, &t,
                          (unsigned char *)bytes + RECORD_HEAD + n)) {
        end_stream(s, s->proved ? "its bytes were changed on their way"
                                : "it has another key");
        return;
    }
    text[n] = '\0';
    if (!s->proved) {
        s->proved = true;
        if (s->on_proof)
            s->on_proof(job, s);
    } else if (strlen(text) == n && !strchr(text, '\n')) {
        s->take(job, s, text);
    }
    explicit_bzero(text, n); /* ports are secrets */
}

/* Take what is complete. Returns whether there was something. */
static bool take_bytes(struct job *job, struct sealed_stream *s)
{
    char *bytes = s->got.data + s->got.at;
    size_t have = s->got.end - s->got.at, n;

    if (!s->open) {
        if (have < HELLO)
            return false;
        take_hello(job, s, bytes);
        wf_bytes_take(&s->got, HELLO);
        return true;
    }
    n = have < RECORD_HEAD ? 0 : wf_number_read(bytes);
    if (n > STREAM_TEXT)
        end_stream(s, "it sends no record");
    if (s->over || have < RECORD_MORE + n)
        return false;
    take_record(job, s, bytes, n);
    wf_bytes_take(&s->got, RECORD_MORE + n);
    return true;
}

static void read_input(struct job *job, struct sealed_stream *s)
{
    while (!s->over) {
        ssize_t n;
        if (!wf_bytes_grow(&s->got, READ_SIZE)) {
            end_stream(s, "there is no memory");
            return;
        }
        n = recv(s->source.fd, s->got.data + s->got.end, READ_SIZE, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0)
            end_stream(s, n ? strerror(errno) : "");
        else
            s->got.end += (size_t)n;
        while (!s->over && take_bytes(job, s))
            ;
    }
}

static void on_ready(struct job *job, struct event_source *source)
{
    struct sealed_stream *s = (struct sealed_stream *)source;

    flush_output(job, s);
    read_input(job, s);
}

/* ---- life ---------------------------------------------------------------- */

/* Let the end of a host that says no goodbye be noticed. */
static void watch_host(int fd)
{
    int on = 1, idle = SILENCE_S / 4, count = 3, ms = SILENCE_S * 1000;

    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void wf_stream_begin(struct job *job, struct sealed_stream *s, int fd,
                     const unsigned char key[NAME_KEY])
{
    watch_host(fd);
    memcpy(s->key, key, NAME_KEY);
    s->armed = true;
    if (getrandom(s->nonces[!s->calls], STREAM_NONCE, 0) != STREAM_NONCE)
        end_stream(s, "there are no random bytes");
    if (wf_job_watch(job, &s->source, fd, EPOLLIN | EPOLLOUT, on_ready) < 0)
        end_stream(s, strerror(errno));
    if (s->calls && !s->over)
        send_hello(job, s);
}

void wf_stream_close(struct job *job, struct sealed_stream *s)
{
    wf_job_unwatch(job, &s->source);
    wf_bytes_free(&s->got);
    wf_bytes_free(&s->left);
    weft_cipher.free(s->out_key);
    weft_cipher.free(s->in_key);
    s->out_key = s->in_key = NULL;
    explicit_bzero(s->key, sizeof s->key);
}
