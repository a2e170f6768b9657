/* This file keeps names for other launchers: see name_server.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "name_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "job.h"
#include "names.h"
#include "os/hosts.h"
#include "pmi_names.h"
#include "sealed_stream.h"

enum {
    UNPROVED_MOST = 64, /* callers at once that have not proved the key */
    OWNER_MOST = NAME_OWNER_MOST + 16
};
#define PROOF_NS (10 * (uint64_t)1000000000)

struct caller {
    struct sealed_stream stream; /* first */
    struct caller *next;
    int number;
    uint64_t deadline; /* ns; to prove the key */
};

struct name_server {
    struct event_source listener; /* first */
    struct caller *callers;
    int callers_so_far;
    struct name_table *names;
    unsigned char key[NAME_KEY];
};

/* ---- addresses ----------------------------------------------------------- */

socklen_t wf_name_address(const char *text, struct sockaddr_storage *out)
{
    const char *colon = strrchr(text, ':'), *host = text;
    const char *digits = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0, size = sizeof *out;
    char name[256] = "::", *end;
    long port = strtol(digits, &end, 10);

    if (end == digits || *end || port < 0 || port > 65535)
        return 0;
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    }
    if (n && n < sizeof name)
        snprintf(name, sizeof name, "%.*s", (int)n, host);
    memset(out, 0, sizeof *out);
    if (n >= sizeof name || wf_hosts_lookup(name, 0, out, &size) < 0)
        return 0;
    /* sin_port and sin6_port are at the same place */
    ((struct sockaddr_in *)(void *)out)->sin_port = htons((uint16_t)port);
    return (socklen_t)size;
}

static int bind_listener(const struct sockaddr_storage *at, socklen_t n)
{
    int on = 1, off = 0;
    int fd =
        socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (const struct sockaddr *)at, n) == 0 && listen(fd, 128) == 0)
        return fd;
    on = errno;
    close(fd);
    errno = on;
    return -1;
}

/* Listen; on all addresses where no host is given, also without IPv6. */
static int listen_at(const char *text)
{
    struct sockaddr_storage at;
    socklen_t n = wf_name_address(text, &at);
    int fd = n ? bind_listener(&at, n) : -1;

    if (!n)
        errno = EDESTADDRREQ;
    if (n && fd < 0 && errno == EAFNOSUPPORT && !strchr(text, ':')) {
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        v4.sin_port = ((struct sockaddr_in *)(void *)&at)->sin_port;
        memcpy(&at, &v4, sizeof v4);
        fd = bind_listener(&at, sizeof v4);
    }
    return fd;
}

/* ---- requests ------------------------------------------------------------ */

static void take_text(struct job *job, struct sealed_stream *s,
                      const char *text)
{
    struct name_server *server = job->name_server;
    char owner[OWNER_MOST], name[NAME_OWNER_MOST], answer[STREAM_TEXT / 2];
    char *reply;
    unsigned number;
    int at = 0;

    if (sscanf(text, "%u %127s %n", &number, name, &at) != 2 || !at)
        return;
    snprintf(owner, sizeof owner, "c%d.%s", ((struct caller *)s)->number, name);
    if (strcmp(text + at, "cmd=forget") == 0) {
        wf_name_forget(server->names, owner);
        return;
    }
    wf_name_serve(&server->names, owner, text + at, answer, sizeof answer);
    answer[strcspn(answer, "\n")] = '\0';
    if (asprintf(&reply, "%u %s", number, answer) < 0)
        return;
    wf_stream_send(job, s, reply);
    explicit_bzero(reply, strlen(reply));
    free(reply);
}

/* ---- callers ------------------------------------------------------------- */

static void on_caller(struct job *job, struct event_source *source)
{
    struct name_server *server = (struct name_server *)source;
    int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int unproved = 0;
    struct caller *c;

    for (c = server->callers; c; c = c->next)
        unproved += !c->stream.proved;
    c = fd < 0 || unproved >= UNPROVED_MOST ? NULL : calloc(1, sizeof *c);
    if (!c) {
        if (fd >= 0)
            close(fd);
        return;
    }
    c->number = ++server->callers_so_far;
    c->deadline = wf_job_now() + PROOF_NS;
    c->stream.take = take_text;
    c->next = server->callers;
    server->callers = c;
    wf_stream_begin(job, &c->stream, fd, server->key);
}

static void drop_caller(struct job *job, struct caller **at)
{
    struct caller *c = *at;
    char owner[OWNER_MOST];

    snprintf(owner, sizeof owner, "c%d", c->number);
    wf_name_forget(job->name_server->names, owner);
    *at = c->next;
    wf_stream_close(job, &c->stream);
    free(c);
}

void wf_name_server_check(struct job *job)
{
    struct caller **at = job->name_server ? &job->name_server->callers : NULL;
    uint64_t now = at && *at ? wf_job_now() : 0;

    while (at && *at) {
        struct caller *c = *at;
        if (c->stream.over || (!c->stream.proved && c->deadline <= now))
            drop_caller(job, at);
        else
            at = &c->next;
    }
}

uint64_t wf_name_server_next(const struct job *job)
{
    const struct caller *c =
        job->name_server ? job->name_server->callers : NULL;
    uint64_t next = 0;

    for (; c; c = c->next)
        if (!c->stream.proved && (!next || c->deadline < next))
            next = c->deadline;
    return next;
}

/* ---- the whole ----------------------------------------------------------- */

/* Say where names are served: the port may be of the system's choice. */
static void tell_address(const struct job *job, int fd)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6};
    socklen_t n = sizeof at;
    const char *text = job->set.names, *colon = strrchr(text, ':');

    if (getsockname(fd, (struct sockaddr *)&at, &n) == 0)
        wf_job_say(job, "names are served at %.*s:%d",
                   colon ? (int)(colon - text) : 1, colon ? text : "*",
                   ntohs(at.sin6_port));
}

int wf_name_server_start(struct job *job)
{
    struct name_server *server;
    char why[2 * 4096];
    int fd;

    if (!job->set.names)
        return 0;
    server = wf_job_check_memory(calloc(1, sizeof *server));
    job->name_server = server;
    server->listener.fd = -1;
    if (!wf_name_key_read(true, server->key, why, sizeof why)) {
        wf_job_say(job, "--names: %s", why);
        return -1;
    }
    fd = listen_at(job->set.names);
    if (fd < 0 ||
        wf_job_watch(job, &server->listener, fd, EPOLLIN, on_caller) < 0) {
        wf_job_say(job, "--names %s: cannot listen there: %s", job->set.names,
                   errno == EDESTADDRREQ
                       ? "give PORT, or HOST:PORT, the host as an address or "
                         "as /etc/hosts knows it"
                       : strerror(errno));
        return -1;
    }
    if (!job->set.quiet)
        tell_address(job, fd);
    return 0;
}

void wf_name_server_stop(struct job *job)
{
    struct name_server *server = job->name_server;

    if (!server)
        return;
    while (server->callers)
        drop_caller(job, &server->callers);
    wf_job_unwatch(job, &server->listener);
    wf_name_free(server->names);
    explicit_bzero(server->key, sizeof server->key);
    free(server);
    job->name_server = NULL;
}
