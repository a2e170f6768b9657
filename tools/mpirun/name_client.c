/* This file asks name servers: see name_client.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "name_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/pmi_line.h"
#include "boot/pmi_word.h"
#include "job.h"
#include "name_server.h"
#include "pmi_names.h"
#include "sealed_stream.h"

enum { SERVER_MOST = 300, SENTENCE_MOST = 400 };
#define ANSWER_NS (5 * (uint64_t)1000000000)

struct ask {
    struct ask *next;
    unsigned number;
    char *owner, *line; /* line NULL: it has been sent */
    char what[16];      /* the request, as its answer calls it */
    uint64_t deadline;  /* ns */
};

struct name_link {
    struct sealed_stream stream; /* first */
    struct name_link *next;
    char server[SERVER_MOST];
    struct ask *asks; /* without an answer, the oldest first */
    unsigned asks_so_far;
    bool publishes; /* it has names of our ranks */
};

/* ---- answers ------------------------------------------------------------- */

static void free_ask(struct ask *a)
{
    free(a->owner);
    if (a->line)
        explicit_bzero(a->line, strlen(a->line));
    free(a->line);
    free(a);
}

/* Answer a request that the server does not answer. */
static void refuse_ask(struct job *job, const char *owner, const char *what,
                       const char *sentence)
{
    char word[3 * SENTENCE_MOST + 8], cut[SENTENCE_MOST + 1], *answer;

    snprintf(cut, sizeof cut, "%s", sentence);
    if (!wf_pmi_word_encode(word, sizeof word, cut))
        word[0] = '\0';
    if (asprintf(&answer, "cmd=%s_result rc=2 msg=%s\n", what, word) < 0)
        return;
    wf_name_deliver(job, owner, answer);
    free(answer);
}

/* Take an answer of the server to its owner, if that still waits. */
static void take_text(struct job *job, struct sealed_stream *s,
                      const char *text)
{
    struct name_link *l = (struct name_link *)s;
    char expected[48], *answer, *blank;
    unsigned long number = strtoul(text, &blank, 10);
    struct ask **at = &l->asks, *a;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    a = *at;
    if (!a || *blank != ' ')
        return;
    snprintf(expected, sizeof expected, "%s_result", a->what);
    if (!wf_pmi_field_is(blank + 1, "cmd", expected) ||
        asprintf(&answer, "%s\n", blank + 1) < 0)
        return;
    l->publishes = l->publishes || strcmp(a->what, "publish") == 0;
    *at = a->next;
    wf_name_deliver(job, a->owner, answer);
    explicit_bzero(answer, strlen(answer));
    free(answer);
    free_ask(a);
}

/* ---- requests ------------------------------------------------------------ */

static void send_ask(struct job *job, struct name_link *l, struct ask *a)
{
    char *text;

    if (asprintf(&text, "%u %s %s", a->number, a->owner, a->line) < 0)
        return; /* no answer comes: the deadline ends it */
    wf_stream_send(job, &l->stream, text);
    explicit_bzero(text, strlen(text));
    free(text);
    explicit_bzero(a->line, strlen(a->line));
    free(a->line);
    a->line = NULL;
}

static void send_all(struct job *job, struct sealed_stream *s)
{
    struct name_link *l = (struct name_link *)s;

    for (struct ask *a = l->asks; a; a = a->next)
        if (a->line)
            send_ask(job, l, a);
}

static bool add_ask(struct job *job, struct name_link *l, const char *owner,
                    const char *line, const char *what)
{
    struct ask **at = &l->asks, *a = calloc(1, sizeof *a);

    if (!a)
        return false;
    a->number = ++l->asks_so_far;
    a->owner = strdup(owner);
    a->line = strdup(line);
    a->deadline = wf_job_now() + ANSWER_NS;
    snprintf(a->what, sizeof a->what, "%.15s", what);
    if (!a->owner || !a->line) {
        free_ask(a);
        return false;
    }
    while (*at)
        at = &(*at)->next;
    *at = a;
    if (l->stream.proved)
        send_ask(job, l, a);
    return true;
}

/* ---- links --------------------------------------------------------------- */

/* Dial. Returns a socket, or -1 with a sentence. */
static int call_server(const char *server, char *why, size_t n)
{
    struct sockaddr_storage at;
    socklen_t size = wf_name_address(server, &at);
    int fd;

    if (!size) {
        snprintf(why, n,
                 "core.names = %s: give the name server as HOST:PORT, "
                 "the host as an address or as /etc/hosts knows it",
                 server);
        return -1;
    }
    fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&at, size) == 0 ||
                    errno == EINPROGRESS))
        return fd;
    snprintf(why, n, "the name server %s cannot be reached: %s", server,
             strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static struct name_link *find_link(const struct job *job, const char *server)
{
    struct name_link *l = job->name_links;

    while (l && (l->stream.over || strcmp(l->server, server) != 0))
        l = l->next;
    return l;
}

/* Open a link; NULL: there is a sentence in why. */
static struct name_link *open_link(struct job *job, const char *server,
                                   char *why, size_t n)
{
    unsigned char key[NAME_KEY];
    struct name_link *l;
    int fd;

    if (!wf_name_key_read(false, key, why, n))
        return NULL;
    fd = call_server(server, why, n);
    l = fd < 0 ? NULL : calloc(1, sizeof *l);
    if (l) {
        snprintf(l->server, sizeof l->server, "%s", server);
        l->stream.calls = true;
        l->stream.take = take_text;
        l->stream.on_proof = send_all;
        l->next = job->name_links;
        job->name_links = l;
        wf_stream_begin(job, &l->stream, fd, key);
    } else if (fd >= 0) {
        snprintf(why, n, "no memory for a connection to %s", server);
        close(fd);
    }
    explicit_bzero(key, sizeof key);
    return l;
}

bool wf_name_client_ask(struct job *job, const char *owner, const char *line)
{
    char server[SERVER_MOST], why[2 * 4096] = "no memory", cmd[32];
    struct name_link *l;
    const char *word;
    size_t n;

    if (!wf_pmi_field(line, "server", &word, &n) ||
        !wf_pmi_field_copy(line, "cmd", cmd, sizeof cmd))
        return false;
    cmd[strcspn(cmd, "_")] = '\0';
    if (!wf_pmi_word_decode(server, sizeof server, word, n))
        snprintf(server, sizeof server, "?");
    l = find_link(job, server);
    if (!l)
        l = open_link(job, server, why, sizeof why);
    if (!l || !add_ask(job, l, owner, line, cmd))
        refuse_ask(job, owner, cmd, why);
    return true;
}

void wf_name_client_forget(struct job *job, const char *owner)
{
    char *text;

    for (struct name_link *l = job->name_links; l; l = l->next)
        if (asprintf(&text, "0 %s cmd=forget", owner) >= 0) {
            wf_stream_send(job, &l->stream, text);
            free(text);
        }
}

/* ---- ends ---------------------------------------------------------------- */

/* Refuse requests: all, or those whose time is over. */
static void refuse_all(struct job *job, struct name_link *l, uint64_t until,
                       const char *sentence)
{
    for (struct ask **at = &l->asks; *at;) {
        struct ask *a = *at;
        if (a->deadline > until) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        refuse_ask(job, a->owner, a->what, sentence);
        free_ask(a);
    }
}

static void drop_link(struct job *job, struct name_link **at)
{
    struct name_link *l = *at;
    char why[SERVER_MOST + sizeof l->stream.why + 48];

    snprintf(why, sizeof why, "the name server %s has %s%s", l->server,
             l->stream.why[0] ? "failed: " : "closed the connection",
             l->stream.why);
    if (l->publishes && job->alive)
        wf_job_say(job, "%s; names that were published there are gone", why);
    *at = l->next;
    refuse_all(job, l, UINT64_MAX, why);
    wf_stream_close(job, &l->stream);
    free(l);
}

void wf_name_client_check(struct job *job)
{
    for (struct name_link **at = &job->name_links; *at;) {
        struct name_link *l = *at;
        char why[SENTENCE_MOST];
        if (l->stream.over) {
            drop_link(job, at);
            continue;
        }
        at = &l->next;
        if (!l->asks || l->asks->deadline > wf_job_now())
            continue;
        snprintf(why, sizeof why, "the name server %s gives no answer",
                 l->server);
        refuse_all(job, l, wf_job_now(), why);
        if (!l->stream.proved)
            l->stream.over = true; /* the next request calls again */
    }
}

uint64_t wf_name_client_next(const struct job *job)
{
    uint64_t next = 0;

    for (const struct name_link *l = job->name_links; l; l = l->next)
        if (l->asks && (!next || l->asks->deadline < next))
            next = l->asks->deadline;
    return next;
}

void wf_name_client_stop(struct job *job)
{
    while (job->name_links) {
        job->name_links->publishes = false;
        drop_link(job, &job->name_links);
    }
}
